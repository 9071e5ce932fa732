//! What can go wrong, for all ranks alike.

use freestone_base::layout::LayoutError;
use serde::{Deserialize, Serialize};

/// What kind of error it is, as one rank sends it to the others.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Fault {
    /// The ranks do not agree.
    Disagreement,
    /// A layout does not cover the rows.
    Layout,
    /// Others did not come in time.
    Timeout,
    /// What MPI answers, or that there is none.
    Mpi,
    /// No memory.
    Memory,
    /// A call that is not possible.
    BadCall,
    /// A program's own function has failed.
    Callback,
    /// A file of a job's state can't be written or read.
    State,
}

/// An error that ranks send each other: its kind, and what to say.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Problem {
    /// Its kind.
    pub fault: Fault,
    /// What to say.
    pub text: String,
}

/// Why a call was refused, or the job can't go on.
#[derive(Debug, thiserror::Error)]
pub enum MalleableError {
    /// The ranks do not agree: on what is registered, on the step, or on whether the loop is over.
    /// Each finds it, and none goes on.
    #[error("{0}")]
    Disagreement(String),
    /// An error of one rank, or of an earlier call, after which none can go on.
    #[error("{}", .0.text)]
    Reported(Problem),
    /// A layout does not cover the rows.
    #[error("the layout of {name:?} over {ranks} ranks: {problem}")]
    Layout {
        /// The data.
        name: String,
        /// Over how many ranks.
        ranks: usize,
        /// What is wrong.
        problem: String,
    },
    /// Others did not come in time.
    #[error("{what} was not done after {timeout_s} s{missing}")]
    Timeout {
        /// What was waited for.
        what: String,
        /// How long.
        timeout_s: f64,
        /// Who is missing, if that is known.
        missing: String,
    },
    /// A call that is not possible, or not now.
    #[error("{0}")]
    BadCall(String),
    /// Joining ranks could not be started, or could not join; the job goes on as it was.
    #[error("the resize to {size} ranks at step {step} was cancelled: {problem}")]
    Cancelled {
        /// Ranks that were asked for.
        size: u64,
        /// The program's step.
        step: i64,
        /// Why.
        problem: String,
    },
    /// Memory for rows could not be had.
    #[error("no memory for {nbytes} bytes of {name:?} ({source}); is it limited (ulimit -v)?")]
    Memory {
        /// The data.
        name: String,
        /// How many bytes.
        nbytes: u64,
        /// What the system answers.
        source: std::io::Error,
    },
    /// What MPI answers.
    #[error("{call}: {text}")]
    Mpi {
        /// The function.
        call: &'static str,
        /// Its error.
        text: String,
    },
    /// There is no MPI library that can be used.
    #[error("{0}; compile and link the program by the MPI's own compiler, such as mpicc")]
    Load(#[from] freestone_mpi::LoadError),
    /// A program's own function has failed.
    #[error("{what} of {name:?} returned {code} for rows {} to {}", .rows.start, .rows.end)]
    Callback {
        /// Which function.
        what: &'static str,
        /// The data.
        name: String,
        /// What it returned.
        code: i32,
        /// For which rows.
        rows: std::ops::Range<u64>,
    },
    /// A file of a job's state can't be written or read.
    #[error("the state {0}")]
    State(String),
    /// A layout can't be made or compared.
    #[error(transparent)]
    Rows(#[from] LayoutError),
    /// A message of another rank can't be read: it runs another version.
    #[error("a message of another rank can't be read ({0}): do all run the same program?")]
    Message(#[from] postcard::Error),
}

impl MalleableError {
    /// What kind of error it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Disagreement(_) | Self::Message(_) => Fault::Disagreement,
            Self::Layout { .. } | Self::Rows(_) => Fault::Layout,
            Self::Timeout { .. } => Fault::Timeout,
            Self::Mpi { .. } | Self::Load(_) => Fault::Mpi,
            Self::Memory { .. } => Fault::Memory,
            Self::BadCall(_) | Self::Cancelled { .. } => Fault::BadCall,
            Self::Callback { .. } => Fault::Callback,
            Self::State(_) => Fault::State,
            Self::Reported(problem) => problem.fault,
        }
    }

    /// As other ranks get it, and later calls.
    pub fn problem(&self) -> Problem {
        Problem { fault: self.fault(), text: self.to_string() }
    }
}

/// What a call of this crate returns.
pub type Result<T> = std::result::Result<T, MalleableError>;
