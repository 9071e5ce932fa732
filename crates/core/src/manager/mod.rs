//! The manager: the graph, placement and recovery, as a state machine without I/O.
//!
//! See the `README.md` in this folder for states, transitions and invariants.

pub mod api;
pub mod simulate;

mod check;
mod client;
mod graph;
mod hash;
mod members;
mod order;
mod routes;
mod schedule;
mod shapes;
mod table;
#[cfg(test)]
mod tests;
mod transfer;

pub use api::*;

use crate::wire::ToWorker;
use client::Row;
use freestone_base::WorkerId;
use graph::{Blocks, Classes, Entry, Functions, Origin, Recent, Tasks};
use members::Workers;
use schedule::{Category, First};
use std::collections::{BTreeMap, BTreeSet};
use table::{BlockSlot, ReductionSlot, Table, TaskSlot};
use transfer::{Balance, Cramped, Hot};

/// The manager.
///
/// It knows every task, every replica and every worker, and does nothing by itself: a shell
/// feeds it events and carries its actions out.
pub struct Manager {
    config: Config,
    now: Now,
    out: Vec<Action>,
    functions: Functions,
    recent: Recent,
    /// What was seen of the memory that calls take, by category.
    categories: BTreeMap<u32, Category>,
    /// Files of the user's, by the names of their blocks.
    origins: hash::ByName<Origin>,
    tasks: Tasks,
    blocks: Blocks,
    classes: Classes,
    workers: Workers,
    counts: Counts,
    /// Workers to look at when the event has been handled.
    touched: Vec<WorkerId>,
    /// Blocks that something needs less than before.
    loose: Vec<BlockSlot>,
    /// Tasks whose inputs are all there now.
    fresh: Vec<TaskSlot>,
    /// Bytes per second between workers, as seen lately.
    bandwidth: f64,
    /// Which blocks are adopted or gathered at which worker.
    bound: BTreeSet<(WorkerId, BlockSlot)>,
    reductions: Table<ReductionSlot, Row>,
    /// What is for workers that have not joined.
    absent: BTreeMap<WorkerId, Early>,
    /// Transfers that failed, to be tried again when time has passed.
    delayed: Vec<(BlockSlot, WorkerId)>,
    /// Blocks that can't be made again and are lost, and where calls may say why.
    vanished: BTreeMap<BlockSlot, WorkerId>,
    /// Blocks that clients brought and that wait for a worker of their machine, since when.
    stranded: BTreeMap<BlockSlot, Now>,
    /// First attempts of tasks that were given to a second worker.
    firsts: BTreeMap<TaskSlot, First>,
    /// Blocks that should have more than one replica, and which of them was looked at last.
    hot: BTreeMap<BlockSlot, Hot>,
    replicated_last: Option<BlockSlot>,
    /// Blocks of collections that move when workers come and go.
    balance: Balance,
    /// Tasks that wait for room.
    cramped: Cramped,
    /// Workers that were lost, since when.
    lost_workers: u32,
    began_ns: Now,
    closed: bool,
}

/// What is for a worker before it joins.
#[derive(Default)]
struct Early {
    /// Ready tasks that may only run there.
    tasks: Vec<Entry>,
    /// Blocks that clients have brought.
    adopt: Vec<ToWorker>,
    /// Whether it is to be let go at once.
    retire: bool,
}

/// What is counted along the way; the rest of [`Statistics`] is derived.
#[derive(Default)]
struct Counts {
    done: u64,
    failed: u64,
    answered: u64,
    retried: u64,
    recovered: u64,
    waiting: u64,
    ready: u64,
    assigned: u64,
    stolen: u64,
    transfers: u64,
    transferred_nbytes: u64,
    inline_nbytes: u64,
    busy_ns: u64,
}

impl Manager {
    /// A manager without tasks and workers.
    pub fn new(config: Config) -> Self {
        let bandwidth = config.bandwidth.max(1.0);
        Self {
            config,
            now: 0,
            out: Vec::new(),
            functions: Functions::default(),
            recent: Recent::default(),
            categories: BTreeMap::new(),
            origins: hash::ByName::default(),
            tasks: Tasks::new(),
            blocks: Blocks::new(),
            classes: Classes::default(),
            workers: Workers::default(),
            counts: Counts::default(),
            touched: Vec::new(),
            loose: Vec::new(),
            fresh: Vec::new(),
            bandwidth,
            bound: BTreeSet::new(),
            reductions: Table::new(),
            absent: BTreeMap::new(),
            delayed: Vec::new(),
            vanished: BTreeMap::new(),
            stranded: BTreeMap::new(),
            firsts: BTreeMap::new(),
            hot: BTreeMap::new(),
            replicated_last: None,
            balance: Balance::default(),
            cramped: Cramped::default(),
            lost_workers: 0,
            began_ns: 0,
            closed: false,
        }
    }

    /// Takes in what happened at `now` and appends what is to be done to `out`.
    ///
    /// Equal events at equal times give equal actions. The cost depends on what the event
    /// changes, not on how many tasks and workers there are.
    pub fn handle(&mut self, event: Event, now: Now, out: &mut Vec<Action>) {
        self.now = self.now.max(now);
        if self.began_ns == 0 {
            self.began_ns = self.now;
        }
        std::mem::swap(&mut self.out, out);
        match event {
            Event::Client(request) => self.on_request(request),
            Event::Connected(worker) => self.workers.expect(worker),
            Event::Worker(worker, message) => self.on_message(worker, message),
            Event::Left(worker) => self.on_left(worker),
            Event::Tick => self.on_tick(),
        }
        self.finish_event();
        std::mem::swap(&mut self.out, out);
    }

    /// Lets go of what is no longer needed, gives work to workers, and sends what is to be sent.
    fn finish_event(&mut self) {
        self.let_go();
        self.restore_displaced();
        self.retry_cramped();
        self.advance_balance();
        if self.workers.retiring > 0 {
            self.advance_retirements();
        }
        if !self.touched.is_empty() || self.counts.ready > 0 {
            self.dispatch();
        }
        self.flush();
    }

    /// Looks at a worker when the event has been handled.
    fn touch(&mut self, id: WorkerId) {
        if let Some(worker) = self.workers.get_mut(id)
            && !worker.touched
        {
            worker.touched = true;
            self.touched.push(id);
        }
    }

    /// Sends a message to a worker at the end of the event.
    fn send(&mut self, id: WorkerId, message: ToWorker) {
        if let Some(worker) = self.workers.get_mut(id) {
            worker.post.other.push(message);
            self.touch(id);
        }
    }

    fn settle(&mut self, ticket: freestone_base::Ticket, outcome: Outcome) {
        self.out.push(Action::Settle(ticket, outcome));
    }
}
