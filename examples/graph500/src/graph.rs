//! A rank's part of the graph: its vertices and all their neighbours, in rows.

use crate::numbering::Numbering;
use crate::words;

/// Rows of neighbours, compressed: no loops, no neighbour twice, those with the most neighbours of
/// their own first, because a search from below most often finds its parent among them.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    starts: Vec<usize>,
    neighbours: Vec<u32>,
    /// Of each row the first, which most often suffices.
    first: Vec<u32>,
}

impl Graph {
    /// The rows of `count` vertices. `ends` are the place of a vertex and its neighbour's place in
    /// the order of degrees, as [`words::pair`] has them, in any order and any number of times.
    ///
    /// Takes time for sorting each row.
    pub fn new(count: usize, ends: &[Vec<u8>], numbering: &Numbering) -> Self {
        let pairs = || ends.iter().flat_map(|bytes| words::u64s(bytes)).map(words::parts);
        let mut starts = vec![0_usize; count + 1];
        pairs().for_each(|(place, _)| starts[place as usize + 1] += 1);
        (0..count).for_each(|row| starts[row + 1] += starts[row]);
        let mut neighbours = vec![0_u32; starts[count]];
        let mut next = starts.clone();
        for (place, order) in pairs() {
            let at = &mut next[place as usize];
            neighbours[*at] = order;
            *at += 1;
        }
        compress(&mut starts, &mut neighbours);
        for order in &mut neighbours {
            *order = numbering.at(*order);
        }
        let first = starts[..count].iter().map(|&start| neighbours[start]).collect();
        Self { starts, neighbours, first }
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.first.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The neighbours of a vertex, at least one.
    pub fn row(&self, place: u32) -> &[u32] {
        let place = place as usize;
        &self.neighbours[self.starts[place]..self.starts[place + 1]]
    }

    /// The first neighbour of each vertex.
    pub fn first(&self) -> &[u32] {
        &self.first
    }

    /// How many neighbours a vertex has.
    pub fn degree(&self, place: u32) -> u64 {
        let place = place as usize;
        (self.starts[place + 1] - self.starts[place]) as u64
    }

    /// How many neighbours all vertices have together.
    pub fn edges(&self) -> u64 {
        self.neighbours.len() as u64
    }
}

/// Sorts each row and leaves out what is in it twice.
fn compress(starts: &mut [usize], neighbours: &mut Vec<u32>) {
    let mut end = 0;
    for row in 0..starts.len() - 1 {
        let (from, to) = (std::mem::replace(&mut starts[row], end), starts[row + 1]);
        neighbours[from..to].sort_unstable();
        let begin = end;
        for index in from..to {
            if end == begin || neighbours[end - 1] != neighbours[index] {
                neighbours[end] = neighbours[index];
                end += 1;
            }
        }
    }
    if let Some(last) = starts.last_mut() {
        *last = end;
    }
    neighbours.truncate(end);
    neighbours.shrink_to_fit();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_without_twins() {
        let numbering = Numbering::new(&[1; 8], 2);
        let pairs = [(0, 5), (2, 1), (0, 3), (0, 5), (1, 7), (2, 0), (0, 2), (2, 0)];
        let bytes = words::from_u64s(&pairs.map(|(place, order)| words::pair(place, order)));
        let graph = Graph::new(3, &[bytes], &numbering);
        let rows: Vec<Vec<u32>> = (0..3)
            .map(|place| graph.row(place).iter().map(|&number| numbering.order(number)).collect())
            .collect();
        assert_eq!(rows, [vec![2, 3, 5], vec![7], vec![0, 1]]);
        assert_eq!((graph.edges(), graph.degree(0), graph.len()), (6, 3, 3));
        assert_eq!(graph.first()[2], numbering.at(0));
    }
}
