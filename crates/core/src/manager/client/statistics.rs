//! Figures, places, and the end.

use crate::manager::Manager;
use crate::manager::api::{Outcome, Statistics, Why, WorkerFigures};
use crate::manager::members::{Worker, WorkerStage};
use crate::manager::table::{BlockSlot, Table};
use crate::wire::ToWorker;
use freestone_base::{Name, Ticket};

impl Manager {
    pub(in crate::manager) fn on_statistics(&mut self, ticket: Ticket) {
        let statistics = Box::new(self.statistics());
        self.reply(ticket, Outcome::Statistics(statistics));
    }

    fn statistics(&self) -> Statistics {
        let counts = &self.counts;
        Statistics {
            done: counts.done,
            failed: counts.failed,
            answered: counts.answered,
            retried: counts.retried,
            recovered: counts.recovered,
            waiting: counts.waiting,
            ready: counts.ready,
            assigned: counts.assigned,
            stolen: counts.stolen,
            transfers: counts.transfers,
            transferred_nbytes: counts.transferred_nbytes,
            moving: self.transfer.balance.moving(),
            inline_nbytes: counts.inline_nbytes,
            tasks: self.graph.tasks.len() as u64,
            blocks: self.graph.blocks.len() as u64,
            busy_ns: counts.busy_ns,
            workers: self.members.workers.iter().map(figures).collect(),
        }
    }

    pub(in crate::manager) fn on_who_has(&mut self, names: &[Name], ticket: Ticket) {
        let replicas = |name| {
            let slot = self.graph.blocks.find(name);
            let mut replicas =
                slot.map_or_else(Vec::new, |slot| self.graph.blocks[slot].replicas().to_vec());
            replicas.sort_unstable();
            replicas
        };
        let locations = names.iter().map(replicas).collect();
        self.reply(ticket, Outcome::Locations(locations));
    }

    /// Ends all workers and resolves everything.
    pub(in crate::manager) fn on_shutdown(&mut self) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        self.graph.close();
        for task in self.graph.tasks.slots() {
            if self.graph.tasks.get(task).is_some_and(|record| !record.stage.is_done()) {
                self.fail_with(task, Why::Closed);
            }
        }
        self.clients.reductions = Table::new();
        self.clients.stranded.clear();
        self.transfer.close();
        for slot in self.graph.blocks.slots() {
            self.close_block(slot);
        }
        for id in self.members.workers.ids() {
            self.members.workers.rest(id);
            self.members.workers.give_up(id, self.now);
            let stage =
                std::mem::replace(&mut self.members.workers[id].stage, WorkerStage::Closing);
            self.members.workers.retiring -= u32::from(stage == WorkerStage::Retiring);
            self.members.workers[id].post.cancel.clear();
            self.members.send(id, ToWorker::Shutdown);
        }
    }

    /// Fails whoever still waits for a block.
    fn close_block(&mut self, slot: BlockSlot) {
        let Some(block) = self.graph.blocks.get_mut(slot) else { return };
        let name = block.name;
        let mut tickets = block.tickets.to_vec();
        block.tickets.clear();
        if let Some(extra) = &mut block.extra {
            tickets.extend(extra.adopting.drain(..).filter_map(|adoption| adoption.ticket));
            extra.reducing = None;
            extra.reductions.clear();
            tickets.extend(extra.client_pins.drain(..).map(|pin| pin.ticket));
        }
        block.tidy();
        self.graph.dirty.push(slot);
        if tickets.is_empty() {
            return;
        }
        let failure = Self::block_failure(name, Why::Closed);
        for ticket in tickets {
            self.resolve(ticket, Outcome::Failed(failure.clone()));
        }
    }
}

fn figures(worker: &Worker) -> WorkerFigures {
    WorkerFigures {
        worker: worker.id,
        pid: worker.pid,
        host: worker.host.clone(),
        folder: worker.folder.clone(),
        address: worker.address.clone(),
        resources: worker.resources.clone(),
        free: worker.free.clone(),
        slots: worker.slots,
        leaving: !worker.is_active(),
        assigned: worker.held(),
        done: worker.done,
        blocks: worker.blocks.len() as u64,
        nbytes: worker.nbytes,
        executors: worker.executors.0.clone(),
        status: worker.status,
    }
}
