//! What an executor prints, as its worker reads it, and of which call it is.
//!
//! Standard output and standard error of an executor are pipes, whose other ends its worker has: so
//! what a process printed last outlives it. The executor writes into the pipe where a call ended,
//! but only if the worker may not have read all that the call printed: calls that print nothing cost
//! nothing. What no such mark follows was printed by the call that runs.
//!
//! See docs/decisions/072-executors-print-into-pipes-of-their-worker.md

use super::prints_budget::{Budget, Held};
use crate::worker::Now;
use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};

/// What the executor writes behind what a call printed, before the call's sequence.
const END: &[u8; 5] = b"\x1e\x1dfs:";
/// Bytes of such a mark.
const END_NBYTES: usize = END.len() + size_of::<u32>();
/// What is read of a pipe before others have their turn: as much as a pipe holds.
const TURN_NBYTES: usize = 64 << 10;
/// How long nothing is read of an executor that prints faster than that.
const PAUSE_NS: Now = 5_000_000;
/// A longer line is passed on before it ends.
const MAX_LINE_NBYTES: usize = 8 << 10;
/// How often it is looked again while calls begin and end.
const MAX_PASSES: u32 = 3;

/// The words by which a worker and an executor agree on what was read.
#[derive(Clone, Copy, Debug)]
pub struct Reads<'a> {
    /// Odd while the worker reads; 0 before it has read anything.
    pub reads: &'a AtomicU32,
    /// How often the executor has said where a call ended.
    pub ends: &'a AtomicU32,
}

/// The mark that ends what a call printed.
pub fn end_of(sequence: u32) -> [u8; END_NBYTES] {
    let mut mark = [0; END_NBYTES];
    mark[..END.len()].copy_from_slice(END);
    mark[END.len()..].copy_from_slice(&sequence.to_le_bytes());
    mark
}

/// Something that a call printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// The call.
    pub sequence: u32,
    /// Whether it went to standard error.
    pub is_error: bool,
    /// The text.
    pub text: Vec<u8>,
    /// How many bytes before it were left out.
    pub left_out: u64,
}

/// What an executor prints.
#[derive(Debug)]
pub struct Prints {
    pipes: [Pipe; 2],
    budget: Budget,
    /// How many ends of calls were read.
    ends: u32,
    /// When there is more to read, though no event says so.
    again_at: Option<Now>,
}

#[derive(Debug)]
struct Pipe {
    reader: PipeReader,
    is_error: bool,
    /// What was read and not passed on.
    text: Vec<u8>,
    /// The call that printed it.
    owner: u32,
    held: Held,
}

impl Prints {
    /// Those that come out of standard output and standard error.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn new(readers: [PipeReader; 2]) -> io::Result<Self> {
        for reader in &readers {
            set_nonblocking(reader)?;
        }
        let [output, error] = readers;
        let pipe = |reader, is_error| Pipe {
            reader,
            is_error,
            text: Vec::new(),
            owner: 0,
            held: Held::default(),
        };
        let pipes = [pipe(output, false), pipe(error, true)];
        Ok(Self { pipes, budget: Budget::default(), ends: 0, again_at: None })
    }

    /// The descriptors that become readable.
    pub fn descriptors(&self) -> [RawFd; 2] {
        [0, 1].map(|index: usize| self.pipes[index].reader.as_raw_fd())
    }

    /// When to read again though no event says so.
    pub fn again_at(&self) -> Option<Now> {
        self.again_at
    }

    /// Whether calls ended that printed something, and that was not read.
    pub fn is_behind(&self, reads: Reads<'_>) -> bool {
        // Pairs with the addition by which the executor says that it has written a mark.
        reads.ends.load(Ordering::Acquire) != self.ends
    }

    /// Reads what there is. `claimed` tells which call the executor has claimed last.
    pub fn read(&mut self, reads: Reads<'_>, claimed: impl Fn() -> u32, now: Now) -> Vec<Piece> {
        self.ends = reads.ends.load(Ordering::Acquire);
        // A call that ends from here on says so in the pipes, whatever it printed: the executor
        // looks at this word after it has looked whether anything is left in them.
        reads.reads.fetch_add(1, Ordering::SeqCst);
        let befores = [0, 1].map(|index: usize| self.pipes[index].text.len());
        let mut is_full = false;
        let mut current = claimed();
        for _ in 0..MAX_PASSES {
            for pipe in &mut self.pipes {
                is_full |= pipe.fill();
            }
            // If calls ended meanwhile, their marks are in the pipes by now.
            let before = std::mem::replace(&mut current, claimed());
            if before == current {
                break;
            }
        }
        reads.reads.fetch_add(1, Ordering::SeqCst);
        self.again_at = is_full.then_some(now + PAUSE_NS);
        self.budget.refill(now);
        let mut pieces = Vec::new();
        for (pipe, before) in self.pipes.iter_mut().zip(befores) {
            pipe.split(before, current, &mut self.budget, &mut pieces);
        }
        pieces
    }

    /// What is left of calls that have ended; of all if there is no `sequence`.
    pub fn finish(&mut self, sequence: Option<u32>) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for pipe in &mut self.pipes {
            if sequence.is_none_or(|ended| ended == pipe.owner) {
                pipe.pass_on(pipe.text.len(), &mut self.budget, &mut pieces);
                pipe.flush(&mut self.budget, &mut pieces);
            }
        }
        pieces
    }

    /// Whether nothing waits to be passed on.
    pub fn is_quiet(&self) -> bool {
        self.pipes.iter().all(|pipe| pipe.text.is_empty() && pipe.held.is_empty())
    }
}

impl Pipe {
    /// Reads until there is no more, or so much that others have their turn: then true.
    fn fill(&mut self) -> bool {
        let mut chunk = [0; 16 << 10];
        let mut nbytes = 0;
        while nbytes < TURN_NBYTES {
            match self.reader.read(&mut chunk) {
                Ok(0) => return false,
                Ok(count) => {
                    nbytes += count;
                    self.text.extend_from_slice(&chunk[..count]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // There is no more; or what comes later can't be read either.
                Err(_) => return false,
            }
        }
        true
    }

    /// Passes on what is complete. The first `before` bytes are the owner's; those after the last
    /// mark are the `current` call's.
    fn split(&mut self, before: usize, current: u32, budget: &mut Budget, out: &mut Vec<Piece>) {
        let first = find_end(&self.text).map_or(current, |(_, sequence)| sequence);
        if first != self.owner {
            self.pass_on(before, budget, out);
            self.flush(budget, out);
            self.owner = first;
        }
        while let Some((at, sequence)) = find_end(&self.text) {
            self.owner = sequence;
            self.pass_on(at, budget, out);
            self.text.drain(..END_NBYTES);
            self.flush(budget, out);
        }
        self.owner = current;
        let end = complete(&self.text);
        self.pass_on(end, budget, out);
        self.held.release(budget).into_iter().for_each(|held| self.push(held, out));
    }

    /// Passes on the first `nbytes` as the owner's, or holds them.
    fn pass_on(&mut self, nbytes: usize, budget: &mut Budget, out: &mut Vec<Piece>) {
        if nbytes == 0 {
            return;
        }
        let text: Vec<u8> = self.text.drain(..nbytes).collect();
        if let Some(text) = self.held.pass(text, budget) {
            self.push((text, 0), out);
        }
    }

    /// The owner has ended: what was held of it is passed on.
    fn flush(&mut self, budget: &mut Budget, out: &mut Vec<Piece>) {
        self.held.take(budget).into_iter().for_each(|held| self.push(held, out));
    }

    fn push(&self, (text, left_out): (Vec<u8>, u64), out: &mut Vec<Piece>) {
        out.push(Piece { sequence: self.owner, is_error: self.is_error, text, left_out });
    }
}

/// Where a mark begins, and of which call it is the end.
fn find_end(text: &[u8]) -> Option<(usize, u32)> {
    let at = text.windows(END_NBYTES).position(|bytes| bytes.starts_with(END))?;
    let sequence = text[at + END.len()..at + END_NBYTES].try_into().ok()?;
    Some((at, u32::from_le_bytes(sequence)))
}

/// How much can be passed on: whole lines, or all if the last one is long; never a part of a mark.
fn complete(text: &[u8]) -> usize {
    let tail = text.len().saturating_sub(END_NBYTES - 1);
    let is_begun = |at: &usize| {
        let rest = &text[*at..];
        rest.starts_with(END) || END.starts_with(rest)
    };
    let whole = (tail..text.len()).find(is_begun).unwrap_or(text.len());
    let lines = text[..whole].iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
    let lines = lines.map_or(0, |at| at + 1);
    if whole - lines > MAX_LINE_NBYTES { whole } else { lines }
}

fn set_nonblocking(reader: &PipeReader) -> io::Result<()> {
    let descriptor = reader.as_raw_fd();
    // SAFETY: system calls on an open descriptor.
    let set = unsafe {
        let flags = libc::fcntl(descriptor, libc::F_GETFL);
        libc::fcntl(descriptor, libc::F_SETFL, flags | libc::O_NONBLOCK)
    };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
#[path = "prints_tests.rs"]
mod tests;
