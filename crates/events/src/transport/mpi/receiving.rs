//! Messages that come to a rank: with frames, and with one payload each.

use super::lane::{CHUNK, apart_tag};
use super::library::Library;
use super::{BUFFER, World};
use crate::event::{Event, Rank};
use crate::payload::{Data, Payload};
use crate::transport::{Incoming, TransportError};
use freestone_mpi::Handle;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// What is to come, and what has come and can't be handed over yet.
#[derive(Debug)]
pub struct Receiving {
    /// In the order in which they were posted.
    pub posted: VecDeque<(Handle, Box<[u8]>)>,
    /// Buffers that are to be posted again.
    pub empty: Vec<Box<[u8]>>,
    tag: i32,
    /// The process that messages come from; any, if none.
    source: Option<u32>,
    /// Bytes taken and not yet given back, by source.
    pub taken: Vec<u64>,
    /// What came, by source, from the first payload on that is not here yet.
    pub behind: Vec<VecDeque<Behind>>,
    /// Sources of which something is there.
    pub delayed: Vec<Rank>,
}

/// What can't be handed over yet.
#[derive(Debug)]
pub enum Behind {
    /// A payload on its way, of so many bytes.
    Payload { event: Event<Payload>, requests: Vec<Handle>, bytes: Vec<u8>, total: usize },
    /// Something that came after one.
    Other(Incoming),
}

impl Receiving {
    /// Nothing yet, for messages with this tag, from one process or any, of so many.
    pub fn new(tag: i32, source: Option<u32>, processes: usize) -> Self {
        Self {
            posted: VecDeque::new(),
            empty: (0..crate::limits::get().posted).map(|_| vec![0; BUFFER].into()).collect(),
            tag,
            source,
            taken: vec![0; processes],
            behind: (0..processes).map(|_| VecDeque::new()).collect(),
            delayed: Vec::new(),
        }
    }

    /// Gives up the payloads that a lost rank had begun to send, and what came after them.
    pub fn give_up(&mut self, source: Rank) {
        self.delayed.retain(|one| *one != source);
        for behind in self.behind[source as usize].drain(..) {
            // MPI may write there until the end of the process.
            std::mem::forget(behind);
        }
    }

    /// Posts receives into all buffers that are empty.
    pub fn post(&mut self, world: &World) -> Result<(), TransportError> {
        while let Some(mut buffer) = self.empty.pop() {
            // SAFETY: the buffer is kept beside its request, and looked at when that is done.
            let request = unsafe {
                let bytes = (buffer.as_mut_ptr(), buffer.len());
                world.library.irecv(world.comm, self.source, self.tag, bytes)?
            };
            self.posted.push_back((request, buffer));
        }
        Ok(())
    }

    /// The next message, if one has come: they come in the order of the receives.
    pub fn next(&mut self, library: &Library) -> Result<Option<Box<[u8]>>, TransportError> {
        let Some((request, _)) = self.posted.front_mut() else {
            return Ok(None);
        };
        let done = library.test(request)?;
        Ok(done.then(|| self.posted.pop_front()).flatten().map(|(_, buffer)| buffer))
    }

    /// Receives the payload of an event from a process; what comes after it waits.
    pub fn receive_apart(
        &mut self,
        world: &World,
        process: u32,
        event: Event<Payload>,
        total: u64,
    ) -> Result<(), TransportError> {
        let (total, mut bytes, mut requests) = (total as usize, Vec::<u8>::new(), Vec::new());
        if let Err(error) = bytes.try_reserve_exact(total) {
            let what = format!("there is no memory for the event '{}' of {total} bytes", event.id);
            return Err(TransportError::Io { what, source: io::Error::other(error) });
        }
        let tag = apart_tag(event.source, self.tag);
        for start in (0..total).step_by(CHUNK) {
            let part = (bytes.as_mut_ptr().wrapping_add(start), CHUNK.min(total - start));
            // SAFETY: room that was reserved, kept beside its request until that is done.
            requests.push(unsafe { world.library.irecv(world.comm, Some(process), tag, part)? });
        }
        let source = event.source;
        if self.behind[source as usize].is_empty() {
            self.delayed.push(source);
        }
        let payload = Behind::Payload { event, requests, bytes, total };
        self.behind[source as usize].push_back(payload);
        Ok(())
    }

    /// Hands over the payloads that have come, and what came after them; how many.
    pub fn hand_over(
        &mut self,
        library: &Library,
        take: &mut dyn FnMut(Rank, Incoming),
    ) -> Result<usize, TransportError> {
        let mut count = 0;
        for source in std::mem::take(&mut self.delayed) {
            let behind = &mut self.behind[source as usize];
            while let Some(first) = behind.front_mut() {
                if !first.is_here(library)? {
                    break;
                }
                count += 1;
                match behind.pop_front() {
                    Some(Behind::Payload { event, bytes, total, .. }) => {
                        self.taken[source as usize] += total as u64;
                        take(source, completed(event, bytes, total));
                    }
                    Some(Behind::Other(incoming)) => take(source, incoming),
                    None => {}
                }
            }
            if !behind.is_empty() {
                self.delayed.push(source);
            }
        }
        Ok(count)
    }
}

impl Behind {
    fn is_here(&mut self, library: &Library) -> Result<bool, TransportError> {
        let Self::Payload { requests, .. } = self else {
            return Ok(true);
        };
        while let Some(request) = requests.last_mut() {
            if !library.test(request)? {
                return Ok(false);
            }
            requests.pop();
        }
        Ok(true)
    }
}

fn completed(mut event: Event<Payload>, mut bytes: Vec<u8>, total: usize) -> Incoming {
    // SAFETY: so many were reserved, and MPI has written them.
    unsafe { bytes.set_len(total) };
    event.payload.data = Data::Bytes(Arc::new(bytes));
    Incoming::Event(event)
}
