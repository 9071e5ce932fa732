//! Blocks that a call writes into its node's cache by itself.
//!
//! Where a file has an array's bytes as they are, a reader copies them from there into the cache, a
//! piece at a time, and returns the block instead of an array that would be copied there.
//!
//! See docs/decisions/062-readers-fill-blocks-in-the-cache-directly.md

use crate::blocks::store_error;
use crate::pickling::buffer_bytes;
use freestone_core::store::{Folder, Segment};
use freestone_executor::block::{fill, fill_from_file};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The cache of the worker whose executor this process is.
static CACHE: OnceLock<Folder> = OnceLock::new();

/// This process is an executor that puts what its calls return into a cache.
pub fn set_cache(folder: &Folder) {
    // A process is an executor once.
    let _ = CACHE.set(folder.clone());
}

/// A block that lies in the cache and has no name yet.
#[pyclass(frozen, module = "freestone._native.blocks")]
pub struct Filled {
    segment: Mutex<Option<Segment>>,
}

impl Filled {
    /// Gives the block away, once.
    pub fn take(&self) -> PyResult<Segment> {
        let segment = self.segment.lock().unwrap_or_else(PoisonError::into_inner).take();
        segment.ok_or_else(|| PyRuntimeError::new_err("a filled block is returned by one call"))
    }
}

/// Copies `nbytes` of a source, from `offset` on, into a block of the cache: the only buffer of the
/// value that `stream` is the pickle of. None in a process that is no executor.
///
/// A source is a file's path, or an object whose `packets(offset, nbytes)` is an iterator of bytes.
#[pyfunction]
pub fn fill_block(
    source: &Bound<'_, PyAny>,
    offset: u64,
    nbytes: usize,
    stream: &[u8],
) -> PyResult<Option<Filled>> {
    let Some(folder) = CACHE.get() else { return Ok(None) };
    let segment = if let Ok(path) = source.extract::<PathBuf>() {
        let filled = source.py().detach(|| fill_from_file(folder, &path, offset, nbytes, stream));
        filled.map_err(store_error)?
    } else {
        let mut packets = Packets::of(&source.call_method1("packets", (offset, nbytes))?)?;
        let filled = source.py().detach(|| fill(folder, &mut packets, nbytes, stream));
        packets.failure.map_or_else(|| filled.map_err(store_error), Err)?
    };
    Ok(Some(Filled { segment: Mutex::new(Some(segment)) }))
}

/// What an iterator of Python's gives, as one run of bytes.
struct Packets {
    iterator: Py<PyAny>,
    packet: Option<PyBuffer<u8>>,
    /// Bytes of the packet that were given out.
    given: usize,
    /// What the iterator raised.
    failure: Option<PyErr>,
}

impl Packets {
    fn of(packets: &Bound<'_, PyAny>) -> PyResult<Self> {
        let iterator = packets.try_iter()?.into_any().unbind();
        Ok(Self { iterator, packet: None, given: 0, failure: None })
    }

    fn next(&mut self, py: Python<'_>) -> PyResult<()> {
        let next = self.iterator.bind(py).try_iter()?.next().transpose()?;
        self.packet = next.map(|packet| PyBuffer::get(&packet)).transpose()?;
        self.given = 0;
        Ok(())
    }
}

impl Read for Packets {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            if self.packet.as_ref().is_none_or(|packet| self.given == packet.len_bytes())
                && let Err(error) = self.next(py)
            {
                self.failure = Some(error);
                return Err(io::Error::other("the reader failed"));
            }
            let Some(packet) = &self.packet else { return Ok(0) };
            let rest = &buffer_bytes(packet)[self.given..];
            let count = rest.len().min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            self.given += count;
            Ok(count)
        })
    }
}
