//! The graph: a Kronecker generator with the specification's probabilities.

use crate::edges::Edge;
use crate::random::Stream;
use std::ops::Range;

/// The probabilities of the quadrants A, B, C and D add up to these, as parts of 2^64.
const A: u64 = (0.57 * TWO_64) as u64;
const AB: u64 = (0.76 * TWO_64) as u64;
const ABC: u64 = (0.95 * TWO_64) as u64;
const TWO_64: f64 = 18_446_744_073_709_551_616.0;

/// A list of edges, each of which can be made by itself.
///
/// Edges are independent draws, so the order of the list is random without being shuffled. The
/// vertices' labels are scrambled, because a small label would tell a high degree.
#[derive(Clone, Debug)]
pub struct Kronecker {
    scale: u32,
    edges: u64,
    seed: u64,
    rounds: Vec<(u64, u64)>,
}

impl Kronecker {
    /// A graph of 2^`scale` vertices and `edge_factor` times as many edges.
    pub fn new(scale: u32, edge_factor: u64, seed: u64) -> Self {
        let mut words = Stream::new(seed, u64::MAX);
        let mut word = || words.next().unwrap_or_default();
        let rounds = (0..3).map(|_| (word() | 1, word())).collect();
        Self { scale, edges: edge_factor << scale, seed, rounds }
    }

    /// How many vertices.
    pub fn vertices(&self) -> u64 {
        1 << self.scale
    }

    /// How many edges.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// Some of the edges. Takes 2 ns for each of them and of the scale's levels.
    pub fn slice(&self, range: Range<u64>) -> Vec<Edge> {
        range.map(|index| self.edge(index)).collect()
    }

    /// The edges of one of `parts` equal parts of the list.
    pub fn part(&self, part: u64, parts: u64) -> Vec<Edge> {
        self.slice(self.edges * part / parts..self.edges * (part + 1) / parts)
    }

    fn edge(&self, index: u64) -> Edge {
        let (mut u, mut v) = (0, 0);
        for word in Stream::new(self.seed, index).take(self.scale as usize) {
            u = u << 1 | u64::from(word >= AB);
            v = v << 1 | u64::from((A..AB).contains(&word) || word >= ABC);
        }
        Edge::new(self.label(u), self.label(v))
    }

    /// A permutation of the vertices: each step can be undone.
    fn label(&self, vertex: u64) -> u64 {
        let mask = self.vertices() - 1;
        let half = (self.scale / 2).max(1);
        self.rounds.iter().fold(vertex, |x, (factor, term)| {
            let x = x.wrapping_mul(*factor).wrapping_add(*term) & mask;
            x ^ x >> half
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_a_permutation() {
        for scale in 1..12 {
            let graph = Kronecker::new(scale, 16, 2);
            let mut labels: Vec<_> = (0..graph.vertices()).map(|v| graph.label(v)).collect();
            labels.sort_unstable();
            assert!(labels.into_iter().eq(0..graph.vertices()), "scale {scale}");
        }
    }

    #[test]
    fn the_parts_are_the_list_for_any_number_of_ranks() {
        let graph = Kronecker::new(8, 16, 2);
        let whole = graph.slice(0..graph.edges());
        assert_eq!(whole.len(), 16 << 8);
        for parts in [1, 3, 7] {
            let joined: Vec<_> = (0..parts).flat_map(|part| graph.part(part, parts)).collect();
            assert_eq!(joined, whole);
        }
    }

    #[test]
    fn quadrants_come_as_often_as_they_should() {
        let graph = Kronecker { rounds: vec![], ..Kronecker::new(1, 50_000, 3) };
        let mut counts = [0_i32; 4];
        for edge in graph.slice(0..graph.edges()) {
            let (u, v) = edge.ends();
            counts[(2 * u + v) as usize] += 1;
        }
        for (count, wanted) in counts.into_iter().zip([57_000, 19_000, 19_000, 5_000]) {
            assert!((count - wanted).abs() < 1_000, "{counts:?}");
        }
    }
}
