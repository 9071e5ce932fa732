//! Random histories of a manager.

mod acts;
mod blocks;
mod client;
mod history;
mod known;

pub use client::Client;
pub use history::{run, run_with_kills};
