//! In which direction a level is searched (Beamer, Asanović and Patterson, SC 2012).

/// In which direction a level is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the vertices of the frontier to their neighbours.
    Down,
    /// From the vertices without a parent to those of the frontier.
    Up,
}

/// Vertices that were found, and how many neighbours they have together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many vertices.
    pub vertices: u64,
    /// How many neighbours they have.
    pub edges: u64,
}

impl Tally {
    /// One more vertex.
    pub fn add(&mut self, degree: u64) {
        self.vertices += 1;
        self.edges += degree;
    }
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |sum, tally| Self {
            vertices: sum.vertices + tally.vertices,
            edges: sum.edges + tally.edges,
        })
    }
}

/// Down to up when the frontier has more than one in `ALPHA` of the neighbours that are left.
const ALPHA: u64 = 20;
/// Up to down when the frontier has less than one in `BETA` of all vertices.
const BETA: u64 = 24;

/// Decides the directions of a search, on every rank alike.
#[derive(Clone, Debug)]
pub struct Compass {
    turns: bool,
    vertices: u64,
    /// Neighbours of vertices that were in no frontier yet.
    left: u64,
    direction: Direction,
}

impl Compass {
    /// For a graph of so many vertices and neighbours; it only turns if it may.
    pub fn new(turns: bool, vertices: u64, edges: u64) -> Self {
        Self { turns, vertices, left: edges, direction: Direction::Down }
    }

    /// The direction in which to go on from a frontier.
    pub fn turn(&mut self, frontier: Tally) -> Direction {
        self.left = self.left.saturating_sub(frontier.edges);
        if self.turns {
            self.direction = match self.direction {
                Direction::Down if frontier.edges > self.left / ALPHA => Direction::Up,
                Direction::Up if frontier.vertices < self.vertices / BETA => Direction::Down,
                same => same,
            };
        }
        self.direction
    }
}

#[cfg(test)]
mod tests {
    use super::Direction::{Down, Up};
    use super::*;

    #[test]
    fn it_turns_up_for_a_large_frontier_and_down_for_a_small_one() {
        let mut compass = Compass::new(true, 1_000, 100_000);
        let frontiers = [(1, 10), (50, 4_000), (400, 50_000), (30, 100), (1, 1)];
        let turned = frontiers.map(|(vertices, edges)| compass.turn(Tally { vertices, edges }));
        assert_eq!(turned, [Down, Down, Up, Down, Down]);
    }

    #[test]
    fn it_stays_if_it_may_not_turn() {
        let mut compass = Compass::new(false, 1_000, 100_000);
        let frontier = Tally { vertices: 900, edges: 90_000 };
        assert_eq!(compass.turn(frontier), Direction::Down);
    }
}
