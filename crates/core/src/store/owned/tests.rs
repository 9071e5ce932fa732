use super::*;
use std::os::unix::fs::symlink;

fn marked(parent: &Path, name: &str) -> PathBuf {
    let folder = parent.join(name);
    drop(OwnedFolder::take(&folder).unwrap());
    std::fs::write(folder.join("block"), b"bytes").unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn only_folders_of_the_dead_are_swept() {
    let parent = tempfile::tempdir().unwrap();
    let alive = OwnedFolder::create(parent.path()).unwrap();
    marked(parent.path(), "dead");
    std::fs::create_dir(parent.path().join("12-other")).unwrap();
    std::fs::write(parent.path().join("file"), b"").unwrap();
    assert_eq!(sweep(parent.path()).unwrap(), 1);
    let name = alive.path().file_name().unwrap().to_str().unwrap();
    let mut expected = ["12-other", "file", name].map(str::to_owned);
    expected.sort();
    assert_eq!(names(parent.path()), expected);
    let again = OwnedFolder::take(alive.path());
    assert!(matches!(again, Err(StoreError::InUse { pid, .. }) if pid == std::process::id()));
    let path = alive.path().to_path_buf();
    assert!(is_in_use(&path));
    drop(alive);
    assert!(!is_in_use(&path));
    assert_eq!(OwnedFolder::take(&path).unwrap().path(), path);
}

#[test]
fn a_folder_stays_while_one_in_it_is_in_use() {
    let parent = tempfile::tempdir().unwrap();
    let folder = marked(parent.path(), "cluster");
    let worker = OwnedFolder::take(&folder.join("worker")).unwrap();
    assert_eq!(sweep(parent.path()).unwrap(), 0);
    drop(worker);
    assert_eq!(sweep(parent.path()).unwrap(), 1);
    assert!(!folder.exists());
}

#[test]
fn links_are_not_followed() {
    let parent = tempfile::tempdir().unwrap();
    let of_user = tempfile::tempdir().unwrap();
    let precious = marked(of_user.path(), "looks-like-ours").join("precious");
    std::fs::write(&precious, b"data").unwrap();
    // A folder that is a link, one whose marker is a link, and one with links in it.
    symlink(of_user.path().join("looks-like-ours"), parent.path().join("folder")).unwrap();
    std::fs::create_dir(parent.path().join("marker")).unwrap();
    let marker = of_user.path().join("looks-like-ours").join(MARKER);
    symlink(marker, parent.path().join("marker").join(MARKER)).unwrap();
    let swept = marked(parent.path(), "swept");
    symlink(of_user.path(), swept.join("in")).unwrap();
    symlink(&precious, swept.join("file")).unwrap();
    std::fs::create_dir(swept.join("deep")).unwrap();
    symlink(of_user.path(), swept.join("deep").join("er")).unwrap();
    assert_eq!(sweep(parent.path()).unwrap(), 1);
    assert_eq!(names(parent.path()), ["folder", "marker"]);
    assert_eq!(std::fs::read(&precious).unwrap(), b"data");
    for name in ["folder", "marker"] {
        let taken = OwnedFolder::take(&parent.path().join(name));
        assert!(matches!(taken, Err(StoreError::NotOurs { .. })), "{taken:?}");
    }
}

#[test]
fn a_marker_that_is_none_protects_a_folder() {
    let parent = tempfile::tempdir().unwrap();
    for (name, marker) in [("empty", ""), ("other", "my notes"), ("half", "freestone fol")] {
        let folder = parent.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join(MARKER), marker).unwrap();
        std::fs::write(folder.join("notes"), b"").unwrap();
        assert!(matches!(OwnedFolder::take(&folder), Err(StoreError::NotOurs { .. })));
    }
    let pipe = parent.path().join("pipe");
    std::fs::create_dir(&pipe).unwrap();
    let path = std::ffi::CString::new(pipe.join(MARKER).into_os_string().into_encoded_bytes());
    // SAFETY: a path that ends with zero.
    assert_eq!(unsafe { libc::mkfifo(path.unwrap().as_ptr(), 0o600) }, 0);
    assert_eq!(sweep(parent.path()).unwrap(), 0);
    assert_eq!(names(parent.path()), ["empty", "half", "other", "pipe"]);
}

#[test]
fn whoever_is_killed_while_making_a_folder_leaves_nothing_that_is_in_the_way() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("made");
    // No marker yet: it is left alone, and can be taken.
    std::fs::create_dir(&folder).unwrap();
    assert_eq!(sweep(parent.path()).unwrap(), 0);
    drop(OwnedFolder::take(&folder).unwrap());
    assert_eq!(sweep(parent.path()).unwrap(), 1);
    // A marker that says nothing yet, and nothing else.
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join(MARKER), b"").unwrap();
    assert_eq!(sweep(parent.path()).unwrap(), 0);
    drop(OwnedFolder::take(&folder).unwrap());
    assert_eq!(sweep(parent.path()).unwrap(), 1);
    // Files and no marker are nobody's to take.
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("notes"), b"").unwrap();
    assert!(matches!(OwnedFolder::take(&folder), Err(StoreError::NotOurs { .. })));
    assert_eq!(sweep(parent.path()).unwrap(), 0);
    assert_eq!(names(&folder), ["notes"]);
}

#[test]
fn a_folder_that_is_taken_over_has_a_marker_at_every_moment() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("taken");
    drop(OwnedFolder::take(&folder).unwrap());
    let marker = folder.join(MARKER);
    std::thread::scope(|scope| {
        let taking = scope.spawn(|| {
            for _ in 0..1000 {
                drop(OwnedFolder::take(&folder).unwrap());
            }
        });
        while !taking.is_finished() {
            assert!(std::fs::read_to_string(&marker).unwrap().starts_with(MAGIC));
        }
    });
    // By a process whose name is shorter.
    let mut long = std::fs::OpenOptions::new().append(true).open(&marker).unwrap();
    std::io::Write::write_all(&mut long, &[b'9'; 100]).unwrap();
    drop(OwnedFolder::take(&folder).unwrap());
    assert!(!std::fs::read_to_string(&marker).unwrap().contains("999"));
}

#[test]
fn a_removal_that_is_cut_short_is_finished_by_a_sweep() {
    let parent = tempfile::tempdir().unwrap();
    let folder = OwnedFolder::create(parent.path()).unwrap();
    std::fs::create_dir(folder.path().join("deep")).unwrap();
    std::fs::write(folder.path().join("deep").join("block"), b"").unwrap();
    let path = folder.path().to_path_buf();
    std::fs::remove_dir_all(path.join("deep")).unwrap();
    assert_eq!(names(&path), [MARKER]);
    drop(folder);
    assert_eq!(sweep(parent.path()).unwrap(), 1);
    assert_eq!(names(parent.path()), [""; 0]);
}

#[test]
fn folders_of_other_hosts_are_swept_only_where_no_other_host_can_be() {
    let parent = tempfile::tempdir().unwrap();
    let folder = marked(parent.path(), "elsewhere");
    let shared = Host::other(|_| false);
    assert_eq!(sweep_as(parent.path(), &shared).unwrap(), 0);
    assert!(folder.join("block").exists());
    let local = Host::other(|_| true);
    assert_eq!(sweep_as(parent.path(), &local).unwrap(), 1);
}

#[test]
fn folders_of_other_users_are_left_alone() {
    // SAFETY: it always succeeds.
    if unsafe { libc::geteuid() } != 0 {
        // Only root can give a folder away.
        return;
    }
    let parent = tempfile::tempdir().unwrap();
    let folder = marked(parent.path(), "whole");
    std::os::unix::fs::chown(&folder, Some(12345), None).unwrap();
    let marker = marked(parent.path(), "marker");
    std::os::unix::fs::chown(marker.join(MARKER), Some(12345), None).unwrap();
    assert_eq!(sweep(parent.path()).unwrap(), 0);
    assert!(matches!(OwnedFolder::take(&folder), Err(StoreError::NotOurs { .. })));
    assert!(matches!(OwnedFolder::take(&marker), Err(StoreError::NotOurs { .. })));
}

#[test]
fn names_are_not_by_process_id_alone() {
    let parent = tempfile::tempdir().unwrap();
    let folders: Vec<_> =
        (0..100).map(|_| OwnedFolder::create(parent.path()).unwrap().path().to_owned()).collect();
    assert_eq!(names(parent.path()).len(), folders.len());
    assert!(super::super::files::unique().split('-').nth(1).is_some_and(|part| part.len() == 16));
}
