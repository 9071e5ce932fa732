//! Blocks that a call writes into its node's cache by itself.
//!
//! Where a file has an array's bytes as they are, a reader copies them from one file into the other,
//! a piece at a time, and returns the block instead of an array that would be copied there.

use crate::blocks::{failure, store_error};
use freestone_base::Name;
use freestone_core::store::{Folder, Segment, StoreError, format};
use freestone_core::wire::{BlockDesc, Form, TaskFailure};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The cache of the worker whose executor this process is.
static CACHE: OnceLock<Folder> = OnceLock::new();

/// This process is an executor that puts what its calls return into a cache.
pub fn set_cache(folder: &Folder) {
    // A process is an executor once.
    let _ = CACHE.set(folder.clone());
}

/// A block that lies in the cache and has no name yet.
#[pyclass(frozen, module = "freestone._native")]
pub struct Filled {
    segment: Mutex<Option<Segment>>,
}

impl Filled {
    /// Gives the block its name.
    pub fn keep(&self, folder: &Folder, name: Name) -> PyResult<Result<BlockDesc, TaskFailure>> {
        let segment = self.segment.lock().unwrap_or_else(PoisonError::into_inner).take();
        let segment = segment
            .ok_or_else(|| PyRuntimeError::new_err("a filled block is returned by one call"))?;
        Ok(folder.commit(segment, name, Form::Value).map_err(|error| failure(&error)))
    }
}

/// Copies `nbytes` of a file, from `offset` on, into a block of the cache: the only buffer of the
/// value that `stream` is the pickle of. None in a process that is no executor.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn fill_block(
    py: Python<'_>,
    path: PathBuf,
    offset: u64,
    nbytes: usize,
    stream: &[u8],
) -> PyResult<Option<Filled>> {
    let Some(folder) = CACHE.get() else { return Ok(None) };
    let filled = py.detach(|| fill(folder, &path, offset, nbytes, stream));
    Ok(Some(Filled { segment: Mutex::new(Some(filled.map_err(store_error)?)) }))
}

fn fill(
    folder: &Folder,
    path: &Path,
    offset: u64,
    nbytes: usize,
    stream: &[u8],
) -> Result<Segment, StoreError> {
    let wrong = |source| StoreError::Io { path: path.to_path_buf(), source };
    let mut file = File::open(path).map_err(wrong)?;
    file.seek(SeekFrom::Start(offset)).map_err(wrong)?;
    let mut segment = folder.segment(format::nbytes(stream.len(), std::iter::once(nbytes)))?;
    format::write_from(&mut segment, stream, nbytes, &mut file)?;
    segment.finish()?;
    Ok(segment)
}
