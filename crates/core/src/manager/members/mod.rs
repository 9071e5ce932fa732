//! Workers: how they join, come back and leave, and what each has.

mod clocks;
mod joining;
mod reconnect;
mod recovery;
mod retirement;
mod workers;

pub(in crate::manager) use workers::{Worker, WorkerStage, Workers};
