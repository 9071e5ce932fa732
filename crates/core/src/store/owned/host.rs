//! Whether the lock of a folder says anything about its owner.
//!
//! Locks are the kernel's. On a file system that only this kernel has mounted, a lock that nobody
//! holds means that the owner is dead, in whatever container it ran. On a file system that hosts
//! share, it means that only for owners of this host: locks of other hosts may not be seen here,
//! depending on how the file system is mounted.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What tells this host from others.
#[derive(Clone, Debug)]
pub struct Host {
    boot: String,
    name: String,
    /// Says what a folder's file system is: one that only this host has.
    is_local: fn(&Path) -> bool,
}

impl Host {
    /// This one.
    pub fn this() -> Self {
        Self { boot: boot_id(), name: read_word("/proc/sys/kernel/hostname"), is_local }
    }

    /// As it stands in markers.
    pub(super) fn lines(&self) -> String {
        format!("boot {}\nhost {}\n", self.boot, self.name)
    }

    /// Whether this host can tell, by its lock, if the owner of a folder is dead.
    pub(super) fn may_sweep(&self, folder: &Path, marker: &str) -> bool {
        let is_ours = !self.boot.is_empty() && marker.contains(&self.lines());
        is_ours || (self.is_local)(folder)
    }

    #[cfg(test)]
    pub(super) fn other(is_local: fn(&Path) -> bool) -> Self {
        Self { boot: "other".to_owned(), name: "host".to_owned(), is_local }
    }
}

/// Types of file systems that one kernel has for itself, as `statfs` numbers them: tmpfs, ramfs,
/// ext, XFS, Btrfs, F2FS, bcachefs, ZFS, overlayfs.
const LOCAL: [u32; 9] = [
    0x0102_1994,
    0x8584_58F6,
    0xEF53,
    0x5846_5342,
    0x9123_683E,
    0xF2F5_2010,
    0xCA45_1A4E,
    0x2FC1_2FC1,
    0x794C_7630,
];

fn is_local(folder: &Path) -> bool {
    let Ok(path) = CString::new(folder.as_os_str().as_bytes()) else { return false };
    // SAFETY: all zeros are a value of this plain structure.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: a path that ends with zero, and room for the answer.
    let answered = unsafe { libc::statfs(path.as_ptr(), &raw mut found) };
    answered == 0 && LOCAL.contains(&(found.f_type as u32))
}

/// Tells this machine, since it was started, from all others.
pub fn boot_id() -> String {
    read_word("/proc/sys/kernel/random/boot_id")
}

fn read_word(path: &str) -> String {
    std::fs::read_to_string(path).map(|word| word.trim().to_owned()).unwrap_or_default()
}
