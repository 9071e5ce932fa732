//! Relabelling node by node: what crosses a network card is what takes the time.
//!
//! Processes keep what [`relabel_staying`](super::relabel_staying) lets them keep. Other places go
//! to the nodes that have most of their rows. Then places are exchanged between the node whose card
//! is busiest and others, as long as it gets less to do. At last the places of each node go to its
//! processes so that the least moves inside.

use super::relabel::{Relabelling, heaviest_matching};
use super::rows::{LayoutError, RowBlocks};
use super::transfers::{Transfer, transfers, weight};
use std::collections::{BTreeMap, BTreeSet};

/// Exchanges that are tried; of many processes a card's load changes little by each.
const EXCHANGES: usize = 100;

/// An exchange may cost that both places are copied inside their nodes, which is so many times as
/// fast as a network; it has to save more.
const SPEEDUP: u64 = 8;

/// What crosses between nodes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Crossing {
    /// Weight of all that crosses.
    pub total: u64,
    /// Weight that the busiest card carries in its busier direction.
    pub busiest: u64,
}

/// Assigns places to processes so that the busiest network card carries little, and little moves.
///
/// `node_of` has the node of each process, numbered from 0 on: those of the old places come first,
/// then joining processes; `may_stay` says which of the former may have a place.
///
/// Linear in the number of places, but for sorting them and for the exchanges: each tries all
/// places against those of one node.
///
/// # Errors
/// [`LayoutError::Rows`]; [`LayoutError::Places`] if there is not one flag for each old place;
/// [`LayoutError::Processes`] if there are fewer processes than places.
pub fn relabel_nodes(
    from: &RowBlocks,
    to: &RowBlocks,
    offsets: Option<&[u64]>,
    may_stay: &[bool],
    node_of: &[usize],
) -> Result<Relabelling, LayoutError> {
    if may_stay.len() != from.places() {
        return Err(LayoutError::Places { given: may_stay.len(), places: from.places() });
    }
    let joining = node_of.len().saturating_sub(from.places());
    let may_have = [may_stay, &vec![true; joining]].concat();
    let given = may_have.iter().filter(|may| **may).count();
    if given < to.places() || may_have.len() != node_of.len() {
        return Err(LayoutError::Processes { given, places: to.places() });
    }
    let mut transfers = transfers(from, to)?;
    let mut nodes = Nodes::new(&transfers, offsets, to.places(), node_of, &may_have);
    let stays = |transfer: &Transfer| may_have[transfer.source];
    for kept in heaviest(&transfers, offsets, stays) {
        nodes.put(kept.target, node_of[kept.source]);
    }
    nodes.deal();
    nodes.relieve();
    let process_of = inside(&transfers, offsets, &nodes.of, node_of, &may_have);
    for transfer in &mut transfers {
        transfer.target = process_of[transfer.target];
    }
    Ok(Relabelling { process_of, transfers })
}

/// The overlaps to keep, of those that may be.
fn heaviest<'a>(
    overlaps: &'a [Transfer],
    offsets: Option<&[u64]>,
    may_be: impl Fn(&Transfer) -> bool,
) -> impl Iterator<Item = &'a Transfer> {
    let one = |overlap| if may_be(overlap) { weight(overlap, offsets) } else { 0 };
    let weights: Vec<u64> = overlaps.iter().map(one).collect();
    heaviest_matching(overlaps, &weights).into_iter().map(|at| &overlaps[at])
}

/// The process of each place, of those on the place's node, so that the least moves there.
fn inside(
    overlaps: &[Transfer],
    offsets: Option<&[u64]>,
    of: &[Option<usize>],
    node_of: &[usize],
    may_have: &[bool],
) -> Vec<usize> {
    let mut left_over = BTreeMap::<usize, BTreeSet<usize>>::new();
    for process in (0..node_of.len()).filter(|process| may_have[*process]) {
        left_over.entry(node_of[process]).or_default().insert(process);
    }
    let may_be = |overlap: &Transfer| {
        may_have[overlap.source] && of[overlap.target] == Some(node_of[overlap.source])
    };
    let mut process_of = vec![None; of.len()];
    for kept in heaviest(overlaps, offsets, may_be) {
        process_of[kept.target] = Some(kept.source);
        left_over.entry(node_of[kept.source]).and_modify(|left| _ = left.remove(&kept.source));
    }
    let mut next = |node: &Option<usize>| left_over.get_mut(node.as_ref()?)?.pop_first();
    let all = process_of.into_iter().zip(of);
    all.filter_map(|(process, node)| process.or_else(|| next(node))).collect()
}

/// The place that a node gives, the one that it gets, and the other node.
type Exchange = (Option<usize>, Option<usize>, usize);

/// Which places are on which nodes.
struct Nodes {
    /// By place, what it weighs on each node that has rows of it.
    shares: Vec<BTreeMap<usize, u64>>,
    /// By place, what it weighs.
    weights: Vec<u64>,
    /// By place, its node.
    of: Vec<Option<usize>>,
    /// By node, processes without a place.
    free: Vec<usize>,
    /// By node, what it had, shall have, and keeps.
    had: Vec<u64>,
    has: Vec<u64>,
    keeps: Vec<u64>,
}

impl Nodes {
    /// No place is anywhere.
    fn new(
        transfers: &[Transfer],
        offsets: Option<&[u64]>,
        places: usize,
        node_of: &[usize],
        may_have: &[bool],
    ) -> Self {
        let count = node_of.iter().max().map_or(0, |node| node + 1);
        let mut free = vec![0; count];
        for (node, may) in node_of.iter().zip(may_have) {
            free[*node] += usize::from(*may);
        }
        let mut shares = vec![BTreeMap::new(); places];
        let mut weights = vec![0; places];
        let mut had = vec![0; count];
        for transfer in transfers {
            let (node, weight) = (node_of[transfer.source], weight(transfer, offsets));
            *shares[transfer.target].entry(node).or_default() += weight;
            weights[transfer.target] += weight;
            had[node] += weight;
        }
        let (has, keeps) = (vec![0; count], vec![0; count]);
        Self { shares, weights, of: vec![None; places], free, had, has, keeps }
    }

    fn share(&self, place: usize, node: usize) -> u64 {
        self.shares[place].get(&node).copied().unwrap_or_default()
    }

    fn put(&mut self, place: usize, node: usize) {
        self.of[place] = Some(node);
        self.free[node] -= 1;
        self.has[node] += self.weights[place];
        self.keeps[node] += self.share(place, node);
    }

    fn take(&mut self, place: usize, node: usize) {
        self.of[place] = None;
        self.free[node] += 1;
        self.has[node] -= self.weights[place];
        self.keeps[node] -= self.share(place, node);
    }

    /// What a node's card carries in its busier direction, once a place comes and one goes.
    fn load(&self, node: usize, comes: Option<usize>, goes: Option<usize>) -> u64 {
        let weight = |place: Option<usize>| place.map_or(0, |place| self.weights[place]);
        let share = |place: Option<usize>| place.map_or(0, |place| self.share(place, node));
        let has = self.has[node] + weight(comes) - weight(goes);
        self.had[node].max(has) + share(goes) - self.keeps[node] - share(comes)
    }

    /// The node whose card carries most, and what that is.
    fn busiest(&self) -> (usize, u64) {
        let all = (0..self.free.len()).map(|node| (node, self.load(node, None, None)));
        all.max_by_key(|(_, load)| *load).unwrap_or_default()
    }

    /// Puts places that are nowhere where most of their rows are, or else where no card gets
    /// busier than the busiest.
    fn deal(&mut self) {
        let all = self.shares.iter().enumerate();
        let mut wishes: Vec<(u64, usize, usize)> = all
            .filter(|(place, _)| self.of[*place].is_none())
            .flat_map(|(place, nodes)| {
                nodes.iter().map(move |(node, share)| (*share, place, *node))
            })
            .collect();
        wishes.sort_unstable_by_key(|(share, place, node)| (u64::MAX - share, *place, *node));
        for (_, place, node) in wishes {
            if self.of[place].is_none() && self.free[node] > 0 {
                self.put(place, node);
            }
        }
        let (_, mut most) = self.busiest();
        for place in 0..self.of.len() {
            if self.of[place].is_none() {
                let free = (0..self.free.len()).filter(|node| self.free[*node] > 0);
                let loads = free.map(|node| (self.load(node, Some(place), None).max(most), node));
                let (load, node) = loads.min().unwrap_or_default();
                self.put(place, node);
                most = load;
            }
        }
    }

    /// Exchanges places as long as it helps the busiest card.
    fn relieve(&mut self) {
        for _ in 0..EXCHANGES {
            let (busiest, load) = self.busiest();
            let Some((mine, theirs, other)) = self.exchange(busiest, load) else { break };
            for (place, node) in [(mine, busiest), (theirs, other)] {
                if let Some(place) = place {
                    self.take(place, node);
                }
            }
            for (place, node) in [(mine, other), (theirs, busiest)] {
                if let Some(place) = place {
                    self.put(place, node);
                }
            }
        }
    }

    /// The exchange with another node that leaves the least to the busier one of both, if it helps.
    fn exchange(&self, node: usize, load: u64) -> Option<Exchange> {
        let on = |place: &usize| self.of[*place] == Some(node);
        let mut mine: Vec<Option<usize>> = (0..self.of.len()).filter(on).map(Some).collect();
        mine.extend((self.free[node] > 0).then_some(None));
        let others = self.of.iter().enumerate().filter(|(place, of)| {
            of.is_some_and(|of| of != node) && self.shares[*place].contains_key(&node)
        });
        let mut theirs: Vec<(Option<usize>, usize)> =
            others.filter_map(|(place, of)| of.map(|of| (Some(place), of))).collect();
        let has_room = |other: &usize| *other != node && self.free[*other] > 0;
        theirs.extend((0..self.free.len()).filter(has_room).map(|other| (None, other)));
        let pairs = mine.iter().flat_map(|mine| theirs.iter().map(move |(p, n)| (*mine, *p, *n)));
        let left = |(mine, theirs, other): &Exchange| {
            self.load(node, *theirs, *mine).max(self.load(*other, *mine, *theirs))
        };
        let best = pairs.min_by_key(left)?;
        let weight = |place: Option<usize>| place.map_or(0, |place| self.weights[place]);
        let saved = load.saturating_sub(left(&best)).saturating_mul(SPEEDUP);
        (saved > weight(best.0) + weight(best.1)).then_some(best)
    }
}

/// What the transfers between processes weigh on the network cards of their nodes.
///
/// # Panics
/// If a process has no node.
pub fn crossing(transfers: &[Transfer], node_of: &[usize], offsets: Option<&[u64]>) -> Crossing {
    let mut out = BTreeMap::<usize, [u64; 2]>::new();
    let mut total = 0;
    for transfer in transfers {
        let (source, target) = (node_of[transfer.source], node_of[transfer.target]);
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
