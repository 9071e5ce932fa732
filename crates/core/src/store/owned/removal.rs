//! Removing a folder in such an order that what is left can be swept.

use std::io::{self, ErrorKind};
use std::path::Path;

/// Removes a folder and all that is in it, the file `last` as the last. No link is followed.
///
/// # Errors
/// The first, after as much as possible was removed. Then `last` is still there.
pub fn remove_tree(folder: &Path, last: &str) -> io::Result<()> {
    ignore_missing(empty(folder, last))?;
    ignore_missing(std::fs::remove_file(folder.join(last)))?;
    ignore_missing(std::fs::remove_dir(folder))
}

/// Removes all that is in a folder but the file `besides`. No link is followed.
///
/// # Errors
/// The first, after as much as possible was removed.
fn empty(folder: &Path, besides: &str) -> io::Result<()> {
    let mut result = Ok(());
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == besides {
            continue;
        }
        let is_folder = entry.file_type().is_ok_and(|found| found.is_dir());
        let path = entry.path();
        // A link is a file here, and that a folder is removed through one the standard library
        // rules out itself.
        let removed =
            if is_folder { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        result = result.and(ignore_missing(removed));
    }
    result
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
