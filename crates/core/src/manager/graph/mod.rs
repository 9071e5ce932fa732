//! The graph: records of tasks and blocks, and how they come, fail and go.

mod blocks;
mod failures;
mod functions;
mod keeping;
mod lifetime;
mod origins;
mod ready;
mod recent;
mod reports;
mod submission;
mod tasks;

pub(in crate::manager) use blocks::{
    Adoption, Block, Blocks, Brought, Data, Extra, Gather, GatherStage, Want, WantStage,
};
pub(in crate::manager) use functions::{Functions, UNMEASURED_NS};
pub(in crate::manager) use origins::Origin;
pub(in crate::manager) use ready::{Classes, Entry, Queue, rank};
pub(in crate::manager) use recent::Recent;
pub(in crate::manager) use tasks::{Stage, Task, Tasks};
