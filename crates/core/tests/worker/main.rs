//! Real worker processes with a fake manager and fake executors.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

mod executor;
mod lifetime;
mod manager;
mod running;
mod storing;
