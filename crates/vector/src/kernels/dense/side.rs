//! What an elementwise operation has on one side.

/// One side of an operation: a number for every cell, or one for all.
#[derive(Clone, Copy)]
pub enum Side<'a, T> {
    /// A number for every cell.
    Each(&'a [T]),
    /// One for all.
    All(T),
}
