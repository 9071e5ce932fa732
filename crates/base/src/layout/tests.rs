use super::blocks::{block_transfers, even_out, reassign};
use super::nodes::{Crossing, crossing, relabel_nodes};
use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// The sizes of the paper's runs.
const SIZES: [usize; 7] = [2, 10, 20, 40, 80, 120, 160];
const ROWS: u64 = 960_000;

fn even(places: usize) -> RowBlocks {
    RowBlocks::even(ROWS, places).unwrap()
}

fn pairs() -> impl Iterator<Item = (usize, usize)> {
    let all = SIZES.iter().flat_map(|from| SIZES.iter().map(move |to| (*from, *to)));
    all.filter(|(from, to)| from != to)
}

/// Percent of all rows, as the mean over the paper's pairs.
fn mean(moved: impl Fn(usize, usize) -> u64) -> f64 {
    let found: Vec<f64> = pairs().map(|(from, to)| moved(from, to) as f64).collect();
    100.0 * found.iter().sum::<f64>() / found.len() as f64 / ROWS as f64
}

#[test]
fn what_moves_in_the_papers_pairs_is_what_was_computed_for_them() {
    let as_is =
        mean(|from, to| moved_weight(&transfers(&even(from), &even(to)).unwrap(), None).unwrap());
    let best = mean(|from, to| {
        moved_weight(&relabel(&even(from), &even(to), None).unwrap().transfers, None).unwrap()
    });
    assert!((as_is - 98.0).abs() < 0.05, "{as_is}");
    assert!((best - 74.4).abs() < 0.05, "{best}");
}

#[test]
fn small_steps_move_less_when_places_are_relabelled_and_least_in_many_blocks() {
    let rows = 8 * 7 * 16 * 100;
    let (from, to) = (RowBlocks::even(rows, 7).unwrap(), RowBlocks::even(rows, 8).unwrap());
    let share = |moved: u64| 100.0 * moved as f64 / rows as f64;
    let as_is = share(moved_weight(&transfers(&from, &to).unwrap(), None).unwrap());
    let relabelled =
        share(moved_weight(&relabel(&from, &to, None).unwrap().transfers, None).unwrap());
    assert!((as_is - 50.0).abs() < 0.1 && (relabelled - 28.6).abs() < 0.1);
    let blocks = RowBlocks::even(rows, 7 * 16).unwrap();
    let owners: Vec<usize> = (0..7 * 16).map(|block| block / 16).collect();
    let moved = block_transfers(&blocks, &owners, &reassign(&owners, 8).unwrap()).unwrap();
    assert!((share(moved_weight(&moved, None).unwrap()) - 12.5).abs() < 0.1);
}

/// Nodes of so many processes, filled in order.
fn filled(processes: usize, size: usize) -> Vec<usize> {
    (0..processes).map(|process| process / size).collect()
}

/// What crosses between nodes when all processes may have a place.
fn crossed(from: &RowBlocks, to: &RowBlocks, node_of: &[usize]) -> Crossing {
    let stay = vec![true; from.places()];
    let plan = relabel_nodes(from, to, None, &stay, node_of).unwrap();
    crossing(&plan.transfers, node_of, None).unwrap()
}

#[test]
fn nodes_keep_their_rows() {
    let (from, to) = (even(80), even(160));
    let node_of = filled(160, 20);
    let plain = crossing(&transfers(&from, &to).unwrap(), &node_of, None).unwrap();
    assert_eq!(plain, Crossing { total: 7 * ROWS / 8, busiest: ROWS / 4 });
    assert_eq!(crossed(&from, &to, &node_of), Crossing { total: ROWS / 2, busiest: ROWS / 8 });
}

#[test]
fn joining_processes_get_the_places_whose_rows_their_node_has() {
    // Ranks 0 and 1 on nodes 1 and 0, and two that join on nodes 0 and 1: in their order, half of all
    // rows would cross.
    let (from, to) = (even(2), even(4));
    let node_of = [1, 0, 0, 1];
    let ordered = relabel(&from, &to, None).unwrap();
    assert_eq!(crossing(&ordered.transfers, &node_of, None).unwrap().total, ROWS / 2);
    assert_eq!(crossed(&from, &to, &node_of), Crossing::default());
    let plan = relabel_nodes(&from, &to, None, &[true; 2], &node_of).unwrap();
    assert_eq!(
        moved_weight(&plan.transfers, None).unwrap(),
        moved_weight(&ordered.transfers, None).unwrap()
    );
    // All are replaced, and nothing crosses either.
    let plan = relabel_nodes(&from, &even(2), None, &[false; 2], &node_of).unwrap();
    assert_eq!(plan.process_of, [3, 2]);
}

/// Against all assignments there are, of up to four processes on up to three nodes.
#[test]
fn no_assignment_leaves_less_to_the_busiest_card() {
    let sizes = (1..5).flat_map(|from| (1..5).map(move |to| (from, to)));
    for (from, to) in sizes {
        let (old, new) = (RowBlocks::even(120, from).unwrap(), RowBlocks::even(120, to).unwrap());
        let overlaps = transfers(&old, &new).unwrap();
        let count = from.max(to);
        for number in 0..3_usize.pow(count as u32) {
            let node = |process: usize| number / 3_usize.pow(process as u32) % 3;
            let node_of: Vec<usize> = (0..count).map(node).collect();
            let ours = crossed(&old, &new, &node_of).busiest;
            let best = least_busy(&overlaps, &node_of, &mut vec![], &vec![true; count], to);
            assert_eq!(ours, best, "from {from} to {to} on {node_of:?}");
        }
    }
}

#[test]
fn the_busiest_card_gives_way_to_the_others() {
    // A process of node 0 has 40 % of a place that is to be one, two of node 1 have 30 % each.
    let from = RowBlocks::from_offsets(vec![0, 40, 70, 100]).unwrap();
    let to = RowBlocks::even(100, 1).unwrap();
    let plain = relabel(&from, &to, None).unwrap();
    let node_of = [0, 1, 1];
    assert_eq!(crossing(&plain.transfers, &node_of, None).unwrap().busiest, 60);
    assert_eq!(crossed(&from, &to, &node_of).busiest, 40);
}

#[test]
fn who_leaves_becomes_no_place() {
    let plan = |from, to, may_stay: &[bool]| {
        relabel_staying(&even(from), &even(to), None, may_stay).unwrap().process_of
    };
    assert_eq!(plan(4, 2, &[true, true, false, false]), [1, 0]);
    assert_eq!(plan(4, 2, &[false, true, true, false]), [1, 2]);
    assert_eq!(plan(2, 2, &[false, false]), [2, 3]);
    assert_eq!(plan(2, 4, &[false, true]), [2, 3, 4, 1]);
    let error = relabel_staying(&even(2), &even(3), None, &[true]).unwrap_err();
    assert_eq!(error, LayoutError::Places { given: 1, places: 2 });
}

#[test]
fn ten_thousand_places_are_planned() {
    let rows = 100_000_000;
    let (from, to) =
        (RowBlocks::even(rows, 10_000).unwrap(), RowBlocks::even(rows, 12_000).unwrap());
    let plan = relabel(&from, &to, None).unwrap();
    assert!(plan.process_of.len() == 12_000 && plan.transfers.len() < 22_000);
}

#[test]
fn loads_are_shared_by_what_rows_weigh() {
    // Nine rows without a non-zero, one with ten, ten with one each.
    let mut offsets = vec![0; 10];
    offsets.extend([10]);
    offsets.extend(11..=20);
    let layout = RowBlocks::by_load(&offsets, 2).unwrap();
    assert_eq!(layout.offsets(), [0, 10, 20]);
    assert_eq!(RowBlocks::weighted(10, &[1.0, 3.0, 1.0]).unwrap().offsets(), [0, 2, 8, 10]);
}

#[test]
fn what_can_not_be_laid_out_is_refused() {
    assert_eq!(RowBlocks::even(3, 0).unwrap_err(), LayoutError::NoPlaces);
    let error = RowBlocks::weighted(3, &[1.0, -1.0]).unwrap_err();
    assert_eq!(error, LayoutError::Weight { index: 1, value: -1.0 });
    assert!(matches!(RowBlocks::weighted(3, &[0.0]), Err(LayoutError::Weight { index: 0, .. })));
    let error = RowBlocks::from_offsets(vec![0, 5, 3]).unwrap_err();
    assert_eq!(error, LayoutError::Offsets { index: 2, value: 3, length: 3 });
    assert!(RowBlocks::by_load(&[], 1).is_err() && RowBlocks::from_offsets(vec![1, 2]).is_err());
    let error = transfers(&even(2), &RowBlocks::even(5, 2).unwrap()).unwrap_err();
    assert_eq!(error, LayoutError::Rows { from: ROWS, to: 5 });
    assert!(reassign(&[0], 0).is_err() && even_out(&[0], &[1], &[0]).is_err());
    assert!(even_out(&[0], &[], &[1]).is_err());
    let relabel =
        |stay: &[bool], nodes: &[usize]| relabel_nodes(&even(2), &even(2), None, stay, nodes);
    let error = relabel(&[true, false], &[0, 0]).unwrap_err();
    assert_eq!(error, LayoutError::Processes { given: 1, places: 2 });
    assert_eq!(relabel(&[true], &[0]).unwrap_err(), LayoutError::Places { given: 1, places: 2 });
    assert!(relabel(&[true; 2], &[0]).is_err());
}

/// Layouts of the same few rows, some blocks empty.
fn two_layouts() -> impl Strategy<Value = (RowBlocks, RowBlocks)> {
    (0..30_u64).prop_flat_map(|rows| {
        let layout = || {
            prop::collection::vec(0..=rows, 0..5).prop_map(move |mut inner| {
                inner.sort_unstable();
                let offsets = [vec![0], inner, vec![rows]].concat();
                RowBlocks::from_offsets(offsets).unwrap()
            })
        };
        (layout(), layout())
    })
}

/// The most that any assignment of new places to processes keeps, by trying them all.
fn most_kept(
    overlaps: &[Transfer],
    offsets: Option<&[u64]>,
    place: usize,
    used: u32,
    to: usize,
) -> u64 {
    if place == to {
        return 0;
    }
    let kept = |process: usize| -> u64 {
        let mine = overlaps.iter().filter(|o| o.target == place && o.source == process);
        mine.map(|o| super::transfers::weight(o, offsets)).sum()
    };
    let rest = |used: u32| most_kept(overlaps, offsets, place + 1, used, to);
    let takes = (0..6).filter(|process| used & (1 << process) == 0);
    takes
        .map(|process| kept(process) + rest(used | 1 << process))
        .max()
        .unwrap_or(0)
        .max(rest(used))
}

proptest! {
    #[test]
    fn every_row_goes_from_where_it_is_to_where_it_shall_be((from, to) in two_layouts()) {
        let moves = transfers(&from, &to).unwrap();
        let rows: Vec<u64> = moves.iter().flat_map(|m| m.rows.clone()).collect();
        prop_assert_eq!(rows, (0..from.rows()).collect::<Vec<_>>());
        for m in &moves {
            let (old, new) = (from.of(m.source), to.of(m.target));
            prop_assert!(old.start <= m.rows.start && m.rows.end <= old.end);
            prop_assert!(new.start <= m.rows.start && m.rows.end <= new.end);
        }
    }

    #[test]
    fn no_assignment_keeps_more(
        (from, to) in two_layouts(),
        loads in prop::collection::vec(0..9_u64, 30),
        by_load: bool,
    ) {
        let mut offsets = vec![0];
        for load in loads {
            offsets.push(offsets[offsets.len() - 1] + load);
        }
        let offsets = by_load.then_some(&offsets[..=from.rows() as usize]);
        let plan = relabel(&from, &to, offsets).unwrap();
        let distinct: BTreeSet<usize> = plan.process_of.iter().copied().collect();
        prop_assert_eq!(distinct.len(), to.places());
        prop_assert!(distinct.iter().all(|process| *process < from.places().max(to.places())));
        let overlaps = transfers(&from, &to).unwrap();
        let all: u64 = overlaps.iter().map(|o| super::transfers::weight(o, offsets)).sum();
        let kept = all - moved_weight(&plan.transfers, offsets).unwrap();
        prop_assert_eq!(kept, most_kept(&overlaps, offsets, 0, 0, to.places()));
    }

    #[test]
    fn all_places_get_processes_that_may_have_them((from, to) in two_layouts(), seed: u64) {
        let (node_of, stay) = few_nodes(&from, &to, seed);
        let plan = relabel_nodes(&from, &to, None, &stay, &node_of).unwrap();
        let distinct: BTreeSet<usize> = plan.process_of.iter().copied().collect();
        prop_assert_eq!(distinct.len(), to.places());
        prop_assert!(distinct.iter().all(|process| stay.get(*process).copied().unwrap_or(true)));
    }

    #[test]
    fn on_one_node_it_is_what_relabelling_does((from, to) in two_layouts()) {
        let node_of = vec![0; from.places().max(to.places())];
        let plan = relabel_nodes(&from, &to, None, &vec![true; from.places()], &node_of).unwrap();
        prop_assert_eq!(plan, relabel(&from, &to, None).unwrap());
    }

    #[test]
    fn blocks_are_balanced_and_no_fewer_could_move(
        owners in prop::collection::vec(0..4_usize, 0..9),
        places in 1..5_usize,
    ) {
        let after = reassign(&owners, places).unwrap();
        let count = |place: usize| after.iter().filter(|owner| **owner == place).count();
        let share = owners.len() / places;
        prop_assert!((0..places).all(|place| count(place) == share || count(place) == share + 1));
        let moved = owners.iter().zip(&after).filter(|(old, new)| old != new).count();
        prop_assert_eq!(moved, fewest_moved(&owners, places));
    }
}

/// Three nodes at most: that of each process, and which old ones stay, with as many that join as
/// are needed.
fn few_nodes(from: &RowBlocks, to: &RowBlocks, seed: u64) -> (Vec<usize>, Vec<bool>) {
    let digit = |at: usize| (seed >> (3 * at)) as usize;
    let stay: Vec<bool> = (0..from.places()).map(|place| digit(place) & 4 == 0).collect();
    let staying = stay.iter().filter(|stays| **stays).count();
    let processes = from.places() + to.places().saturating_sub(staying);
    ((0..processes).map(|process| digit(process) % 4 % 3).collect(), stay)
}

/// What the busiest card carries at least, by trying all assignments.
fn least_busy(
    overlaps: &[Transfer],
    node_of: &[usize],
    chosen: &mut Vec<usize>,
    free: &[bool],
    places: usize,
) -> u64 {
    if chosen.len() == places {
        let chosen_for = |t: &Transfer| Transfer { target: chosen[t.target], ..t.clone() };
        let moves: Vec<Transfer> = overlaps.iter().map(chosen_for).collect();
        return crossing(&moves, node_of, None).unwrap().busiest;
    }
    let mut least = u64::MAX;
    for process in (0..free.len()).filter(|process| free[*process]) {
        if !chosen.contains(&process) {
            chosen.push(process);
            least = least.min(least_busy(overlaps, node_of, chosen, free, places));
            chosen.pop();
        }
    }
    least
}

/// The fewest blocks that change hands in any balanced assignment, by trying them all.
fn fewest_moved(owners: &[usize], places: usize) -> usize {
    let share = owners.len() / places;
    let all = places.pow(owners.len() as u32);
    let assignment = |number: usize| -> Vec<usize> {
        (0..owners.len()).map(|block| number / places.pow(block as u32) % places).collect()
    };
    let is_balanced = |after: &Vec<usize>| {
        let count = |place: usize| after.iter().filter(|owner| **owner == place).count();
        (0..places).all(|place| (share..=share + 1).contains(&count(place)))
    };
    let moved =
        |after: Vec<usize>| owners.iter().zip(&after).filter(|(old, new)| old != new).count();
    (0..all).map(assignment).filter(is_balanced).map(moved).min().unwrap_or(0)
}

/// Some blocks of weight 1, their owners, and the shares of places, one at least.
fn few_blocks() -> impl Strategy<Value = (Vec<usize>, Vec<u32>)> {
    (1..4_usize, prop::collection::vec(0..4_usize, 0..7)).prop_flat_map(|(places, owners)| {
        let shares = prop::collection::vec(0..4_u32, places);
        let some = shares.prop_filter("a place has a share", |all| all.iter().any(|s| *s > 0));
        (Just(owners), some)
    })
}

/// How uneven it is (the sum of squared loads over shares, times what makes it a whole number), and
/// how many blocks moved; none if a place without a share has one.
fn judged(before: &[usize], after: &[usize], shares: &[u32]) -> Option<(u64, usize)> {
    let mut loads = vec![0_u64; shares.len()];
    for owner in after {
        *loads.get_mut(*owner)? += 1;
    }
    let mut uneven = 0;
    for (load, share) in loads.iter().zip(shares) {
        match (load, share) {
            (0, 0) => {}
            (_, 0) => return None,
            _ => uneven += 6 * load * load / u64::from(*share),
        }
    }
    let moved = before.iter().zip(after).filter(|(was, is)| was != is).count();
    Some((uneven, moved))
}

proptest! {
    /// Against all assignments there are: none is more even, and none as even moves less.
    #[test]
    fn blocks_of_one_weight_are_evened_out_by_moving_the_fewest((owners, shares) in few_blocks()) {
        let ones = vec![1; owners.len()];
        let ours = even_out(&owners, &ones, &shares).unwrap();
        let mut best = None;
        for number in 0..shares.len().pow(owners.len() as u32) {
            let digit = |at: usize| number / shares.len().pow(at as u32) % shares.len();
            let other: Vec<usize> = (0..owners.len()).map(digit).collect();
            best = [best, judged(&owners, &other, &shares)].into_iter().flatten().min();
        }
        prop_assert_eq!(judged(&owners, &ours, &shares), best);
    }

    /// Blocks of any weight: no two places differ by more than the largest block.
    #[test]
    fn blocks_of_any_weight_are_evened_out_to_within_the_largest(
        blocks in prop::collection::vec((0..5_usize, 0..100_u64), 0..40),
        places in 1..5_usize,
    ) {
        let (owners, weights): (Vec<usize>, Vec<u64>) = blocks.into_iter().unzip();
        let after = even_out(&owners, &weights, &vec![1; places]).unwrap();
        let load = |owners: &[usize], place: usize| -> u64 {
            owners.iter().zip(&weights).filter(|(owner, _)| **owner == place).map(|(_, w)| w).sum()
        };
        let largest = weights.iter().copied().max().unwrap_or_default();
        let loads: Vec<u64> = (0..places).map(|place| load(&after, place)).collect();
        let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
        prop_assert!(most - least <= largest, "{:?}", loads);
    }

    /// Once even, nothing moves any more.
    #[test]
    fn what_is_even_stays((owners, shares) in few_blocks()) {
        let ones = vec![1; owners.len()];
        let once = even_out(&owners, &ones, &shares).unwrap();
        prop_assert_eq!(&even_out(&once, &ones, &shares).unwrap(), &once);
    }
}

/// What has to move at least: all of places that end, and what others have too many.
fn least(before: &RowRuns, becomes: &[Option<usize>], places: usize) -> u64 {
    let has = |place: usize| -> u64 { before.of(place).iter().map(|r| r.end - r.start).sum() };
    let mut kept: Vec<u64> = vec![0; places];
    for (old, new) in becomes.iter().enumerate() {
        if let Some(new) = new {
            kept[*new] = has(old);
        }
    }
    kept.sort_unstable_by(|a, b| b.cmp(a));
    let (share, rest) = (before.rows() / places as u64, before.rows() % places as u64);
    let stays = |(at, has): (usize, &u64)| (share + u64::from((at as u64) < rest)).min(*has);
    before.rows() - kept.iter().enumerate().map(stays).sum::<u64>()
}

proptest! {
    /// Every row is somewhere, all have as many, and nothing moves that need not.
    #[test]
    fn runs_move_the_fewest_rows_through_any_resizes(
        rows in 0..500_u64,
        first in 1..9_usize,
        sizes in prop::collection::vec((1..12_usize, 0..3_usize), 1..12),
    ) {
        let mut layout = RowRuns::from(&RowBlocks::even(rows, first).unwrap());
        for (places, gone) in sizes {
            // Some end although there is a place for them, such as groups that leave as a whole.
            let stays = places.min(layout.places().saturating_sub(gone));
            let becomes: Vec<_> =
                (0..layout.places()).map(|place| (place < stays).then_some(place)).collect();
            let after = move_fewest(&layout, &becomes, places).unwrap();
            prop_assert_eq!((after.rows(), after.places()), (rows, places));
            for place in 0..places {
                let has: u64 = after.of(place).iter().map(|run| run.end - run.start).sum();
                prop_assert!(has.abs_diff(rows / places as u64) <= 1);
            }
            let moves = run_transfers(&layout, &after).unwrap();
            let moved: u64 = (moves.iter())
                .filter(|one| becomes[one.source] != Some(one.target))
                .map(Transfer::count)
                .sum();
            prop_assert_eq!(moved, least(&layout, &becomes, places));
            prop_assert_eq!(moves.iter().map(Transfer::count).sum::<u64>(), rows);
            for one in moves {
                prop_assert_eq!(layout.place_of(one.rows.start), Some(one.source));
                prop_assert_eq!(after.place_of(one.rows.end - 1), Some(one.target));
            }
            prop_assert_eq!(after.place_of(rows), None);
            layout = after;
        }
    }
}

#[test]
fn one_more_place_gets_its_share_and_nothing_else_moves() {
    let before = RowRuns::from(&RowBlocks::even(5600, 7).unwrap());
    let stay: Vec<_> = (0..7).map(Some).collect();
    let eight = move_fewest(&before, &stay, 8).unwrap();
    let moved: u64 = eight.of(7).iter().map(|run| run.end - run.start).sum();
    assert_eq!((moved, &eight.of(0)[0], eight.of(7).len()), (700, &(0..700), 7));
    // When it ends, its rows grow together with those that they came from.
    let back: Vec<_> = (0..8).map(|place| (place < 7).then_some(place)).collect();
    assert_eq!(move_fewest(&eight, &back, 7).unwrap(), before);
}

#[test]
fn runs_that_are_no_layout_are_refused() {
    let places = |given, places| Err(LayoutError::Places { given, places });
    assert_eq!(RowRuns::new(vec![0, 3, 5], vec![0], 1), places(1, 2));
    assert_eq!(RowRuns::new(vec![0, 3, 5], vec![0, 4], 4), places(5, 4));
    assert_eq!(RowRuns::new(vec![0], vec![], 0), Err(LayoutError::NoPlaces));
    let offsets = LayoutError::Offsets { index: 0, value: 1, length: 2 };
    assert_eq!(RowRuns::new(vec![1, 2], vec![0], 1), Err(offsets));
    let two = RowRuns::new(vec![0, 3, 5], vec![1, 0], 2).unwrap();
    assert_eq!(move_fewest(&two, &[None], 2), places(1, 2));
    assert_eq!(move_fewest(&two, &[Some(7), None], 2), places(8, 2));
    let other = RowRuns::new(vec![0, 3], vec![0], 1).unwrap();
    assert_eq!(run_transfers(&two, &other), Err(LayoutError::Rows { from: 5, to: 3 }));
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let (from, to) = (RowBlocks::even(5, 1).unwrap(), RowBlocks::even(5, 2).unwrap());
    let moves = transfers(&from, &to).unwrap();
    let table = LayoutError::Table { given: 1, rows: 5 };
    assert_eq!(relabel(&from, &to, Some(&[0, 1])), Err(table.clone()));
    assert_eq!(relabel_nodes(&from, &to, Some(&[0, 1]), &[true], &[0, 0]), Err(table));
    let outside = LayoutError::Outside { start: 0, end: 3, rows: 1 };
    assert_eq!(moved_weight(&moves, Some(&[0, 1])), Err(outside.clone()));
    assert_eq!(crossing(&moves, &[0, 0], Some(&[0, 1])), Err(outside));
    assert_eq!(crossing(&moves, &[0], None), Err(LayoutError::NoNode { process: 1, given: 1 }));
    let owners = LayoutError::Places { given: 1, places: 2 };
    assert_eq!(block_transfers(&to, &[0, 1], &[0]), Err(owners));
}
