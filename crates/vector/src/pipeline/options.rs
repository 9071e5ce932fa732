//! How a pipeline is run.

use std::fmt;
use std::sync::Arc;

use freestone_base::task_sizes::{Scheme, TaskSizes, fitted};

use crate::error::Error;
use crate::queues::{Layout, Victims};

/// Chooses the sizes of tasks for a number of rows and of workers; `None` if it failed.
pub type Sizes = dyn Fn(u64, u64) -> Option<Vec<u64>> + Send + Sync;

/// How rows are cut into tasks.
#[derive(Clone)]
pub enum Cut {
    /// By a scheme of ours.
    By(Scheme),
    /// By sizes that somebody else chooses, before the pipeline begins.
    Given(Arc<Sizes>),
}

impl Cut {
    pub(super) fn sizes(&self, rows: u64, workers: u64, grain: u64) -> Result<Vec<u64>, Error> {
        match self {
            Self::By(scheme) => Ok(TaskSizes::new(*scheme, rows, workers, grain).collect()),
            Self::Given(sizes) => sizes(rows, workers)
                .and_then(|sizes| fitted(sizes, rows, grain))
                .ok_or(Error::Uncut { rows }),
        }
    }
}

impl fmt::Debug for Cut {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::By(scheme) => scheme.fmt(to),
            Self::Given(_) => to.write_str("Given"),
        }
    }
}

/// From how many operations on cells on it pays to look for compiled code.
pub const COMPILED_FROM: usize = 16_384;

/// How a pipeline is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// How rows are cut into tasks.
    pub cut: Cut,
    /// How many queues there are.
    pub layout: Layout,
    /// In which order idle workers visit other queues.
    pub victims: Victims,
    /// How many workers; 0 means one for each core.
    pub workers: usize,
    /// The least rows of a task.
    pub grain: u64,
    /// Bytes of all registers that are worked on at once; 0 means what the caches hold.
    pub batch_bytes: usize,
    /// From how many operations on cells on a chain is compiled, if it can be; digits are the same.
    pub compiled_from: usize,
    /// Whether rows are first shared out evenly over the queues.
    pub shared_out: bool,
    /// Whether each worker stays on its core.
    pub pinned: bool,
    /// Whether the second threads of cores count as cores.
    pub hyperthreading: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cut: Cut::By(Scheme::Static),
            layout: Layout::Centralized,
            victims: Victims::Seq,
            workers: 0,
            grain: 1,
            batch_bytes: 0,
            compiled_from: COMPILED_FROM,
            shared_out: false,
            pinned: false,
            hyperthreading: false,
        }
    }
}
