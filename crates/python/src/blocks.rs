//! Between Python values and the files of a node's cache.

use crate::arrays;
use crate::io::values;
use crate::mapped::view;
use crate::pickling::{Block, load_with_buffers};
use freestone_base::{Name, WorkerId};
use freestone_core::net::HomeWorker;
use freestone_core::store::{Folder, StoreError, put_named};
use freestone_core::wire::{BlockDesc, Form};
use freestone_executor::block::{Mapped, Opened, Use};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyType};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens the cache of the worker on this machine: folder and quota of memory and of disk.
pub fn open_home(worker: WorkerId, tiers: [(&str, u64); 2]) -> PyResult<HomeWorker> {
    Ok(HomeWorker { worker, folder: open_folder(tiers)? })
}

/// Opens a cache that a worker made: folder and quota of memory and of disk.
pub fn open_folder([memory, disk]: [(&str, u64); 2]) -> PyResult<Folder> {
    let folder = Folder::open(Path::new(memory.0), Path::new(disk.0)).map_err(store_error)?;
    Ok(folder.with_quotas(memory.1, disk.1))
}

/// Holds a file block in place while a `freestone.File` lives.
#[pyclass(frozen, module = "freestone._native.blocks")]
pub struct Hold {
    _mapped: Arc<Mapped>,
}

/// A result that becomes a block in its worker's cache, however small it is.
#[pyclass(frozen, module = "freestone._native.blocks")]
pub struct Stored {
    /// The result.
    #[pyo3(get)]
    pub value: Py<PyAny>,
}

#[pymethods]
impl Stored {
    #[new]
    fn new(value: Py<PyAny>) -> Self {
        Self { value }
    }
}

/// Where `freestone.File` is.
const FILES: &str = "freestone.client.files";

static FILE_CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();

fn file_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    FILE_CLASS.import(py, FILES, "File")
}

/// The class of files, if it is loaded: without it no value is one, and an executor that sees none need not
/// load what the client needs.
fn loaded_file_class(py: Python<'_>) -> PyResult<Option<&Bound<'_, PyType>>> {
    if let Some(class) = FILE_CLASS.get(py) {
        return Ok(Some(class.bind(py)));
    }
    let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    if modules.contains(intern!(py, FILES))? { file_class(py).map(Some) } else { Ok(None) }
}

/// The value of a block: arrays in it are views of the file, mapped or read.
pub fn load(py: Python<'_>, mapped: &Arc<Mapped>, usage: Use) -> PyResult<Py<PyAny>> {
    match mapped.form() {
        // The value of a group is made by who knows where its members are.
        Form::Value | Form::Group => value(py, &Opened::open(mapped, usage).map_err(store_error)?),
        Form::File(_) => file(py, mapped),
    }
}

/// The `freestone.File` of a block that is one.
pub fn file(py: Python<'_>, mapped: &Arc<Mapped>) -> PyResult<Py<PyAny>> {
    let nbytes = std::fs::metadata(mapped.path()).map_err(PyOSError::new_err)?.len();
    let hold = Hold { _mapped: Arc::clone(mapped) };
    let hold = Py::new(py, hold)?;
    let arguments = (mapped.path(), mapped.name().to_string(), nbytes, 0, hold);
    Ok(file_class(py)?.call1(arguments)?.unbind())
}

/// The value of a block. Arrays in it are views of the file.
pub fn value(py: Python<'_>, opened: &Opened) -> PyResult<Py<PyAny>> {
    let mapping = opened.mapping();
    let parsed = opened
        .parse()
        .map_err(|error| PyValueError::new_err(format!("{}: {error}", opened.mapped().path())))?;
    if let [buffer] = parsed.buffers.as_slice()
        && let Some(array) = arrays::known(py, &mapping[parsed.pickle.clone()], buffer.len())
    {
        return array.over(py, &view(py, opened, buffer.clone())?);
    }
    let buffers = PyList::empty(py);
    for range in &parsed.buffers {
        buffers.append(view(py, opened, range.clone())?)?;
    }
    let stream = view(py, opened, parsed.pickle.clone())?;
    let value = load_with_buffers(py, stream.bind(py).as_any(), &buffers)?;
    if let [buffer] = parsed.buffers.as_slice() {
        arrays::learn(&value, &mapping[parsed.pickle], &mapping[buffer.clone()])?;
    }
    Ok(value.unbind())
}

/// Writes a value into a cache under the name of its content, or another; the block, and where it
/// lies.
pub fn put_value(
    py: Python<'_>,
    folder: &Folder,
    block: &Block,
    name: Option<Name>,
) -> PyResult<(BlockDesc, String)> {
    let put = |stream: &[u8], buffers: &[&[u8]]| put_named(folder, stream, buffers, name);
    let (block, path) = block.with_bytes(py, put).map_err(store_error)?;
    Ok((block, path.to_string_lossy().into_owned()))
}

/// The path of a value that is a local `freestone.File`.
pub fn path_of_file(value: &Bound<'_, PyAny>) -> PyResult<Option<PathBuf>> {
    let class = loaded_file_class(value.py())?;
    if !class.is_some_and(|class| value.is_exact_instance(class)) {
        return Ok(None);
    }
    value.call_method0("__fspath__")?.extract().map(Some)
}

/// Names a file by its content: 32 hex digits, and the checksum that travels with it.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn name_file(py: Python<'_>, path: PathBuf) -> PyResult<(String, u64)> {
    let (name, checksum) =
        py.detach(|| freestone_core::store::name_file(&path)).map_err(store_error)?;
    Ok((name.to_string(), checksum))
}

/// The checksum of a contiguous buffer of bytes.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn checksum(buffer: PyBuffer<u8>) -> PyResult<u64> {
    Ok(freestone_core::store::checksum(values::<u8>(&buffer)?))
}

/// The exception for what went wrong with a file of the cache.
pub fn store_error(error: StoreError) -> PyErr {
    match error {
        StoreError::Full { needed, free, folder } => Python::attach(|py| {
            let made = py
                .import("freestone.errors.failures")
                .and_then(|module| module.getattr("storage_full"))
                .and_then(|maker| maker.call1((needed, free, folder.display().to_string())));
            made.map_or_else(|error| error, PyErr::from_value)
        }),
        StoreError::Io { path, source } => {
            let code = source.raw_os_error().unwrap_or_default();
            PyOSError::new_err((code, source.to_string(), path.display().to_string()))
        }
        other => PyOSError::new_err(other.to_string()),
    }
}
