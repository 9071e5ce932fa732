//! Which worker runs what, and when it is sent there.

mod categories;
mod dispatch;
mod ending;
#[cfg(test)]
mod near_tests;
mod pausing;
mod placement;
#[cfg(test)]
mod shares_tests;
mod speculation;
mod stealing;

pub(in crate::manager) use dispatch::is_ahead;

use super::graph::{Classes, Shares};
use super::table::TaskSlot;
use freestone_base::WorkerId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What scheduling remembers from one event to the next. Its fields are for this folder.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::manager) struct Schedule {
    /// Ready tasks that any worker may take.
    pub classes: Classes,
    /// Whose turn it is.
    shares: Shares,
    categories: categories::Categories,
    outlook: ending::Outlook,
    /// First attempts of tasks that were given to a second worker.
    stragglers: BTreeMap<TaskSlot, speculation::First>,
    /// Where first attempts were ended since work was last given out.
    freed: Vec<WorkerId>,
}
