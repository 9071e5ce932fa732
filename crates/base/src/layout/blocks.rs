//! Many blocks to a place: when the number of places changes by one, only the shares of those who
//! come or go have to move, where contiguous blocks move half of everything.

use super::RowBlocks;
use super::rows::{LayoutError, count_places};
use super::transfers::Transfer;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Who shall have each block, so that all have the same number or one more or less, and as few
/// blocks as possible change hands; those that stay behind keep what they have.
///
/// `owner_of`: the place that has each block; `places`: how many there shall be. Places from
/// `places` on end. No assignment moves fewer blocks. `blocks · log places`.
///
/// # Errors
/// [`LayoutError::NoPlaces`], [`LayoutError::TooManyPlaces`].
pub fn reassign(owner_of: &[usize], places: usize) -> Result<Vec<usize>, LayoutError> {
    count_places(places)?;
    even_out(owner_of, &vec![1; owner_of.len()], &vec![1; places])
}

/// Who shall have each block, so that what places have is in proportion to their shares, and as
/// little as possible changes hands.
///
/// `owner_of`: the place that has each block; `weights`: what each weighs, such as its bytes;
/// `shares`: what each place shall have in proportion to the others, such as its executors. Places
/// without a share, and those beyond the table, end.
///
/// What places that end have goes to the emptiest. Besides, a block moves from the fullest place
/// to the emptiest if that one is less full then than the other was, both counted in the middle of
/// the block. So what moves is what a place has too much, to within half a block; with blocks of one
/// weight nothing that is as even moves less. Blocks go from the end of what a place has, so that
/// those that stay are neighbours. `blocks · log places`, for each different share.
///
/// # Errors
/// [`LayoutError::NoPlaces`] if no place has a share; [`LayoutError::Places`] if there is not one
/// weight for each block.
pub fn even_out(
    owner_of: &[usize],
    weights: &[u64],
    shares: &[u32],
) -> Result<Vec<usize>, LayoutError> {
    if shares.iter().all(|share| *share == 0) {
        return Err(LayoutError::NoPlaces);
    }
    if weights.len() != owner_of.len() {
        return Err(LayoutError::Places { given: weights.len(), places: owner_of.len() });
    }
    let mut loads = Loads::new(owner_of, weights, shares);
    let mut owners = owner_of.to_vec();
    let mut kept = vec![Vec::new(); shares.len()];
    for (block, owner) in owner_of.iter().enumerate() {
        if shares.get(*owner).is_some_and(|share| *share > 0) {
            kept[*owner].push(block);
        } else {
            owners[block] = loads.emptiest(weights[block]).1;
            loads.grow(owners[block], weights[block]);
        }
    }
    let next = |loads: &Loads, blocks: &[usize], place: usize| {
        let block = blocks.last()?;
        Some((loads.without(place, weights[*block]), place))
    };
    let places = 0..shares.len();
    let mut givers: BinaryHeap<_> =
        places.filter_map(|place| next(&loads, &kept[place], place)).collect();
    while let Some((level, place)) = givers.pop() {
        let Some(block) = kept[place].pop() else { continue };
        let (filled, target) = loads.emptiest(weights[block]);
        if filled < level && target != place {
            loads.shrink(place, weights[block]);
            loads.grow(target, weights[block]);
            owners[block] = target;
        }
        givers.extend(next(&loads, &kept[place], place));
    }
    Ok(owners)
}

/// What places have, twice, so that half a block is a whole number.
struct Loads<'a> {
    doubled: Vec<u128>,
    shares: &'a [u32],
    /// Those of one share, by what they have.
    order: BTreeMap<u32, BTreeSet<(u128, usize)>>,
}

impl<'a> Loads<'a> {
    fn new(owner_of: &[usize], weights: &[u64], shares: &'a [u32]) -> Self {
        let mut doubled = vec![0; shares.len()];
        for (owner, weight) in owner_of.iter().zip(weights) {
            if let Some(load) = doubled.get_mut(*owner) {
                *load += 2 * u128::from(*weight);
            }
        }
        let mut order = BTreeMap::<_, BTreeSet<_>>::new();
        for (place, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0) {
            order.entry(*share).or_default().insert((doubled[place], place));
        }
        Self { doubled, shares, order }
    }

    /// The place that is the least full with half of a block more, and how full it is then.
    fn emptiest(&self, weight: u64) -> (Level, usize) {
        let firsts = self.order.iter().filter_map(|(share, places)| {
            let (load, place) = places.first()?;
            Some((Level { load: load + u128::from(weight), share: *share }, *place))
        });
        firsts.min().unwrap_or((Level { load: 0, share: 1 }, 0))
    }

    /// How full a place is with half of a block less.
    fn without(&self, place: usize, weight: u64) -> Level {
        let load = self.doubled[place] - u128::from(weight);
        Level { load, share: self.shares[place] }
    }

    fn grow(&mut self, place: usize, weight: u64) {
        self.set(place, self.doubled[place] + 2 * u128::from(weight));
    }

    fn shrink(&mut self, place: usize, weight: u64) {
        self.set(place, self.doubled[place] - 2 * u128::from(weight));
    }

    fn set(&mut self, place: usize, load: u128) {
        let places = self.order.entry(self.shares[place]).or_default();
        places.remove(&(self.doubled[place], place));
        places.insert((load, place));
        self.doubled[place] = load;
    }
}

/// A load over a share, compared without rounding.
#[derive(Clone, Copy, Debug)]
struct Level {
    load: u128,
    share: u32,
}

impl Ord for Level {
    fn cmp(&self, other: &Self) -> Ordering {
        let ours = self.load * u128::from(other.share);
        ours.cmp(&(other.load * u128::from(self.share)))
    }
}

impl PartialOrd for Level {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Level {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Level {}

/// The transfers between two owners of each block; a block that stays is one to itself.
///
/// # Errors
/// [`LayoutError::Places`] if there are not as many owners as blocks.
pub fn block_transfers(
    blocks: &RowBlocks,
    from: &[usize],
    to: &[usize],
) -> Result<Vec<Transfer>, LayoutError> {
    let places = blocks.places();
    if let Some(owners) = [from, to].into_iter().find(|owners| owners.len() != places) {
        return Err(LayoutError::Places { given: owners.len(), places });
    }
    let owners = from.iter().zip(to).enumerate();
    let transfer = |(block, (source, target)): (usize, (&usize, &usize))| Transfer {
        source: *source,
        target: *target,
        rows: blocks.of(block),
    };
    Ok(owners.map(transfer).filter(|transfer| !transfer.rows.is_empty()).collect())
}
