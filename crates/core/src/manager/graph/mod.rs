//! The graph: records of tasks and blocks, and how they come, fail and go.

mod blocks;
mod chains;
mod failures;
mod functions;
mod keeping;
mod lifetime;
mod origins;
mod ready;
mod recent;
mod reports;
mod shares;
mod submission;
mod tasks;
mod templates;

pub(in crate::manager) use blocks::{
    AdoptedFile, Adoption, Block, Blocks, ClientPin, ClientPinStage, Data, Extra, Want, WantStage,
};
pub(in crate::manager) use chains::Chains;
pub(in crate::manager) use functions::{Functions, UNMEASURED_NS};
use origins::Origins;
pub(in crate::manager) use ready::{Classes, Entry, Queue, rank};
use recent::Recent;
pub(in crate::manager) use reports::ended;
pub(in crate::manager) use shares::Shares;
pub(in crate::manager) use tasks::{AGAIN, Slots, Stage, Task, Tasks};
use templates::{Template, Templates};

use super::api::Explanation;
use super::table::{BlockSlot, TaskSlot};
use freestone_base::{FunctionId, Name, WorkerId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Tasks and blocks: the records, which all read, and what the graph alone remembers.
#[derive(Serialize, Deserialize)]
pub(in crate::manager) struct Graph {
    pub tasks: Tasks,
    pub blocks: Blocks,
    pub functions: Functions,
    /// Blocks that something needs less than before.
    pub dirty: Vec<BlockSlot>,
    /// Blocks that can't be made again and are lost, and where calls may say why.
    pub vanished: BTreeMap<BlockSlot, WorkerId>,
    /// Tasks whose inputs are all there now.
    newly_ready: Vec<TaskSlot>,
    /// The last stamp of an entry in a queue.
    stamp: u32,
    recent: Recent,
    #[serde(skip)]
    pub templates: Templates,
    origins: Origins,
}

impl Graph {
    /// Without tasks and blocks.
    pub fn new() -> Self {
        Self {
            tasks: Tasks::new(),
            blocks: Blocks::new(),
            functions: Functions::default(),
            dirty: Vec::new(),
            vanished: BTreeMap::new(),
            newly_ready: Vec::new(),
            stamp: 0,
            recent: Recent::default(),
            templates: Templates::default(),
            origins: Origins::default(),
        }
    }

    /// The call that made a block, if it ended lately and nothing else is left of it.
    pub fn ended_lately(&self, name: &Name) -> Option<(FunctionId, Explanation)> {
        self.recent.find(name)
    }

    /// The entry of a task in the queue that it is put into now.
    pub fn enter(&mut self, task: TaskSlot) -> Entry {
        self.stamp = self.stamp.wrapping_add(1);
        self.tasks[task].stamp = self.stamp;
        (task, self.stamp)
    }

    /// How many tasks come before a task, one after the other.
    pub fn depth(&self, task: TaskSlot) -> u32 {
        let first = self.tasks[task].outputs.first();
        first.and_then(|slot| self.blocks.get(*slot)).map_or(0, |block| block.depth)
    }

    /// Nothing refers to a block any more.
    fn forget(&mut self, slot: BlockSlot) {
        self.vanished.remove(&slot);
        self.origins.forget(&self.blocks[slot].name);
        self.blocks.remove(slot);
    }
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
