//! Numbers as the bytes of an event.

/// The bytes of some words.
pub fn from_u64s(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The bytes of some short words.
pub fn from_u32s(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The words in bytes; what is left at the end is not looked at.
pub fn u64s(bytes: &[u8]) -> impl ExactSizeIterator<Item = u64> + '_ {
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
}

/// The short words in bytes; what is left at the end is not looked at.
pub fn u32s(bytes: &[u8]) -> impl ExactSizeIterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap_or_default()))
}

/// Two short words as one.
pub fn pair(first: u32, second: u32) -> u64 {
    u64::from(second) << 32 | u64::from(first)
}

/// The short words of one.
pub fn parts(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}
