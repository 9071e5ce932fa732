//! Settings of a manager.

use serde::{Deserialize, Serialize};

/// Settings of a manager.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Config {
    /// The most transfers that one worker receives at once.
    pub transfers_in: u32,
    /// The most transfers that one worker sends at once.
    pub transfers_out: u32,
    /// How many executors a call may kill before it is refused.
    pub max_kills: u32,
    /// How often the inputs of a task may be lost and made again before it fails.
    pub max_recoveries: u32,
    /// The bandwidth between workers that is assumed before any was seen, in bytes per second.
    pub bandwidth: f64,
    /// A worker that says nothing for this long is lost.
    pub silence_ns: u64,
    /// The key that workers must show.
    pub key: String,
    /// Tells the manager's machine from others since it was started: the id of its boot.
    pub boot: String,
    /// How many calls that have not ended each client of another process may have.
    pub max_calls: u64,
    /// Whether calls that take far longer than their like are run a second time elsewhere.
    pub speculate: bool,
    /// Whether to tell [`Action::Trace`].
    pub trace: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            transfers_in: 4,
            transfers_out: 4,
            max_kills: 3,
            max_recoveries: 20,
            bandwidth: 1e9,
            silence_ns: 60_000_000_000,
            key: String::new(),
            boot: String::new(),
            max_calls: 5_000_000,
            speculate: true,
            trace: false,
        }
    }
}
