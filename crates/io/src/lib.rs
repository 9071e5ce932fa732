//! The formats whose bytes freestone reads and writes itself.
//!
//! Row ranges are the unit: whoever knows where a row begins reads its part alone, into memory
//! that the caller owns. Nothing here opens a file by name or knows Python; bytes come from a
//! [`Source`] and go into a buffer, and who moves them is the caller's affair.
//!
//! See docs/decisions/024-text-formats-have-a-crate-of-their-own.md

pub mod csv;
mod error;
pub mod meter;
pub mod mtx;
mod number;
pub mod parallel;
mod source;

pub use error::{IoError, Result};
pub use number::{Floats, Number};
pub use source::Source;
