//! Relabelling node by node: what crosses a network card is what takes the time.

use super::relabel::{Relabelling, relabel};
use super::rows::{LayoutError, RowBlocks};
use super::transfers::{Transfer, transfers, weight};

/// What crosses between nodes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Crossing {
    /// Weight of all that crosses.
    pub total: u64,
    /// Weight that the busiest card carries in its busier direction.
    pub busiest: u64,
}

/// Assigns whole nodes first, so that the least crosses between nodes, then the places of each
/// node to its processes. Processes are numbered node by node, `size` to each, and so are places.
///
/// Linear in the number of places, but for sorting the transfers.
///
/// # Errors
/// [`LayoutError::Rows`]; [`LayoutError::NoPlaces`] if `size` is zero.
pub fn relabel_nodes(
    from: &RowBlocks,
    to: &RowBlocks,
    size: usize,
    offsets: Option<&[u64]>,
) -> Result<Relabelling, LayoutError> {
    let nodes = relabel(&from.grouped(size)?, &to.grouped(size)?, offsets)?;
    let mut moves = transfers(from, to)?;
    let whole = relabel(from, to, offsets)?;
    let mut process_of = vec![usize::MAX; to.places()];
    for (new, old) in nodes.process_of.iter().enumerate() {
        let places = new * size..((new + 1) * size).min(to.places());
        let processes = old * size..(old + 1) * size;
        let mut is_taken = vec![false; size];
        for place in places.clone() {
            let process = whole.process_of[place];
            if processes.contains(&process) {
                process_of[place] = process;
                is_taken[process - processes.start] = true;
            }
        }
        let mut left_over =
            processes.clone().filter(|process| !is_taken[process - processes.start]);
        for place in places.filter(|place| process_of[*place] == usize::MAX).collect::<Vec<_>>() {
            process_of[place] = left_over.next().unwrap_or(processes.start);
        }
    }
    for transfer in &mut moves {
        transfer.target = process_of[transfer.target];
    }
    Ok(Relabelling { process_of, transfers: moves })
}

/// What the transfers between processes weigh on the network cards of nodes of `size` processes.
///
/// # Panics
/// If `size` is zero.
pub fn crossing(transfers: &[Transfer], size: usize, offsets: Option<&[u64]>) -> Crossing {
    let mut out = std::collections::BTreeMap::<usize, [u64; 2]>::new();
    let mut total = 0;
    for transfer in transfers {
        let (source, target) = (transfer.source / size, transfer.target / size);
        if source != target {
            let weight = weight(transfer, offsets);
            total += weight;
            out.entry(source).or_default()[0] += weight;
            out.entry(target).or_default()[1] += weight;
        }
    }
    let busiest = out.values().flatten().copied().max().unwrap_or_default();
    Crossing { total, busiest }
}
