//! Why a transport could not do what it was asked for.

use crate::event::Rank;
use std::io;
use std::time::Duration;

/// Why something was not sent.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// There is no room now: try again when the target has read.
    #[error("there is no room for it now")]
    Full,
    /// It never fits: it can only go in pieces.
    #[error("{nbytes} bytes do not fit into {limit}")]
    TooLarge {
        /// Its size in bytes.
        nbytes: usize,
        /// What there is, in bytes.
        limit: usize,
    },
    /// The target is gone.
    #[error("rank {0} is lost")]
    Lost(Rank),
    /// The system has no room for the memory that ranks share.
    #[error("no {nbytes} bytes of memory for ranks to share: {source}")]
    NoMemory {
        /// How much was asked for.
        nbytes: usize,
        /// What the system says.
        source: io::Error,
    },
    /// A descriptor is not of the memory that ranks share.
    #[error("descriptor {fd} is not of {wanted} bytes of memory that ranks share")]
    NotShared {
        /// The descriptor.
        fd: i32,
        /// Bytes that there should be.
        wanted: usize,
    },
    /// The processes of a communicator can't be the ranks of a run.
    #[error(
        "the communicator is {what}; give an intracommunicator that this process is in, and free it after \
         the run has begun, not before"
    )]
    BadCommunicator {
        /// What it is.
        what: &'static str,
    },
    /// Not all ranks of a communicator have begun the run.
    #[error(
        "after {timeout:?} not all ranks of the communicator had begun the run: all of them have to; \
         if only some take part, give them a communicator of their own (comm= in Python, \
         fse_init_comm in C); if others come later, wait longer (FREESTONE_EVENTS_MEET_TIMEOUT_S)"
    )]
    NotAll {
        /// How long this one waited.
        timeout: Duration,
    },
    /// Ranks have not met.
    #[error(
        "{who} waited {waited:.1?} for {what}, at the meeting, {meeting}: {source}; start all ranks, rank 0 too, \
         and see on its stderr whether it has ended; for a longer wait set FREESTONE_EVENTS_MEET_TIMEOUT_S"
    )]
    NotMet {
        /// Who waited.
        who: String,
        /// For how long.
        waited: Duration,
        /// What for.
        what: String,
        /// Where ranks meet.
        meeting: String,
        /// What came instead.
        source: io::Error,
    },
    /// A process of the communicator has another version of this library.
    #[error(
        "process {process} has version {version} of freestone's events, and this one {own}, which \
         do not understand each other; install the same version for all"
    )]
    OtherVersion {
        /// Which.
        process: u32,
        /// Its version.
        version: String,
        /// That of this process.
        own: String,
    },
    /// Ranks were given different values of something in which they have to agree.
    #[error(
        "rank {rank} has {setting}={value}, and rank 0 {setting}={expected}: all ranks of a run need the \
         same"
    )]
    Disagreement {
        /// Which rank differs from rank 0.
        rank: Rank,
        /// In what.
        setting: String,
        /// What that rank has.
        value: String,
        /// What rank 0 has.
        expected: String,
    },
    /// All processes of a communicator are outside of the run.
    #[error(
        "all {processes} processes of the communicator have attached, and there is no rank; some have \
         to begin the run (fse_init, or events.run in Python)"
    )]
    NoRanks {
        /// How many there are.
        processes: usize,
    },
    /// Something came that no rank sends.
    #[error("a frame of {len} bytes is none of ours: {what}")]
    BadFrame {
        /// Its length.
        len: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A variable of the environment makes no sense.
    #[error("{name} is '{value}': it must be {must}")]
    Setting {
        /// Which.
        name: &'static str,
        /// What it says.
        value: String,
        /// What is possible.
        must: String,
    },
    /// A connection failed.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system says.
        source: io::Error,
    },
}
