//! The plan of one resize: who stays, who becomes which rank, and which rows move.

use crate::data::{Description, Form};
use crate::error::{MalleableError, Result};
use freestone_base::layout::{self, RowRuns};
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

/// How rows are dealt, by their [`Description::deal`].
pub type Layouts = BTreeMap<u64, RowRuns>;

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
    /// Draws the plan of a resize from `groups.len()` ranks to `size`.
    ///
    /// Rows are dealt as `after` says, and those that it does not have so that the fewest move. The
    /// rows of `after` that weigh most decide who becomes which rank, so that the fewest bytes move;
    /// see [`layout::relabel_staying`].
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
        let (sources, mut after) = (groups.len(), after);
        let gone = match method {
            Method::Baseline => vec![true; sources],
            Method::Merge => leaving(groups, sources.saturating_sub(size)),
        };
        let joining = match method {
            Method::Baseline => size,
            Method::Merge => size.saturating_sub(sources),
        };
        let may_stay: Vec<bool> = gone.iter().map(|gone| !gone).collect();
        let layout = |layouts: &Layouts| layouts.get(&heaviest(data)?)?.blocks();
        let process_of = match (layout(before), layout(&after)) {
            (Some(old), Some(new)) => {
                layout::relabel_staying(&old, &new, None, &may_stay)?.process_of
            }
            _ => (0..sources).filter(|rank| may_stay[*rank]).chain(sources..).take(size).collect(),
        };
        let becomes: Vec<Option<usize>> =
            (0..sources).map(|rank| process_of.iter().position(|its| *its == rank)).collect();
        for (deal, old) in before {
            if !after.contains_key(deal) {
                after.insert(*deal, layout::move_fewest(old, &becomes, size)?);
            }
        }
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
    pub fn rows_after(&self, deal: u64, process: usize) -> Result<Vec<Range<u64>>> {
        let after = dealt(&self.after, deal)?;
        Ok(self.rank_of(process).map_or_else(Vec::new, |rank| after.of(rank)))
    }

    /// All runs of rows with who has and who shall have them, in order.
    ///
    /// # Errors
    ///
    /// If there are no such rows.
    pub fn moves(&self, deal: u64) -> Result<Vec<Move>> {
        let (old, new) = (dealt(&self.before, deal)?, dealt(&self.after, deal)?);
        let found = layout::run_transfers(old, new)?;
        Ok(found
            .into_iter()
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

fn dealt(layouts: &Layouts, deal: u64) -> Result<&RowRuns> {
    layouts.get(&deal).ok_or_else(|| {
        MalleableError::BadCall(format!("no layout has deal {deal} (a bug; please report it)"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Kind;
    use freestone_base::layout::RowBlocks;

    fn x(rows: u64) -> Description {
        Description::new("x", Form::Rows { rows, row_nbytes: 8, kind: Kind::Variable })
    }

    fn even(ranks: usize) -> Layouts {
        Layouts::from([(1000, RowRuns::from(&RowBlocks::even(1000, ranks).unwrap()))])
    }

    fn drawn(size: usize, method: Method, groups: &[u32]) -> Blueprint {
        let layouts = (&even(groups.len()), even(size));
        Blueprint::draw(3, size, method, groups, &[x(1000)], layouts).unwrap()
    }

    fn fewest(before: &Layouts, size: usize, method: Method, groups: &[u32]) -> Blueprint {
        let layouts = (before, Layouts::new());
        Blueprint::draw(3, size, method, groups, &[x(1000)], layouts).unwrap()
    }

    fn moved(plan: &Blueprint) -> u64 {
        let moves = plan.moves(1000).unwrap();
        let moving = moves.iter().filter(|one| one.source != one.target);
        moving.map(|one| one.rows.end - one.rows.start).sum()
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
                        let whole = &plan.rows_after(1000, one.target).unwrap()[0];
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
    fn rows_without_a_layout_move_as_few_as_they_can() {
        let grown = fewest(&even(7), 8, Method::Merge, &[0; 7]);
        assert_eq!((moved(&grown), moved(&drawn(8, Method::Merge, &[0; 7]))), (125, 284));
        assert_eq!(grown.process_of, (0..8).collect::<Vec<_>>());
        assert_eq!(grown.rows_after(1000, 7).unwrap().len(), 7);
        // The newest group leaves, whose rank has been given another number meanwhile.
        let shrunk = fewest(&grown.after, 7, Method::Merge, &[0, 0, 1, 0, 0, 0, 0, 0]);
        assert_eq!((moved(&shrunk), shrunk.rank_of(2)), (125, None));
        assert_eq!(moved(&fewest(&grown.after, 3, Method::Baseline, &[0; 8])), 1000);
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
