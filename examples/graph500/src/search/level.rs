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
#[derive(Clone, Debug)]
pub struct Search {
    rank: u32,
    numbering: Arc<Numbering>,
    graph: Arc<Graph>,
    /// The number of each own vertex's parent.
    parents: Vec<u32>,
    /// The vertices, of all ranks, that are known to have a parent.
    seen: Bitmap,
    /// The frontier of all ranks; only kept up while searching up.
    frontier: Bitmap,
    /// The own vertices of the frontier, by place, and of the next one.
    queue: Vec<u32>,
    found: Vec<u32>,
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
            queue: Vec::new(),
            found: Vec::new(),
            visits: vec![Vec::new(); numbering.ranks() as usize],
        }
    }

    /// Forgets the last search, and begins at a root, given by its number; what the frontier is.
    pub fn begin(&mut self, root: u32) -> Tally {
        self.parents.fill(NONE);
        self.seen.clear();
        self.queue.clear();
        self.found.clear();
        self.seen.add(root);
        let mut tally = Tally::default();
        if self.numbering.rank(root) == self.rank {
            let place = self.numbering.place(root);
            self.parents[place as usize] = root;
            self.found.push(place);
            tally.add(self.graph.degree(place));
        }
        tally
    }

    /// Goes on to the next level: what was found is the frontier.
    pub fn advance(&mut self) {
        std::mem::swap(&mut self.queue, &mut self.found);
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
        let graph = Arc::clone(&self.graph);
        let base = self.rank << self.numbering.bits();
        let mut tally = Tally::default();
        for index in 0..self.queue.len() {
            let place = self.queue[index];
            let parent = base | place;
            for &neighbour in graph.row(place) {
                if !self.seen.add(neighbour) {
                    continue;
                }
                let (owner, there) =
                    (self.numbering.rank(neighbour), self.numbering.place(neighbour));
                // Places on all ranks are in the order of degrees.
                tally.add(graph.degree(there.min(graph.len() as u32 - 1)));
                if owner == self.rank {
                    self.parents[there as usize] = parent;
                    self.found.push(there);
                    continue;
                }
                let visits = &mut self.visits[owner as usize];
                visits.extend_from_slice(&words::pair(there, parent).to_le_bytes());
                if visits.len() >= VISITS * 8 {
                    send(owner, visits)?;
                    visits.clear();
                }
            }
        }
        for (owner, visits) in (0..).zip(&mut self.visits).filter(|(_, visits)| !visits.is_empty())
        {
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
                self.found.push(place);
            }
        }
    }

    /// Puts the frontier in a form for searching up.
    pub fn turn_up(&mut self) {
        self.frontier.clear();
        let base = self.rank << self.numbering.bits();
        self.found.drain(..).for_each(|place| {
            self.frontier.add(base | place);
        });
    }

    /// Puts the frontier in a form for searching down.
    pub fn turn_down(&mut self) {
        self.found.clear();
        self.found.extend(numbers(&self.frontier.words()[self.own_words()]));
    }

    /// The own part of the frontier, as bytes for [`Search::take_frontier`].
    pub fn own_frontier(&self) -> Vec<u8> {
        let words = &self.frontier.words()[self.own_words()];
        let used = self.graph.len().div_ceil(64);
        words::from_u64s(&words[..used])
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

    /// Searches from the vertices without a parent to the frontier; what was found, which is the
    /// own part of the frontier then.
    pub fn search_up(&mut self) -> Tally {
        let Self { graph, parents, seen, frontier, .. } = self;
        let start = self.numbering.stride() / 64 * self.rank as usize;
        let mut tally = Tally::default();
        let mut next = vec![0_u64; graph.len().div_ceil(64)];
        for (index, (next, first)) in next.iter_mut().zip(graph.first().chunks(64)).enumerate() {
            let seen = &mut seen.words_mut()[start + index];
            let known = if first.len() < 64 { u64::MAX << first.len() } else { 0 };
            for bit in Bits(!(*seen | known)) {
                let place = (index * 64) as u32 + bit;
                let candidate = first[bit as usize];
                let parent = if frontier.has(candidate) {
                    Some(candidate)
                } else {
                    graph.row(place)[1..].iter().copied().find(|&other| frontier.has(other))
                };
                if let Some(parent) = parent {
                    parents[place as usize] = parent;
                    *next |= 1 << bit;
                    tally.add(graph.degree(place));
                }
            }
            *seen |= *next;
        }
        frontier.words_mut()[start..start + next.len()].copy_from_slice(&next);
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
        let words = self.numbering.stride() / 64;
        words * self.rank as usize..words * (self.rank as usize + 1)
    }
}
