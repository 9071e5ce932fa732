//! A node's inputs, executors and cache accounting.

pub mod claim;

pub use claim::Claims;
