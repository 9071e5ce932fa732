//! A worker leaves nothing behind, however it ends.

use crate::executor::Order;
use crate::manager::{start, start_in, start_process, value, wait_until};
use crate::running::is_gone;
use freestone_core::net::WorkerError;
use freestone_core::wire::{FromWorker, ToWorker};
use std::net::Shutdown;

#[test]
fn a_worker_ends_with_its_manager() {
    let mut harness = start(2, |_| {});
    harness.run(0, &Order::Who);
    let pid: u32 = value(&harness.report());
    harness.run(1, &Order::Hang(harness.file("begun").display().to_string()));
    harness.run(2, &Order::Store(1 << 20, 1));
    harness.report();
    harness.stream.shutdown(Shutdown::Both).unwrap();
    let (ended, _root) = harness.join();
    ended.unwrap();
    wait_until("executors end", || is_gone(pid.cast_signed()));
}

#[test]
fn a_worker_whose_executors_do_not_start_says_so() {
    let harness = start(1, |options| options.executor_command = vec!["false".to_owned()]);
    let (ended, _root) = harness.join();
    assert!(matches!(ended, Err(WorkerError::Ended { .. })));
}

#[test]
fn a_worker_that_can_not_start_leaves_nothing() {
    let root = tempfile::tempdir_in("/dev/shm").unwrap();
    let options = crate::manager::options(root.path(), 1);
    let refused = freestone_core::net::run_worker(&options);
    assert!(matches!(refused, Err(WorkerError::Manager { .. })));
    for path in [&options.memory_dir, &options.disk_dir, &options.socket] {
        assert!(!path.exists());
    }
}

/// Not a test, but a worker's process, if a test started it.
#[test]
fn runs_as_a_process() {
    if let Some(root) = std::env::var_os("FREESTONE_TEST_WORKER") {
        let options = crate::manager::options(std::path::Path::new(&root), 1);
        freestone_core::net::run_worker(&options).unwrap();
        std::process::exit(0);
    }
}

#[test]
fn a_worker_ends_in_good_order_on_sigterm_and_not_on_sigint() {
    let (mut harness, mut process) = start_process();
    harness.run(0, &Order::Who);
    let executor: u32 = value(&harness.report());
    let pid = process.id().cast_signed();
    // SAFETY: a child of ours that has not been reaped.
    unsafe { libc::kill(pid, libc::SIGINT) };
    harness.run(1, &Order::Echo(1));
    assert_eq!(value::<u64>(&harness.report()), 1);
    // SAFETY: as above.
    unsafe { libc::kill(pid, libc::SIGTERM) };
    // It goes on until what only it holds was handed over.
    harness.hear(|message| matches!(message, FromWorker::Leaving).then_some(()));
    harness.run(2, &Order::Echo(2));
    assert_eq!(value::<u64>(&harness.report()), 2);
    harness.say(&ToWorker::Shutdown);
    assert!(process.wait().unwrap().success());
    for name in ["memory", "disk", "socket"] {
        assert!(!harness.file(name).exists());
    }
    assert!(is_gone(executor.cast_signed()));
}

#[test]
fn a_second_sigterm_ends_a_worker_at_once() {
    let (mut harness, mut process) = start_process();
    let pid = process.id().cast_signed();
    // SAFETY: a child of ours that has not been reaped.
    unsafe { libc::kill(pid, libc::SIGTERM) };
    harness.hear(|message| matches!(message, FromWorker::Leaving).then_some(()));
    // SAFETY: as above.
    unsafe { libc::kill(pid, libc::SIGTERM) };
    assert!(process.wait().unwrap().success());
    assert!(!harness.file("memory").exists());
}

#[test]
fn a_worker_that_is_refused_says_why() {
    let mut harness = start(1, |_| {});
    harness.say(&ToWorker::Refused("the moon is full".to_owned()));
    let (ended, _root) = harness.join();
    let error = ended.unwrap_err();
    assert!(matches!(error, WorkerError::Refused { .. }), "{error}");
    assert!(error.to_string().ends_with("the moon is full"), "{error}");
}

#[test]
fn a_worker_that_was_killed_takes_its_executors_along_and_its_folders_can_be_swept() {
    let (mut harness, mut process) = start_process();
    harness.run(0, &Order::Who);
    let executor: u32 = value(&harness.report());
    harness.run(1, &Order::Hang(harness.file("begun").display().to_string()));
    wait_until("the call begins", || harness.file("begun").exists());
    assert_eq!(freestone_core::store::owned::sweep(harness.root.path()).unwrap(), 0);
    process.kill().unwrap();
    process.wait().unwrap();
    wait_until("the executor ends", || is_gone(executor.cast_signed()));
    assert_eq!(freestone_core::store::owned::sweep(harness.root.path()).unwrap(), 2);
    assert!(!harness.file("memory").exists());
}

#[test]
fn a_second_worker_does_not_take_the_folder_of_the_first() {
    let harness = start(1, |_| {});
    let mut second = harness.options.clone();
    second.socket = harness.file("second");
    assert!(matches!(freestone_core::net::run_worker(&second), Err(WorkerError::Store(_))));
    let root = harness.shut_down();
    start_in(root, 1, |_| {}).shut_down();
}
