//! How rows are dealt to ranks: evenly, or as functions of the program say.

use super::Job;
use crate::data::Description;
use crate::error::{MalleableError, Result};
use freestone_base::layout::{RowBlocks, RowRuns};

/// Where each rank's rows begin, and where the last one's end, for so many rows and ranks.
type Offsets = dyn Fn(u64, usize) -> std::result::Result<Vec<u64>, String> + Send;
/// The rank that has a row, for so many rows and ranks, and where the rows end that it has from
/// there on; or why there is none.
type Owner = dyn Fn(u64, usize, u64) -> std::result::Result<(u64, u64), String> + Send;

/// A function of the program that deals rows.
pub enum Layout {
    /// One run of rows to each rank, in the order of the ranks.
    Offsets(Box<Offsets>),
    /// Any number of runs to each rank.
    Owner(Box<Owner>),
}

impl Layout {
    /// How so many rows are dealt to so many ranks; or what is wrong with that.
    fn deal(&self, rows: u64, ranks: usize) -> std::result::Result<RowRuns, String> {
        match self {
            Self::Offsets(offsets) => in_blocks(offsets(rows, ranks)?, rows, ranks),
            Self::Owner(owner) => in_runs(&**owner, rows, ranks),
        }
    }
}

fn in_blocks(offsets: Vec<u64>, rows: u64, ranks: usize) -> std::result::Result<RowRuns, String> {
    let blocks = RowBlocks::from_offsets(offsets).map_err(|error| error.to_string())?;
    let (covered, places) = (blocks.rows(), blocks.places());
    if (covered, places) == (rows, ranks) {
        return Ok(RowRuns::from(&blocks));
    }
    Err(format!("it covers {covered} of {rows} rows on {places} of {ranks} ranks"))
}

/// Asks for the owner of row 0, then of the row where its rows end: so none is left out, or has two.
fn in_runs(owner: &Owner, rows: u64, ranks: usize) -> std::result::Result<RowRuns, String> {
    let (mut bounds, mut rank_of) = (vec![0], Vec::new());
    let mut row = 0;
    while row < rows {
        let (rank, end) = owner(rows, ranks, row)?;
        let given = usize::try_from(rank).unwrap_or(usize::MAX);
        if given >= ranks {
            return Err(format!("it gives row {row} to rank {rank}, and there are {ranks} ranks"));
        }
        if end <= row || end > rows {
            return Err(format!(
                "it gives rows {row} to {end} to rank {rank}: the end is more than {row}, and {rows} \
                 at most"
            ));
        }
        if rank_of.last() == Some(&given) {
            bounds.pop();
        } else {
            rank_of.push(given);
        }
        bounds.push(end);
        row = end;
    }
    RowRuns::new(bounds, rank_of, ranks).map_err(|error| error.to_string())
}

impl Job {
    /// How rows are dealt to so many ranks, by the program's own function if it has one.
    pub(super) fn layout(&self, description: &Description, ranks: usize) -> Result<RowRuns> {
        let rows = description.rows().unwrap_or_default();
        let Some(layout) = &self.settings.layout else {
            return Ok(RowRuns::from(&RowBlocks::even(rows, ranks)?));
        };
        let dealt = layout.deal(rows, ranks).and_then(|dealt| {
            if description.needs_one_run() { one_run_each(dealt) } else { Ok(dealt) }
        });
        let name = description.name.clone();
        dealt.map_err(|problem| MalleableError::Layout { name, ranks, problem })
    }
}

/// Requires that no rank has several runs.
fn one_run_each(dealt: RowRuns) -> std::result::Result<RowRuns, String> {
    let mut has_one = vec![false; dealt.places()];
    for (rows, rank) in dealt.runs() {
        if std::mem::replace(&mut has_one[rank], true) {
            return Err(format!(
                "it gives rank {rank} a second run of rows, from row {} on, and its functions take \
                 one: register them by fsm_register_user_runs",
                rows.start
            ));
        }
    }
    Ok(dealt)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(
        rows: u64,
        ranks: usize,
        owner: impl Fn(u64) -> (u64, u64) + Send + 'static,
    ) -> Layout {
        Layout::Owner(Box::new(move |its_rows, its_ranks, row| {
            assert_eq!((its_rows, its_ranks), (rows, ranks));
            Ok(owner(row))
        }))
    }

    fn starts(layout: &RowRuns, rank: usize) -> Vec<u64> {
        layout.of(rank).iter().map(|rows| rows.start).collect()
    }

    #[test]
    fn each_row_has_one_owner_and_neighbours_of_one_rank_are_one_run() {
        let by_row = dealt(10, 3, |row| ([0, 0, 2, 2, 2, 0, 1, 1, 1, 1][row as usize], row + 1));
        let found = by_row.deal(10, 3).unwrap();
        assert_eq!((found.bounds(), starts(&found, 0)), (&[0, 2, 5, 6, 10][..], vec![0, 5]));
        assert_eq!((starts(&found, 1), starts(&found, 2)), (vec![6], vec![2]));
        let by_block = dealt(10, 2, |row| (row / 5, row + 5)).deal(10, 2).unwrap();
        assert_eq!((by_block.bounds(), starts(&by_block, 1)), (&[0, 5, 10][..], vec![5]));
        let none = dealt(0, 2, |_| (0, 0)).deal(0, 2).unwrap();
        assert_eq!((none.rows(), starts(&none, 1)), (0, vec![]));
    }

    #[test]
    fn rows_that_no_rank_has_are_named() {
        let problem = |owner: fn(u64) -> (u64, u64)| dealt(9, 2, owner).deal(9, 2).unwrap_err();
        assert_eq!(
            problem(|row| (row / 4, row + 1)),
            "it gives row 8 to rank 2, and there are 2 ranks"
        );
        let text = problem(|row| (0, if row == 3 { 3 } else { row + 1 }));
        assert_eq!(text, "it gives rows 3 to 3 to rank 0: the end is more than 3, and 9 at most");
        let text = problem(|_| (1, 10));
        assert_eq!(text, "it gives rows 0 to 10 to rank 1: the end is more than 0, and 9 at most");
    }

    #[test]
    fn functions_that_take_one_run_are_given_no_more() {
        let dealt = RowRuns::new(vec![0, 2, 4, 6], vec![1, 0, 1], 2).unwrap();
        let text = one_run_each(dealt).unwrap_err();
        assert!(text.starts_with("it gives rank 1 a second run of rows, from row 4 on"), "{text}");
        assert!(one_run_each(RowRuns::new(vec![0, 2, 4], vec![1, 0], 3).unwrap()).is_ok());
    }
}
