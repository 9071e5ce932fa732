//! Signs of life: messages of their own, beside the events, which may wait for room.

use super::{Endpoint, World};
use crate::event::Rank;
use crate::transport::{Life, TransportError};
use freestone_mpi::Handle;
use std::time::Instant;

const NBYTES: usize = size_of::<Rank>();

/// The tag of signs to an endpoint.
const fn sign_tag(tag: i32) -> i32 {
    // Payloads that go apart have the bit above.
    1 << 13 | tag
}

/// The signs of one rank, and those of the others to it.
#[derive(Debug)]
pub struct Signs {
    own: Rank,
    tag: i32,
    /// What is to come next.
    posted: Option<(Handle, Box<[u8]>)>,
    /// What MPI has yet to send, by target.
    on_way: Vec<Option<(Handle, Box<[u8]>)>>,
    /// How many have come, by source.
    counts: Vec<u64>,
}

impl Signs {
    /// None yet, of the rank `own` with this tag, of so many processes.
    pub fn new(own: Rank, tag: i32, processes: usize) -> Self {
        let on_way = (0..processes).map(|_| None).collect();
        Self { own, tag, posted: None, on_way, counts: vec![0; processes] }
    }

    /// Sends one, unless the last is still on its way.
    pub fn show(&mut self, world: &World, to: Rank, at: Endpoint) -> Result<(), TransportError> {
        let on_way = &mut self.on_way[to as usize];
        if let Some((request, _)) = on_way
            && !world.library.test(request)?
        {
            return Ok(());
        }
        let bytes: Box<[u8]> = self.own.to_le_bytes().into();
        // SAFETY: the bytes are kept beside their request.
        let request =
            unsafe { world.library.isend(world.comm, at.process, sign_tag(at.tag), &bytes)? };
        *on_way = Some((request, bytes));
        Ok(())
    }

    /// Takes in those that have come; what is known of a rank then.
    pub fn life(&mut self, world: &World, source: Rank) -> Result<Option<Life>, TransportError> {
        self.take_in(world)?;
        let signs = self.counts[source as usize];
        Ok((signs > 0).then_some(Life { signs, can_arrive: true }))
    }

    fn take_in(&mut self, world: &World) -> Result<(), TransportError> {
        loop {
            if let Some((request, _)) = &mut self.posted {
                if !world.library.test(request)? {
                    return Ok(());
                }
                self.count();
            }
            self.post(world)?;
        }
    }

    fn count(&mut self) {
        let Some((_, bytes)) = self.posted.take() else { return };
        let source = bytes.first_chunk().map(|word| Rank::from_le_bytes(*word) as usize);
        if let Some(count) = source.and_then(|source| self.counts.get_mut(source)) {
            *count += 1;
        }
    }

    fn post(&mut self, world: &World) -> Result<(), TransportError> {
        let mut bytes: Box<[u8]> = [0; NBYTES].into();
        let room = (bytes.as_mut_ptr(), bytes.len());
        // SAFETY: the room is kept beside its request, and looked at when that is done.
        let request = unsafe { world.library.irecv(world.comm, None, sign_tag(self.tag), room)? };
        self.posted = Some((request, bytes));
        Ok(())
    }

    /// Waits until `end` at most for MPI to send what is on its way, and receives no more.
    ///
    /// Until then it takes in what comes: a sign to another endpoint of the same process may count as sent
    /// only once that has received it.
    pub fn finish(&mut self, world: &World, end: Instant) {
        // What is for a lost rank never goes.
        let end = if world.has_loss() { Instant::now() } else { end };
        loop {
            if !world.has_loss() && self.take_in(world).is_err() {
                break;
            }
            for on_way in &mut self.on_way {
                if let Some((request, _)) = on_way
                    && world.library.test(request).unwrap_or(false)
                {
                    *on_way = None;
                }
            }
            if self.on_way.iter().all(Option::is_none) || Instant::now() >= end {
                break;
            }
            std::thread::yield_now();
        }
        for (_, bytes) in self.on_way.drain(..).flatten() {
            // MPI may read there until the end of the process.
            std::mem::forget(bytes);
        }
        if let Some((mut request, bytes)) = self.posted.take() {
            if world.has_loss() {
                // MPI may wait for the lost rank: it keeps the room.
                std::mem::forget(bytes);
            } else {
                world.library.cancel(&mut request);
            }
        }
    }
}
