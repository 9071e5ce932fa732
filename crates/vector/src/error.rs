//! What can go wrong in the engine.

/// Why a pipeline or a kernel was refused, or failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An integer was divided by zero.
    #[error("integers are divided by zero")]
    DivisionByZero,
    /// A pipeline that makes no sense.
    #[error("bad pipeline: {0}")]
    Malformed(String),
    /// Sizes of tasks that end before the rows do.
    #[error("the sizes of tasks that were given don't reach {rows} rows")]
    Uncut {
        /// How many rows there are.
        rows: u64,
    },
    /// An array is shorter or longer than the others say.
    #[error("{what}: {found} elements, where the other arguments need {needed}")]
    Length {
        /// Which array.
        what: &'static str,
        /// How many elements it has.
        found: usize,
        /// How many it should have.
        needed: usize,
    },
    /// A row or a column that the matrix does not have.
    #[error("{what} {found} is outside of a matrix that has {count}")]
    Outside {
        /// A row or a column.
        what: &'static str,
        /// Its number.
        found: u32,
        /// How many there are.
        count: usize,
    },
    /// Offsets of a CSR matrix that do not ascend, or that end beyond what is stored.
    #[error("row {row} of a CSR matrix has elements {begin} to {end}, of {stored} stored ones")]
    Offsets {
        /// The row.
        row: usize,
        /// Where it begins.
        begin: i64,
        /// Where it ends.
        end: i64,
        /// How many elements are stored.
        stored: usize,
    },
    /// A shape with more elements than can be counted, or numbered.
    #[error("a shape of {0} x {1} has too many elements")]
    Shape(usize, usize),
    /// The system has no memory for what a kernel computes in.
    #[error("no memory for {0} bytes")]
    Memory(usize),
    /// Numbers other than 0 are drawn from a range that has none.
    #[error("no number other than 0 can be drawn: both bounds are 0")]
    OnlyZeros,
}
