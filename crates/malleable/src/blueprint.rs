//! The plan of one resize: who stays, who becomes which rank, and which rows move.

use crate::data::{Description, Form};
use crate::error::Result;
use freestone_base::layout::{self, RowBlocks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// Whether processes stay.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Method {
    /// Processes stay, as many as are needed.
    Merge,
    /// All processes are replaced.
    Baseline,
}

/// How rows are dealt, by their [`Description::deal`]: the offsets of [`RowBlocks`].
pub type Layouts = BTreeMap<u64, Vec<u64>>;

/// All that sources and joining ranks have to know of a resize. Rank 0 draws it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Blueprint {
    /// The step of the sources.
    pub step: i64,
    /// How many processes have the data.
    pub sources: usize,
    /// How many are started.
    pub joining: usize,
    /// The process of each new rank: sources in the order of their ranks, then joining ranks.
    pub process_of: Vec<usize>,
    /// The group that each source was spawned in.
    pub groups: Vec<u32>,
    /// How rows are dealt before.
    pub before: Layouts,
    /// How rows are dealt after.
    pub after: Layouts,
    /// What is registered.
    pub data: Vec<Description>,
    /// The settings by their names, which joining ranks have to have, too.
    pub settings: Vec<(String, String)>,
}

/// Rows that one process sends to another.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Move {
    /// Who has them.
    pub source: usize,
    /// Who shall have them; the source itself for rows that stay.
    pub target: usize,
    /// Which.
    pub rows: Range<u64>,
}

impl Blueprint {
    /// Draws the plan of a resize from `groups.len()` ranks to as many as `after` deals rows to.
    ///
    /// The rows that weigh most decide who becomes which rank, so that the fewest bytes move; see
    /// [`layout::relabel_staying`].
    ///
    /// # Errors
    ///
    /// If the layouts can't be compared.
    pub fn draw(
        step: i64,
        size: usize,
        method: Method,
        groups: &[u32],
        data: &[Description],
        (before, after): (&Layouts, Layouts),
    ) -> Result<Self> {
        let sources = groups.len();
        let gone = match method {
            Method::Baseline => vec![true; sources],
            Method::Merge => leaving(groups, sources.saturating_sub(size)),
        };
        let joining = match method {
            Method::Baseline => size,
            Method::Merge => size.saturating_sub(sources),
        };
        let may_stay: Vec<bool> = gone.iter().map(|gone| !gone).collect();
        let (old, new) = match heaviest(data) {
            Some(deal) => (blocks(before, deal, sources)?, blocks(&after, deal, size)?),
            None => (RowBlocks::even(0, sources)?, RowBlocks::even(0, size)?),
        };
        let process_of = layout::relabel_staying(&old, &new, None, &may_stay)?.process_of;
        Ok(Self {
            step,
            sources,
            joining,
            process_of,
            groups: groups.to_vec(),
            before: before.clone(),
            after,
            data: data.to_vec(),
            settings: Vec::new(),
        })
    }

    /// The new rank of a process, if it stays.
    pub fn rank_of(&self, process: usize) -> Option<usize> {
        self.process_of.iter().position(|each| *each == process)
    }

    /// The rows that a process has afterwards.
    ///
    /// # Errors
    ///
    /// If there are no such rows.
    pub fn rows_after(&self, deal: u64, process: usize) -> Result<Range<u64>> {
        let Some(rank) = self.rank_of(process) else { return Ok(0..0) };
        Ok(blocks(&self.after, deal, self.process_of.len())?.of(rank))
    }

    /// All runs of rows with who has and who shall have them, in order.
    ///
    /// # Errors
    ///
    /// If there are no such rows.
    pub fn moves(&self, deal: u64) -> Result<Vec<Move>> {
        let old = blocks(&self.before, deal, self.sources)?;
        let new = blocks(&self.after, deal, self.process_of.len())?;
        let found = layout::transfers(&old, &new)?.into_iter();
        Ok(found
            .map(|one| Move {
                source: one.source,
                target: self.process_of[one.target],
                rows: one.rows,
            })
            .collect())
    }

    /// The group that each new rank was spawned in.
    pub fn groups_after(&self) -> Vec<u32> {
        let next = self.groups.iter().max().map_or(0, |newest| newest + 1);
        self.process_of
            .iter()
            .map(|process| self.groups.get(*process).copied().unwrap_or(next))
            .collect()
    }
}

/// Which ranks leave in whole groups, the newest first; at most `count` of them. Who leaves
/// without its group waits for it at its end, so the rest may be anyone.
fn leaving(groups: &[u32], count: usize) -> Vec<bool> {
    let mut newest: Vec<u32> = groups.to_vec();
    newest.sort_unstable_by(|a, b| b.cmp(a));
    newest.dedup();
    let mut gone = vec![false; groups.len()];
    let mut left = count;
    for group in newest {
        let members = groups.iter().filter(|its| **its == group).count();
        if members <= left {
            left -= members;
            gone.iter_mut().zip(groups).for_each(|(gone, its)| *gone |= *its == group);
        }
    }
    gone
}

/// The deal whose data is largest.
fn heaviest(data: &[Description]) -> Option<u64> {
    let mut weights = BTreeMap::new();
    for one in data {
        if let (Some(rows), Some(deal)) = (one.rows(), one.deal()) {
            let nbytes = match one.form {
                Form::Rows { row_nbytes, .. } => rows.saturating_mul(row_nbytes),
                // What it takes is known when it is packed; it counts if nothing else does.
                _ => rows,
            };
            let weight: &mut u64 = weights.entry(deal).or_default();
            *weight = weight.saturating_add(nbytes);
        }
    }
    weights.into_iter().max_by_key(|(_, weight)| *weight).map(|(deal, _)| deal)
}

fn blocks(layouts: &Layouts, deal: u64, places: usize) -> Result<RowBlocks> {
    match layouts.get(&deal) {
        Some(offsets) => Ok(RowBlocks::from_offsets(offsets.clone())?),
        None => Ok(RowBlocks::even(deal, places)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Kind;

    fn x(rows: u64) -> Description {
        Description::new("x", Form::Rows { rows, row_nbytes: 8, kind: Kind::Variable })
    }

    fn drawn(size: usize, method: Method, groups: &[u32]) -> Blueprint {
        let layouts = (&Layouts::new(), Layouts::new());
        Blueprint::draw(3, size, method, groups, &[x(1000)], layouts).unwrap()
    }

    #[test]
    fn every_row_comes_to_the_rank_that_shall_have_it() {
        for before in 1..9 {
            for after in 1..9 {
                for method in [Method::Merge, Method::Baseline] {
                    let plan = drawn(after, method, &vec![0; before]);
                    let mut next = 0;
                    for one in plan.moves(1000).unwrap() {
                        assert_eq!(one.rows.start, next);
                        next = one.rows.end;
                        let whole = plan.rows_after(1000, one.target).unwrap();
                        assert!(whole.start <= one.rows.start && one.rows.end <= whole.end);
                        assert!(one.source < before);
                    }
                    assert_eq!(next, 1000);
                    let processes = before + plan.joining;
                    assert!(plan.process_of.iter().all(|process| *process < processes));
                }
            }
        }
    }

    #[test]
    fn with_baseline_nobody_stays() {
        let plan = drawn(3, Method::Baseline, &[0, 0]);
        assert_eq!((plan.joining, plan.process_of), (3, vec![2, 3, 4]));
    }

    #[test]
    fn whole_groups_leave_the_newest_first() {
        let plan = drawn(2, Method::Merge, &[0, 1, 0, 1]);
        assert_eq!(plan.groups_after(), [0, 0]);
        assert_eq!(drawn(5, Method::Merge, &[0, 0, 3]).groups_after().iter().max(), Some(&4));
    }
}
