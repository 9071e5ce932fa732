//! A cache in a folder of its own, and an executor whose worker the test is.

use super::toy::{Toy, arguments};
use freestone_base::{FunctionId, Name, Tenant};
use freestone_core::net::grants::Grants;
use freestone_core::store::Folder;
use freestone_core::wire::{
    Call, CallResult, Form, Frames, FromExecutor, Isolation, Keep, PlacedInput, TaskFailure,
    ToExecutor, frame,
};
use freestone_core::worker::claim::{Claims, INITIAL};
use freestone_executor::executor::{Executor, Options};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::JoinHandle;
use std::time::Duration;

/// The functions of the language, whose ids are their places here.
pub const FUNCTIONS: [&str; 11] =
    ["sum", "same", "keep", "drop", "raise", "tuple", "large", "file", "group", "fill", "abort"];
/// Values of more characters become blocks.
const INLINE_NBYTES: usize = 8;
/// Large enough that it is mapped, even for one call.
const MAPPED_NBYTES: usize = 4 << 20;

/// The folders of a test.
pub struct Folders(tempfile::TempDir);

impl Folders {
    pub fn new() -> Arc<Self> {
        Arc::new(Self(tempfile::tempdir().unwrap()))
    }

    pub fn cache(&self) -> Folder {
        Folder::open(&self.0.path().join("memory"), &self.0.path().join("disk")).unwrap()
    }

    /// A file of a function's.
    pub fn file(&self) -> PathBuf {
        let path = self.0.path().join("result.txt");
        std::fs::write(&path, "of a call").unwrap();
        path
    }

    /// A block of a number in the cache, large enough to be mapped.
    pub fn block(&self, name: Name, number: i64) -> PlacedInput {
        let padding = vec![0; MAPPED_NBYTES];
        let block = self.cache().put(name, number.to_string().as_bytes(), &[&padding]).unwrap();
        let (path, _) = self.cache().path(name, &block.form).unwrap();
        placed(name, &path, Form::Value)
    }
}

/// A block as an input.
pub fn placed(name: Name, path: &Path, form: Form) -> PlacedInput {
    let path = path.to_str().unwrap().to_owned();
    PlacedInput::Mapped { name, path, form, stays: false }
}

/// A name by a number.
pub fn name(number: u8) -> Name {
    Name([number; 16])
}

fn id(function: &str) -> FunctionId {
    FunctionId(FUNCTIONS.iter().position(|known| *known == function).unwrap_or(999) as u32)
}

/// A call of a function of the language, its inputs before numbers.
pub fn call(sequence: u32, function: &str, inputs: Vec<PlacedInput>, numbers: &[i64]) -> Call {
    Call {
        sequence,
        function: id(function),
        arguments: arguments(inputs.len(), numbers).into(),
        inputs,
        outputs: [name(200 + sequence as u8)].into_iter().collect(),
        isolation: Isolation::Shared,
        keep: Keep::Task,
        priority: 0,
        tenant: Tenant::default(),
        cores: 1,
        memory: None,
        disk: None,
    }
}

/// Runs an executor on messages, as in a new process.
pub fn run_separately(messages: &[u8]) -> Vec<u8> {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.write_all(messages).unwrap();
    ours.shutdown(Shutdown::Write).unwrap();
    let _ = executor(theirs, claims(), &Folders::new()).run();
    let mut answer = Vec::new();
    ours.read_to_end(&mut answer).unwrap();
    answer
}

fn claims() -> Claims<'static> {
    Claims::new(Box::leak(Box::new(AtomicU64::new(INITIAL))))
}

fn executor(socket: UnixStream, claims: Claims<'static>, folders: &Arc<Folders>) -> Executor<Toy> {
    let options = Options {
        socket,
        claims,
        printing: None,
        grants: Grants::new(Box::leak(Box::default())),
        folder: folders.cache(),
        inline_nbytes: INLINE_NBYTES,
        spin: Duration::from_micros(50),
    };
    let toy = Toy { run_separately, world: Arc::clone(folders), kept: RefCell::default() };
    Executor::new(toy, options).unwrap()
}

/// The worker of an executor, which runs in a thread.
pub struct Worker {
    pub folders: Arc<Folders>,
    pub claims: Claims<'static>,
    socket: UnixStream,
    frames: Frames,
    results: VecDeque<CallResult>,
    /// What was reported as unmapped so far.
    pub unmapped: Vec<Name>,
    thread: JoinHandle<Result<(), String>>,
}

impl Worker {
    /// Starts an executor that knows the language's functions.
    pub fn start() -> Self {
        Self::start_in(Folders::new())
    }

    pub fn start_in(folders: Arc<Folders>) -> Self {
        let (socket, theirs) = UnixStream::pair().unwrap();
        let claims = claims();
        let its_folders = Arc::clone(&folders);
        let thread = std::thread::spawn(move || {
            executor(theirs, claims, &its_folders).run().map_err(|wrong| wrong.0)
        });
        let frames = Frames::default();
        let (results, unmapped) = (VecDeque::new(), Vec::new());
        let mut worker = Self { folders, claims, socket, frames, results, unmapped, thread };
        assert!(matches!(worker.receive(), FromExecutor::Ready { .. }));
        for function in FUNCTIONS {
            let definition = function.as_bytes().into();
            let label = format!("label of {function}");
            worker.send(&ToExecutor::Define { function: id(function), label, definition });
        }
        worker
    }

    pub fn send(&mut self, message: &ToExecutor) {
        let mut bytes = Vec::new();
        frame::encode(message, &mut bytes).unwrap();
        self.socket.write_all(&bytes).unwrap();
    }

    pub fn receive(&mut self) -> FromExecutor {
        loop {
            if let Some(message) = self.frames.next().unwrap() {
                return message;
            }
            assert_ne!(self.frames.read_from(&mut self.socket).unwrap().0, 0, "the executor ended");
        }
    }

    /// Sends calls.
    pub fn calls(&mut self, calls: Vec<Call>) {
        self.send(&ToExecutor::Calls(calls));
    }

    /// The next result.
    pub fn result(&mut self) -> CallResult {
        while self.results.is_empty() {
            match self.receive() {
                FromExecutor::Results { results, unmapped } => {
                    self.results.extend(results);
                    self.unmapped.extend(unmapped);
                }
                other => panic!("{other:?} was not asked for"),
            }
        }
        self.results.pop_front().unwrap()
    }

    /// Runs one call.
    pub fn run(&mut self, call: Call) -> CallResult {
        self.calls(vec![call]);
        self.result()
    }

    /// Ends the executor; how it ended.
    pub fn end(mut self) -> Result<(), String> {
        self.send(&ToExecutor::Shutdown);
        self.thread.join().unwrap()
    }

    /// Ends the connection; how the executor ended.
    pub fn leave(self) -> Result<(), String> {
        drop(self.socket);
        self.thread.join().unwrap()
    }
}

/// The message of the exception that a call ended with, and whether it came from coding values.
pub fn raised(result: CallResult) -> (String, bool) {
    match result.result {
        Err(TaskFailure::Raised(raised)) => (raised.message.clone(), raised.in_encoding),
        other => panic!("{other:?}"),
    }
}
