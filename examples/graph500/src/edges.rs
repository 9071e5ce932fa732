//! Edges as the specification has them: two vertices of at least 48 bits.

/// An edge of the list, in twelve bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    low: [u32; 2],
    high: [u16; 2],
}

impl Edge {
    /// The edge between two vertices below 2^48.
    pub fn new(u: u64, v: u64) -> Self {
        debug_assert!(u >> 48 == 0 && v >> 48 == 0);
        Self { low: [u as u32, v as u32], high: [(u >> 32) as u16, (v >> 32) as u16] }
    }

    /// Its vertices.
    pub fn ends(self) -> (u64, u64) {
        let end = |index: usize| u64::from(self.high[index]) << 32 | u64::from(self.low[index]);
        (end(0), end(1))
    }

    /// Whether it leads from a vertex to itself.
    pub fn is_loop(self) -> bool {
        let (u, v) = self.ends();
        u == v
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_of_48_bits_come_back() {
        for (u, v) in [(0, 0), (1, (1 << 48) - 1), (0x1234_5678_9ABC, 0x8000_0000)] {
            assert_eq!(Edge::new(u, v).ends(), (u, v));
        }
        assert_eq!(size_of::<Edge>(), 12);
    }
}
