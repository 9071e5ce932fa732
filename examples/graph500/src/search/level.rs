//! What a rank does in a search, without events: levels down and up.

use super::direction::Tally;
use crate::bitmap::{Bitmap, Bits, numbers};
use crate::graph::Graph;
use crate::numbering::{NONE, Numbering};
use crate::words;
use std::sync::Arc;

/// Visits in one event: they are taken in while the level is still searched.
const VISITS: usize = 16 << 10;

/// A rank's part of a search.
///
/// Frontiers are bitmaps also while searching down: taken from them, the rows of a frontier come in
/// the order in which they lie in memory.
#[derive(Clone, Debug)]
pub struct Search {
    rank: u32,
    numbering: Arc<Numbering>,
    graph: Arc<Graph>,
    /// The number of each own vertex's parent.
    parents: Vec<u32>,
    /// The vertices, of all ranks, that are known to have a parent.
    seen: Bitmap,
    /// The frontier; of other ranks only kept up while searching up.
    frontier: Bitmap,
    /// The own vertices of the next one, by place.
    found: Bitmap,
    /// Visits to vertices of other ranks.
    visits: Vec<Vec<u8>>,
}

impl Search {
    /// A rank's part, before any search.
    pub fn new(rank: u32, numbering: &Arc<Numbering>, graph: &Arc<Graph>) -> Self {
        Self {
            rank,
            numbering: Arc::clone(numbering),
            graph: Arc::clone(graph),
            parents: vec![NONE; graph.len()],
            seen: Bitmap::new(numbering.span()),
            frontier: Bitmap::new(numbering.span()),
            found: Bitmap::new(graph.len()),
            visits: vec![Vec::new(); numbering.ranks() as usize],
        }
    }

    /// Forgets the last search, and begins at a root, given by its number.
    pub fn begin(&mut self, root: u32) {
        self.parents.fill(NONE);
        self.seen.clear();
        self.frontier.clear();
        self.found.clear();
        self.seen.add(root);
        if self.numbering.rank(root) == self.rank {
            self.parents[self.numbering.place(root) as usize] = root;
            self.found.add(self.numbering.place(root));
        }
        self.advance();
    }

    /// Goes on to the next level: what was found is the own part of the frontier.
    pub fn advance(&mut self) {
        let own = self.own_words();
        self.frontier.words_mut()[own].copy_from_slice(self.found.words());
        self.found.clear();
    }

    /// Searches from the frontier to its neighbours. Visits to vertices of other ranks are given to
    /// `send`, with the rank; each vertex is visited once by each rank at most. Returns what was
    /// found and sent; a vertex that two ranks visit counts twice.
    ///
    /// # Errors
    ///
    /// Those of `send`.
    pub fn search_down<E>(
        &mut self,
        mut send: impl FnMut(u32, &[u8]) -> Result<(), E>,
    ) -> Result<Tally, E> {
        let own = self.own_words();
        let Self { rank, numbering, graph, parents, seen, frontier, found, visits } = self;
        let base = *rank << numbering.bits();
        let mut tally = Tally::default();
        for place in numbers(&frontier.words()[own]) {
            for &neighbour in graph.row(place) {
                // Looked at first: nearly all have been seen, and nothing is written then.
                if seen.has(neighbour) {
                    continue;
                }
                seen.add(neighbour);
                let (owner, there) = (numbering.rank(neighbour), numbering.place(neighbour));
                // Places on all ranks are in the order of degrees.
                tally.add(graph.degree(there.min(graph.len() as u32 - 1)));
                if owner == *rank {
                    parents[there as usize] = base | place;
                    found.add(there);
                    continue;
                }
                let visits = &mut visits[owner as usize];
                visits.extend_from_slice(&words::pair(there, base | place).to_le_bytes());
                if visits.len() >= VISITS * 8 {
                    send(owner, visits)?;
                    visits.clear();
                }
            }
        }
        for (owner, visits) in (0..).zip(visits).filter(|(_, visits)| !visits.is_empty()) {
            send(owner, visits)?;
            visits.clear();
        }
        Ok(tally)
    }

    /// Takes in visits of another rank.
    pub fn visit(&mut self, visits: &[u8]) {
        let base = self.rank << self.numbering.bits();
        for (place, parent) in words::u64s(visits).map(words::parts) {
            if self.seen.add(base | place) {
                self.parents[place as usize] = parent;
                self.found.add(place);
            }
        }
    }

    /// The own part of the frontier, as bytes for [`Search::take_frontier`].
    pub fn own_frontier(&self) -> Vec<u8> {
        words::from_u64s(&self.frontier.words()[self.own_words()])
    }

    /// Takes in another rank's part of the frontier.
    pub fn take_frontier(&mut self, rank: u32, bytes: &[u8]) {
        let start = self.numbering.stride() / 64 * rank as usize;
        let frontier = &mut self.frontier.words_mut()[start..];
        let seen = &mut self.seen.words_mut()[start..];
        for ((frontier, seen), word) in frontier.iter_mut().zip(seen).zip(words::u64s(bytes)) {
            *frontier = word;
            *seen |= word;
        }
    }

    /// Searches from the vertices without a parent to the frontier, and goes on to the next level;
    /// what was found.
    pub fn search_up(&mut self) -> Tally {
        let own = self.own_words();
        let Self { graph, parents, seen, frontier, found, .. } = self;
        let mut tally = Tally::default();
        let rows = seen.words_mut()[own].iter_mut().zip(found.words_mut());
        for ((base, (seen, found)), first) in
            (0..).step_by(64).zip(rows).zip(graph.first().chunks(64))
        {
            let beyond = if first.len() < 64 { u64::MAX << first.len() } else { 0 };
            for bit in Bits(!(*seen | beyond)) {
                let (place, candidate) = (base + bit, first[bit as usize]);
                let parent = if frontier.has(candidate) {
                    Some(candidate)
                } else {
                    graph.row(place)[1..].iter().copied().find(|&other| frontier.has(other))
                };
                if let Some(parent) = parent {
                    parents[place as usize] = parent;
                    *found |= 1 << bit;
                    tally.add(graph.degree(place));
                }
            }
            *seen |= *found;
        }
        self.advance();
        tally
    }

    /// The label of each own vertex's parent, -1 where it was not reached.
    pub fn parents(&self) -> Vec<i64> {
        let labels = self.numbering.labels();
        let label =
            |&parent: &u32| if parent == NONE { -1 } else { i64::from(labels[parent as usize]) };
        self.parents.iter().map(label).collect()
    }

    fn own_words(&self) -> std::ops::Range<usize> {
        let start = self.numbering.stride() / 64 * self.rank as usize;
        start..start + self.graph.len().div_ceil(64)
    }
}
