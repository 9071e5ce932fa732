//! At least one message of each kind.

use freestone_base::{Custom, FunctionId, Name, Resources, TaskId, Tenant, WorkerId};
use freestone_core::store::Folder;
use freestone_core::wire::{
    Address, Assignment, Attach, BlockAnswer, BlockDesc, BlockRequest, Call, CallOptions,
    CallResult, FileProblem, Form, FromExecutor, FromWorker, Input, Isolation, Keep, Output,
    PROTOCOL, PlacedInput, Printed, RaisedException, Report, Spent, Stream, TaskFailure,
    ToExecutor, ToWorker, WorkerStatus,
};
use smallvec::smallvec;
use std::sync::Arc;

fn name(number: u8) -> Name {
    Name::of(&[number])
}

fn block(form: Form) -> BlockDesc {
    BlockDesc { name: name(1), nbytes: 1 << 33, checksum: u64::MAX, form }
}

pub fn forms() -> [Form; 3] {
    [Form::Value, Form::File("a file".to_owned()), Form::Group]
}

fn assignment() -> Assignment {
    let [value, file, group] = forms().map(|form| Input::Stored(block(form)));
    Assignment {
        task: TaskId::new(3, 70_000),
        attempt: 2,
        function: FunctionId(5),
        arguments: vec![9; 40].into(),
        inputs: vec![Input::Inline(vec![1, 2, 3].into()), value, file, group],
        outputs: smallvec![name(2), name(3)],
        options: Arc::new(CallOptions {
            resources: Resources {
                cores: 2,
                gpus: 1,
                memory: 1 << 40,
                disk: 3,
                custom: Custom::from_iter([("licence", 2)]),
            },
            isolation: Isolation::Fork,
            keep: Keep::Forever,
            replicas: 2,
            twice: false,
            category: 3,
            kills: 9,
            once: true,
            tag: Some("scan".into()),
            timeout_ns: Some(1_000_000_000),
        }),
        priority: -7,
        tenant: Tenant(6),
        expected_ns: Some(12_345),
    }
}

pub fn to_worker() -> Vec<ToWorker> {
    let (source, keep) = (WorkerId(4), Keep::Session);
    vec![
        ToWorker::Welcome { worker: WorkerId(1), silence_ns: 60_000_000_000 },
        ToWorker::Refused("its key is not that of this cluster".to_owned()),
        ToWorker::Define {
            function: FunctionId(1),
            label: "ein Name: λ".to_owned(),
            definition: vec![0; 100].into(),
        },
        ToWorker::Run(vec![assignment(), assignment()]),
        ToWorker::Fetch {
            block: block(Form::Value),
            source,
            address: Address::Tcp("host:1".to_owned()),
            keep,
        },
        ToWorker::Adopt {
            block: block(Form::File("x".to_owned())),
            path: "/a/path".to_owned(),
            owned: true,
            keep,
            verify: true,
        },
        ToWorker::Pin(name(1)),
        ToWorker::Unpin(name(1)),
        ToWorker::Keep(name(1)),
        ToWorker::Drop((0..20).map(name).collect()),
        ToWorker::Return((0..20).map(TaskId).collect()),
        ToWorker::Cancel(vec![TaskId(u64::MAX)]),
        ToWorker::Restart,
        ToWorker::Revoked(vec![vec![48; 300], Vec::new()]),
        ToWorker::Shutdown,
    ]
}

pub fn failures() -> Vec<TaskFailure> {
    vec![
        TaskFailure::Raised(Box::new(RaisedException {
            pickled: vec![1; 30].into(),
            kind: "ValueError".to_owned(),
            message: "no".to_owned(),
            traceback: "here".to_owned(),
            in_encoding: true,
        })),
        TaskFailure::Killed { signal: Some(9), status: None },
        TaskFailure::TimedOut { timeout_ns: 1 },
        TaskFailure::MemoryExceeded { limit: 7 },
        TaskFailure::DiskExceeded { limit: 8 },
        TaskFailure::Cancelled,
        TaskFailure::InputLost { name: name(7) },
        TaskFailure::StorageFull { needed: 2, free: 1, folder: "/full".to_owned() },
        TaskFailure::File {
            path: "/file".to_owned(),
            problem: FileProblem::Changed("cut".to_owned()),
        },
        TaskFailure::TooLarge { nbytes: 1 << 33, is_result: true },
    ]
}

pub fn outputs() -> smallvec::SmallVec<[Output; 1]> {
    smallvec![Output::Inline(vec![5; 20].into()), Output::Stored(block(Form::Value))]
}

const SPENT: Spent = Spent {
    start_ns: 2,
    opening_ns: 3,
    duration_ns: 4,
    storing_ns: 5,
    memory: 0,
    pid: 6,
    resident: 7,
};

fn reports() -> Vec<Report> {
    let results = failures().into_iter().map(Err).chain([Ok(outputs())]);
    let report = |result| Report { task: TaskId(8), attempt: 1, spent: SPENT, result };
    results.map(report).collect()
}

pub fn from_worker() -> Vec<FromWorker> {
    let client =
        |attach| FromWorker::Client { protocol: PROTOCOL, key: "a key".to_owned(), attach };
    vec![
        FromWorker::Hello {
            former: Some(WorkerId(3)),
            boot: "a boot".to_owned(),
            now_ns: 6,
            protocol: PROTOCOL,
            key: "a key".to_owned(),
            resources: Resources::ONE_CORE,
            slots: 2,
            address: Address::Unix("/socket".to_owned()),
            pid: 77,
            host: "host".to_owned(),
            folder: "/memory".to_owned(),
            blocks: forms().map(block).to_vec(),
        },
        FromWorker::Done(reports()),
        FromWorker::Returned { asked: vec![TaskId(1), TaskId(2)], returned: vec![TaskId(2)] },
        FromWorker::Have { block: block(Form::Value), fetched: Some((WorkerId(2), 5)) },
        FromWorker::FetchFailed {
            name: name(1),
            source: WorkerId(2),
            reason: "no".to_owned(),
            missing_there: true,
            free: Some(3),
        },
        FromWorker::Pinned { name: name(1), path: Some("/path".to_owned()) },
        FromWorker::Lost { names: vec![name(1), name(2)], reason: "gone".to_owned() },
        FromWorker::Leaving,
        FromWorker::Status(WorkerStatus { memory_nbytes: 1 << 35, ..WorkerStatus::default() }),
        client(Attach::Once),
        client(Attach::Resumable { reconnect_ms: 30_000 }),
        client(Attach::Again { session: name(7), received: 1 << 40 }),
        FromWorker::Printed(Box::new(Printed {
            task: Some(TaskId::new(3, 1)),
            stream: Stream::Error,
            text: (&b"printed"[..]).into(),
            left_out: 5,
        })),
        FromWorker::Paused { task: TaskId::new(3, 1), attempt: 2, what: "a lock".to_owned() },
        FromWorker::Resumed { task: TaskId::new(3, 1), attempt: 2 },
        FromWorker::Leaving,
    ]
}

pub fn to_executor() -> Vec<ToExecutor> {
    let mapped =
        |form| PlacedInput::Mapped { name: name(4), path: "/p".to_owned(), form, stays: true };
    let call = Call {
        sequence: 9,
        function: FunctionId(2),
        arguments: vec![3; 50].into(),
        inputs: forms()
            .map(mapped)
            .into_iter()
            .chain([PlacedInput::Inline(vec![1].into())])
            .collect(),
        outputs: smallvec![name(1), name(2)],
        isolation: Isolation::Process,
        keep: Keep::Worker,
        priority: -3,
        tenant: Tenant(6),
        cores: 3,
        memory: Some(5),
        disk: Some(6),
    };
    vec![
        ToExecutor::Define {
            function: FunctionId(1),
            label: "f".to_owned(),
            definition: vec![1; 10].into(),
        },
        ToExecutor::Calls(vec![call.clone(), call]),
        ToExecutor::Resume,
        ToExecutor::Opened { group: name(3), paths: Some(vec!["/a".to_owned(), "/b".to_owned()]) },
        ToExecutor::Forget(vec![name(3), name(4)]),
        ToExecutor::Shutdown,
    ]
}

pub fn from_executor() -> Vec<FromExecutor> {
    let results = failures().into_iter().map(Err).chain([Ok(outputs())]);
    let result = |result| CallResult { sequence: 4, spent: SPENT, result };
    vec![
        FromExecutor::Ready { pid: 4 },
        FromExecutor::Results {
            results: results.map(result).collect(),
            unmapped: vec![name(1), name(2)],
        },
        FromExecutor::Stored(block(Form::Value)),
        FromExecutor::Open { group: name(3), members: vec![name(1), name(2)] },
        FromExecutor::Paused { sequence: 8, what: "a lock".to_owned() },
        FromExecutor::Resuming { sequence: 8 },
        FromExecutor::Profiled { sequence: 9, samples: (&b"samples"[..]).into() },
    ]
}

pub fn requests() -> Vec<BlockRequest> {
    let request = |link_into| BlockRequest {
        protocol: PROTOCOL,
        key: "a key".to_owned(),
        name: name(1),
        link_into,
    };
    vec![request(None), request(Some("/folder".to_owned()))]
}

pub fn answers() -> Vec<BlockAnswer> {
    vec![
        BlockAnswer::Follows { nbytes: u64::MAX },
        BlockAnswer::Linked { path: "/path".to_owned(), checksum: 1 },
        BlockAnswer::Missing,
        BlockAnswer::Refused("no".to_owned()),
    ]
}

/// Descriptions of blocks that are kept.
pub fn kept() -> Vec<BlockDesc> {
    forms().map(block).to_vec()
}

/// Files of values with some parts and with none.
pub fn files() -> Vec<Vec<u8>> {
    let root = tempfile::tempdir().unwrap();
    let folder = Folder::open(&root.path().join("memory"), &root.path().join("disk")).unwrap();
    let parts: [&[&[u8]]; 3] = [&[], &[b"", b"abc", &[7; 100]], &[&[1_u8; 64] as &[u8]; 9]];
    let write = |buffers| {
        let block = folder.put(name(1), b"pickle", buffers).unwrap();
        std::fs::read(folder.path(block.name, &Form::Value).unwrap().0).unwrap()
    };
    parts.into_iter().map(write).collect()
}
