//! Many blocks to a place: when the number of places changes by one, only the shares of those who
//! come or go have to move, where contiguous blocks move half of everything.

use super::RowBlocks;
use super::rows::LayoutError;
use super::transfers::Transfer;

/// Who shall have each block, so that all have the same number or one more or less, and as few
/// blocks as possible change hands; those that stay behind keep what they have.
///
/// `owner_of`: the place that has each block; `places`: how many there shall be. Places from
/// `places` on end. With blocks of one size no assignment moves less. Linear in blocks and places.
///
/// # Errors
/// [`LayoutError::NoPlaces`].
pub fn reassign(owner_of: &[usize], places: usize) -> Result<Vec<usize>, LayoutError> {
    if places == 0 {
        return Err(LayoutError::NoPlaces);
    }
    let mut room = quotas(owner_of, places);
    let mut homeless = Vec::new();
    let mut owners = owner_of.to_vec();
    for (block, owner) in owner_of.iter().enumerate() {
        match room.get_mut(*owner) {
            Some(left) if *left > 0 => *left -= 1,
            _ => homeless.push(block),
        }
    }
    let mut places =
        room.iter().enumerate().flat_map(|(place, left)| (0..*left).map(move |_| place));
    for block in homeless {
        // The quotas add up to the number of blocks.
        owners[block] = places.next().unwrap_or(owners[block]);
    }
    Ok(owners)
}

/// How many blocks each place shall have: the larger shares go to those who have most.
fn quotas(owner_of: &[usize], places: usize) -> Vec<usize> {
    let mut has = vec![0_usize; places];
    for owner in owner_of.iter().filter(|owner| **owner < places) {
        has[*owner] += 1;
    }
    let (share, rest) = (owner_of.len() / places, owner_of.len() % places);
    let mut order: Vec<usize> = (0..places).collect();
    order.sort_by_key(|place| std::cmp::Reverse(has[*place]));
    let mut quota = vec![share; places];
    for place in order.into_iter().take(rest) {
        quota[place] += 1;
    }
    quota
}

/// The transfers between two owners of each block; a block that stays is one to itself.
///
/// # Panics
/// If there are not as many owners as blocks.
pub fn block_transfers(blocks: &RowBlocks, from: &[usize], to: &[usize]) -> Vec<Transfer> {
    let owners = from.iter().zip(to).enumerate();
    let transfer = |(block, (source, target)): (usize, (&usize, &usize))| Transfer {
        source: *source,
        target: *target,
        rows: blocks.of(block),
    };
    owners.map(transfer).filter(|transfer| !transfer.rows.is_empty()).collect()
}
