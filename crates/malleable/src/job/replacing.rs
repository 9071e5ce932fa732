//! Rows that come and go while the job runs.

use super::Job;
use super::together::{agree, gather};
use crate::data::{Array, Content, Form, Kind, together};
use crate::error::{MalleableError, Result};
use crate::resize::State;
use freestone_base::layout::{RowBlocks, RowRuns};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What one rank gives.
#[derive(Deserialize, Serialize)]
struct Given {
    names: Vec<String>,
    count: u64,
    problem: Option<String>,
}

impl Job {
    /// Gives variable data other numbers of rows, any on each rank; all ranks call it together.
    ///
    /// Rows in memory of this crate get another address. The first ones keep their bytes, and those
    /// that are new are zero. No row is sent: rank 0's rows come first, then rank 1's. A resize that
    /// goes on is cancelled at the next checkpoint, and begun anew; then the program waits for it.
    ///
    /// # Errors
    ///
    /// On all ranks, if what one of them gives makes no sense, or it has no memory; then nothing
    /// has changed. If one of them makes another call, none can go on.
    pub fn set_rows(&mut self, names: &[String], count: u64) -> Result<()> {
        let Some(control) = self.control.filter(|_| !self.is_joining()) else {
            let text = "a rank that has not joined yet, or has left, has no rows to replace";
            return Err(MalleableError::BadCall(text.to_owned()));
        };
        if !matches!(self.machine.state(), State::Running | State::Spawning | State::Moving) {
            let text = "rows can't be replaced in a user phase: commit the resize first";
            return Err(MalleableError::BadCall(text.to_owned()));
        }
        self.meet("replaces rows".to_owned())?;
        let problem = self.unfit(names, count);
        let own = Given { names: names.to_vec(), count, problem };
        let (own, timeout) = (postcard::to_stdvec(&own)?, self.settings.timeout);
        let found = gather(&*self.mpi, control, &own, timeout, "replacing rows")?;
        let found: Vec<Given> = found
            .iter()
            .map(|bytes| postcard::from_bytes(bytes))
            .collect::<std::result::Result<_, _>>()?;
        let mut offsets = vec![0_u64];
        for given in &found {
            offsets.push(offsets[offsets.len() - 1].saturating_add(given.count));
        }
        let total = offsets[offsets.len() - 1];
        if let Some(text) = disagreement(&found, total) {
            return Err(MalleableError::BadCall(text));
        }
        let own = offsets[self.rank]..offsets[self.rank + 1];
        let held = vec![own];
        let deal = together(names);
        let made: Result<Vec<(usize, Array)>> = (self.arrays.iter().enumerate())
            .filter(|(_, array)| {
                names.contains(&array.description.name) && matches!(array.content, Content::Rows(_))
            })
            .map(|(at, array)| Ok((at, with_rows(array, total, deal, &held)?)))
            .collect();
        let who = |rank: usize| format!("rank {rank}");
        let step = self.machine.step();
        let made = agree(&*self.mpi, control, made, step, who, timeout, "replacing rows")?;
        for (at, array) in made {
            self.arrays[at] = array;
        }
        for array in &mut self.arrays {
            if names.contains(&array.description.name) {
                array.description = array.description.with_rows(total, deal);
                array.held.clone_from(&held);
            }
        }
        self.layouts.insert(deal, RowRuns::from(&RowBlocks::from_offsets(offsets)?));
        let is_used =
            |deal: &u64| self.arrays.iter().any(|array| array.description.deal() == Some(*deal));
        self.layouts.retain(|deal, _| is_used(deal));
        self.is_stale = self.machine.state() != State::Running;
        self.replacements += 1;
        Ok(())
    }

    /// Why this rank can't replace so many rows, if it can't.
    fn unfit(&self, names: &[String], count: u64) -> Option<String> {
        if names.is_empty() {
            return Some("no data is named: name what has other rows from now on".to_owned());
        }
        for (at, name) in names.iter().enumerate() {
            if names[..at].contains(name) {
                return Some(format!("{name:?} is named twice: name each once"));
            }
            let array = match self.array(name) {
                Ok(array) => array,
                Err(error) => return Some(error.to_string()),
            };
            let description = &array.description;
            match description.form {
                Form::Rows { kind: Kind::Variable, row_nbytes, .. } => {
                    if count.checked_mul(row_nbytes).is_none_or(|n| isize::try_from(n).is_err()) {
                        return Some(format!("{count} rows of {description} are too many"));
                    }
                }
                Form::User { .. } => {}
                _ => return Some(format!("{description} has no rows that come and go")),
            }
        }
        None
    }

    /// What joining ranks have registered, with the rows that there are by now.
    pub(super) fn adopt_descriptions(&mut self) -> Result<()> {
        let data = self.plan()?.data.clone();
        for (array, others) in self.arrays.iter_mut().zip(data) {
            if array.description == others {
                continue;
            }
            if matches!(array.content, Content::Rows(_)) {
                *array = Array::rows(others, Vec::new())?;
            } else {
                array.description = others;
            }
        }
        Ok(())
    }
}

/// The same data with other rows, of which the first have the bytes of those that are there.
fn with_rows(array: &Array, total: u64, deal: u64, held: &[Range<u64>]) -> Result<Array> {
    let made = Array::rows(array.description.with_rows(total, deal), held.to_vec())?;
    for Range { start, end } in held {
        let mut row = *start;
        for run in &array.held {
            let rows = (run.end - run.start).min(end - row);
            if rows > 0 {
                let nbytes = (rows * array.row_nbytes()) as usize;
                // SAFETY: rows that are held, of two storages.
                unsafe {
                    std::ptr::copy_nonoverlapping(array.at(run.start), made.at(row), nbytes);
                }
            }
            row += rows;
        }
    }
    Ok(made)
}

fn disagreement(found: &[Given], total: u64) -> Option<String> {
    let first = found.first()?;
    for (rank, given) in found.iter().enumerate() {
        if let Some(problem) = &given.problem {
            return Some(format!("rank {rank}: {problem}"));
        }
        if given.names != first.names {
            return Some(format!(
                "rank 0 replaces the rows of {:?} and rank {rank} those of {:?}: replace the same on \
                 all ranks, in one order",
                first.names, given.names
            ));
        }
    }
    (isize::try_from(total).is_err()).then(|| format!("{total} rows are too many"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(names: &[&str], count: u64, problem: Option<&str>) -> Given {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Given { names, count, problem: problem.map(str::to_owned) }
    }

    #[test]
    fn who_disagrees_is_named() {
        let x = || given(&["x"], 3, None);
        assert_eq!(disagreement(&[x(), x()], 6), None);
        let text = disagreement(&[x(), given(&["y"], 3, None)], 6).unwrap();
        assert!(text.contains("[\"x\"] and rank 1 those of [\"y\"]"), "{text}");
        let text = disagreement(&[x(), given(&["x"], 0, Some("too many"))], 3).unwrap();
        assert_eq!(text, "rank 1: too many");
    }
}
