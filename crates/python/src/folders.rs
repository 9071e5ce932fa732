//! Folders that are ours while somebody holds their lock.

use crate::blocks::store_error;
use freestone_core::store::{OwnedFolder as Owned, owned};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A folder with a marker and a lock that is held until it is removed or this process ends.
#[pyclass(frozen, module = "freestone._native.folders")]
pub struct OwnedFolder {
    path: PathBuf,
    folder: Mutex<Option<Owned>>,
}

impl OwnedFolder {
    fn of(folder: Owned) -> Self {
        Self { path: folder.path().to_path_buf(), folder: Mutex::new(Some(folder)) }
    }

    fn let_go(&self) -> Option<Owned> {
        self.folder.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl OwnedFolder {
    /// Makes a folder of a name of its own in another.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
    fn create(parent: PathBuf) -> PyResult<Self> {
        Owned::create(&parent).map(Self::of).map_err(store_error)
    }

    /// Makes a folder, or takes over one that its owner left.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
    fn take(path: PathBuf) -> PyResult<Self> {
        Owned::take(&path).map(Self::of).map_err(store_error)
    }

    /// Where it is.
    #[getter]
    fn path(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// Removes it and all that is in it, once; what can't be removed is left to a later sweep.
    fn remove(&self, py: Python<'_>) {
        let folder = self.let_go();
        py.detach(|| folder.map(|folder| folder.remove()));
    }

    /// Lets go of it without removing it, in a forked child of its owner.
    fn forget(&self) {
        drop(self.let_go());
    }
}

/// Removes the folders of ours in a folder whose owners are dead; how many there were.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn sweep_folders(py: Python<'_>, parent: PathBuf) -> PyResult<usize> {
    py.detach(|| owned::sweep(&parent)).map_err(store_error)
}

/// Whether a folder is one of ours whose owner lives.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // as PyO3 extracts it
pub fn is_folder_in_use(path: PathBuf) -> bool {
    owned::is_in_use(&path)
}
