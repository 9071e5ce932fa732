//! The vector engine: pipelines and random numbers.

mod pipeline;
mod random;

pub use pipeline::run_pipeline;
pub use random::{rand_dense, sample};
