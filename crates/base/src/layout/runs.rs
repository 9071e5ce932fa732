//! Any number of runs of rows to a place, so that a resize moves no more rows than it has to: those
//! of places that end, and what the others have too many. Contiguous blocks move about half of all
//! rows whenever a place comes or goes, or a quarter if places choose their processes.
//!
//! See docs/decisions/114-rows-that-move-least-lie-in-runs-that-grow-together-again.md

use super::rows::{LayoutError, RowBlocks, check_offsets, count_places};
use super::transfers::{Transfer, overlaps};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

/// Rows dealt to places in runs; a place may have several of them, or none.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct RowRuns {
    /// Where each run begins, and where the last one ends.
    bounds: Vec<u64>,
    /// The place of each run.
    place_of: Vec<usize>,
    places: usize,
}

impl From<&RowBlocks> for RowRuns {
    /// One run to each place, empty ones too.
    fn from(blocks: &RowBlocks) -> Self {
        let places = blocks.places();
        Self { bounds: blocks.offsets().to_vec(), place_of: (0..places).collect(), places }
    }
}

impl RowRuns {
    /// A layout by the table of where its runs begin, and where the last one ends, and by the place
    /// of each.
    ///
    /// # Errors
    /// [`LayoutError::NoPlaces`], [`LayoutError::Offsets`]; [`LayoutError::Places`] if there is not
    /// one place for each run, or there is no such place.
    pub fn new(bounds: Vec<u64>, place_of: Vec<usize>, places: usize) -> Result<Self, LayoutError> {
        count_places(places)?;
        check_offsets(&bounds)?;
        let runs = bounds.len() - 1;
        if place_of.len() != runs {
            return Err(LayoutError::Places { given: place_of.len(), places: runs });
        }
        match place_of.iter().find(|place| **place >= places) {
            Some(place) => Err(LayoutError::Places { given: place + 1, places }),
            None => Ok(Self { bounds, place_of, places }),
        }
    }

    /// How many places there are.
    pub fn places(&self) -> usize {
        self.places
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.bounds[self.bounds.len() - 1]
    }

    /// Where each run begins, and where the last one ends.
    pub fn bounds(&self) -> &[u64] {
        &self.bounds
    }

    /// The same as one block to each place, if it is.
    pub fn blocks(&self) -> Option<RowBlocks> {
        let is_so = self.place_of.iter().copied().eq(0..self.places);
        RowBlocks::from_offsets(self.bounds.clone()).ok().filter(|_| is_so)
    }

    /// All runs and their places, in the order of the rows.
    pub fn runs(&self) -> impl Iterator<Item = (Range<u64>, usize)> + '_ {
        let starts_and_ends = self.bounds.windows(2);
        starts_and_ends.zip(&self.place_of).map(|(pair, place)| (pair[0]..pair[1], *place))
    }

    /// The runs of a place, in the order of the rows.
    pub fn of(&self, place: usize) -> Vec<Range<u64>> {
        self.runs().filter(|(_, its)| *its == place).map(|(rows, _)| rows).collect()
    }

    /// The place that has a row, if there is such a row.
    pub fn place_of(&self, row: u64) -> Option<usize> {
        let run = self.bounds.partition_point(|bound| *bound <= row);
        self.place_of.get(run.checked_sub(1)?).copied()
    }
}

/// All common rows of an old and a new place, in the order of the rows; none is empty.
///
/// # Errors
/// [`LayoutError::Rows`] if the layouts are not of the same rows.
pub fn run_transfers(from: &RowRuns, to: &RowRuns) -> Result<Vec<Transfer>, LayoutError> {
    overlaps(from.runs(), to.runs(), (from.rows(), to.rows()))
}

/// As many rows for each place as for any other, or one more, so that no such layout moves fewer.
///
/// `becomes`: for each old place the new one of the same process, if there is one. Rows that have
/// to move go to a neighbour of theirs if it has too few, so that runs grow together again.
/// `runs · log runs`.
///
/// # Errors
/// [`LayoutError::NoPlaces`]; [`LayoutError::Places`] if there is not one entry for each old place,
/// or there is no such new one.
pub fn move_fewest(
    before: &RowRuns,
    becomes: &[Option<usize>],
    places: usize,
) -> Result<RowRuns, LayoutError> {
    count_places(places)?;
    if becomes.len() != before.places() {
        return Err(LayoutError::Places { given: becomes.len(), places: before.places() });
    }
    let mut kept = vec![Vec::new(); places];
    let mut freed = Vec::new();
    for (rows, place) in before.runs().filter(|(rows, _)| !rows.is_empty()) {
        let runs = match becomes[place] {
            Some(new) => {
                let wrong = LayoutError::Places { given: new + 1, places };
                kept.get_mut(new).ok_or(wrong)?
            }
            None => &mut freed,
        };
        runs.push(rows);
    }
    let has: Vec<u64> = kept.iter().map(|runs| count(runs)).collect();
    let quotas = quotas(&has, before.rows());
    for (runs, (has, quota)) in kept.iter_mut().zip(has.iter().zip(&quotas)) {
        give(runs, has.saturating_sub(*quota), &mut freed);
    }
    freed.sort_unstable_by_key(|rows| rows.start);
    let needs = has.iter().zip(&quotas).map(|(has, quota)| quota.saturating_sub(*has)).collect();
    let runs = kept.into_iter().enumerate();
    let runs = runs.flat_map(|(place, runs)| runs.into_iter().map(move |rows| (rows, place)));
    Ok(joined(taken(runs.collect(), freed, needs), places))
}

fn count(runs: &[Range<u64>]) -> u64 {
    runs.iter().map(|rows| rows.end - rows.start).sum()
}

/// How many rows each place shall have; who has most already gets one more.
fn quotas(has: &[u64], rows: u64) -> Vec<u64> {
    let places = has.len() as u64;
    let mut quotas = vec![rows / places; has.len()];
    let mut order: Vec<usize> = (0..has.len()).collect();
    order.sort_by_key(|place| Reverse(has[*place]));
    for place in order.into_iter().take((rows % places) as usize) {
        quotas[place] += 1;
    }
    quotas
}

/// Takes rows from a place: its smallest runs, and the end of one more.
fn give(runs: &mut Vec<Range<u64>>, excess: u64, freed: &mut Vec<Range<u64>>) {
    let mut excess = excess;
    runs.sort_by_key(|rows| Reverse(rows.end - rows.start));
    while excess > 0 {
        let Some(rows) = runs.pop() else { return };
        let cut = rows.end - excess.min(rows.end - rows.start);
        excess -= rows.end - cut;
        freed.push(cut..rows.end);
        if rows.start < cut {
            runs.push(rows.start..cut);
        }
    }
}

/// Gives freed rows to places that need some: to their neighbours first, the rest in order.
fn taken(
    runs: Vec<(Range<u64>, usize)>,
    freed: Vec<Range<u64>>,
    needs: Vec<u64>,
) -> Vec<(Range<u64>, usize)> {
    let (mut runs, mut needs) = (runs, needs);
    let mut ends: BTreeMap<u64, usize> = runs.iter().map(|(of, place)| (of.end, *place)).collect();
    let starts: BTreeMap<u64, usize> = runs.iter().map(|(of, place)| (of.start, *place)).collect();
    let mut rest = Vec::new();
    for mut rows in freed {
        let mut take = |place: usize, rows: &Range<u64>| {
            let number = needs[place].min(rows.end - rows.start);
            needs[place] -= number;
            number
        };
        if let Some(place) = ends.get(&rows.start).copied() {
            let end = rows.start + take(place, &rows);
            runs.push((rows.start..end, place));
            ends.insert(end, place);
            rows.start = end;
        }
        if let Some(place) = starts.get(&rows.end).copied() {
            let start = rows.end - take(place, &rows);
            runs.push((start..rows.end, place));
            rows.end = start;
        }
        rest.push(rows);
    }
    let mut place = 0;
    for mut rows in rest {
        while !rows.is_empty() && place < needs.len() {
            let end = rows.start + needs[place].min(rows.end - rows.start);
            runs.push((rows.start..end, place));
            needs[place] -= end - rows.start;
            place += usize::from(needs[place] == 0);
            rows.start = end;
        }
    }
    runs
}

/// The layout of some runs, of which neighbours of one place are one.
fn joined(runs: Vec<(Range<u64>, usize)>, places: usize) -> RowRuns {
    let mut runs = runs;
    runs.retain(|(rows, _)| !rows.is_empty());
    runs.sort_unstable_by_key(|(rows, _)| rows.start);
    let (mut bounds, mut place_of) = (vec![0], Vec::new());
    for (rows, place) in runs {
        if place_of.last() == Some(&place) {
            bounds.pop();
        } else {
            place_of.push(place);
        }
        bounds.push(rows.end);
    }
    RowRuns { bounds, place_of, places }
}
