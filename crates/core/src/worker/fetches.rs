//! Blocks on their way here from peers.

use super::Worker;
use super::api::{Action, Now, TransferError};
use super::cache::{Location, Presence, Preserved, Room};
use crate::store::Tier;
use crate::wire::{Address, BlockDesc, FromWorker, Keep, TaskFailure};
use freestone_base::{Name, WorkerId};
use std::collections::{HashMap, VecDeque};

/// A block that the manager wants here.
#[derive(Clone, Debug)]
pub(super) struct Fetch {
    pub block: BlockDesc,
    pub source: WorkerId,
    pub address: Address,
    pub keep: Keep,
    /// Where it goes, once it is on its way.
    pub tier: Option<Tier>,
    /// Nothing needs it any more.
    pub dropped: bool,
}

/// All of them, and those that wait in their order.
#[derive(Debug, Default)]
pub(super) struct Fetches {
    pub all: HashMap<Name, Fetch>,
    pub waiting: VecDeque<Name>,
    pub running: u32,
}

impl Worker {
    /// The manager wants a block here.
    pub(super) fn on_fetch(&mut self, fetch: Fetch, out: &mut Vec<Action>) {
        let name = fetch.block.name;
        self.lost.remove(&name);
        if self.cache.get(name).is_some() {
            self.cache.revive(name, fetch.keep);
            out.push(Action::Tell(FromWorker::Have { block: fetch.block, fetched: None }));
        } else if let Some(other) = self.fetches.all.get_mut(&name) {
            other.dropped = false;
            other.keep = other.keep.max(fetch.keep);
            if other.source != fetch.source {
                let reason = format!("it is being fetched from {} already", other.source);
                let source = fetch.source;
                let missing_there = false;
                let free = None;
                let failed = FromWorker::FetchFailed { name, source, reason, missing_there, free };
                out.push(Action::Tell(failed));
            }
        } else {
            self.fetches.waiting.push_back(name);
            self.fetches.all.insert(name, fetch);
        }
    }

    /// Starts those that there is room for.
    pub(super) fn start_fetches(&mut self, now: Now, out: &mut Vec<Action>) {
        while self.fetches.running < self.config.transfers_in {
            let Some(&name) = self.fetches.waiting.front() else { return };
            let nbytes = self.fetches.all[&name].block.nbytes;
            if nbytes <= self.config.memory_quota {
                self.cache.enforce(nbytes, out);
            }
            match self.cache.room(nbytes) {
                Room::Later => return,
                Room::In(tier) => {
                    self.fetches.waiting.pop_front();
                    self.start_fetch(name, tier, out);
                }
                Room::Nowhere { .. } if self.forget_all(out) => return,
                Room::Nowhere { free } => {
                    self.fetches.waiting.pop_front();
                    self.refuse_fetch(name, free, now, out);
                }
            }
        }
    }

    fn start_fetch(&mut self, name: Name, tier: Tier, out: &mut Vec<Action>) {
        if let Some(fetch) = self.fetches.all.get_mut(&name) {
            fetch.tier = Some(tier);
            self.fetches.running += 1;
            self.cache.promise(tier, fetch.block.nbytes);
            self.cache.expect(name);
            let (block, address) = (fetch.block.clone(), fetch.address.clone());
            out.push(Action::Transfer { block, address, tier });
        }
    }

    /// There is no room for a block, so calls that need it can't be run here.
    fn refuse_fetch(&mut self, name: Name, free: u64, now: Now, out: &mut Vec<Action>) {
        let Some(fetch) = self.fetches.all.remove(&name) else { return };
        let needed = fetch.block.nbytes;
        let folder = self.config.disk_folder.display().to_string();
        let why = TaskFailure::StorageFull { needed, free, folder };
        self.disappoint(name, &why, now, out);
        let reason = format!("{needed} bytes do not fit into the {free} that are free");
        let source = fetch.source;
        let (missing_there, free) = (false, Some(free));
        let failed = FromWorker::FetchFailed { name, source, reason, missing_there, free };
        out.push(Action::Tell(failed));
    }

    /// A transfer ended.
    pub(super) fn on_arrived(
        &mut self,
        name: Name,
        result: Result<Tier, TransferError>,
        duration_ns: u64,
        now: Now,
        out: &mut Vec<Action>,
    ) {
        let Some(fetch) = self.fetches.all.remove(&name) else { return };
        let nbytes = fetch.block.nbytes;
        if let Some(tier) = fetch.tier {
            self.fetches.running -= 1;
            self.cache.end_promise(tier, nbytes);
        }
        match result {
            Ok(tier) => {
                self.status.received_nbytes += nbytes;
                let fetched = Some((fetch.source, duration_ns));
                let was_needed = self.cache.is_needed(name);
                self.take_in(fetch.block.clone(), Location::Tier(tier), fetch.keep, out);
                self.cache.come(name, out);
                if fetch.dropped && !was_needed && !self.waiters.contains_key(&name) {
                    self.cache.doom(name, out);
                    return;
                }
                out.push(Action::Tell(FromWorker::Have { block: fetch.block, fetched }));
                self.on_usable(name, out);
            }
            Err(TransferError { reason, missing_there }) => {
                self.cache.come(name, out);
                let (source, free) = (fetch.source, None);
                let failed = FromWorker::FetchFailed { name, source, reason, missing_there, free };
                out.push(Action::Tell(failed));
                self.disappoint_others(name, out);
            }
        }
        self.start_fetches(now, out);
    }

    /// A block's file is in its place.
    pub(super) fn take_in(
        &mut self,
        block: BlockDesc,
        place: Location,
        keep: Keep,
        out: &mut Vec<Action>,
    ) {
        let name = block.name;
        self.lost.remove(&name);
        self.cache.insert(block, place, keep, out);
        self.preserve(name, out);
    }

    /// Has a block copied to those that are kept for later runs, if it is to be there and is not. One
    /// that is being moved or verified is copied afterwards.
    pub(super) fn preserve(&mut self, name: Name, out: &mut Vec<Action>) {
        let Some(block) = self.cache.get(name) else { return };
        let is_kept = block.keep == Keep::Forever && self.config.forever_folder.is_some();
        let is_ours = matches!(block.place, Location::Tier(_));
        let is_busy = self.cache.presence(name) == Presence::Busy;
        if !is_kept || !is_ours || is_busy || block.preserved != Preserved::No {
            return;
        }
        let block = block.desc.clone();
        let Some(path) = self.cache.path(name) else { return };
        self.cache.set_preserving(name);
        self.preserving += 1;
        out.push(Action::Preserve { block, path });
    }
}
