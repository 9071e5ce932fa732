//! Random numbers that other implementations of the language draw, too: the Mersenne twister,
//! and the distributions that the GNU C++ library makes of it.

use std::collections::{HashSet, TryReserveError};

use crate::error::Error;

const SIZE: usize = 624;
const SHIFT: usize = 397;

/// The 32-bit Mersenne twister of Matsumoto and Nishimura.
#[derive(Clone)]
pub struct Twister {
    state: [u32; SIZE],
    /// What is drawn next, made of the state all at once: loops that become vectors.
    drawn: [u32; SIZE],
    at: usize,
}

/// What is mixed into a word of the state that comes before two others.
fn twisted(first: u32, second: u32) -> u32 {
    let mixed = first & 0x8000_0000 | second & 0x7fff_ffff;
    // All ones or none, by the last bit.
    (mixed >> 1) ^ ((mixed & 1).wrapping_neg() & 0x9908_b0df)
}

/// What is drawn of a word of the state.
fn tempered(mut bits: u32) -> u32 {
    bits ^= bits >> 11;
    bits ^= (bits << 7) & 0x9d2c_5680;
    bits ^= (bits << 15) & 0xefc6_0000;
    bits ^ (bits >> 18)
}

impl Twister {
    /// Seeds with the low half of a number.
    pub fn new(seed: i64) -> Self {
        let mut state = [0; SIZE];
        state[0] = seed as u32;
        for at in 1..SIZE {
            let last: u32 = state[at - 1];
            state[at] = (last ^ (last >> 30)).wrapping_mul(1_812_433_253).wrapping_add(at as u32);
        }
        Self { state, drawn: [0; SIZE], at: SIZE }
    }

    fn refill(&mut self) {
        let state = &mut self.state;
        for at in 0..SIZE - SHIFT {
            state[at] = state[at + SHIFT] ^ twisted(state[at], state[at + 1]);
        }
        for at in SIZE - SHIFT..SIZE - 1 {
            state[at] = state[at + SHIFT - SIZE] ^ twisted(state[at], state[at + 1]);
        }
        state[SIZE - 1] = state[SHIFT - 1] ^ twisted(state[SIZE - 1], state[0]);
        for (drawn, bits) in self.drawn.iter_mut().zip(state) {
            *drawn = tempered(*bits);
        }
        self.at = 0;
    }

    /// The next 32 bits.
    #[inline]
    pub fn draw(&mut self) -> u32 {
        if self.at == SIZE {
            self.refill();
        }
        let bits = self.drawn[self.at];
        self.at += 1;
        bits
    }

    /// A float of 64 bits from `low` up to `high`.
    pub fn real(&mut self, low: f64, high: f64) -> f64 {
        let (first, second) = (f64::from(self.draw()), f64::from(self.draw()));
        let share = (first + second * 4_294_967_296.0) / 18_446_744_073_709_551_616.0;
        share.min(1.0_f64.next_down()) * (high - low) + low
    }

    /// A float of 32 bits from `low` up to `high`.
    pub fn single(&mut self, low: f32, high: f32) -> f32 {
        let share = self.draw() as f32 / 4_294_967_296.0_f32;
        share.min(1.0_f32.next_down()) * (high - low) + low
    }

    /// A whole number from `low` to `high`, both included.
    pub fn whole(&mut self, low: i64, high: i64) -> i64 {
        low.wrapping_add(self.below(high.wrapping_sub(low) as u64) as i64)
    }

    fn below(&mut self, most: u64) -> u64 {
        let full = u64::from(u32::MAX);
        if most < full {
            return self.scaled(most as u32 + 1);
        }
        if most == full {
            return u64::from(self.draw());
        }
        // Two draws; what leaves the range is drawn anew.
        loop {
            let high = self.below(most >> 32) << 32;
            let sum = high.wrapping_add(u64::from(self.draw()));
            if sum <= most && sum >= high {
                return sum;
            }
        }
    }

    /// Lemire's method: a product's high half, unless its low half is in the part that would
    /// make some numbers more likely.
    fn scaled(&mut self, range: u32) -> u64 {
        loop {
            let product = u64::from(self.draw()) * u64::from(range);
            if (product as u32) >= range || (product as u32) >= range.wrapping_neg() % range {
                return product >> 32;
            }
        }
    }
}

/// A type that matrices are drawn in.
pub trait Drawn: Copy + PartialEq + Send + Sync {
    /// 0.
    const NOTHING: Self;
    /// Draws a number between two others.
    fn draw(twister: &mut Twister, low: Self, high: Self) -> Self;
}

impl Drawn for f64 {
    const NOTHING: Self = 0.0;
    fn draw(twister: &mut Twister, low: Self, high: Self) -> Self {
        twister.real(low, high)
    }
}

impl Drawn for f32 {
    const NOTHING: Self = 0.0;
    fn draw(twister: &mut Twister, low: Self, high: Self) -> Self {
        twister.single(low, high)
    }
}

impl Drawn for i64 {
    const NOTHING: Self = 0;
    fn draw(twister: &mut Twister, low: Self, high: Self) -> Self {
        twister.whole(low, high)
    }
}

/// Draws the cells of a matrix in order, as many at a time as are asked for: random numbers other
/// than 0, and a share of `1 - sparsity` of zeros.
///
/// A second twister, seeded with three times the seed, chooses the cells of the rarer kind.
#[derive(Clone)]
pub struct Drawing<T> {
    low: T,
    high: T,
    dense: bool,
    values: Twister,
    rare: Selection,
}

impl<T: Drawn> Drawing<T> {
    /// Draws `count` cells in all.
    ///
    /// # Errors
    ///
    /// If `low` and `high` are both 0, and `sparsity` is not.
    pub fn new(count: usize, low: T, high: T, sparsity: f64, seed: i64) -> Result<Self, Error> {
        if low == T::NOTHING && high == T::NOTHING && sparsity != 0.0 {
            return Err(Error::OnlyZeros);
        }
        let dense = sparsity >= 0.5;
        let share = if dense { 1.0 - sparsity } else { sparsity };
        let wanted = (share * count as f64).round() as usize;
        let places = Twister::new(seed.wrapping_mul(3));
        let rare = Selection::new(places, count, wanted);
        Ok(Self { low, high, dense, values: Twister::new(seed), rare })
    }

    fn other(&mut self) -> T {
        loop {
            let value = T::draw(&mut self.values, self.low, self.high);
            if value != T::NOTHING {
                return value;
            }
        }
    }

    /// Draws the next cells.
    pub fn fill(&mut self, cells: &mut [T]) {
        if self.dense && self.rare.wanted == 0 {
            for cell in cells {
                *cell = self.other();
            }
            return;
        }
        for cell in cells {
            let rare = self.rare.take();
            // Where most cells are not 0, each of them draws, also those that become 0.
            let value = if self.dense || rare { self.other() } else { T::NOTHING };
            *cell = if self.dense && rare { T::NOTHING } else { value };
        }
    }
}

/// Chooses some of many places, looked at one after the other, with a draw for each.
#[derive(Clone)]
struct Selection {
    twister: Twister,
    count: usize,
    wanted: usize,
    place: usize,
}

impl Selection {
    fn new(twister: Twister, count: usize, wanted: usize) -> Self {
        Self { twister, count, wanted, place: 0 }
    }

    /// Whether the next place is chosen.
    fn take(&mut self) -> bool {
        if self.wanted == 0 {
            return false;
        }
        let drawn = self.twister.whole(0, self.count as i64 - 1) as usize;
        let taken = drawn % (self.count - self.place) < self.wanted;
        self.place += 1;
        self.wanted -= usize::from(taken);
        taken
    }
}

/// Draws numbers from 0 up to, and without, `range`.
pub fn sample_reals(out: &mut [f64], range: f64, seed: i64) {
    let mut twister = Twister::new(seed);
    for cell in out {
        *cell = twister.real(0.0, range.next_down());
    }
}

/// Up to this range, and where at least one of so many numbers is drawn, a sample without replacement is
/// what other implementations draw, with a draw for each number of the range.
const SCANNED: (u64, u64) = (1 << 20, 16);

/// Draws whole numbers below `range`; without `again`, none twice, for which there have to be
/// enough. Takes time and memory for as many numbers as are drawn, not for the range.
///
/// # Errors
///
/// If there is no memory to remember which numbers were drawn.
pub fn sample_wholes(
    out: &mut [i64],
    range: i64,
    again: bool,
    seed: i64,
) -> Result<(), TryReserveError> {
    let mut twister = Twister::new(seed);
    if again {
        for cell in out {
            *cell = twister.whole(0, range - 1);
        }
        return Ok(());
    }
    let (small, share) = SCANNED;
    if range as u64 <= small || range as u64 / share <= out.len() as u64 {
        let mut chosen = Selection::new(twister, range as usize, out.len());
        let found = (0..range).filter(|_| chosen.take());
        out.iter_mut().zip(found).for_each(|(cell, place)| *cell = place);
        twister = chosen.twister;
    } else {
        choose_few(out, range, &mut twister)?;
    }
    shuffle(out, &mut twister);
    Ok(())
}

/// Chooses different numbers below `range` by Floyd's algorithm: one draw for each of them. The order
/// is not random.
fn choose_few(out: &mut [i64], range: i64, twister: &mut Twister) -> Result<(), TryReserveError> {
    let mut chosen = HashSet::new();
    chosen.try_reserve(out.len())?;
    let first = range - out.len() as i64;
    for (cell, last) in out.iter_mut().zip(first..range) {
        let drawn = twister.whole(0, last);
        *cell = if chosen.insert(drawn) { drawn } else { last };
        chosen.insert(*cell);
    }
    Ok(())
}

/// Shuffles as the GNU C++ library does: one draw for two swaps while ranges are small.
fn shuffle(items: &mut [i64], twister: &mut Twister) {
    let count = items.len() as u64;
    if count < 2 {
        return;
    }
    if u64::from(u32::MAX) / count < count {
        for at in 1..items.len() {
            items.swap(at, twister.whole(0, at as i64) as usize);
        }
        return;
    }
    let mut at = 1;
    if count.is_multiple_of(2) {
        items.swap(1, twister.whole(0, 1) as usize);
        at = 2;
    }
    while at < items.len() {
        let (one, two) = (at as i64 + 1, at as i64 + 2);
        let drawn = twister.whole(0, one * two - 1);
        items.swap(at, (drawn / two) as usize);
        items.swap(at + 1, (drawn % two) as usize);
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twister_draws_the_published_numbers() {
        let mut twister = Twister::new(5489);
        let drawn: Vec<u32> = (0..10000).map(|_| twister.draw()).collect();
        assert_eq!(drawn[0], 3_499_211_612);
        // The C++ standard names the ten-thousandth.
        assert_eq!(drawn[9999], 4_123_659_995);
    }

    #[test]
    fn as_many_cells_are_zero_as_wanted() {
        for (sparsity, zeros) in [(0.0, 100), (0.2, 80), (0.5, 50), (0.73, 27), (1.0, 0)] {
            let mut cells = [9.0; 100];
            Drawing::new(100, 1.0, 2.0, sparsity, 7).expect("a range").fill(&mut cells);
            assert_eq!(cells.iter().filter(|cell| **cell == 0.0).count(), zeros);
        }
        let mut cells = [0; 100];
        Drawing::new(100, -3, 3, 1.0, 7).expect("a range").fill(&mut cells);
        assert!(cells.iter().all(|cell| (-3..=3).contains(cell) && *cell != 0));
    }

    #[test]
    fn cells_do_not_depend_on_how_many_are_drawn_at_once() {
        for sparsity in [0.0, 0.1, 0.6, 1.0] {
            let (mut whole, mut parts) = ([9.0; 100], [9.0; 100]);
            Drawing::new(100, 1.0, 2.0, sparsity, 7).expect("a range").fill(&mut whole);
            let mut drawing = Drawing::new(100, 1.0, 2.0, sparsity, 7).expect("a range");
            parts.chunks_mut(13).for_each(|part| drawing.fill(part));
            assert_eq!(parts, whole);
        }
    }

    #[test]
    fn a_sample_without_replacement_is_a_permutation() {
        for count in [1, 2, 7, 100] {
            let mut cells = vec![0; count];
            sample_wholes(&mut cells, count as i64, false, 3).expect("memory");
            cells.sort_unstable();
            assert_eq!(cells, (0..count as i64).collect::<Vec<_>>());
        }
    }

    fn few_of(range: i64, count: usize, seed: i64) -> Vec<i64> {
        let mut cells = vec![-1; count];
        choose_few(&mut cells, range, &mut Twister::new(seed)).expect("memory");
        assert!(cells.iter().all(|cell| (0..range).contains(cell)));
        assert_eq!(cells.iter().collect::<HashSet<_>>().len(), count);
        cells
    }

    #[test]
    fn few_numbers_of_the_largest_range_are_different_and_always_the_same() {
        let drawn = |seed| {
            let mut cells = vec![0; 1000];
            sample_wholes(&mut cells, i64::MAX, false, seed).expect("memory");
            cells
        };
        let cells = drawn(5);
        assert_eq!(drawn(5), cells);
        assert_ne!(drawn(6), cells);
        assert_eq!(cells.iter().collect::<HashSet<_>>().len(), 1000);
        assert!(cells.iter().all(|cell| (0..i64::MAX).contains(cell)));
        // Half of them are in either half of the range, up to five standard deviations.
        let low = cells.iter().filter(|cell| **cell < i64::MAX / 2).count();
        assert!((420..=580).contains(&low), "{low} of 1000");
    }

    #[test]
    fn each_set_of_numbers_is_as_likely_as_any_other() {
        let mut counts = std::collections::HashMap::new();
        for seed in 0..10_000 {
            let mut cells = few_of(5, 2, seed);
            cells.sort_unstable();
            *counts.entry(cells).or_insert(0) += 1;
        }
        // Ten pairs: 1000 of each, up to five standard deviations.
        assert_eq!(counts.len(), 10);
        assert!(counts.values().all(|count| (850..=1150).contains(count)), "{counts:?}");
        assert_eq!(few_of(7, 7, 1).len(), 7);
    }

    #[test]
    fn the_order_of_a_sample_is_random() {
        let rises = (0..1000)
            .filter(|seed| {
                let mut cells = [0; 2];
                sample_wholes(&mut cells, 1 << 40, false, *seed).expect("memory");
                cells[0] < cells[1]
            })
            .count();
        assert!((420..=580).contains(&rises), "{rises} of 1000");
    }
}
