//! Where a block's file lies in a folder, and how files are made and copied.

use super::error::{At, StoreError};
use super::pages;
use crate::wire::Form;
use freestone_base::Name;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where a block lies in a folder.
pub fn place(folder: &Path, name: Name, form: &Form) -> Result<PathBuf, StoreError> {
    let Form::File(basename) = form else { return Ok(folder.join(name.to_string())) };
    let bad = matches!(basename.as_str(), "" | "." | "..") || basename.contains(['/', '\0']);
    if bad {
        return Err(StoreError::BadBasename { basename: basename.clone() });
    }
    Ok(folder.join(format!("{name}.d")).join(basename))
}

/// Makes a folder that only its owner may enter, if it is not there.
pub fn make_folder(path: &Path) -> Result<(), StoreError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).at(path)
}

/// Creates a file that nobody else has, in a folder for such.
pub fn create_unique(folder: &Path) -> Result<(File, PathBuf), StoreError> {
    loop {
        let path = folder.join(unique());
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        match options.open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            other => return Ok((other.at(&path)?, path)),
        }
    }
}

/// A file name that no other thread or process has made. Processes in other containers may have
/// the same process id, and forked children the same random number, but not both.
pub fn unique() -> String {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    static PROCESS: OnceLock<String> = OnceLock::new();
    // Only told apart from its own earlier values; pairs with nothing.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let process = PROCESS.get_or_init(random_hex);
    format!("{}-{process}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A random number of 64 bits.
pub fn random_hex() -> String {
    let mut bytes = [0; 8];
    // SAFETY: room for as many bytes as are asked for.
    let filled = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    assert_eq!(filled, 8, "the kernel gives so few random bytes at once, whatever happens");
    format!("{:016x}", u64::from_ne_bytes(bytes))
}

/// Whether an error is for want of room.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT))
}

/// Bytes that the file system of a folder has left for us.
pub fn free_nbytes(folder: &Path) -> u64 {
    use std::os::unix::ffi::OsStrExt;
    let Ok(path) = std::ffi::CString::new(folder.as_os_str().as_bytes()) else { return 0 };
    // SAFETY: all zeros are a value of this plain structure.
    let mut figures: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: a path that ends with zero, and room for the answer.
    match unsafe { libc::statvfs(path.as_ptr(), &raw mut figures) } {
        0 => figures.f_bavail * figures.f_frsize,
        _ => 0,
    }
}

/// Copies a file so that it appears at `place` at once and whole.
pub fn copy_into(from: &Path, place: &Path, temporary: &Path) -> Result<(), StoreError> {
    let path = temporary.join(unique());
    let copied = copy_private(from, &path).and_then(|_| std::fs::rename(&path, place));
    if copied.is_err() {
        // What can't be removed is swept with the folder.
        let _ = std::fs::remove_file(&path);
    }
    copied.at(place)
}

fn copy_private(from: &Path, to: &Path) -> io::Result<u64> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    let mut source = File::open(from)?;
    pages::prepare(&file, source.metadata()?.len(), true);
    io::copy(&mut source, &mut file)
}
