//! What clients in other processes and a manager say to each other, after the client's
//! [`FromWorker::Client`](crate::wire::FromWorker::Client).

use crate::manager::{Outcome, Request};
use crate::wire::{Divide, PrintedOf};
use freestone_base::{Name, Ticket, WorkerId};
use serde::{Deserialize, Serialize};

/// From a client to the manager.
#[derive(PartialEq, Debug, Serialize, Deserialize)]
pub enum FromClient {
    /// What it asks, in order.
    Requests(Vec<Request>),
    /// So many messages have come, if the session is [`Resumable`](super::Resumable); it does not
    /// count itself.
    Received(u64),
    /// Nothing more comes: what it has asked does not wait for another connection.
    Leave,
}

/// From the manager to a client.
#[derive(PartialEq, Debug, Serialize, Deserialize)]
pub enum ToClient {
    /// It may use the cluster.
    Welcome {
        /// The boot of the manager's machine: files there can be mapped by clients of the same.
        boot: String,
        /// Where programs of that machine write blocks and map them.
        home: Option<HomeCache>,
        /// By which the client names its session when it reconnects, if it may.
        session: Option<Name>,
        /// How many messages of the client the manager has got on former connections.
        received: u64,
    },
    /// It may not use the cluster, or no longer, and why; the connection ends. It has the place and
    /// form of [`ToWorker::Refused`](crate::wire::ToWorker::Refused).
    Refused(String),
    /// What it waited for, by the tickets that it chose.
    Outcomes(Vec<(Ticket, Outcome)>),
    /// The worker whose cache programs use has another number or other folders.
    Home(HomeCache),
    /// The cluster was closed; the connection ends.
    Closed,
    /// So many messages of the client have come; it does not count itself.
    Received(u64),
    /// A worker that has reconnected has another number: the client's own may be it.
    Renumbered {
        /// The number that it had.
        former: WorkerId,
        /// The one that it has.
        worker: WorkerId,
    },
    /// What a task printed whose result the client waits for; before the outcome.
    Printed(Box<PrintedOf>),
}

/// The cache of the worker whose blocks the programs of its machine map.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HomeCache {
    /// Which worker.
    pub worker: WorkerId,
    /// Its folder in memory, and how many bytes it may hold.
    pub memory: (String, u64),
    /// Its folder on disk, and how many bytes it may hold.
    pub disk: (String, u64),
}

impl Divide for FromClient {
    fn divide(self) -> Result<[Self; 2], Self> {
        let Self::Requests(mut requests) = self else { return Err(self) };
        if requests.len() > 1 {
            let second = requests.split_off(requests.len() / 2);
            return Ok([Self::Requests(requests), Self::Requests(second)]);
        }
        match requests.pop() {
            Some(Request::Submit(mut calls)) if calls.len() > 1 => {
                let second = calls.split_off(calls.len() / 2);
                Ok([calls, second].map(|calls| Self::Requests(vec![Request::Submit(calls)])))
            }
            one => Err(Self::Requests(one.into_iter().collect())),
        }
    }
}

impl Divide for ToClient {
    fn divide(self) -> Result<[Self; 2], Self> {
        match self {
            Self::Outcomes(mut outcomes) if outcomes.len() > 1 => {
                let second = outcomes.split_off(outcomes.len() / 2);
                Ok([outcomes, second].map(Self::Outcomes))
            }
            whole => Err(whole),
        }
    }
}
