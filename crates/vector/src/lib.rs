//! The vector engine: fused pipelines over rows, run tile by tile on threads that stay.
//!
//! A [`pipeline::Pipeline`] is a list of instructions over registers. Its rows are cut into tasks
//! ([`freestone_base::task_sizes`]), dealt to [`queues`], and taken by the workers of a
//! [`pool::Pool`]; a worker runs all instructions on tiles that fit its cache, so that no
//! intermediate matrix is ever stored. What is reduced is kept for each task or worker and merged
//! at the end.

// Loops have to be inlined where they are compiled for wider vectors, and are over positions where
// several slices go together. One macro converts between all pairs of types, some of them lossless.
// A plain comparison is what the language defines. Memory is given by its first byte, where a cell may be.
#![allow(
    clippy::inline_always,
    clippy::needless_range_loop,
    clippy::cast_lossless,
    clippy::cast_ptr_alignment,
    clippy::cast_possible_wrap,
    clippy::float_cmp,
    clippy::return_self_not_must_use
)]

pub mod cell;
pub mod crashes;
pub mod error;
pub mod kernels;
pub mod memory;
pub mod numa;
pub mod pipeline;
pub mod pool;
pub mod queues;
pub mod random;

pub use cell::Cell;
pub use error::Error;
