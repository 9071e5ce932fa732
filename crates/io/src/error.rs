//! What can be wrong with a file's bytes, and where.

use std::io;

/// The result of reading or writing.
pub type Result<T> = std::result::Result<T, IoError>;

/// What is wrong, and where. Rows and columns count from 0 here; messages count from 1.
#[derive(Debug, thiserror::Error)]
pub enum IoError {
    /// A cell does not hold what its column does.
    #[error("row {}, column {}: {text:?} is not {wanted}", row + 1, column + 1)]
    Cell {
        /// The row, from 0.
        row: u64,
        /// The column, from 0.
        column: usize,
        /// The beginning of the cell.
        text: String,
        /// What it should be.
        wanted: String,
    },
    /// A row of another length than the first one.
    #[error("row {} has {found} cells, and {wanted} are wanted", row + 1)]
    Ragged {
        /// The row, from 0.
        row: u64,
        /// Its cells; of a long row as many as were looked at.
        found: usize,
        /// Those of every row.
        wanted: usize,
    },
    /// A quote where none can be, or that is never closed.
    #[error("row {}, column {}: {reason}", row + 1, column + 1)]
    Quote {
        /// The row, from 0.
        row: u64,
        /// The column, from 0.
        column: usize,
        /// Which of both.
        reason: &'static str,
    },
    /// A value that needs more characters than a fixed width has.
    #[error("row {}, column {}: {text} needs {} characters, and the width is {width}",
        row + 1, column + 1, text.len())]
    TooWide {
        /// The row, from 0.
        row: u64,
        /// The column, from 0.
        column: usize,
        /// The value.
        text: String,
        /// Characters that there are.
        width: usize,
    },
    /// Bytes that are not what the format has there.
    #[error("byte {offset}: {reason}")]
    Format {
        /// Where.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// Fewer or more rows than the file was known to have.
    #[error("{wanted} rows were expected in bytes {start} to {stop}, and there are {found}")]
    Rows {
        /// How many were expected.
        wanted: u64,
        /// How many there are.
        found: u64,
        /// Where the range begins.
        start: u64,
        /// Where it ends.
        stop: u64,
    },
    /// The operating system says no.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl IoError {
    /// The same error, of rows that begin at `first` of the file.
    #[must_use]
    pub fn below(mut self, first: u64) -> Self {
        match &mut self {
            Self::Cell { row, .. }
            | Self::Ragged { row, .. }
            | Self::Quote { row, .. }
            | Self::TooWide { row, .. } => *row += first,
            Self::Format { .. } | Self::Rows { .. } | Self::Io(_) => {}
        }
        self
    }

    /// The row, from 0, if the error has one.
    pub fn row(&self) -> Option<u64> {
        match self {
            Self::Cell { row, .. }
            | Self::Ragged { row, .. }
            | Self::Quote { row, .. }
            | Self::TooWide { row, .. } => Some(*row),
            Self::Format { .. } | Self::Rows { .. } | Self::Io(_) => None,
        }
    }

    /// The column, from 0, if the error has one.
    pub fn column(&self) -> Option<usize> {
        match self {
            Self::Cell { column, .. }
            | Self::Quote { column, .. }
            | Self::TooWide { column, .. } => Some(*column),
            _ => None,
        }
    }

    /// A cell that is not what its column holds; of a long one the beginning.
    pub(crate) fn cell(row: u64, column: usize, cell: &[u8], wanted: &str) -> Self {
        const SHOWN: usize = 40;
        let text = String::from_utf8_lossy(&cell[..cell.len().min(SHOWN)]).into_owned();
        Self::Cell { row, column, text, wanted: wanted.to_owned() }
    }

    /// Bytes that are not what the format has there.
    pub(crate) fn format(offset: u64, reason: impl Into<String>) -> Self {
        Self::Format { offset, reason: reason.into() }
    }
}
