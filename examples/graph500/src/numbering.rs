//! New numbers for vertices: by degree, dealt out to the ranks.

/// No number: a vertex without edges.
pub const NONE: u32 = u32::MAX;

/// Which vertex of the list has which number, and where it is.
///
/// Vertices are dealt out in the order of their degrees, so that every rank has as many edges as the
/// others, and those that are in most frontiers lie side by side. A number is a rank and a place on
/// that rank; vertices without edges have none. Where a vertex is in the order tells its degree
/// within one, whichever rank it is on.
#[derive(Clone, Debug)]
pub struct Numbering {
    ranks: u32,
    /// Bits of a place.
    bits: u32,
    /// Vertices with edges.
    count: u32,
    /// The number of each label.
    numbers: Vec<u32>,
    /// The label of each number; `NONE` where there is no vertex.
    labels: Vec<u32>,
}

impl Numbering {
    /// Numbers by degree. Takes twelve bytes for each vertex.
    pub fn new(degrees: &[u32], ranks: u32) -> Self {
        let order = by_degree(degrees);
        let count = order.len() as u32;
        let bits = count.div_ceil(ranks).max(64).next_power_of_two().ilog2();
        let mut numbers = vec![NONE; degrees.len()];
        let mut labels = vec![NONE; (ranks as usize) << bits];
        for (place, label) in (0..).zip(order) {
            let number = ((place % ranks) << bits) | (place / ranks);
            numbers[label as usize] = number;
            labels[number as usize] = label;
        }
        Self { ranks, bits, count, numbers, labels }
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// How many numbers there may be on a rank: a power of two, at least 64.
    pub fn stride(&self) -> usize {
        1 << self.bits
    }

    /// How many numbers there may be, with those that no vertex has.
    pub fn span(&self) -> usize {
        self.labels.len()
    }

    /// Bits of a place on a rank.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// How many vertices are on a rank.
    pub fn count(&self, rank: u32) -> usize {
        ((self.count + self.ranks - 1 - rank) / self.ranks) as usize
    }

    /// The number of a label; `NONE` if it has no edges.
    pub fn number(&self, label: u64) -> u32 {
        self.numbers[label as usize]
    }

    /// The label of each number.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// The rank of a number.
    pub fn rank(&self, number: u32) -> u32 {
        number >> self.bits
    }

    /// The place of a number on its rank.
    pub fn place(&self, number: u32) -> u32 {
        number & (self.stride() as u32 - 1)
    }

    /// Where a number is in the order of degrees, the highest first.
    pub fn order(&self, number: u32) -> u32 {
        self.place(number) * self.ranks + self.rank(number)
    }

    /// The number at a place of that order.
    pub fn at(&self, order: u32) -> u32 {
        ((order % self.ranks) << self.bits) | (order / self.ranks)
    }
}

/// The vertices that have edges, those with most first, by counting.
fn by_degree(degrees: &[u32]) -> Vec<u32> {
    let highest = degrees.iter().copied().max().unwrap_or_default() as usize;
    let mut places = vec![0_u32; highest + 1];
    degrees.iter().filter(|degree| **degree > 0).for_each(|&degree| places[degree as usize] += 1);
    let mut total = 0;
    for place in places.iter_mut().rev() {
        total += std::mem::replace(place, total);
    }
    let mut order = vec![0; total as usize];
    for (label, &degree) in (0..).zip(degrees).filter(|(_, degree)| **degree > 0) {
        let place = &mut places[degree as usize];
        order[*place as usize] = label;
        *place += 1;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_are_dealt_out_by_degree() {
        let degrees = [3, 0, 7, 3, 1, 0, 9];
        assert_eq!(by_degree(&degrees), [6, 2, 0, 3, 4]);
        let numbering = Numbering::new(&degrees, 2);
        assert_eq!((numbering.count(0), numbering.count(1)), (3, 2));
        let places = [6, 2, 0, 3, 4].map(|label| {
            let number = numbering.number(label);
            assert_eq!(u64::from(numbering.labels()[number as usize]), label);
            assert_eq!(numbering.at(numbering.order(number)), number);
            (numbering.rank(number), numbering.place(number))
        });
        assert_eq!(places, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]);
        assert_eq!(numbering.number(1), NONE);
    }

    #[test]
    fn a_graph_may_have_no_edge() {
        let numbering = Numbering::new(&[0; 4], 3);
        assert_eq!(numbering.count(0) + numbering.count(1) + numbering.count(2), 0);
    }
}
