//! What goes from one rank to another.

use super::library::Handle;
use super::{BUFFER, Endpoint, World};
use crate::event::Rank;
use crate::transport::{TransportError, batch};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Bytes before the frames: who sends, and how many bytes the frames have.
const SOURCE: usize = 8;
/// Messages of at least so many bytes do not wait for more.
const BATCH: usize = 8 << 10;
/// A message that follows another one so closely waits for more, unless that was answered: who
/// takes turns with the other has nothing more to send.
const CLOSE: Duration = Duration::from_micros(2);
/// How many buffers are kept to be used again.
const SPARE: usize = 8;

/// The way to another rank.
#[derive(Debug)]
pub struct Lane {
    source: Rank,
    endpoint: Endpoint,
    /// The message that waits: a head, and frames.
    filling: Vec<u8>,
    on_way: VecDeque<(Handle, Vec<u8>)>,
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
        let (filling, spare) = (Vec::with_capacity(BUFFER), Vec::new());
        let on_way = VecDeque::new();
        Self {
            source,
            endpoint,
            filling,
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

    /// Whether a frame fits into the message that waits.
    pub fn fits(&self, len: usize) -> bool {
        self.filling.len().max(SOURCE) + batch::LENGTH + len <= BUFFER
    }

    /// Adds a frame; whether it is the first of its message.
    pub fn put(&mut self, parts: &[&[u8]]) -> bool {
        let is_first = self.filling.is_empty();
        if is_first {
            self.filling.extend_from_slice(&[0; SOURCE]);
        }
        let before = self.filling.len();
        batch::append(&mut self.filling, parts);
        self.sent += (self.filling.len() - before) as u64;
        is_first
    }

    /// Whether the message may wait for more: one went a moment ago, and more are likely to come.
    /// `heard` is how many messages have come from there.
    pub fn may_wait(&mut self, heard: u64) -> bool {
        self.is_answer = std::mem::replace(&mut self.heard, heard) != heard;
        !self.is_answer
            && self.filling.len() < BATCH
            && self.shipped.is_some_and(|at| at.elapsed() < CLOSE)
    }

    /// Sends the message that waits; whether there was one.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub fn ship(&mut self, world: &World) -> Result<bool, TransportError> {
        self.retire(world)?;
        if self.filling.is_empty() {
            return Ok(false);
        }
        let empty = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(BUFFER));
        let mut message = std::mem::replace(&mut self.filling, empty);
        let len = (message.len() - SOURCE) as u32;
        message[..4].copy_from_slice(&self.source.to_le_bytes());
        message[4..SOURCE].copy_from_slice(&len.to_le_bytes());
        let Endpoint { process, tag } = self.endpoint;
        // SAFETY: the message is kept until the request is done.
        let request = unsafe { world.library.isend(world.comm, process, tag, &message)? };
        self.on_way.push_back((request, message));
        self.shipped = (!self.is_answer).then(Instant::now);
        self.retire(world)?;
        Ok(true)
    }

    /// Takes back the buffers of messages that are gone.
    fn retire(&mut self, world: &World) -> Result<(), TransportError> {
        while let Some((request, _)) = self.on_way.front_mut() {
            if !world.library.test(request)? {
                break;
            }
            if let Some((_, mut buffer)) = self.on_way.pop_front()
                && self.spare.len() < SPARE
            {
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
        for (_, buffer) in self.on_way.drain(..) {
            std::mem::forget(buffer);
        }
    }
}
