//! What tests of queues and variables have in common.

use crate::manager::tests::Play;
use crate::manager::{Given, Outcome, SharedRequest};
use freestone_base::Name;

/// The name of the block with a number.
pub fn name(number: u64) -> Name {
    Name::of(&number.to_le_bytes())
}

/// An entry leaves; what others are given for it.
pub fn leave(play: &mut Play, hold: u64) -> Vec<(u64, Given)> {
    play.request(SharedRequest::Leave { hold }.into());
    given(play)
}

/// What the last request gave, by entries.
pub fn given(play: &Play) -> Vec<(u64, Given)> {
    let outcomes = play.outcomes().into_iter();
    outcomes
        .filter_map(|(ticket, outcome)| match outcome {
            Outcome::Given(given) => Some((ticket, given)),
            _ => None,
        })
        .collect()
}
