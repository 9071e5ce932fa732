use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Deref;
use xxhash_rust::xxh3::xxh3_64;

/// A cache that is removed in the end.
pub(crate) struct Scratch {
    folder: Folder,
    _root: tempfile::TempDir,
}

impl Deref for Scratch {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.folder
    }
}

pub(crate) fn scratch_folder() -> Scratch {
    let root = tempfile::tempdir().unwrap();
    let folder = Folder::open(&root.path().join("memory"), &root.path().join("disk")).unwrap();
    Scratch { folder, _root: root }
}

#[test]
fn a_folder_that_is_cleared_has_what_is_not_a_block_and_what_was_put_aside() {
    let folder = scratch_folder();
    let (memory, disk) = (folder.folder(Tier::Memory), folder.folder(Tier::Disk));
    let first = folder.put(name(1), b"first", &[]).unwrap();
    folder.put(name(2), b"second", &[]).unwrap();
    folder.to_disk(name(2), &Form::Value).unwrap();
    let form = Form::File("a.txt".to_owned());
    let segment = folder.segment(0).unwrap();
    folder.commit(segment, name(3), form.clone()).unwrap();
    let (aside, ..) = folder.put_aside(b"aside", &[]).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("kept"), b"kept").unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), memory.join(name(4).to_string())).unwrap();
    std::fs::write(disk.join("notes"), b"notes").unwrap();
    folder.clear().unwrap();
    for (number, form) in [(1, &first.form), (2, &first.form), (3, &form)] {
        assert_eq!(folder.path(name(number), form), None, "{number}");
    }
    assert!(!memory.join(format!("{}.d", name(3))).exists());
    assert!(memory.join(name(4).to_string()).symlink_metadata().is_err());
    assert!(aside.exists() && disk.join("notes").exists());
    assert!(elsewhere.path().join("kept").exists());
}

fn name(number: u8) -> Name {
    Name([number; 16])
}

/// Something that happens to the block with a number.
#[derive(Clone, Debug)]
enum Step {
    Put { size: u32, seed: u8 },
    PutMapped { size: u32, seed: u8 },
    Adopt { inside: bool },
    Map,
    Unmap,
    ToDisk,
    ToMemory,
    Drop,
    Abandon { size: u32 },
}

fn steps() -> impl Strategy<Value = Vec<(u8, Step)>> {
    let size = prop_oneof![0..2000_u32, 60_000..200_000_u32];
    let step = prop_oneof![
        3 => (size.clone(), any::<u8>()).prop_map(|(size, seed)| Step::Put { size, seed }),
        1 => (size.clone(), any::<u8>()).prop_map(|(size, seed)| Step::PutMapped { size, seed }),
        1 => any::<bool>().prop_map(|inside| Step::Adopt { inside }),
        2 => Just(Step::Map),
        1 => Just(Step::Unmap),
        1 => Just(Step::ToDisk),
        1 => Just(Step::ToMemory),
        2 => Just(Step::Drop),
        1 => size.prop_map(|size| Step::Abandon { size }),
    ];
    prop::collection::vec((0..4_u8, step), 1..40)
}

fn form(number: u8) -> Form {
    if number == 3 { Form::File("some file".to_owned()) } else { Form::Value }
}

/// What should be there.
#[derive(Default)]
struct Model {
    blocks: BTreeMap<u8, Vec<u8>>,
    /// Blocks as they were when mapped: they stay readable, whatever happens.
    mapped: Vec<(u8, Mapping, Vec<u8>)>,
}

fn bytes(size: u32, seed: u8) -> Vec<u8> {
    (0..size).map(|at| (at as u8).wrapping_mul(31) ^ seed).collect()
}

fn step(folder: &Folder, model: &mut Model, number: u8, step: &Step) {
    let (name, form) = (name(number), form(number));
    let is_mapped = model.mapped.iter().any(|mapped| mapped.0 == number);
    match *step {
        Step::Put { size, seed } | Step::PutMapped { size, seed } => {
            let bytes = bytes(size, seed);
            let mut segment = folder.segment(u64::from(size)).unwrap();
            if matches!(step, Step::PutMapped { .. }) {
                segment.map().unwrap().copy_from_slice(&bytes);
            } else {
                bytes.chunks(70_000).for_each(|piece| segment.append(piece).unwrap());
            }
            // One name lies in one tier: the owner sees to that.
            if model.blocks.remove(&number).is_some() {
                folder.remove(name, &form).unwrap();
            }
            let block = folder.commit(segment, name, form).unwrap();
            assert_eq!((block.nbytes, block.checksum), (u64::from(size), xxh3_64(&bytes)));
            model.blocks.insert(number, bytes);
        }
        Step::Adopt { inside } => {
            let from =
                if inside { folder.folder(Tier::Memory).join("tmp") } else { std::env::temp_dir() };
            let (_, path) = create_unique(&from).unwrap();
            std::fs::write(&path, b"adopted").unwrap();
            if model.blocks.remove(&number).is_some() {
                folder.remove(name, &form).unwrap();
            }
            let block = BlockDesc { name, nbytes: 7, checksum: xxh3_64(b"adopted"), form };
            folder.adopt(&path, &block).unwrap();
            assert!(!path.exists());
            model.blocks.insert(number, b"adopted".to_vec());
        }
        Step::Map => {
            if let Some(bytes) = model.blocks.get(&number) {
                let (path, _) = folder.path(name, &form).unwrap();
                model.mapped.push((number, folder.map(&path).unwrap(), bytes.clone()));
            }
        }
        Step::Unmap => model.mapped.retain(|mapped| mapped.0 != number),
        Step::ToDisk | Step::ToMemory => {
            let (moved, from) = match step {
                Step::ToDisk => (folder.to_disk(name, &form), Tier::Memory),
                _ => (folder.to_memory(name, &form), Tier::Disk),
            };
            if moved.is_err() {
                assert!(folder.path(name, &form).is_none_or(|(_, tier)| tier != from));
            }
        }
        Step::Drop if is_mapped => {
            if model.blocks.remove(&number).is_some() {
                folder.remove(name, &form).unwrap();
            }
        }
        Step::Drop => {
            let recycled = folder.recycle(name, &form);
            assert_eq!(recycled.is_ok(), model.blocks.remove(&number).is_some());
        }
        Step::Abandon { size } => {
            let mut segment = folder.segment(u64::from(size)).unwrap();
            segment.append(&bytes(size / 2, 1)).unwrap();
        }
    }
}

fn check(folder: &Folder, model: &Model) {
    for number in 0..4 {
        let found = folder.path(name(number), &form(number));
        let found = found.map(|(path, _)| folder.map(&path).unwrap());
        assert_eq!(found.as_deref(), model.blocks.get(&number).map(Vec::as_slice));
    }
    for (_, mapping, bytes) in &model.mapped {
        assert_eq!(**mapping, bytes[..]);
    }
    let free: u64 = folder.free_segments().unwrap().iter().map(|free| free.0).sum();
    assert!(free <= folder.free_limit);
    for tier in [Tier::Memory, Tier::Disk] {
        let left = std::fs::read_dir(folder.folder(tier).join("tmp")).unwrap().count();
        assert_eq!(left, 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn contents_stay_exact_whatever_happens(steps in steps()) {
        let scratch = scratch_folder();
        let folder = scratch.folder.clone().with_free_limit(300_000);
        let mut model = Model::default();
        for (number, what) in steps {
            step(&folder, &mut model, number, &what);
            check(&folder, &model);
        }
    }
}

#[test]
fn a_folder_without_freed_segments_is_not_listed_again_until_there_is_one() {
    let folder = scratch_folder();
    let free = folder.folder(Tier::Memory).join("free");
    let old = SystemTime::now() - Duration::from_secs(60);
    File::open(&free).unwrap().set_modified(old).unwrap();
    let is_noted = || folder.empty_since.lock().unwrap().is_some();
    assert!(folder.take_free(1 << 20).unwrap().is_none() && is_noted());
    assert!(folder.take_free(1 << 20).unwrap().is_none() && is_noted());
    std::fs::write(free.join("1048576-1"), vec![0; 1 << 20]).unwrap();
    assert!(folder.take_free(1 << 20).unwrap().is_some() && !is_noted());
    // It is empty again, but has changed just now.
    assert!(folder.take_free(1 << 20).unwrap().is_none() && !is_noted());
}

#[test]
fn names_of_files_stay_in_their_folder() {
    let folder = scratch_folder();
    for basename in ["", ".", "..", "a/b", "/etc/passwd", "a\0b"] {
        let form = Form::File(basename.to_owned());
        let refused = folder.path_in(Tier::Memory, name(1), &form);
        assert!(matches!(refused, Err(StoreError::BadBasename { .. })), "{basename:?}");
    }
}

#[test]
fn files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = scratch_folder();
    folder.put(name(1), b"pickle", &[]).unwrap();
    folder.to_disk(name(1), &Form::Value).unwrap();
    let (path, _) = folder.path(name(1), &Form::Value).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
}

/// A file system of one mebibyte, if this process may make one.
struct Tiny(PathBuf);

impl Tiny {
    fn mount(path: &Path) -> Option<Self> {
        std::fs::create_dir_all(path).unwrap();
        let status = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(path)
            .stderr(std::process::Stdio::null())
            .status();
        status.is_ok_and(|status| status.success()).then(|| Self(path.to_path_buf()))
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_memory_goes_on_disk_and_a_full_disk_says_so() {
    let root = tempfile::tempdir().unwrap();
    let [memory, disk] = ["memory", "disk"].map(|name| root.path().join(name));
    let Some(_memory) = Tiny::mount(&memory) else { return };
    let folder = Folder::open(&memory, &disk).unwrap();
    let bytes = bytes(9 << 20, 5);
    let ways: [fn(&mut Segment, &[u8]); 3] = [
        |segment, bytes| segment.append(bytes).unwrap(),
        |segment, bytes| segment.map().unwrap().copy_from_slice(bytes),
        |segment, mut bytes| segment.append_from(&mut bytes).unwrap(),
    ];
    for fill in ways {
        let mut segment = folder.segment(bytes.len() as u64).unwrap();
        fill(&mut segment, &bytes);
        assert_eq!(segment.tier(), Tier::Disk);
        let block = folder.commit(segment, name(1), Form::Value).unwrap();
        assert_eq!(block.checksum, xxh3_64(&bytes));
        let (path, _) = folder.path(name(1), &Form::Value).unwrap();
        assert_eq!(*folder.map(&path).unwrap(), bytes[..]);
    }
    assert!(folder.to_memory(name(1), &Form::Value).unwrap_err().is_full());
    let Some(_disk) = Tiny::mount(&disk) else { return };
    let folder = Folder::open(&memory, &disk).unwrap();
    let mut segment = folder.segment(bytes.len() as u64).unwrap();
    match segment.append(&bytes).unwrap_err() {
        StoreError::Full { needed, free, folder } => {
            assert_eq!(needed, 9 << 20);
            assert!(free < 1 << 20 && folder.starts_with(&disk));
        }
        other => panic!("{other}"),
    }
    assert!(folder.segment(bytes.len() as u64).unwrap().map().unwrap_err().is_full());
}

#[test]
fn want_of_room_differs_from_other_errors() {
    let file = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let folder = scratch_folder();
    let path = folder.folder(Tier::Disk).join("tmp/none");
    let mut segment = Segment::new(file(), path, Tier::Disk, 1 << 20);
    assert!(segment.append(&bytes(1 << 20, 1)).unwrap_err().is_full());
    let mut segment = Segment::new(file(), PathBuf::from("/none"), Tier::Disk, 20 << 20);
    assert!(segment.append_from(&mut &*bytes(20 << 20, 1)).unwrap_err().is_full());
}

#[test]
fn what_two_threads_read_and_write_is_what_was_sent() {
    read_from_a_source(&scratch_folder(), &|segment| segment);
}

#[test]
fn what_is_read_in_place_is_what_was_sent() {
    let root = tempfile::tempdir_in("/dev/shm").unwrap();
    let folder = Folder::open(&root.path().join("memory"), &root.path().join("disk")).unwrap();
    // As the system has huge pages for all, for some or for none, which is not the test's choice.
    read_from_a_source(&folder, &|segment| segment);
    for huge in [0, pages::HUGE, 5 * pages::HUGE] {
        read_from_a_source(&folder, &|segment| {
            reserve_all(segment.path(), segment.nbytes());
            segment.with_huge(huge)
        });
    }
}

/// Has all pages of a file, as one with huge pages does: writing in place could end the process.
fn reserve_all(path: &Path, nbytes: u64) {
    let zeros = vec![0; nbytes as usize];
    std::fs::write(path, zeros).unwrap();
}

fn read_from_a_source(folder: &Folder, change: &dyn Fn(Segment) -> Segment) {
    let bytes = bytes((20 << 20) + 12_345, 3);
    let segment = || change(folder.segment(bytes.len() as u64).unwrap());
    for from in [0, 100, 3 << 20] {
        let mut segment = segment();
        segment.append(&bytes[..from]).unwrap();
        segment.append_from(&mut &bytes[from..]).unwrap();
        let block = folder.commit(segment, name(1), Form::Value).unwrap();
        assert_eq!(block.checksum, xxh3_64(&bytes));
        let (path, _) = folder.path(name(1), &Form::Value).unwrap();
        assert_eq!(*folder.map(&path).unwrap(), bytes[..]);
    }
    let error = segment().append_from(&mut &bytes[1..]).unwrap_err();
    assert!(
        matches!(error, StoreError::Io { source, .. } if source.kind() == ErrorKind::UnexpectedEof)
    );
}
