//! Blocks between workers: what is fetched, second copies, and collections in balance.

mod balance;
mod queues;
mod replication;
mod room;
mod roots;
mod transfers;

use balance::Balance;
use room::Cramped;

use super::clock::Now;
use super::config::Config;
use super::table::BlockSlot;
use freestone_base::WorkerId;
use serde::{Deserialize, Serialize};

/// What fetching a block takes besides its bytes.
const FETCH_NS: u64 = 100_000;

/// What transfers remember from one event to the next. Its fields are for this folder.
#[derive(Serialize, Deserialize)]
pub(in crate::manager) struct Transfer {
    /// Bytes per second between workers, as seen lately.
    bandwidth: f64,
    /// Transfers that failed, to be tried again when time has passed.
    delayed: Vec<(BlockSlot, WorkerId)>,
    limits: queues::Limits,
    copies: replication::Copies,
    losses: replication::Losses,
    /// Blocks of collections that move when workers come and go.
    pub balance: Balance,
    /// Tasks that wait for room.
    pub cramped: Cramped,
}

impl Transfer {
    /// Nothing was sent yet; bytes per second are taken to be `bandwidth`.
    pub fn new(config: &Config) -> Self {
        let Config { bandwidth, transfers_in, transfers_out, .. } = *config;
        Self {
            bandwidth: bandwidth.max(1.0),
            delayed: Vec::new(),
            limits: queues::Limits { transfers_in, transfers_out },
            copies: replication::Copies::default(),
            losses: replication::Losses::default(),
            balance: Balance::default(),
            cramped: Cramped::default(),
        }
    }

    /// Other settings hold from now on.
    pub fn configure(&mut self, config: &Config) {
        let Config { transfers_in, transfers_out, .. } = *config;
        self.limits = queues::Limits { transfers_in, transfers_out };
    }

    /// The first event was at this time.
    pub fn begin(&mut self, now: Now) {
        self.losses.begin(now);
    }

    /// The cluster is closed: no collection is balanced any more.
    pub fn close(&mut self) {
        self.balance = Balance::default();
    }

    /// What fetching so many bytes is taken to last, in nanoseconds.
    pub fn fetch_ns(&self, nbytes: u64) -> u64 {
        FETCH_NS + (nbytes as f64 * 1e9 / self.bandwidth) as u64
    }

    /// Takes in how long a transfer lasted, with a weight of one eighth.
    fn learn(&mut self, nbytes: u64, duration_ns: u64) {
        let seen = nbytes as f64 * 1e9 / duration_ns as f64;
        self.bandwidth += (seen - self.bandwidth) / 8.0;
    }

    /// A worker was lost.
    pub fn count_loss(&mut self) {
        self.losses.count();
    }

    /// How many workers were lost.
    pub fn lost_workers(&self) -> u32 {
        self.losses.lost()
    }

    /// Whether a block should have more than one replica.
    pub fn keeps_copies(&self, slot: BlockSlot) -> bool {
        self.copies.contains(slot)
    }

    /// One replica of a block is enough; whether it was not.
    pub fn forget_copies(&mut self, slot: BlockSlot) -> bool {
        self.copies.forget(slot)
    }
}
