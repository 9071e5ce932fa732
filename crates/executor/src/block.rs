//! Blocks of the node's cache: inputs that are mapped while they are used, and outputs.

use crate::ExecutorError;
use freestone_base::Name;
use freestone_core::store::{Folder, FormatError, Mapping, Parsed, Segment, StoreError, format};
use freestone_core::wire::{BlockDesc, FileProblem, Form, TaskFailure};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

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

    /// Where the file lies.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// How to read it.
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// The block's name.
    pub fn name(&self) -> Name {
        self.name
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            release();
        }
    }
}

/// How long a block's value is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// By one call.
    Brief,
    /// For as long as someone likes.
    Long,
}

/// The file of a value, mapped or read. Clones share it.
#[derive(Clone)]
pub struct Opened {
    // Dropped in this order: the mapping goes before the file may be used again.
    mapping: Arc<Mapping>,
    mapped: Arc<Mapped>,
}

impl Opened {
    /// Maps or reads a block's file.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn open(mapped: &Arc<Mapped>, usage: Use) -> Result<Self, StoreError> {
        let path = Path::new(mapped.path());
        let mapping = match usage {
            Use::Brief => Mapping::open_briefly(path),
            Use::Long => Mapping::open(path),
        };
        Ok(Self { mapping: Arc::new(mapping?), mapped: Arc::clone(mapped) })
    }

    /// Whether it was read.
    pub fn is_copy(&self) -> bool {
        self.mapping.is_copy()
    }

    /// The file's bytes.
    pub fn mapping(&self) -> &Arc<Mapping> {
        &self.mapping
    }

    /// The block's file.
    pub fn mapped(&self) -> &Arc<Mapped> {
        &self.mapped
    }

    /// Where the parts of the value lie.
    ///
    /// # Errors
    /// [`FormatError`].
    pub fn parse(&self) -> Result<Parsed, FormatError> {
        format::parse(&self.mapping)
    }
}

/// The worker's words for an output that can't be stored.
pub fn failure(error: &StoreError) -> TaskFailure {
    match error {
        StoreError::Full { needed, free, folder } => TaskFailure::StorageFull {
            needed: *needed,
            free: *free,
            folder: folder.display().to_string(),
        },
        other => {
            let problem = FileProblem::Changed(other.to_string());
            TaskFailure::File { path: "the node's cache".into(), problem }
        }
    }
}

/// Copies a file into the cache under the name of an output.
///
/// # Errors
/// Those of [`Folder::segment`], or of the file.
pub fn keep_file(folder: &Folder, path: &Path, name: Name) -> Result<BlockDesc, StoreError> {
    let basename = path.file_name().map(|part| part.to_string_lossy().into_owned());
    let mut file = File::open(path).map_err(|source| io_error(path, source))?;
    let nbytes = file.metadata().map_or(0, |found| found.len());
    let mut segment = folder.segment(nbytes)?;
    segment.append_from(&mut file)?;
    folder.commit(segment, name, Form::File(basename.unwrap_or_default()))
}

/// Writes a value of one buffer into the cache, without a name yet: `nbytes` of a source, behind the
/// pickle `stream` that refers to them.
///
/// # Errors
/// Those of [`Folder::segment`], or of the source.
pub fn fill(
    folder: &Folder,
    source: &mut impl Read,
    nbytes: usize,
    stream: &[u8],
) -> Result<Segment, StoreError> {
    let mut segment = folder.segment(format::nbytes(stream.len(), std::iter::once(nbytes)))?;
    format::write_from(&mut segment, stream, nbytes, source)?;
    segment.finish()?;
    Ok(segment)
}

/// As [`fill`], from a file's bytes from `offset` on.
///
/// # Errors
/// As [`fill`].
pub fn fill_from_file(
    folder: &Folder,
    path: &Path,
    offset: u64,
    nbytes: usize,
    stream: &[u8],
) -> Result<Segment, StoreError> {
    let mut file = File::open(path).map_err(|source| io_error(path, source))?;
    file.seek(SeekFrom::Start(offset)).map_err(|source| io_error(path, source))?;
    fill(folder, &mut file, nbytes, stream)
}

fn io_error(path: &Path, source: std::io::Error) -> StoreError {
    StoreError::Io { path: path.to_path_buf(), source }
}

/// Whether a block's file is not where it was.
pub(crate) fn is_gone(path: &str) -> bool {
    !Path::new(path).exists()
}

/// A group's block that holds none.
pub(crate) fn no_group(path: &str, reason: &dyn std::fmt::Display) -> ExecutorError {
    ExecutorError::NoGroup { path: path.to_owned(), reason: reason.to_string() }
}
