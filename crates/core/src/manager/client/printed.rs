//! What tasks print, and for whom.

use crate::manager::Manager;
use crate::manager::api::Action;
use crate::manager::table::TaskSlot;
use crate::wire::{Printed, PrintedOf};
use freestone_base::{Ticket, WorkerId};
use smallvec::SmallVec;

impl Manager {
    /// A worker passes on what one of its executors printed.
    pub(in crate::manager) fn on_printed(&mut self, worker: WorkerId, mut printed: Printed) {
        let found = printed.task.and_then(|task| self.graph.tasks.find(task));
        if found.is_none() {
            printed.task = None;
        }
        let mut piece =
            PrintedOf { name: None, label: String::new(), worker, is_own: true, printed };
        let mut tickets = SmallVec::new();
        if let Some(slot) = found {
            let task = &self.graph.tasks[slot];
            piece.name = task.outputs.first().map(|output| self.graph.blocks[*output].name);
            piece.label = self.graph.functions.label(task.function);
            tickets = self.waiting_for(slot);
        }
        self.out.push(Action::Print(tickets, Box::new(piece)));
    }

    /// What waits for the outputs of a task.
    fn waiting_for(&self, slot: TaskSlot) -> SmallVec<[Ticket; 2]> {
        let outputs = self.graph.tasks[slot].outputs.iter();
        outputs.flat_map(|output| self.graph.blocks[*output].tickets.iter().copied()).collect()
    }
}

#[cfg(test)]
#[path = "printed_tests.rs"]
mod tests;
