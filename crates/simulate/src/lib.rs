//! Simulated workers, a virtual clock and a seeded scheduler: the manager under every
//! interleaving and fault, and its costs at sizes that no machine at hand has.

mod calls;
mod cluster;
mod dispatcher;
mod dispatching;
mod faults;
mod graph;
mod journal;
mod meter;
mod paper;
mod post;
mod posting;
mod queue;
pub mod random;
mod recording;
mod report;
mod runs;
pub mod script;
mod step;
mod taking_up;
mod trial;
mod worker;

pub use calls::{HeldCall, Stage};
pub use cluster::{Cluster, Options};
pub use dispatcher::Charges;
pub use faults::{Blows, Faults, Injected};
pub use graph::{Graph, Lister};
pub use random::Random;
pub use recording::Recording;
pub use report::{
    SimulationConfig, SimulationReport, arguments_of, definitions, simulate, submission_of,
};
pub use runs::{Run, RunEnd, Runs};
pub use script::{Combine, Script};
pub use trial::{Fate, Trial, TrialReport, try_out};
pub use worker::{Effect, HeldBlock, SimulatedWorker};
