//! Sets of vertices, a bit for each.

use crate::words;

/// A set of numbers below its length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    /// An empty set of numbers below `len`.
    pub fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)] }
    }

    /// Whether a number is in it.
    pub fn has(&self, number: u32) -> bool {
        self.words[number as usize >> 6] >> (number & 63) & 1 != 0
    }

    /// Adds a number; whether it was not in it.
    pub fn add(&mut self, number: u32) -> bool {
        let word = &mut self.words[number as usize >> 6];
        let bit = 1 << (number & 63);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Its words, the lowest numbers first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Its words, to be changed.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Removes all numbers.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Adds what is in another set, given as the bytes of its words.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        for (word, other) in self.words.iter_mut().zip(words::u64s(bytes)) {
            *word |= other;
        }
    }
}

/// The numbers in a set, in ascending order.
pub fn numbers(words: &[u64]) -> impl Iterator<Item = u32> + '_ {
    let with_base = (0_u32..).step_by(64).zip(words);
    with_base.flat_map(|(base, &word)| Bits(word).map(move |bit| base + bit))
}

/// The positions of a word's ones.
pub struct Bits(pub u64);

impl Iterator for Bits {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_in_order() {
        let mut set = Bitmap::new(200);
        for number in [199, 0, 63, 64, 130, 63] {
            set.add(number);
        }
        assert!(!set.add(64) && set.has(199) && !set.has(198));
        assert!(numbers(set.words()).eq([0, 63, 64, 130, 199]));
        let mut other = Bitmap::new(200);
        other.add(5);
        other.add_bytes(&words::from_u64s(set.words()));
        assert!(numbers(other.words()).eq([0, 5, 63, 64, 130, 199]));
    }
}
