//! Which process should become which place: what the paper leaves as future work.
//!
//! A process that becomes the place whose rows it has already need not send them. The overlaps of
//! old and new blocks, in the order of the rows, never cross, so that the best assignment is found
//! by one walk over them from the end: an overlap is kept, and then no other one of its source or
//! its target can be, or it is not. No assignment of contiguous blocks keeps more.

use super::rows::{LayoutError, RowBlocks};
use super::transfers::{Transfer, transfers, weight};

/// Which process becomes which place, and what moves then.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Relabelling {
    /// The process of each new place: a process that was there before has a number below the old
    /// number of places, joining processes have the others.
    pub process_of: Vec<usize>,
    /// What each process sends to each: `source` and `target` are processes.
    pub transfers: Vec<Transfer>,
}

/// Assigns the places of `to` to processes, the old ones `0..from.places()` and as many new ones
/// as are needed, so that the fewest rows move, or the least weight: see
/// [`moved_weight`](super::moved_weight).
///
/// Linear in the number of places.
///
/// # Errors
/// [`LayoutError::Rows`].
pub fn relabel(
    from: &RowBlocks,
    to: &RowBlocks,
    offsets: Option<&[u64]>,
) -> Result<Relabelling, LayoutError> {
    relabel_staying(from, to, offsets, &vec![true; from.places()])
}

/// [`relabel`] when only some processes of the old places may stay: those that leave become no
/// place, and are replaced by new ones where too few stay.
///
/// Linear in the number of places.
///
/// # Errors
/// [`LayoutError::Rows`]; [`LayoutError::Places`] if there is not one flag for each old place.
pub fn relabel_staying(
    from: &RowBlocks,
    to: &RowBlocks,
    offsets: Option<&[u64]>,
    may_stay: &[bool],
) -> Result<Relabelling, LayoutError> {
    if may_stay.len() != from.places() {
        return Err(LayoutError::Places { given: may_stay.len(), places: from.places() });
    }
    let mut transfers = transfers(from, to)?;
    let weights: Vec<u64> = transfers
        .iter()
        .map(|overlap| if may_stay[overlap.source] { weight(overlap, offsets) } else { 0 })
        .collect();
    let kept = heaviest_matching(&transfers, &weights);
    let process_of = assign(&transfers, &kept, may_stay, to.places());
    for transfer in &mut transfers {
        transfer.target = process_of[transfer.target];
    }
    Ok(Relabelling { process_of, transfers })
}

/// Which overlaps are kept: no two with one source or one target, the heaviest such choice; none
/// without weight.
pub(super) fn heaviest_matching(overlaps: &[Transfer], weights: &[u64]) -> Vec<usize> {
    let count = overlaps.len();
    let mut best = vec![0; count + 1];
    // The first overlap behind each that shares neither its source nor its target. Those that do
    // follow it at once: it shares its source with some, or its target, never both.
    let mut free = vec![count; count];
    let (mut source_ends, mut target_ends) = (count, count);
    for at in (0..count).rev() {
        if let Some(next) = overlaps.get(at + 1) {
            if next.source != overlaps[at].source {
                source_ends = at + 1;
            }
            if next.target != overlaps[at].target {
                target_ends = at + 1;
            }
        }
        free[at] = source_ends.max(target_ends);
        best[at] = best[at + 1].max(weights[at] + best[free[at]]);
    }
    let mut kept = Vec::new();
    let mut at = 0;
    while at < count {
        if best[at] == best[at + 1] {
            at += 1;
        } else {
            kept.push(at);
            at = free[at];
        }
    }
    kept
}

/// The process of each new place: of what is kept its source, then whoever is left over, in order.
fn assign(overlaps: &[Transfer], kept: &[usize], may_stay: &[bool], targets: usize) -> Vec<usize> {
    let mut process_of = vec![None; targets];
    let mut is_taken: Vec<bool> = may_stay.iter().map(|stays| !stays).collect();
    for overlap in kept.iter().map(|at| &overlaps[*at]) {
        process_of[overlap.target] = Some(overlap.source);
        is_taken[overlap.source] = true;
    }
    let old = (0..is_taken.len()).filter(|process| !is_taken[*process]);
    let mut left_over = old.chain(is_taken.len()..);
    let next = |process: Option<usize>| process.or_else(|| left_over.next());
    process_of.into_iter().filter_map(next).collect()
}
