//! Which place holds which rows, and what has to move when the places change.
//!
//! Rows are dealt to places in order: place `p` has the rows from `bounds[p]` to `bounds[p + 1]`
//! ([`RowBlocks`]), or in runs, any number to a place ([`RowRuns`]), or in many small blocks
//! ([`blocks`]). [`transfers`] says
//! who sends which rows to whom, [`relabel`] which process should become which place, so that the
//! fewest bytes move, and [`nodes`] the same when a node's network card is what is scarce. All of
//! it is pure: who moves the bytes is somebody else's business.

pub mod blocks;
pub mod nodes;
pub mod relabel;
pub mod rows;
pub mod runs;
pub mod transfers;

pub use relabel::{Relabelling, relabel, relabel_staying};
pub use rows::{LayoutError, RowBlocks};
pub use runs::{RowRuns, move_fewest, run_transfers};
pub use transfers::{Transfer, moved_weight, transfers};

#[cfg(test)]
mod tests;
