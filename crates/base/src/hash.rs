//! Hashing of what is evenly spread already, or can be made so by one multiplication.

use crate::Name;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

/// Takes the last eight bytes of a name as they are; spreads small numbers.
#[derive(Default, Clone, Copy)]
pub struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = self.0.rotate_left(5) ^ u64::from_le_bytes(word);
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.0 = (self.0 ^ u64::from(value)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }

    fn write_usize(&mut self, _length: usize) {}
}

type Build = BuildHasherDefault<Spread>;

/// What is found by a block's name.
pub type ByName<V> = HashMap<Name, V, Build>;

/// The hash of a name, as [`ByName`] has it.
pub fn hash_of(name: &Name) -> u64 {
    Build::default().hash_one(name)
}

/// A set of slots or ids; sort before its order could matter.
pub type SetOf<K> = HashSet<K, Build>;
