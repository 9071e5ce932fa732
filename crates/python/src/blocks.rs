//! Between Python values and the files of a node's cache.

use crate::arrays;
use crate::codec::{buffer_bytes, load_with_buffers};
use crate::io::values;
use crate::view::fill_read_only;
use freestone_base::{Name, NameHasher, WorkerId};
use freestone_core::store::{Folder, Mapping, StoreError, format};
use freestone_core::wire::{BlockDesc, Form, TaskFailure};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyList, PyType};
use std::ffi::c_int;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The worker on this machine, whose cache the program shares.
pub struct Home {
    /// Which worker.
    pub worker: WorkerId,
    /// Its cache.
    pub folder: Folder,
}

impl Home {
    /// Opens the cache of a worker.
    pub fn open(worker: WorkerId, tiers: [(&str, u64); 2]) -> PyResult<Self> {
        Ok(Self { worker, folder: open_folder(tiers)? })
    }
}

/// Opens a cache that a worker made: folder and quota of memory and of disk.
pub fn open_folder([memory, disk]: [(&str, u64); 2]) -> PyResult<Folder> {
    let folder = Folder::open(Path::new(memory.0), Path::new(disk.0)).map_err(store_error)?;
    Ok(folder.with_quotas(memory.1, disk.1))
}

/// A block's file in the cache, held until nothing uses it any more.
pub struct Mapped {
    path: String,
    form: Form,
    name: Name,
    /// Tells the owner of the cache that it may have the file back; the last to go.
    release: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Mapped {
    /// Holds a block's file until it is dropped, which calls `release`.
    pub fn new(
        path: String,
        form: Form,
        name: Name,
        release: Box<dyn FnOnce() + Send + Sync>,
    ) -> Arc<Self> {
        Arc::new(Self { path, form, name, release: Some(release) })
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            release();
        }
    }
}

/// Some bytes of a mapped block, as a read-only buffer.
#[pyclass(frozen, module = "freestone._native")]
pub struct MappedBuffer {
    // Dropped in this order: the mapping goes before the file may be used again.
    mapping: Arc<Mapping>,
    range: Range<usize>,
    _mapped: Arc<Mapped>,
}

#[pymethods]
impl MappedBuffer {
    #[allow(clippy::needless_pass_by_value)] // as the protocol wants it
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut pyo3::ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let this = slf.get();
        let bytes = &this.mapping[this.range.clone()];
        // SAFETY: `view` is valid by the protocol; the mapping lives as long as `slf`.
        unsafe { fill_read_only(&slf, bytes, view, flags, "blocks are immutable: copy to change") }
    }

    fn __len__(&self) -> usize {
        self.range.len()
    }
}

/// Holds a file block in place while a `freestone.File` lives.
#[pyclass(frozen, module = "freestone._native")]
pub struct Hold {
    _mapped: Arc<Mapped>,
}

/// A result that becomes a block in its worker's cache, however small it is.
#[pyclass(frozen, module = "freestone._native")]
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

fn file_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CELL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CELL.import(py, "freestone.client.files", "File")
}

/// How long a block's value is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// By one call.
    Brief,
    /// For as long as someone likes.
    Long,
}

/// The value of a block: arrays in it are views of the file, mapped or read.
pub fn load(py: Python<'_>, mapped: &Arc<Mapped>, usage: Use) -> PyResult<Py<PyAny>> {
    match mapped.form {
        // The value of a group is made by who knows where its members are.
        Form::Value | Form::Group => Opened::open(mapped, usage)?.value(py),
        Form::File(_) => file(py, mapped),
    }
}

/// The `freestone.File` of a block that is one.
pub fn file(py: Python<'_>, mapped: &Arc<Mapped>) -> PyResult<Py<PyAny>> {
    let nbytes = std::fs::metadata(&mapped.path).map_err(PyOSError::new_err)?.len();
    let hold = Hold { _mapped: Arc::clone(mapped) };
    let hold = Py::new(py, hold)?;
    let arguments = (&mapped.path, mapped.name.to_string(), nbytes, 0, hold);
    Ok(file_class(py)?.call1(arguments)?.unbind())
}

/// The file of a value, mapped or read.
#[derive(Clone)]
pub struct Opened {
    // Dropped in this order: the mapping goes before the file may be used again.
    mapping: Arc<Mapping>,
    mapped: Arc<Mapped>,
}

impl Opened {
    /// Maps or reads a block's file.
    pub fn open(mapped: &Arc<Mapped>, usage: Use) -> PyResult<Self> {
        let path = Path::new(&mapped.path);
        let mapping = match usage {
            Use::Brief => Mapping::open_briefly(path),
            Use::Long => Mapping::open(path),
        };
        let mapping = Arc::new(mapping.map_err(store_error)?);
        Ok(Self { mapping, mapped: Arc::clone(mapped) })
    }

    /// Whether it was read.
    pub fn is_copy(&self) -> bool {
        self.mapping.is_copy()
    }

    /// The value. Arrays in it are views of the file.
    pub fn value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let mapping = &self.mapping;
        let parsed = format::parse(mapping)
            .map_err(|error| PyValueError::new_err(format!("{}: {error}", self.mapped.path)))?;
        if let [buffer] = parsed.buffers.as_slice()
            && let Some(array) = arrays::known(py, &mapping[parsed.pickle.clone()], buffer.len())
        {
            return array.over(py, &self.view(py, buffer.clone())?);
        }
        let buffers = PyList::empty(py);
        for range in &parsed.buffers {
            buffers.append(self.view(py, range.clone())?)?;
        }
        let stream = self.view(py, parsed.pickle.clone())?;
        let value = load_with_buffers(py, stream.bind(py).as_any(), &buffers)?;
        if let [buffer] = parsed.buffers.as_slice() {
            arrays::learn(&value, &mapping[parsed.pickle], &mapping[buffer.clone()])?;
        }
        Ok(value.unbind())
    }

    fn view(&self, py: Python<'_>, range: Range<usize>) -> PyResult<Py<MappedBuffer>> {
        let (mapping, mapped) = (Arc::clone(&self.mapping), Arc::clone(&self.mapped));
        Py::new(py, MappedBuffer { mapping, range, _mapped: mapped })
    }
}

/// Writes a value into a cache under the name of its content, or another; the block, and where it
/// lies.
pub fn put_value(
    py: Python<'_>,
    folder: &Folder,
    pickle: &Py<PyBytes>,
    buffers: &[PyBuffer<u8>],
    name: Option<Name>,
) -> PyResult<(BlockDesc, String)> {
    let pickle = pickle.as_bytes(py);
    let buffers: Vec<&[u8]> = buffers.iter().map(buffer_bytes).collect();
    py.detach(|| {
        // Both read the value once and take about as long: side by side, on two processors.
        let (name, written) = std::thread::scope(|scope| {
            let name = scope.spawn(|| name.unwrap_or_else(|| name_of_value(pickle, &buffers)));
            let written = folder.put(passing_name(), pickle, &buffers);
            (name.join(), written)
        });
        let (name, written) = (name.expect("hashing does not panic"), written?);
        let missing = StoreError::Missing { name: written.name };
        let (path, _) = folder.path(written.name, &written.form).ok_or(missing)?;
        let block = BlockDesc { name, ..written };
        Ok((block, path.to_string_lossy().into_owned()))
    })
    .map_err(store_error)
}

fn name_of_value(pickle: &[u8], buffers: &[&[u8]]) -> Name {
    let mut hasher = NameHasher::new("value");
    hasher.part(pickle);
    for buffer in buffers {
        hasher.part(buffer);
    }
    hasher.finish()
}

/// The name of a file that the worker has not adopted yet: under its own name it might replace
/// one that the worker is about to remove.
fn passing_name() -> Name {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut hasher = NameHasher::new("passing");
    hasher.part(&std::process::id().to_le_bytes()).part(&count.to_le_bytes());
    hasher.finish()
}

/// Writes an output into the cache under its name.
pub fn keep_value(
    py: Python<'_>,
    folder: &Folder,
    pickle: &Py<PyBytes>,
    buffers: &[PyBuffer<u8>],
    name: Name,
) -> Result<BlockDesc, TaskFailure> {
    let pickle = pickle.as_bytes(py);
    let buffers: Vec<&[u8]> = buffers.iter().map(buffer_bytes).collect();
    py.detach(|| folder.put(name, pickle, &buffers)).map_err(|error| failure(&error))
}

/// Writes an output that is given in bytes into the cache under its name.
pub fn keep_bytes(
    py: Python<'_>,
    folder: &Folder,
    stream: &[u8],
    buffers: &[Vec<u8>],
    name: Name,
) -> Result<BlockDesc, TaskFailure> {
    let buffers: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
    py.detach(|| folder.put(name, stream, &buffers)).map_err(|error| failure(&error))
}

/// How a call fails whose output can't be stored.
pub fn failure(error: &StoreError) -> TaskFailure {
    match error {
        StoreError::Full { needed, free, folder } => TaskFailure::StorageFull {
            needed: *needed,
            free: *free,
            folder: folder.display().to_string(),
        },
        other => {
            TaskFailure::FileChanged { path: "the node's cache".into(), reason: other.to_string() }
        }
    }
}

/// The path of a value that is a local `freestone.File`.
pub fn path_of_file(value: &Bound<'_, PyAny>) -> PyResult<Option<PathBuf>> {
    if !value.is_exact_instance(file_class(value.py())?) {
        return Ok(None);
    }
    value.call_method0("__fspath__")?.extract().map(Some)
}

/// Copies a file into the cache under the name of the output.
pub fn keep_file(
    py: Python<'_>,
    folder: &Folder,
    path: &Path,
    name: Name,
) -> Result<BlockDesc, TaskFailure> {
    let basename = path.file_name().map(|part| part.to_string_lossy().into_owned());
    let copy = || {
        let mut file = std::fs::File::open(path)
            .map_err(|source| StoreError::Io { path: path.to_path_buf(), source })?;
        let nbytes = file.metadata().map_or(0, |found| found.len());
        let mut segment = folder.segment(nbytes)?;
        segment.append_from(&mut file)?;
        folder.commit(segment, name, Form::File(basename.unwrap_or_default()))
    };
    py.detach(copy).map_err(|error| failure(&error))
}

/// The name of a small value.
pub fn name_of_inline(bytes: &[u8]) -> Name {
    NameHasher::new("inline").part(bytes).finish()
}

/// A name that nothing else has.
pub fn random_name() -> PyResult<Name> {
    let mut bytes = [0; 16];
    let mut file = std::fs::File::open("/dev/urandom").map_err(PyOSError::new_err)?;
    std::io::Read::read_exact(&mut file, &mut bytes).map_err(PyOSError::new_err)?;
    Ok(Name(bytes))
}

/// The name of a reduction's result.
pub fn name_of_reduction(function: Name, inputs: &[Name], commutes: bool) -> Name {
    let mut hasher = NameHasher::new("reduction");
    hasher.part(&function.0).part(&[u8::from(commutes)]);
    for input in inputs {
        hasher.piece(&input.0);
    }
    hasher.finish()
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
