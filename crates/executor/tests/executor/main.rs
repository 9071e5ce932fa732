//! The loop of an executor, with a language of a few functions and the test as its worker.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

mod cases;
mod toy;
mod world;
