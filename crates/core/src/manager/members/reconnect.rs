//! Workers that were out of reach and come back with their caches.
//!
//! Each comes back under a new number: what it ran was given to others meanwhile, and what it
//! holds is as good as ever. A block that is there again need not be made again.
//!
//! See docs/decisions/009-a-worker-that-reconnects-gets-a-new-id.md

use crate::manager::Manager;
use crate::manager::api::Action;
use crate::manager::graph::Stage;
use crate::manager::table::TaskSlot;
use crate::wire::BlockDesc;
use freestone_base::WorkerId;

impl Manager {
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
            let failed = |slot| self.graph.blocks[slot].failure().is_some();
            if self.graph.blocks.find(&name).is_some_and(failed) {
                self.drop_at(id, name);
                continue;
            }
            self.on_have(id, desc, None);
            let producer =
                self.graph.blocks.find(&name).and_then(|slot| self.graph.blocks[slot].producer);
            if let Some(task) = producer {
                self.conclude(task, id);
            }
        }
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
