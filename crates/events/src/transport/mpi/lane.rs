//! What goes from one rank to another.

use super::{BUFFER, Endpoint, World, gate, window};
use crate::event::Rank;
use crate::transport::{TransportError, batch};
use freestone_mpi::Handle;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Bytes before the frames: who sends, and how many bytes the frames have.
const SOURCE: usize = 8;
/// Messages of at least so many bytes do not wait for more.
const BATCH: usize = 8 << 10;
/// A message that follows another one so closely waits for more, unless that was answered: who
/// takes turns with the other has nothing more to send.
const CLOSE: Duration = Duration::from_micros(2);
/// The tag of payloads that go apart. Ranks of one process, as tests have them, differ in it.
pub fn apart_tag(source: Rank, tag: i32) -> i32 {
    // MPI has fifteen bits at least.
    1 << 14 | (source & 127).cast_signed() << 7 | tag
}

/// MPI counts bytes in ints.
pub const CHUNK: usize = 1 << 30;
/// How many buffers are kept to be used again.
const SPARE: usize = 8;

/// A message that gets no more frames.
#[derive(Debug)]
enum Closed {
    Frames(Vec<u8>),
    /// The bytes of one payload.
    Apart(Vec<u8>),
}

/// The way to another rank.
#[derive(Debug)]
pub struct Lane {
    source: Rank,
    endpoint: Endpoint,
    /// The message that waits: a head, and frames.
    filling: Vec<u8>,
    /// Messages that wait before it, for the thread that may send them.
    closed: VecDeque<Closed>,
    /// How many payloads on their way go apart: MPI moves them only while it is called.
    apart: usize,
    /// What MPI has yet to send; whether it is the end of a payload that goes apart.
    on_way: VecDeque<(Handle, Vec<u8>, bool)>,
    spare: Vec<Vec<u8>>,
    /// Bytes of frames, ever.
    sent: u64,
    /// When a message went, unless it answered one.
    shipped: Option<Instant>,
    /// How many messages had come from there when the last frame was added.
    heard: u64,
    is_answer: bool,
}

impl Lane {
    /// The way from `source` to an endpoint.
    pub fn new(source: Rank, endpoint: Endpoint) -> Self {
        let (filling, spare, closed, on_way) =
            (Vec::new(), Vec::new(), VecDeque::new(), VecDeque::new());
        Self {
            source,
            endpoint,
            filling,
            closed,
            apart: 0,
            on_way,
            spare,
            sent: 0,
            shipped: None,
            heard: 0,
            is_answer: false,
        }
    }

    /// Bytes sent ever, with those of another frame.
    pub fn on_way(&self, len: usize) -> u64 {
        self.sent + (len + batch::LENGTH) as u64
    }

    /// The process to which it leads.
    pub fn process(&self) -> u32 {
        self.endpoint.process
    }

    /// Whether a frame fits into the message that waits.
    pub fn fits(&self, len: usize) -> bool {
        self.filling.len().max(SOURCE) + batch::LENGTH + len <= BUFFER
    }

    /// Adds a frame; whether it is the first of its message.
    pub fn put(&mut self, parts: &[&[u8]]) -> bool {
        let is_first = !self.waits();
        if self.filling.is_empty() {
            // Of many ranks most pairs never talk: the first frame allocates.
            self.filling.reserve(BUFFER);
            self.filling.extend_from_slice(&[0; SOURCE]);
        }
        let before = self.filling.len();
        batch::append(&mut self.filling, parts);
        self.sent += (self.filling.len() - before) as u64;
        is_first
    }

    /// Whether something waits to be sent.
    fn waits(&self) -> bool {
        !self.filling.is_empty() || !self.closed.is_empty()
    }

    /// Whether the message may wait for more: one went a moment ago, and more are likely to come.
    /// `heard` is how many messages have come from there.
    pub fn may_wait(&mut self, heard: u64) -> bool {
        self.is_answer = std::mem::replace(&mut self.heard, heard) != heard;
        !self.is_answer
            && self.filling.len() < BATCH
            && self.shipped.is_some_and(|at| at.elapsed() < CLOSE)
    }

    /// Sends what waits; whether something did. Where this thread may not call MPI, makes room for
    /// more, and leaves it.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub fn ship(&mut self, world: &World) -> Result<bool, TransportError> {
        if !gate::may_call() {
            self.close();
            return Ok(false);
        }
        self.retire(world)?;
        let waits = self.waits();
        self.close();
        while let Some(message) = self.closed.pop_front() {
            match message {
                Closed::Frames(message) => self.send(world, message)?,
                Closed::Apart(payload) => self.send_apart(world, payload)?,
            }
        }
        Ok(waits)
    }

    fn close(&mut self) {
        if !self.filling.is_empty() {
            let empty = self.spare.pop().unwrap_or_default();
            self.closed.push_back(Closed::Frames(std::mem::replace(&mut self.filling, empty)));
        }
    }

    /// Adds a payload that goes apart, after the frame that announces it.
    /// Whether nothing waited before.
    pub fn put_apart(&mut self, payload: Vec<u8>) -> bool {
        let is_first = !self.waits();
        self.close();
        self.sent += payload.len() as u64;
        self.closed.push_back(Closed::Apart(payload));
        is_first
    }

    /// Whether a payload of so many bytes may go: one that is larger than the window goes when little
    /// else is on its way.
    pub fn has_room_apart(&self, nbytes: usize, credited: u64) -> bool {
        self.on_way(nbytes) <= credited + window() || self.sent <= credited + window() / 2
    }

    /// Whether payloads are on their way that go apart; takes back those that have gone.
    pub fn is_apart(&mut self, world: &World) -> Result<bool, TransportError> {
        if self.apart > 0 {
            self.retire(world)?;
        }
        Ok(self.apart > 0)
    }

    fn send_apart(&mut self, world: &World, payload: Vec<u8>) -> Result<(), TransportError> {
        let Endpoint { process, tag } = self.endpoint;
        let tag = apart_tag(self.source, tag);
        let mut requests = Vec::new();
        for part in payload.chunks(CHUNK) {
            // SAFETY: the payload is kept until the requests are done; moving it moves no bytes.
            requests.push(unsafe { world.library.isend(world.comm, process, tag, part)? });
        }
        let last = requests.pop();
        self.on_way.extend(requests.into_iter().map(|request| (request, Vec::new(), false)));
        self.on_way.extend(last.map(|request| (request, payload, true)));
        self.apart += 1;
        Ok(())
    }

    fn send(&mut self, world: &World, mut message: Vec<u8>) -> Result<(), TransportError> {
        let len = (message.len() - SOURCE) as u32;
        message[..4].copy_from_slice(&self.source.to_le_bytes());
        message[4..SOURCE].copy_from_slice(&len.to_le_bytes());
        let Endpoint { process, tag } = self.endpoint;
        // SAFETY: the message is kept until the request is done.
        let request = unsafe { world.library.isend(world.comm, process, tag, &message)? };
        self.on_way.push_back((request, message, false));
        self.shipped = (!self.is_answer).then(Instant::now);
        self.retire(world)
    }

    /// Takes back the buffers of messages that are gone.
    fn retire(&mut self, world: &World) -> Result<(), TransportError> {
        while let Some((request, ..)) = self.on_way.front_mut() {
            if !world.library.test(request)? {
                break;
            }
            let Some((_, mut buffer, ends_payload)) = self.on_way.pop_front() else {
                break;
            };
            if ends_payload {
                self.apart -= 1;
            } else if self.spare.len() < SPARE && buffer.capacity() > 0 {
                buffer.clear();
                self.spare.push(buffer);
            }
        }
        Ok(())
    }

    /// Waits until all messages are gone, or `end`.
    pub fn finish(&mut self, world: &World, end: Instant) {
        while !self.on_way.is_empty() && Instant::now() < end {
            if self.retire(world).is_err() {
                break;
            }
            std::thread::yield_now();
        }
        // What was not taken is MPI's until the end of the process.
        for (_, buffer, _) in self.on_way.drain(..) {
            std::mem::forget(buffer);
        }
    }
}
