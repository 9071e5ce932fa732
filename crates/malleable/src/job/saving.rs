//! The state of a job in a file, which any number of ranks reads.

use super::Job;
use super::together::{agree, count_votes, gather, tell};
use crate::data::{Array, Content, Form, Kind, UserRows, together};
use crate::error::{MalleableError, Result};
use crate::resize::{State, disagreement};
use crate::state::{self, Chunk, Entry, Index, Piece, StateFile};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// What one rank has of one part of an array: the first byte, and the bytes.
type Bytes<'a> = (u64, &'a [u8]);

/// One run of rows that functions of the program have packed, one by one: the first row, how many
/// bytes each has, and all bytes.
struct List {
    first: u64,
    lengths: Vec<u8>,
    bytes: Vec<u8>,
}

/// What is before the bytes of each run of packed rows, by the run's first row.
type Edges = BTreeMap<u64, u64>;

impl Job {
    /// Writes all registered data; all ranks call it together, at the same step.
    ///
    /// The file gets its name once all of it is on the disk; until then the one before is there.
    /// Links are followed; what is there and is no file stays.
    ///
    /// # Errors
    ///
    /// On all ranks: [`MalleableError::State`] if it can't be written, and the job can go on; or if
    /// one of them makes another call.
    pub fn save(&mut self, path: &Path) -> Result<()> {
        let own = self.require_running("saved").and_then(|()| self.packed());
        self.meet(format!("saves {}", path.display()))?;
        let lists = self.agreed(own, "packing rows")?;
        let nbytes = |list: &List| (list.first, list.bytes.len() as u64);
        let own: Vec<Vec<(u64, u64)>> =
            lists.iter().map(|runs| runs.iter().map(nbytes).collect()).collect();
        let found = self.gathered::<Vec<Vec<(u64, u64)>>>(&own)?;
        let (mut entries, end) = self.entries(&found);
        let target = state::target(path).map_err(|error| unwritten(path, &error));
        let target = self.agreed(target, "saving the state")?;
        let part = state::unfinished(&target);
        let made = if self.rank == 0 { state::begin(&part, end) } else { Ok(()) };
        self.agreed(made.map_err(|error| unwritten(path, &error)), "saving the state")?;
        let written = self.write(&part, &entries, &lists);
        let chunks = written.map_err(|error| unwritten(path, &error));
        let found = match self.agreed(chunks, "saving the state") {
            Ok(chunks) => self.gathered::<Vec<Vec<Chunk>>>(&chunks)?,
            Err(error) => {
                if self.rank == 0 {
                    let _ = std::fs::remove_file(&part);
                }
                return Err(error);
            }
        };
        let pieces = entries.iter_mut().flat_map(|entry| &mut entry.pieces);
        for (at, piece) in pieces.enumerate() {
            piece.chunks = found.iter().flat_map(|theirs| theirs[at].iter().copied()).collect();
            piece.chunks.sort_unstable();
        }
        let saved_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let index = Index {
            step: self.machine.step(),
            ranks: self.size as u64,
            saved_s: saved_s.as_secs_f64(),
            entries,
        };
        let done =
            if self.rank == 0 { state::complete(&part, &target, end, &index) } else { Ok(()) };
        self.agreed(done.map_err(|error| unwritten(path, &error)), "saving the state")
    }

    /// Reads all registered data, if the file is there; all ranks call it together, before their
    /// first checkpoint. A joining rank reads nothing: it gets its data when it joins.
    ///
    /// # Errors
    ///
    /// On all ranks: [`MalleableError::State`] if it has other data, or is damaged.
    pub fn load(&mut self, path: &Path) -> Result<bool> {
        if self.is_joining() {
            return Ok(true);
        }
        if self.checkpoint.is_some() {
            let text = "a state is loaded after the first checkpoint: load it before";
            return Err(MalleableError::BadCall(text.to_owned()));
        }
        self.meet(format!("loads {}", path.display()))?;
        let (control, timeout) = (self.control()?, self.settings.timeout);
        let is_there = vec![u8::from(path.exists())];
        if tell(&*self.mpi, control, 0, is_there, timeout, "looking for a state")? == [0] {
            return Ok(false);
        }
        let own = StateFile::open(path).and_then(|file| {
            self.read(&file)?;
            Ok(file.index.step)
        });
        let own = own.map_err(|problem| unread(path, &problem));
        // Some ranks may have read rows, and others not.
        let done = self.agreed(own, "loading the state");
        let step = done.map_err(|error| self.failed(error))?;
        self.machine.set_step(step);
        Ok(true)
    }

    /// Requires that all ranks make the same call, which its text tells from others.
    pub(super) fn meet(&mut self, call: String) -> Result<()> {
        let facts = self.facts()?;
        let vote = self.machine.report(&call, facts);
        let what = format!("the call that {call}, at step {},", vote.step);
        self.call = Some(call);
        let tally =
            count_votes(&*self.mpi, self.control()?, &vote, &what, self.settings.step_timeout);
        let problem = match tally.map(disagreement) {
            Ok(None) => None,
            Ok(Some(what)) => Some(self.explained(what)?),
            Err(error) => Some(error),
        };
        self.call = None;
        problem.map_or(Ok(()), |error| Err(self.failed(error)))
    }

    /// Has later calls return an error, too, after which none can go on.
    fn failed(&mut self, error: MalleableError) -> MalleableError {
        self.machine.on_failure();
        self.problem = Some(error.problem());
        error
    }

    fn require_running(&self, what: &str) -> Result<()> {
        if matches!(self.machine.state(), State::Running | State::Spawning | State::Moving) {
            return Ok(());
        }
        Err(MalleableError::BadCall(format!("the job can't be {what} now: it is resized, or over")))
    }

    fn agreed<T>(&self, own: Result<T>, what: &str) -> Result<T> {
        let (step, timeout) = (self.machine.step(), self.settings.timeout);
        let who = |rank: usize| format!("rank {rank}");
        agree(&*self.mpi, self.control()?, own, step, who, timeout, what)
    }

    fn gathered<T: serde::Serialize + serde::de::DeserializeOwned>(
        &self,
        own: &T,
    ) -> Result<Vec<T>> {
        let (own, timeout) = (postcard::to_stdvec(own)?, self.settings.timeout);
        let found = gather(&*self.mpi, self.control()?, &own, timeout, "saving the state")?;
        found.iter().map(|bytes| Ok(postcard::from_bytes(bytes)?)).collect()
    }

    /// The rows of this rank that functions pack, by array; nothing for other arrays.
    fn packed(&self) -> Result<Vec<Vec<List>>> {
        self.arrays.iter().map(packed).collect()
    }

    /// What the index says of all data, without chunks, and where the last part ends. `packed` has
    /// the first row and the bytes of each run of packed rows, by rank and array.
    fn entries(&self, packed: &[Vec<Vec<(u64, u64)>>]) -> (Vec<Entry>, u64) {
        let mut end = state::aligned(1);
        let mut entries = Vec::new();
        for (at, array) in self.arrays.iter().enumerate() {
            let description = &array.description;
            let mut entry = Entry {
                name: description.name.clone(),
                kind: "variable".to_owned(),
                rows: description.rows().unwrap_or(1),
                form: "rows".to_owned(),
                ..Entry::default()
            };
            if description.replaced != 0 {
                entry.tag = description.replaced.to_string();
            }
            let sizes = match description.form {
                Form::Rows { rows, row_nbytes, kind } => {
                    if kind == Kind::Constant {
                        "constant".clone_into(&mut entry.kind);
                    }
                    vec![(Some(row_nbytes), rows * row_nbytes)]
                }
                Form::Replicated { nbytes } => {
                    "replicated".clone_into(&mut entry.kind);
                    vec![(Some(nbytes), nbytes)]
                }
                Form::User { rows, .. } => {
                    "packed".clone_into(&mut entry.form);
                    let (edges, nbytes) = edges(packed.iter().flat_map(|theirs| &theirs[at]));
                    entry.edges = edges;
                    vec![(Some(8), rows * 8), (None, nbytes)]
                }
            };
            for (row_nbytes, nbytes) in sizes {
                entry.pieces.push(Piece { row_nbytes, nbytes, offset: end, chunks: Vec::new() });
                end = state::aligned(end + nbytes);
            }
            entries.push(entry);
        }
        (entries, end)
    }

    /// Writes what this rank has; the chunks of each part of each array.
    fn write(
        &self,
        part: &Path,
        entries: &[Entry],
        lists: &[Vec<List>],
    ) -> std::io::Result<Vec<Vec<Chunk>>> {
        let file = state::open_to_write(part)?;
        let mut chunks = Vec::new();
        for (at, (array, entry)) in self.arrays.iter().zip(entries).enumerate() {
            let parts = self.bytes(array, &lists[at], &entry.edges);
            for (piece, runs) in entry.pieces.iter().zip(parts) {
                let mut written = Vec::new();
                for (first, bytes) in runs {
                    written.extend(state::write(&file, piece.offset, first, bytes)?);
                }
                chunks.push(written);
            }
        }
        file.sync_all()?;
        Ok(chunks)
    }

    /// What this rank writes of an array: replicated data is rank 0's.
    fn bytes<'a>(&self, array: &'a Array, lists: &'a [List], edges: &Edges) -> Vec<Vec<Bytes<'a>>> {
        let row_nbytes = array.row_nbytes();
        match (&array.content, array.description.form) {
            (Content::Rows(_), _) => {
                let bytes = |rows: &Range<u64>| {
                    let nbytes = ((rows.end - rows.start) * row_nbytes) as usize;
                    // SAFETY: rows that are held, in memory that is open.
                    (rows.start * row_nbytes, unsafe { slice(array.at(rows.start), nbytes) })
                };
                vec![array.held.iter().map(bytes).collect()]
            }
            (Content::Replicated(at), Form::Replicated { nbytes }) if self.rank == 0 => {
                // SAFETY: the program says so when it registers them.
                vec![vec![(0, unsafe { slice(*at, nbytes as usize) })]]
            }
            (Content::Replicated(_), _) => vec![Vec::new()],
            (Content::User(_), _) => {
                let lengths = |list: &'a List| (list.first * 8, &list.lengths[..]);
                let bytes = |list: &'a List| (edges[&list.first], &list.bytes[..]);
                vec![lists.iter().map(lengths).collect(), lists.iter().map(bytes).collect()]
            }
        }
    }

    /// Has what a file has.
    fn read(&mut self, file: &StateFile) -> std::result::Result<(), String> {
        let entries = &file.index.entries;
        for entry in entries {
            if self.array(&entry.name).is_err() {
                return Err(format!("has {:?}, which the program has not registered", entry.name));
            }
        }
        let mut layouts = std::mem::take(&mut self.layouts);
        for at in 0..self.arrays.len() {
            let entry = entry_of(entries, &self.arrays[at])?;
            self.take_rows(at, entry, entries)?;
            let description = &self.arrays[at].description;
            if let Some(deal) = description.deal() {
                let layout =
                    self.layout(description, self.size).map_err(|error| error.to_string())?;
                let held = layout.of(self.rank);
                layouts.insert(deal, layout);
                if self.arrays[at].held != held {
                    let array = &mut self.arrays[at];
                    array.make_room(&held).map_err(|error| error.to_string())?;
                    array.held = held;
                }
            }
            read_into(file, entry, &self.arrays[at])
                .map_err(|problem| format!("{problem}, of {:?}", entry.name))?;
        }
        let is_used =
            |deal: &u64| self.arrays.iter().any(|array| array.description.deal() == Some(*deal));
        layouts.retain(|deal, _| is_used(deal));
        self.layouts = layouts;
        Ok(())
    }

    /// Has as many rows of an array as were saved, if they were replaced before.
    fn take_rows(
        &mut self,
        at: usize,
        entry: &Entry,
        entries: &[Entry],
    ) -> std::result::Result<(), String> {
        let array = &mut self.arrays[at];
        if entry.tag.is_empty() || array.description.rows().is_none() {
            return Ok(());
        }
        let same = entries.iter().filter(|other| other.tag == entry.tag);
        let deal = together(&same.map(|other| other.name.clone()).collect::<Vec<_>>());
        let description = array.description.with_rows(entry.rows, deal);
        if matches!(array.content, Content::Rows(_)) {
            *array = Array::rows(description, Vec::new()).map_err(|error| error.to_string())?;
        } else {
            array.description = description;
            array.held = Vec::new();
        }
        Ok(())
    }
}

fn unwritten(path: &Path, error: &std::io::Error) -> MalleableError {
    MalleableError::State(format!(
        "{} can't be written ({error}); what was there is there yet",
        path.display()
    ))
}

fn unread(path: &Path, problem: &str) -> MalleableError {
    MalleableError::State(format!("{} {problem}", path.display()))
}

/// # Safety
/// There are so many bytes, which nobody writes meanwhile.
unsafe fn slice<'a>(at: *const u8, nbytes: usize) -> &'a [u8] {
    if nbytes == 0 {
        return &[];
    }
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(at, nbytes) }
}

fn packed(array: &Array) -> Result<Vec<List>> {
    match &array.content {
        Content::User(functions) => {
            array.held.iter().map(|rows| packed_run(array, rows, &**functions)).collect()
        }
        _ => Ok(Vec::new()),
    }
}

fn packed_run(array: &Array, rows: &Range<u64>, functions: &dyn UserRows) -> Result<List> {
    let mut list = List { first: rows.start, lengths: Vec::new(), bytes: Vec::new() };
    for row in rows.clone() {
        let row = row..row + 1;
        let nbytes = functions.nbytes(&row)?;
        let first = list.bytes.len();
        let room = usize::try_from(nbytes).unwrap_or(usize::MAX);
        list.bytes.try_reserve(room).map_err(|error| MalleableError::Memory {
            name: array.description.name.clone(),
            nbytes,
            source: std::io::Error::other(error),
        })?;
        list.bytes.resize(first + room, 0);
        functions.pack(&row, &mut list.bytes[first..])?;
        list.lengths.extend(nbytes.to_le_bytes());
    }
    Ok(list)
}

/// What is before the bytes of each run, and the bytes of all.
fn edges<'a>(runs: impl Iterator<Item = &'a (u64, u64)>) -> (Edges, u64) {
    let mut runs: Vec<_> = runs.copied().collect();
    // A run without rows begins where another one does, and has no bytes.
    runs.sort_unstable();
    let (mut edges, mut before) = (Edges::new(), 0);
    for (first, nbytes) in runs {
        edges.entry(first).or_insert(before);
        before += nbytes;
    }
    (edges, before)
}

/// What a file has of an array, if it is the same.
fn entry_of<'a>(entries: &'a [Entry], array: &Array) -> std::result::Result<&'a Entry, String> {
    let description = &array.description;
    let entry = entries.iter().find(|entry| entry.name == description.name);
    let entry = entry.ok_or_else(|| format!("has no {description}"))?;
    let (kind, form, row_nbytes) = match description.form {
        Form::Rows { row_nbytes, kind: Kind::Constant, .. } => ("constant", "rows", row_nbytes),
        Form::Rows { row_nbytes, .. } => ("variable", "rows", row_nbytes),
        Form::Replicated { nbytes } => ("replicated", "rows", nbytes),
        Form::User { .. } => ("variable", "packed", 8),
    };
    let piece = entry.pieces.first();
    let found = piece.and_then(|piece| piece.row_nbytes).unwrap_or_default();
    let is_whole = piece.map(|piece| piece.nbytes) == entry.rows.checked_mul(found);
    let is_same = !entry.tag.is_empty() || description.rows().unwrap_or(1) == entry.rows;
    let is_as_many = is_whole && is_same;
    if (&*entry.kind, &*entry.form, found, is_as_many) == (kind, form, row_nbytes, true) {
        return Ok(entry);
    }
    Err(format!(
        "has {} {:?} with {} rows of {found} bytes ({}), and the program registers {description}",
        entry.kind, entry.name, entry.rows, entry.form
    ))
}

fn read_into(file: &StateFile, entry: &Entry, array: &Array) -> std::result::Result<(), String> {
    let row_nbytes = array.row_nbytes();
    match (&array.content, array.description.form) {
        (Content::User(functions), _) => {
            functions.adopt(&array.held).map_err(|error| error.to_string())?;
            array.held.iter().try_for_each(|rows| unpacked(file, entry, rows, &**functions))
        }
        (Content::Replicated(at), Form::Replicated { nbytes }) => {
            // SAFETY: the program's bytes, which it does not use meanwhile.
            unsafe { read_bytes(file, entry, 0, *at, nbytes) }
        }
        _ => array.held.iter().try_for_each(|rows| {
            let nbytes = (rows.end - rows.start) * row_nbytes;
            // SAFETY: rows that are held, in memory that is open.
            unsafe {
                read_bytes(file, entry, rows.start * row_nbytes, array.at(rows.start), nbytes)
            }
        }),
    }
}

/// Reads bytes of the only part of an array.
///
/// # Safety
/// There is room for so many bytes, which nobody uses meanwhile.
unsafe fn read_bytes(
    file: &StateFile,
    entry: &Entry,
    first: u64,
    into: *mut u8,
    nbytes: u64,
) -> std::result::Result<(), String> {
    if nbytes == 0 {
        return Ok(());
    }
    // SAFETY: as the caller says.
    let into = unsafe { std::slice::from_raw_parts_mut(into, nbytes as usize) };
    file.read(&entry.pieces[0], first, into)
}

fn unpacked(
    file: &StateFile,
    entry: &Entry,
    held: &Range<u64>,
    functions: &dyn UserRows,
) -> std::result::Result<(), String> {
    let [lengths, bytes] = &entry.pieces[..] else {
        return Err("has other parts".to_owned());
    };
    let numbers = |rows: Range<u64>| {
        let mut found = vec![0; (rows.end - rows.start) as usize * 8];
        file.read(lengths, rows.start * 8, &mut found)?;
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        Ok::<Vec<u64>, String>(found.chunks_exact(8).map(number).collect())
    };
    let (row, before) = last_edge(&entry.edges, held.start);
    let lengths_before = numbers(row..held.start)?;
    let first = lengths_before.iter().fold(before, |sum, length| sum.saturating_add(*length));
    let lengths = numbers(held.clone())?;
    let total = lengths.iter().try_fold(0_u64, |sum, length| sum.checked_add(*length));
    let total = total.filter(|total| *total <= bytes.nbytes).ok_or("is damaged in its lengths")?;
    let mut found = vec![0; total as usize];
    file.read(bytes, first, &mut found)?;
    let mut rest = &found[..];
    for (row, length) in held.clone().zip(lengths) {
        let (own, others) = rest.split_at(length as usize);
        functions.unpack(&(row..row + 1), own).map_err(|error| error.to_string())?;
        rest = others;
    }
    Ok(())
}

/// The nearest row at or before another of which it is known what is before it.
fn last_edge(edges: &Edges, row: u64) -> (u64, u64) {
    edges.range(..=row).next_back().map_or((0, 0), |(row, before)| (*row, *before))
}
