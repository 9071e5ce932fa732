//! Blocks are made, moved, mapped, sent, kept.

use crate::executor::Order;
use crate::manager::{
    Harness, assignment, failure, name, start, start_in, stored, value, wait_until,
};
use freestone_base::{TaskId, WorkerId};
use freestone_core::store::{Folder, Mapping};
use freestone_core::wire::{
    Address, BlockAnswer, BlockDesc, FileProblem, Form, FromWorker, Input, Keep, TaskFailure,
    ToWorker, frame,
};
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

fn store(harness: &mut Harness, number: u64, nbytes: u64) -> BlockDesc {
    harness.run(number, &Order::Store(nbytes, number as u8));
    stored(&harness.report())
}

fn checksums(harness: &mut Harness, number: u64, blocks: &[BlockDesc]) -> Vec<u64> {
    let inputs = blocks.iter().cloned().map(Input::Stored).collect();
    harness.say(&ToWorker::Run(vec![assignment(number, &Order::Checksums, inputs)]));
    value(&harness.report())
}

fn have(harness: &mut Harness, block: &BlockDesc) -> Option<(WorkerId, u64)> {
    harness.hear(|message| match message {
        FromWorker::Have { block: here, fetched } if here == block => Some(*fetched),
        _ => None,
    })
}

fn fetch(from: &Harness, block: &BlockDesc) -> ToWorker {
    ToWorker::Fetch {
        block: block.clone(),
        source: WorkerId(0),
        address: from.address.clone(),
        keep: Keep::Task,
    }
}

#[test]
fn a_large_block_goes_from_one_worker_to_another() {
    let mut first = start(1, |_| {});
    let mut second = start(1, |_| {});
    let block = store(&mut first, 1, 256 << 20);
    let inputs = vec![Input::Stored(block.clone())];
    second.say(&ToWorker::Run(vec![assignment(2, &Order::Checksums, inputs)]));
    second.say(&fetch(&first, &block));
    let (source, duration_ns) = have(&mut second, &block).unwrap();
    assert_eq!(source, WorkerId(0));
    println!("{:.2} GB/s between workers", block.nbytes as f64 / duration_ns as f64);
    assert_eq!(value::<Vec<u64>>(&second.report()), [block.checksum]);
    // They share its file, so neither may use its pages for another block.
    first.say(&ToWorker::Drop(vec![block.name]));
    store(&mut first, 3, 256 << 20);
    assert_eq!(checksums(&mut second, 4, std::slice::from_ref(&block)), [block.checksum]);
    first.shut_down();
    second.shut_down();
}

#[test]
fn a_large_block_goes_to_a_worker_that_can_not_share_its_file() {
    let mut first = start(1, |_| {});
    let mut second = start_in(tempfile::tempdir_in("/tmp").unwrap(), 1, |_| {});
    let block = store(&mut first, 1, 256 << 20);
    second.say(&fetch(&first, &block));
    have(&mut second, &block).unwrap();
    assert_eq!(checksums(&mut second, 2, std::slice::from_ref(&block)), [block.checksum]);
    first.shut_down();
    second.shut_down();
}

#[test]
fn what_a_peer_has_not_or_has_otherwise_is_reported() {
    let mut first = start(1, |_| {});
    let mut second = start(1, |_| {});
    let mut third = start(1, |options| options.key = "another".to_owned());
    let block = store(&mut first, 1, 100_000);
    let failed = |harness: &mut Harness| {
        harness.hear(|message| match message {
            FromWorker::FetchFailed { reason, missing_there, .. } => {
                Some((reason.clone(), *missing_there))
            }
            _ => None,
        })
    };
    let missing = BlockDesc { name: name(99), ..block.clone() };
    second.say(&fetch(&first, &missing));
    assert!(failed(&mut second).1);
    let corrupt = BlockDesc { checksum: 7, ..block.clone() };
    second.say(&fetch(&first, &corrupt));
    assert!(failed(&mut second).0.contains("checksum"));
    third.say(&fetch(&first, &block));
    let (reason, missing_there) = failed(&mut third);
    assert!(reason.contains("key") && !missing_there);
    second.say(&fetch(&first, &block));
    have(&mut second, &block);
    assert_eq!(checksums(&mut second, 3, &[block.clone(), block.clone()]), [block.checksum; 2]);
    for harness in [first, second, third] {
        harness.shut_down();
    }
}

#[test]
fn a_peer_that_dies_while_it_sends_leaves_nothing_half() {
    let mut harness = start(1, |_| {});
    let peer = harness.file("peer");
    let listener = UnixListener::bind(&peer).unwrap();
    let block = BlockDesc {
        name: name(1),
        nbytes: 1 << 20,
        checksum: xxh3_64(&vec![1; 1 << 20]),
        form: Form::Value,
    };
    let ask = ToWorker::Fetch {
        block: block.clone(),
        source: WorkerId(3),
        address: Address::Unix(peer.display().to_string()),
        keep: Keep::Task,
    };
    for sent in [0, 1000, 1 << 19, 1 << 20] {
        harness.say(&ask);
        let (mut stream, _) = listener.accept().unwrap();
        std::io::Read::read(&mut stream, &mut [0; 1000]).unwrap();
        let mut bytes = Vec::new();
        frame::encode(&BlockAnswer::Follows { nbytes: 1 << 20 }, &mut bytes).unwrap();
        bytes.resize(bytes.len() + sent, 1);
        stream.write_all(&bytes).unwrap();
        drop(stream);
        if sent == 1 << 20 {
            break;
        }
        let missing_there = harness.hear(|message| match message {
            FromWorker::FetchFailed { missing_there, .. } => Some(*missing_there),
            _ => None,
        });
        assert!(!missing_there);
        let left = std::fs::read_dir(harness.options.memory_dir.join("tmp")).unwrap().count();
        assert_eq!(left, 0);
    }
    have(&mut harness, &block);
    assert_eq!(checksums(&mut harness, 2, std::slice::from_ref(&block)), [block.checksum]);
    harness.shut_down();
}

#[test]
fn blocks_beyond_the_quota_go_to_disk_and_stay_exact() {
    let mut harness = start(1, |options| options.memory_quota = 8 << 20);
    let blocks: Vec<BlockDesc> =
        (0..12).map(|number| store(&mut harness, number, 1 << 20)).collect();
    let expected: Vec<u64> = blocks.iter().map(|block| block.checksum).collect();
    assert_eq!(checksums(&mut harness, 100, &blocks), expected);
    let in_memory = || {
        let is_there =
            |block: &&BlockDesc| harness.options.memory_dir.join(block.name.to_string()).exists();
        blocks.iter().filter(is_there).count()
    };
    wait_until("memory is within its quota", || in_memory() <= 6);
    assert_eq!(checksums(&mut harness, 101, &blocks), expected);
    harness.shut_down();
}

#[test]
fn a_full_node_refuses_calls_that_would_store_more() {
    let mut harness = start(1, |options| {
        options.memory_quota = 4 << 20;
        options.disk_quota = 2 << 20;
    });
    let mut refused = None;
    for number in 0..10 {
        harness.run(number, &Order::Store(1 << 20, 1));
        let report = harness.report();
        if report.result.is_err() {
            refused = Some(report);
            break;
        }
    }
    match failure(&refused.unwrap()) {
        TaskFailure::StorageFull { needed, free, folder } => {
            assert!(*needed > 1 << 20 && free < needed && folder.contains("disk"));
        }
        other => panic!("{other:?}"),
    }
    harness.run(50, &Order::Echo(1));
    harness.shut_down();
}

#[test]
fn what_is_dropped_is_removed_once_nobody_maps_it() {
    let mut harness = start(1, |_| {});
    let block = store(&mut harness, 1, 1 << 20);
    harness.say(&ToWorker::Pin(block.name));
    let path = harness.hear(|message| match message {
        FromWorker::Pinned { path, .. } => Some(path.clone().unwrap()),
        _ => None,
    });
    let mapping = Mapping::open(Path::new(&path)).unwrap();
    harness.say(&ToWorker::Drop(vec![block.name]));
    // Segments of the same size would take its pages, were they free.
    for number in 2..6 {
        store(&mut harness, number, 1 << 20);
    }
    assert_eq!(xxh3_64(&mapping), block.checksum);
    drop(mapping);
    harness.say(&ToWorker::Unpin(block.name));
    wait_until("the block is removed", || !Path::new(&path).exists());
    let free = || std::fs::read_dir(harness.options.memory_dir.join("free")).unwrap().count();
    assert_eq!(free(), 1);
    store(&mut harness, 7, 1 << 20);
    let free = std::fs::read_dir(harness.options.memory_dir.join("free")).unwrap().count();
    assert_eq!(free, 0);
    harness.shut_down();
}

fn external(harness: &Harness, bytes: &[u8]) -> (BlockDesc, String) {
    let path = harness.file("user's file");
    std::fs::write(&path, bytes).unwrap();
    let form = Form::File("user's file".to_owned());
    let (nbytes, checksum) = (bytes.len() as u64, xxh3_64(bytes));
    (BlockDesc { name: name(500), nbytes, checksum, form }, path.display().to_string())
}

#[test]
fn a_file_of_the_users_is_used_where_it_lies_until_it_changes() {
    let mut harness = start(1, |_| {});
    let mut other = start(1, |_| {});
    let (block, path) = external(&harness, b"as it was");
    let keep = Keep::Session;
    harness.say(&ToWorker::Adopt {
        block: block.clone(),
        path: path.clone(),
        owned: false,
        keep,
        verify: false,
    });
    have(&mut harness, &block);
    assert_eq!(checksums(&mut harness, 1, std::slice::from_ref(&block)), [block.checksum]);
    other.say(&fetch(&harness, &block));
    have(&mut other, &block);
    assert_eq!(checksums(&mut other, 2, std::slice::from_ref(&block)), [block.checksum]);
    std::fs::write(&path, b"as it is").unwrap();
    let inputs = vec![Input::Stored(block.clone())];
    harness.say(&ToWorker::Run(vec![assignment(3, &Order::Checksums, inputs)]));
    let report = harness.report();
    assert!(
        matches!(failure(&report), TaskFailure::File { path: there, problem: FileProblem::Changed(_) } if *there == path)
    );
    let lost = harness.hear(|message| match message {
        FromWorker::Lost { names, .. } => Some(names.clone()),
        _ => None,
    });
    assert_eq!(lost, [block.name]);
    assert!(Path::new(&path).exists());
    for harness in [harness, other] {
        harness.shut_down();
    }
}

#[test]
fn a_block_that_the_client_wrote_is_taken_over() {
    let mut harness = start(1, |_| {});
    let folder = Folder::open(&harness.options.memory_dir, &harness.options.disk_dir).unwrap();
    let mut segment = folder.segment(3).unwrap();
    segment.append(b"abc").unwrap();
    segment.finish().unwrap();
    let path = harness.options.memory_dir.join("tmp").join("from-client");
    std::fs::copy(segment.path(), &path).unwrap();
    let block =
        BlockDesc { name: name(600), nbytes: 3, checksum: xxh3_64(b"abc"), form: Form::Value };
    let path = path.display().to_string();
    let keep = Keep::Task;
    harness.say(&ToWorker::Adopt {
        block: block.clone(),
        path: path.clone(),
        owned: true,
        keep,
        verify: false,
    });
    have(&mut harness, &block);
    assert!(!Path::new(&path).exists());
    assert_eq!(checksums(&mut harness, 1, &[block.clone(), block.clone()]), [block.checksum; 2]);
    harness.shut_down();
}

#[test]
fn blocks_are_kept_for_later_runs_unless_they_are_damaged() {
    let mut harness = start(1, |_| {});
    let mut kept = assignment(1, &Order::Store(200_000, 9), Vec::new());
    Arc::make_mut(&mut kept.options).keep = Keep::Forever;
    let mut other = assignment(2, &Order::Store(200_000, 10), Vec::new());
    Arc::make_mut(&mut other.options).keep = Keep::Forever;
    harness.say(&ToWorker::Run(vec![kept, other]));
    let blocks: Vec<BlockDesc> = harness.reports(2).iter().map(stored).collect();
    let root = harness.shut_down();
    let damaged = root.path().join("forever").join(blocks[1].name.to_string());
    let mut bytes = std::fs::read(&damaged).unwrap();
    bytes[100_000] ^= 1;
    std::fs::write(&damaged, bytes).unwrap();
    let mut harness = start_in(root, 1, |_| {});
    let mut found = harness.hear(|message| match message {
        FromWorker::Hello { blocks, .. } => Some(blocks.clone()),
        _ => None,
    });
    found.sort_unstable_by_key(|block| block.name != blocks[0].name);
    assert_eq!(found, blocks);
    assert_eq!(checksums(&mut harness, 5, &blocks[..1]), [blocks[0].checksum]);
    let inputs = vec![Input::Stored(blocks[1].clone())];
    harness.say(&ToWorker::Run(vec![assignment(6, &Order::Checksums, inputs)]));
    let report = harness.report();
    assert_eq!(report.task, TaskId(6));
    assert_eq!(*failure(&report), TaskFailure::InputLost { name: blocks[1].name });
    let root = harness.shut_down();
    assert!(root.path().join("forever").join(blocks[0].name.to_string()).exists());
    assert!(!damaged.exists());
}
