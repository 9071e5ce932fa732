//! What a tiny call costs in the worker's state machine and in its messages.
//!
//! `cargo run --release -p freestone-core --example worker_calls`

// A measurement that can't be made fails by panicking.
#![allow(clippy::unwrap_used)]

use freestone_base::{FunctionId, Name, Resources, TaskId, Tenant};
use freestone_core::wire::{
    Assignment, CallOptions, CallResult, FromExecutor, FromWorker, Input, Output, Report, Spent,
    ToExecutor, ToWorker, frame,
};
use freestone_core::worker::{Action, Event, Worker, WorkerConfig};
use smallvec::smallvec;
use std::sync::Arc;

const CALLS: u64 = 400_000;
const BATCH: u64 = 200;
const EXECUTORS: u32 = 2;

fn assignment(task: u64, options: &Arc<CallOptions>) -> Assignment {
    Assignment {
        task: TaskId(task),
        attempt: 1,
        function: FunctionId(0),
        arguments: [0_u8; 32].as_slice().into(),
        inputs: vec![Input::Inline([0_u8; 16].as_slice().into())],
        outputs: smallvec![Name::default()],
        options: Arc::clone(options),
        priority: 0,
        tenant: Tenant::default(),
        expected_ns: Some(2000),
    }
}

fn worker() -> Worker {
    let config = WorkerConfig {
        resources: Resources { cores: EXECUTORS, ..Resources::default() },
        slots: EXECUTORS,
        memory_quota: 1 << 30,
        disk_quota: 1 << 30,
        memory_folder: "/memory".into(),
        disk_folder: "/disk".into(),
        forever_folder: None,
        transfers_in: 2,
        stopped_ns: u64::MAX,
        scrub_nbytes_s: 0,
    };
    let mut worker = Worker::new(config, Vec::new());
    let mut out = Vec::new();
    worker.advance(1, &mut out);
    for executor in 0..EXECUTORS {
        worker.handle(Event::Ready { executor }, 1, &mut out);
    }
    let (label, definition) = (String::new(), Vec::new().into());
    let function = FunctionId(0);
    let define = ToWorker::Define { function, label, definition };
    worker.handle(Event::Manager(define), 1, &mut out);
    worker
}

/// Processor time of this thread: what else the machine does takes no part in it.
fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a clock that every Linux has, and room for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Nanoseconds per call; with `wire`, messages are encoded and decoded as well.
fn run(wire: bool) -> f64 {
    let mut worker = worker();
    let options = Arc::new(CallOptions::default());
    let batches: Vec<Vec<Assignment>> = (0..CALLS / BATCH)
        .map(|batch| batch * BATCH..(batch + 1) * BATCH)
        .map(|tasks| tasks.map(|task| assignment(task, &options)).collect())
        .collect();
    let mut bytes = Vec::new();
    let mut done = 0;
    let start = cpu_ns();
    let mut waiting = Vec::new();
    for batch in batches {
        let mut message = ToWorker::Run(batch);
        if wire {
            message = again(&message, &mut bytes);
        }
        let mut out = Vec::new();
        worker.handle(Event::Manager(message), 1, &mut out);
        worker.advance(1, &mut out);
        waiting.extend(out);
        while !waiting.is_empty() {
            let mut reports: Vec<Report> = Vec::new();
            for action in std::mem::take(&mut waiting) {
                match action {
                    Action::Send(executor, message) => {
                        let message = if wire { again(&message, &mut bytes) } else { message };
                        let ToExecutor::Calls(calls) = message else { continue };
                        let answer = |sequence| CallResult {
                            sequence,
                            spent: Spent { start_ns: 1, duration_ns: 2000, ..Spent::default() },
                            result: Ok(smallvec![Output::Inline([0_u8; 16].as_slice().into())]),
                        };
                        let results = calls.iter().map(|call| answer(call.sequence)).collect();
                        let mut answer = FromExecutor::Results { results, unmapped: Vec::new() };
                        if wire {
                            answer = again(&answer, &mut bytes);
                        }
                        let FromExecutor::Results { results, unmapped } = answer else { continue };
                        let on_disk = Vec::new();
                        let event = Event::Results { executor, results, unmapped, on_disk };
                        worker.handle(event, 1, &mut waiting);
                    }
                    Action::Report(report) => reports.push(report),
                    _ => {}
                }
            }
            done += reports.len();
            if wire && !reports.is_empty() {
                frame::encode(&FromWorker::Done(reports), &mut bytes).unwrap();
                bytes.clear();
            }
            worker.advance(1, &mut waiting);
        }
    }
    assert_eq!(done as u64, CALLS);
    (cpu_ns() - start) as f64 / CALLS as f64
}

fn again<T: serde::Serialize + serde::de::DeserializeOwned>(message: &T, bytes: &mut Vec<u8>) -> T {
    bytes.clear();
    frame::encode(message, bytes).unwrap();
    let again = frame::decode(&bytes[4..]).unwrap();
    bytes.clear();
    again
}

fn main() {
    for _ in 0..3 {
        println!("{:.0} ns per call, with messages {:.0} ns", run(false), run(true));
    }
}
