//! Random numbers that are a function of a seed and a place, so that every rank can make its part
//! of the same graph.

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A word in which every bit depends on every bit of `x` (Stafford's thirteenth mixer).
pub fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// A stream of random words, by Steele's `SplitMix64`.
#[derive(Clone, Debug)]
pub struct Stream {
    state: u64,
}

impl Stream {
    /// The stream at a place of a seed; streams at two places have nothing in common.
    pub fn new(seed: u64, place: u64) -> Self {
        Self { state: mix(mix(seed.wrapping_add(STEP)) ^ place) }
    }

    /// A number below `limit`, each as likely as the others up to one in 2^64 / `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        let word = self.next().unwrap_or_default();
        ((u128::from(word) * u128::from(limit)) >> 64) as u64
    }
}

impl Iterator for Stream {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.state = self.state.wrapping_add(STEP);
        Some(mix(self.state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_below_their_limit_and_spread_over_it() {
        let mut stream = Stream::new(1, 2);
        let mut counts = [0; 10];
        (0..10_000).for_each(|_| counts[stream.below(10) as usize] += 1);
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
    }

    #[test]
    fn streams_of_two_places_differ() {
        let words = |place| Stream::new(7, place).take(100).collect::<Vec<_>>();
        assert_ne!(words(0), words(1));
        assert_eq!(words(5), words(5));
    }
}
