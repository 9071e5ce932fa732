//! What a rank does, noted if `FREESTONE_EVENTS_TRACE` asks for it.
//!
//! See docs/decisions/088-ranks-in-c-note-what-they-do-as-those-in-python.md

use crate::ring::{Counts, Ring, now_ns};
use freestone_events::rank::Events;
use freestone_events::{Dependency, Event, EventId, Payload, Target, say};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt::{Display, Write};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Letters of a name, and events of a record, that are noted at most.
const MAX_NAME: usize = 200;
const MAX_KEYS: usize = 1000;

/// What this process's rank notes; null without a trace. Kept for ever, as the rank is.
static RECORDING: AtomicPtr<Mutex<Recording>> = AtomicPtr::new(null_mut());
/// Numbers the threads that note something; 0 is that of the program.
static THREADS: AtomicUsize = AtomicUsize::new(1);

thread_local! {
    static THREAD: Cell<Option<usize>> = const { Cell::new(None) };
    /// The record of what this thread is at.
    static OPEN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// An event from or to a rank, and how many of its identifier there were before.
type Key = (u32, EventId, u64);

struct Recording {
    ring: Ring,
    fired: HashMap<(u32, EventId), u64>,
    taken: HashMap<(u32, EventId), u64>,
    begin_ns: i64,
    counts: Counts,
}

/// Something that a thread does.
#[derive(Default)]
struct Span {
    kind: &'static str,
    name: String,
    begin_ns: i64,
    fired: Vec<Key>,
    taken: Vec<Key>,
    error: String,
}

/// The file of a rank whose trace has no others: `run-rank3.json`.
pub fn own_path(trace: &Path, rank: u32) -> PathBuf {
    let stem = trace.file_stem().unwrap_or_default().to_string_lossy();
    trace.with_file_name(format!("{stem}-rank{rank}.json"))
}

/// The folder of the rings of a run whose trace is written to a file.
pub fn folder_of(trace: &Path) -> PathBuf {
    let mut path = trace.as_os_str().to_owned();
    path.push(".partial");
    path.into()
}

/// Makes the folder of the rings of a run of so many ranks. Others may have made it already, and
/// theirs: those of a run before go that nobody of this run writes anew.
pub fn make(folder: Option<&Path>, ranks: u32) {
    let Some(folder) = folder else { return };
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    let cleared = made.and_then(|()| {
        std::fs::read_dir(folder)?.try_for_each(|entry| {
            let path = entry?.path();
            let name = path.file_name().and_then(OsStr::to_str);
            let number = name.and_then(|name| name.strip_prefix("rank-")?.parse().ok());
            if number.is_some_and(|number: u32| number >= ranks) {
                std::fs::remove_file(path)?;
            }
            Ok(())
        })
    });
    if let Err(error) = cleared {
        say(&format!("freestone events: there is no trace in {}: {error}", folder.display()));
    }
}

/// Begins to note what the program and its rank do: called by the program's thread.
pub fn begin(folder: &Path, rank: u32) {
    let path = folder.join(format!("rank-{rank}"));
    let ring = match Ring::create(&path) {
        Ok(ring) => ring,
        Err(error) => {
            say(&format!("freestone events: rank {rank} notes nothing in a trace: {error}"));
            return;
        }
    };
    THREAD.set(Some(0));
    THREADS.store(1, Ordering::Relaxed);
    let (fired, taken) = (HashMap::new(), HashMap::new());
    let (begin_ns, counts) = (now_ns(libc::CLOCK_MONOTONIC), Counts::default());
    let mut recording = Recording { ring, fired, taken, begin_ns, counts };
    let text = recording.program().record(0, 0);
    recording.ring.set_open(0, &text);
    OPEN.set(text);
    RECORDING.store(Box::into_raw(Box::new(Mutex::new(recording))), Ordering::Release);
}

/// The program is over.
pub fn end() {
    if let Some(recording) = recording() {
        RECORDING.store(null_mut(), Ordering::Release);
        let mut recording = recording.lock().unwrap_or_else(PoisonError::into_inner);
        let text = recording.program().record(0, now_ns(libc::CLOCK_MONOTONIC));
        recording.ring.add(&text);
        recording.ring.set_open(0, &[]);
        OPEN.take();
    }
}

fn recording() -> Option<&'static Mutex<Recording>> {
    // SAFETY: null, or a recording that was leaked by `begin`, whose store this load sees.
    unsafe { RECORDING.load(Ordering::Acquire).as_ref() }
}

/// Waits for a lock.
pub fn locks<T, E: Display>(
    name: impl Display,
    body: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let Some(recording) = recording() else { return body() };
    let span = Span { kind: "lock", name: format!("lock {name}"), ..Span::default() };
    noted(recording, span, |_| body())
}

/// Fires an event at a target of a run of so many ranks.
pub fn fires<T, E: Display>(
    id: &EventId,
    target: &Target,
    ranks: u32,
    body: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let Some(recording) = recording() else { return body() };
    let mut span = Span { kind: "fire", name: format!("fire {id}"), ..Span::default() };
    let targets: Vec<u32> = match target {
        Target::Rank(rank) => vec![*rank],
        Target::Group(group) => group.clone(),
        Target::All => (0..ranks).collect(),
    };
    let keys = targets.into_iter().map(|target| (target, id));
    span.fired = numbered(&mut lock(recording).fired, keys);
    span.begin_ns = now_ns(libc::CLOCK_MONOTONIC);
    let done = body();
    // What is over in a moment is not worth noting before.
    span.finish(recording, done.as_ref().err());
    done
}

/// Waits for events.
pub fn waits<E: Display>(
    on: Vec<Dependency>,
    body: impl FnOnce(Vec<Dependency>) -> Result<Events, E>,
) -> Result<Events, E> {
    let Some(recording) = recording() else { return body(on) };
    let mut ids: Vec<String> = on.iter().map(|one| one.id.to_string()).collect();
    ids.dedup();
    let name = format!("wait for {}", ids.join(", "));
    noted(recording, Span { kind: "wait", name, ..Span::default() }, |taken| {
        let events = body(on)?;
        *taken = numbered(&mut lock(recording).taken, keys_of(&events));
        Ok(events)
    })
}

/// Has taken events that were there.
pub fn took(events: &[Event<Payload>]) {
    if let Some(recording) = recording()
        && !events.is_empty()
    {
        let taken = numbered(&mut lock(recording).taken, keys_of(events));
        let (name, begin_ns) = ("retrieve".to_owned(), now_ns(libc::CLOCK_MONOTONIC));
        let span = Span { kind: "retrieve", name, begin_ns, taken, ..Span::default() };
        span.finish(recording, None::<&String>);
    }
}

/// Runs a task with its events.
pub fn runs<T, E: Display>(
    name: impl FnOnce() -> String,
    events: Events,
    body: impl FnOnce(Events) -> Result<T, E>,
) -> Result<T, E> {
    let Some(recording) = recording() else { return body(events) };
    let taken = numbered(&mut lock(recording).taken, keys_of(&events));
    let span = Span { kind: "task", name: name(), taken, ..Span::default() };
    noted(recording, span, |_| body(events))
}

fn keys_of(events: &[Event<Payload>]) -> impl Iterator<Item = (u32, &EventId)> {
    events.iter().map(|event| (event.source, &event.id))
}

/// Notes what a thread does from before its beginning until after its end.
fn noted<T, E: Display>(
    recording: &Mutex<Recording>,
    mut span: Span,
    body: impl FnOnce(&mut Vec<Key>) -> Result<T, E>,
) -> Result<T, E> {
    let thread = thread();
    span.begin_ns = now_ns(libc::CLOCK_MONOTONIC);
    let text = span.record(thread, 0);
    lock(recording).ring.set_open(thread, &text);
    let outer = OPEN.replace(text);
    let done = body(&mut span.taken);
    span.finish(recording, done.as_ref().err());
    lock(recording).ring.set_open(thread, &outer);
    OPEN.set(outer);
    done
}

fn thread() -> usize {
    THREAD.get().unwrap_or_else(|| {
        let number = THREADS.fetch_add(1, Ordering::Relaxed);
        THREAD.set(Some(number));
        number
    })
}

fn lock(recording: &Mutex<Recording>) -> std::sync::MutexGuard<'_, Recording> {
    recording.lock().unwrap_or_else(PoisonError::into_inner)
}

fn numbered<'a>(
    counts: &mut HashMap<(u32, EventId), u64>,
    keys: impl Iterator<Item = (u32, &'a EventId)>,
) -> Vec<Key> {
    keys.map(|(rank, id)| {
        let count = counts.entry((rank, id.clone())).or_default();
        *count += 1;
        (rank, id.clone(), *count - 1)
    })
    .collect()
}

impl Recording {
    fn count(&mut self, span: &Span, end_ns: i64) {
        let counts = &mut self.counts;
        counts.fired += span.fired.len() as u64;
        counts.taken += span.taken.len() as u64;
        counts.tasks += u64::from(span.kind == "task");
        if span.kind == "wait" {
            counts.waits += 1;
            counts.waited_ns += (end_ns - span.begin_ns).cast_unsigned();
        }
        self.ring.set_counts(&self.counts);
    }

    fn program(&self) -> Span {
        let begin_ns = self.begin_ns;
        Span { kind: "main", name: "main".into(), begin_ns, ..Span::default() }
    }
}

impl Span {
    fn finish(mut self, recording: &Mutex<Recording>, error: Option<&impl Display>) {
        self.error = error.map(ToString::to_string).unwrap_or_default();
        let end_ns = now_ns(libc::CLOCK_MONOTONIC);
        let text = self.record(thread(), end_ns);
        let mut recording = lock(recording);
        recording.ring.add(&text);
        recording.count(&self, end_ns);
    }

    /// As JSON: what `rings.py` reads.
    fn record(&self, thread: usize, end_ns: i64) -> Vec<u8> {
        let Self { kind, name, begin_ns, fired, taken, error } = self;
        let mut text = String::from("[");
        quote(&mut text, name.chars().take(MAX_NAME));
        let _ = write!(text, ",\"{kind}\",{thread},{begin_ns},{end_ns},[");
        list(&mut text, fired);
        text.push_str("],[");
        list(&mut text, taken);
        text.push_str("],");
        quote(&mut text, error.chars().take(MAX_NAME));
        text.push(']');
        text.into_bytes()
    }
}

fn list(text: &mut String, keys: &[Key]) {
    for (index, (rank, id, number)) in keys.iter().take(MAX_KEYS).enumerate() {
        let _ = write!(text, "{}[{rank},", if index > 0 { "," } else { "" });
        quote(text, id.to_string().chars());
        let _ = write!(text, ",{number}]");
    }
}

/// A string of JSON.
fn quote(text: &mut String, letters: impl Iterator<Item = char>) {
    text.push('"');
    for letter in letters {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            '\0'..' ' => {
                let _ = write!(text, "\\u{:04x}", u32::from(letter));
            }
            _ => text.push(letter),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_json_whatever_the_names_are() {
        let fired = vec![(3, EventId::from("a \"b\"\n"), 7)];
        let span =
            Span { kind: "fire", name: "x\\y".into(), begin_ns: 1, fired, ..Span::default() };
        let text = String::from_utf8(span.record(2, 5)).unwrap();
        assert_eq!(text, r#"["x\\y","fire",2,1,5,[[3,"a \"b\"\u000a",7]],[],""]"#);
    }
}
