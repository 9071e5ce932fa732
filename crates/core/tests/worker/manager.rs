//! A fake manager, and a worker in a thread.

use crate::executor::{self, Order};
use freestone_base::{FunctionId, Name, Resources, TaskId, Tenant};
use freestone_core::net::{WorkerError, WorkerOptions, run_worker};
use freestone_core::wire::{
    Address, Assignment, BlockDesc, CallOptions, Frames, FromWorker, Input, Output, Report,
    TaskFailure, ToWorker, frame,
};
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longer than anything here takes; only a test that fails waits for so long.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Waits until something is so.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < DEADLINE, "{what}");
        std::thread::yield_now();
    }
}

/// A worker and its manager's end of their connection.
pub struct Harness {
    pub root: tempfile::TempDir,
    pub options: WorkerOptions,
    pub stream: UnixStream,
    pub address: Address,
    frames: Frames,
    heard: VecDeque<FromWorker>,
    thread: Option<JoinHandle<Result<(), WorkerError>>>,
}

pub fn options(root: &Path, slots: u32) -> WorkerOptions {
    let (executor_command, environment) = executor::command();
    WorkerOptions {
        is_journaled: false,
        manager: Address::Unix(root.join("manager").display().to_string()),
        key: "key".to_owned(),
        access: None,
        listen: None,
        reconnect: DEADLINE,
        socket: root.join("socket"),
        resources: Resources {
            cores: slots,
            memory: 1 << 30,
            disk: 1 << 30,
            ..Resources::default()
        },
        slots,
        memory_dir: root.join("memory"),
        disk_dir: root.join("disk"),
        forever_dir: Some(root.join("forever")),
        memory_quota: 1 << 30,
        disk_quota: 1 << 30,
        executor_command,
        fork_server: None,
        environment,
        spin_us: 50,
        transfers_in: 2,
        stopped: Duration::from_secs(1),
        transfers_out: 2,
        scrub_nbytes_s: 32 << 20,
        links: true,
        is_interruptible: false,
    }
}

/// Starts a worker; `change` may change its options.
pub fn start(slots: u32, change: impl FnOnce(&mut WorkerOptions)) -> Harness {
    start_in(tempfile::tempdir_in("/dev/shm").unwrap(), slots, change)
}

pub fn start_in(
    root: tempfile::TempDir,
    slots: u32,
    change: impl FnOnce(&mut WorkerOptions),
) -> Harness {
    let mut options = options(root.path(), slots);
    change(&mut options);
    let listener = UnixListener::bind(root.path().join("manager")).unwrap();
    let there = options.clone();
    let thread = std::thread::spawn(move || run_worker(&there));
    meet(root, options, &listener, Some(thread))
}

/// Starts a worker in a process of its own, with one executor.
pub fn start_process() -> (Harness, Child) {
    let root = tempfile::tempdir_in("/dev/shm").unwrap();
    let options = options(root.path(), 1);
    let listener = UnixListener::bind(root.path().join("manager")).unwrap();
    let process = Command::new(std::env::current_exe().unwrap())
        .args(["lifetime::runs_as_a_process", "--exact", "--nocapture", "--quiet"])
        .env("FREESTONE_TEST_WORKER", root.path())
        .spawn()
        .unwrap();
    (meet(root, options, &listener, None), process)
}

fn meet(
    root: tempfile::TempDir,
    options: WorkerOptions,
    listener: &UnixListener,
    thread: Option<JoinHandle<Result<(), WorkerError>>>,
) -> Harness {
    let (stream, _) = listener.accept().unwrap();
    std::fs::remove_file(root.path().join("manager")).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let address = Address::Unix(options.socket.display().to_string());
    let mut harness = Harness {
        root,
        options,
        stream,
        address,
        frames: Frames::default(),
        heard: VecDeque::new(),
        thread,
    };
    let definition = Vec::new().into();
    harness.say(&ToWorker::Define { function: FunctionId(0), label: "f".to_owned(), definition });
    harness
}

pub fn assignment(number: u64, order: &Order, inputs: Vec<Input>) -> Assignment {
    let mut arguments = Vec::new();
    frame::encode(order, &mut arguments).unwrap();
    Assignment {
        task: TaskId(number),
        attempt: 1,
        function: FunctionId(0),
        arguments: arguments[4..].into(),
        inputs,
        outputs: [name(number)].into_iter().collect(),
        options: Arc::new(CallOptions::default()),
        priority: 0,
        tenant: Tenant::default(),
        expected_ns: Some(1000),
    }
}

/// The name of what the task with a number makes.
pub fn name(number: u64) -> Name {
    Name::of(&number.to_le_bytes())
}

pub fn value<T: DeserializeOwned>(report: &Report) -> T {
    match report.result.as_ref().unwrap().as_slice() {
        [Output::Inline(bytes)] => frame::decode(bytes.as_slice()).unwrap(),
        other => panic!("{other:?}"),
    }
}

pub fn stored(report: &Report) -> BlockDesc {
    match report.result.as_ref().unwrap().as_slice() {
        [Output::Stored(block)] => block.clone(),
        other => panic!("{other:?}"),
    }
}

pub fn failure(report: &Report) -> &TaskFailure {
    report.result.as_ref().unwrap_err()
}

impl Harness {
    pub fn say(&mut self, message: &ToWorker) {
        let mut bytes = Vec::new();
        frame::encode(message, &mut bytes).unwrap();
        self.stream.write_all(&bytes).unwrap();
    }

    pub fn run(&mut self, number: u64, order: &Order) {
        self.say(&ToWorker::Run(vec![assignment(number, order, Vec::new())]));
    }

    fn listen(&mut self) {
        while let Some(message) = self.frames.next().unwrap() {
            self.heard.push_back(message);
        }
        let (nbytes, _) = self.frames.read_from(&mut self.stream).unwrap();
        assert!(nbytes > 0, "the worker is gone");
    }

    /// The next message for which `pick` has a value; others stay.
    pub fn hear<T>(&mut self, pick: impl Fn(&FromWorker) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < DEADLINE, "only heard {:?}", self.heard);
            while let Some(message) = self.frames.next().unwrap() {
                self.heard.push_back(message);
            }
            if let Some(at) = self.heard.iter().position(|message| pick(message).is_some()) {
                let message = self.heard.remove(at).unwrap();
                return pick(&message).unwrap();
            }
            self.listen();
        }
    }

    /// The next `count` reports, in their order.
    pub fn reports(&mut self, count: usize) -> Vec<Report> {
        let mut reports = Vec::new();
        while reports.len() < count {
            reports.extend(self.hear(|message| match message {
                FromWorker::Done(reports) => Some(reports.clone()),
                _ => None,
            }));
        }
        assert_eq!(reports.len(), count);
        reports
    }

    pub fn report(&mut self) -> Report {
        self.reports(1).remove(0)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Waits until the worker has ended, and looks what is left of it.
    pub fn join(mut self) -> (Result<(), WorkerError>, tempfile::TempDir) {
        let ended = self.thread.take().unwrap().join().unwrap();
        for path in [&self.options.memory_dir, &self.options.disk_dir, &self.options.socket] {
            assert!(!path.exists(), "{} is left", path.display());
        }
        (ended, self.root)
    }

    pub fn shut_down(mut self) -> tempfile::TempDir {
        self.say(&ToWorker::Shutdown);
        let (ended, root) = self.join();
        ended.unwrap();
        root
    }
}
