//! Data of one name, on one rank.

use super::description::{Description, Form};
use super::storage::Storage;
use crate::error::{MalleableError, Result};
use std::ops::Range;

/// Rows that the program holds in memory of its own. In a switch all rows are packed first; then
/// `adopt` has the runs of rows that the rank is to have, and `unpack` has them in order.
pub trait UserRows: Send {
    /// How many bytes rows take when they are packed.
    ///
    /// # Errors
    ///
    /// What the program reports.
    fn nbytes(&self, rows: &Range<u64>) -> Result<u64>;
    /// Writes rows.
    ///
    /// # Errors
    ///
    /// What the program reports.
    fn pack(&self, rows: &Range<u64>, bytes: &mut [u8]) -> Result<()>;
    /// Makes room for runs of rows, in place of those that were held: one at most, unless
    /// [`Self::has_runs`].
    ///
    /// # Errors
    ///
    /// What the program reports.
    fn adopt(&self, runs: &[Range<u64>]) -> Result<()>;
    /// Whether it makes room for several runs.
    fn has_runs(&self) -> bool;
    /// Reads rows.
    ///
    /// # Errors
    ///
    /// What the program reports.
    fn unpack(&self, rows: &Range<u64>, bytes: &[u8]) -> Result<()>;
}

/// Where bytes are.
pub enum Content {
    /// Rows of the same size, in memory of the library.
    Rows(Storage),
    /// In the program's memory.
    Replicated(*mut u8),
    /// In functions of the program.
    User(Box<dyn UserRows>),
}

/// Data of one name, on one rank.
pub struct Array {
    /// What it is.
    pub description: Description,
    /// Where it is.
    pub content: Content,
    /// The rows that are here, in order: one run, unless a resize moves the fewest.
    pub held: Vec<Range<u64>>,
}

impl Array {
    /// Rows of the same size, of which some are held.
    ///
    /// # Errors
    ///
    /// [`MalleableError::Memory`].
    pub fn rows(description: Description, held: Vec<Range<u64>>) -> Result<Self> {
        let Form::Rows { rows, row_nbytes, .. } = description.form else {
            return Err(MalleableError::BadCall(format!("{description} has no rows")));
        };
        let nbytes = rows.saturating_mul(row_nbytes);
        let storage =
            Storage::reserve(nbytes).map_err(|source| no_memory(&description, nbytes, source))?;
        let content = Content::Rows(storage);
        let mut array = Self { description, content, held: Vec::new() };
        array.make_room(&held)?;
        array.held = held;
        Ok(array)
    }

    /// Bytes of a row; 0 if not all rows have the same.
    pub fn row_nbytes(&self) -> u64 {
        match self.description.form {
            Form::Rows { row_nbytes, .. } => row_nbytes,
            _ => 0,
        }
    }

    /// Makes memory for rows usable, besides that of the rows that are held.
    ///
    /// # Errors
    ///
    /// [`MalleableError::Memory`].
    pub fn make_room(&mut self, runs: &[Range<u64>]) -> Result<()> {
        let bytes: Vec<_> = runs.iter().map(|rows| self.bytes(rows)).collect();
        let Content::Rows(storage) = &mut self.content else { return Ok(()) };
        bytes.iter().try_for_each(|bytes| {
            let nbytes = bytes.len() as u64;
            storage.open(bytes).map_err(|source| no_memory(&self.description, nbytes, source))
        })
    }

    /// Holds these rows, and gives back the memory of others.
    pub fn hold(&mut self, runs: Vec<Range<u64>>) {
        let bytes: Vec<_> = runs.iter().map(|rows| self.bytes(rows)).collect();
        if let Content::Rows(storage) = &mut self.content {
            storage.keep(&bytes);
        }
        self.held = runs;
    }

    /// The rows that are here, which are one run, or none.
    ///
    /// # Errors
    ///
    /// If they are several.
    pub fn one_run(&self) -> Result<Range<u64>> {
        match &self.held[..] {
            [] => Ok(0..0),
            [rows] => Ok(rows.clone()),
            runs => Err(MalleableError::BadCall(format!(
                "{} has {} runs of rows on this rank, by the settings minimal or owner: ask for \
                 each of them, by fsm_runs and fsm_run in C",
                self.description,
                runs.len()
            ))),
        }
    }

    /// The address of a row; null for what has no rows in memory of the library.
    pub fn at(&self, row: u64) -> *mut u8 {
        match &self.content {
            Content::Rows(storage) => storage.at((row * self.row_nbytes()) as usize),
            _ => std::ptr::null_mut(),
        }
    }

    /// Where rows are among the bytes of all rows.
    fn bytes(&self, rows: &Range<u64>) -> Range<usize> {
        let nbytes = self.row_nbytes();
        (rows.start * nbytes) as usize..(rows.end * nbytes) as usize
    }
}

fn no_memory(description: &Description, nbytes: u64, source: std::io::Error) -> MalleableError {
    MalleableError::Memory { name: description.name.clone(), nbytes, source }
}
