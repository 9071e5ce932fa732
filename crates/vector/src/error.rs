//! What can go wrong in the engine.

/// Why a pipeline was refused, or failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An integer was divided by zero.
    #[error("integers are divided by zero")]
    DivisionByZero,
    /// A pipeline that makes no sense.
    #[error("bad pipeline: {0}")]
    Malformed(String),
}
