//! Unix sockets at paths of any length.

use mio::net::UnixListener;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The address of a socket has 108 bytes, the last of them zero.
const ADDRESS_BYTES: usize = 108;

/// Listens at `path`.
///
/// # Errors
/// Those of the operating system.
pub(super) fn bind(path: &Path) -> io::Result<UnixListener> {
    reach(path, |path| UnixListener::bind(path))
}

/// Connects to who listens at `path`.
///
/// # Errors
/// Those of the operating system.
pub(super) fn connect(path: &Path) -> io::Result<UnixStream> {
    reach(path, |path| UnixStream::connect(path))
}

/// Gives `open` a path to the same place that fits into an address.
fn reach<T>(path: &Path, open: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return open(path) };
    if path.as_os_str().len() < ADDRESS_BYTES {
        return open(path);
    }
    let folder = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_DIRECTORY)
        .open(folder)?;
    open(&Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name))
}

#[cfg(test)]
mod tests {
    use super::{ADDRESS_BYTES, bind, connect};

    #[test]
    fn sockets_have_paths_of_any_length() {
        for length in [ADDRESS_BYTES - 1, ADDRESS_BYTES, ADDRESS_BYTES + 1, 200] {
            let temporary = tempfile::tempdir().unwrap();
            let room = length - temporary.path().as_os_str().len() - "//s".len();
            let folder = temporary.path().join("x".repeat(room));
            std::fs::create_dir(&folder).unwrap();
            let path = folder.join("s");
            assert_eq!(path.as_os_str().len(), length);
            let listener = bind(&path).unwrap();
            connect(&path).unwrap();
            assert!(listener.accept().is_ok());
        }
    }
}
