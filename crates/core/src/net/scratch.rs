//! Where calls put their temporary files: a folder of each executor's, beside the blocks on disk.
//!
//! It goes with its executor, so that those that are killed leave nothing.
//!
//! See docs/decisions/049-a-calls-disk-is-its-executors-folder.md

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The folder of them all.
pub fn folder(disk_dir: &Path) -> PathBuf {
    disk_dir.join("calls")
}

/// An empty folder for an executor.
///
/// # Errors
/// Those of the operating system.
pub fn empty(folder: &Path, executor: u32) -> io::Result<PathBuf> {
    let path = folder.join(executor.to_string());
    match fs::remove_dir_all(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(&path)?,
    }
    Ok(path)
}

/// Bytes on disk of all files in a folder, however deep. What vanishes meanwhile counts nothing.
pub fn nbytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let each = entries.flatten().map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => nbytes(&entry.path()),
        // Holes take nothing.
        Ok(found) => found.blocks() * 512,
        Err(_) => 0,
    });
    each.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_count_however_deep_and_are_gone_in_an_emptied_folder() {
        let root = std::env::temp_dir().join(format!("freestone-scratch-{}", std::process::id()));
        let path = empty(&root, 3).expect("a folder");
        assert_eq!(nbytes(&root), 0);
        fs::create_dir_all(path.join("a/b")).expect("folders");
        fs::write(path.join("a/b/large"), vec![1; 1 << 20]).expect("a file");
        fs::write(path.join("small"), [1]).expect("a file");
        std::os::unix::fs::symlink(&root, path.join("a/around")).expect("a link");
        let seen = nbytes(&root);
        assert!((1 << 20..2 << 20).contains(&seen), "{seen}");
        assert_eq!(empty(&root, 3).expect("a folder"), path);
        assert_eq!(nbytes(&root), 0);
        fs::remove_dir_all(&root).expect("removed");
    }
}
