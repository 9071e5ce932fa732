//! An executor that does what the arguments of its calls say; this test program, started anew.

use freestone_core::store::{Folder, Mapping};
use freestone_core::wire::{
    Call, CallResult, Frames, FromExecutor, Output, PlacedInput, Spent, ToExecutor, frame,
};
use freestone_core::worker::Claims;
use serde::{Deserialize, Serialize};
use smallvec::smallvec;
use std::io::Write;
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::AtomicU64;

const MARK: &str = "FREESTONE_TEST_EXECUTOR";

/// What a call does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Order {
    /// Returns its number.
    Echo(u64),
    /// Makes a file and never returns.
    Hang(String),
    /// Waits until a file is there.
    WaitFor(String),
    /// Ends the executor with this status.
    Exit(i32),
    /// Ends the executor with SIGABRT.
    Abort,
    /// Starts a process that hangs, and hangs.
    Nest(String),
    /// Writes a block of as many bytes of this kind.
    Store(u64, u8),
    /// Returns the checksums of its inputs.
    Checksums,
    /// Returns its process and the claims word.
    Who,
}

/// How the worker starts this executor.
pub fn command() -> (Vec<String>, Vec<(String, String)>) {
    let program = std::env::current_exe().unwrap().display().to_string();
    let arguments = ["executor::runs_calls", "--exact", "--nocapture", "--quiet"];
    let command = std::iter::once(program).chain(arguments.map(str::to_owned)).collect();
    (command, vec![(MARK.to_owned(), "1".to_owned())])
}

/// Not a test, but the executor's process, if a worker started it.
#[test]
fn runs_calls() {
    if std::env::var_os(MARK).is_some() {
        serve();
        std::process::exit(0);
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap()
}

fn serve() {
    let fd = |name| variable(name).parse::<RawFd>().unwrap();
    // SAFETY: the worker opened it for us.
    let mut socket = unsafe { UnixStream::from_raw_fd(fd("FREESTONE__EXECUTOR_SOCKET")) };
    let page = fd("FREESTONE__EXECUTOR_PAGE");
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh mapping of what the worker opened for us.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), 8, access, libc::MAP_SHARED, page, 0) };
    assert_ne!(page, libc::MAP_FAILED);
    // SAFETY: mapped for good, page-aligned, only used as an atomic.
    let claims = Claims::new(unsafe { &*page.cast::<AtomicU64>() });
    let folder = Folder::open(
        Path::new(&variable("FREESTONE__MEMORY_DIR")),
        Path::new(&variable("FREESTONE__DISK_DIR")),
    )
    .unwrap();
    say(&mut socket, &FromExecutor::Ready { pid: std::process::id() });
    let mut frames = Frames::default();
    loop {
        let mut results = Vec::new();
        let mut unmapped = Vec::new();
        while let Some(message) = frames.next::<ToExecutor>().unwrap() {
            match message {
                ToExecutor::Define { .. } | ToExecutor::Opened { .. } | ToExecutor::Forget(_) => {}
                ToExecutor::Resume => claims.resume(),
                ToExecutor::Shutdown => return,
                ToExecutor::Calls(calls) => {
                    for call in calls {
                        if claims.try_claim(call.sequence) {
                            results.push(run(&folder, &call));
                            unmapped.extend(call.inputs.iter().filter_map(|input| match input {
                                PlacedInput::Mapped { name, .. } => Some(*name),
                                PlacedInput::Inline(_) => None,
                            }));
                        }
                    }
                }
            }
        }
        if !results.is_empty() {
            say(&mut socket, &FromExecutor::Results { results, unmapped });
        }
        match frames.read_from(&mut socket) {
            Ok((0, _)) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

fn say(socket: &mut UnixStream, message: &FromExecutor) {
    let mut bytes = Vec::new();
    frame::encode(message, &mut bytes).unwrap();
    socket.write_all(&bytes).unwrap();
}

pub fn inline<T: Serialize>(value: &T) -> Output {
    let mut bytes = Vec::new();
    frame::encode(value, &mut bytes).unwrap();
    Output::Inline(bytes[4..].into())
}

fn run(folder: &Folder, call: &Call) -> CallResult {
    let order: Order = frame::decode(call.arguments.as_slice()).unwrap();
    let output = match order {
        Order::Echo(number) => inline(&number),
        Order::Hang(path) => {
            std::fs::write(path, "").unwrap();
            hang()
        }
        Order::WaitFor(path) => {
            while !Path::new(&path).exists() {
                std::thread::yield_now();
            }
            inline(&0_u64)
        }
        Order::Exit(status) => std::process::exit(status),
        Order::Abort => std::process::abort(),
        Order::Nest(path) => {
            let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
            let temporary = format!("{path}.tmp");
            std::fs::write(&temporary, child.id().to_string()).unwrap();
            std::fs::rename(&temporary, &path).unwrap();
            child.wait().unwrap();
            hang()
        }
        Order::Store(nbytes, kind) => {
            let bytes = vec![kind; nbytes as usize];
            Output::Stored(folder.put(call.outputs[0], b"p", &[&bytes]).unwrap())
        }
        Order::Checksums => {
            let checksums: Vec<u64> = call
                .inputs
                .iter()
                .map(|input| match input {
                    PlacedInput::Inline(bytes) => xxhash_rust::xxh3::xxh3_64(bytes.as_slice()),
                    PlacedInput::Mapped { path, .. } => {
                        xxhash_rust::xxh3::xxh3_64(&Mapping::open(Path::new(path)).unwrap())
                    }
                })
                .collect();
            inline(&checksums)
        }
        Order::Who => inline(&std::process::id()),
    };
    let spent = Spent { start_ns: 1, duration_ns: 1000, ..Spent::default() };
    CallResult { sequence: call.sequence, spent, result: Ok(smallvec![output]) }
}

fn hang() -> ! {
    loop {
        std::thread::park();
    }
}
