//! Workers that were out of reach and come back with their caches.
//!
//! Each comes back under a new number: what it ran was given to others meanwhile, and what it
//! holds is as good as ever. A block that is there again need not be made again.
//!
//! See docs/decisions/009-a-worker-that-reconnects-gets-a-new-id.md

use crate::manager::Manager;
use crate::manager::api::{Action, Why};
use crate::manager::graph::{Data, Stage};
use crate::manager::table::{BlockSlot, TaskSlot};
use crate::wire::BlockDesc;
use freestone_base::WorkerId;

impl Manager {
    /// Whether a worker is here under this number.
    pub fn has_joined(&self, worker: WorkerId) -> bool {
        self.members.workers.get(worker).is_some()
    }

    /// The end of the former connection may not have been noticed.
    pub(in crate::manager) fn end_former(&mut self, former: WorkerId, id: WorkerId) {
        if self.members.workers.get(former).is_some() {
            self.out.push(Action::Disconnect(former, format!("it came back as {id}")));
            self.on_left(former);
        }
    }

    /// A worker that came back tells what it has.
    pub(in crate::manager) fn take_back_cache(&mut self, blocks: Vec<BlockDesc>, id: WorkerId) {
        for desc in blocks {
            let name = desc.name;
            let known = self.graph.blocks.find(&name);
            if let Some(slot) = known.filter(|slot| self.graph.blocks[*slot].failure().is_some()) {
                if !self.is_lost(slot) {
                    self.drop_at(id, name);
                    continue;
                }
                self.graph.blocks[slot].data = Data::Absent;
            }
            self.on_have(id, desc, None);
            let producer =
                self.graph.blocks.find(&name).and_then(|slot| self.graph.blocks[slot].producer);
            if let Some(task) = producer {
                self.conclude(task, id);
            }
        }
    }

    /// Whether a block failed only since nobody had it any more.
    fn is_lost(&self, slot: BlockSlot) -> bool {
        let block = &self.graph.blocks[slot];
        block.producer.is_none()
            && block.failure().is_some_and(
                |failure| matches!(failure.why, Why::InputLost(lost) if lost == block.name),
            )
    }

    /// A task whose outputs are all there need not run.
    fn conclude(&mut self, task: TaskSlot, id: WorkerId) {
        let record = &self.graph.tasks[task];
        let is_there = record.outputs.iter().all(|slot| self.graph.blocks[*slot].is_available());
        if record.stage.is_done() || !is_there {
            return;
        }
        self.withdraw(task);
        self.counts.waiting -= 1;
        self.graph.tasks[task].stage = Stage::Done(id);
        self.end_use(task, true);
        if !self.graph.is_lineage_needed(task) {
            self.graph.remove_lineage(task);
        }
    }
}
