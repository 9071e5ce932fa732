//! The resize as a state machine: what a rank does next. No MPI, no clock, no memory.
//!
//! States, transitions and invariants are in the README beside this file.

mod machine;
mod vote;

pub use machine::{Action, Disagreement, Facts, Machine, Outcome, State, Word, disagreement};
pub use vote::{Tally, Vote, WORDS};

#[cfg(test)]
mod tests;
