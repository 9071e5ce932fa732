//! Rows that functions of the program pack, on their way.

use super::together::kept;
use super::transfer::{Between, Transfer};
use crate::blueprint::Move;
use crate::data::{Array, Content, UserRows};
use crate::error::{MalleableError, Result};
use std::alloc;
use std::io;

/// A message of packed rows, on one of its ends.
struct Message {
    move_: Move,
    /// On the heap, as MPI writes it.
    nbytes: Box<u64>,
    bytes: Box<[u8]>,
}

/// The rows of one array that a process sends and receives, as the program packs them.
pub struct Packed {
    name: String,
    tag: i32,
    /// Of rows that stay here.
    own: Vec<Message>,
    outgoing: Vec<Message>,
    incoming: Vec<Message>,
}

impl Packed {
    /// Has the program pack all rows that this process has.
    ///
    /// # Errors
    ///
    /// What its functions return, or if there is no memory.
    pub fn pack(between: Between<'_>, tag: i32, array: &Array) -> Result<Self> {
        let (name, process) = (array.description.name.clone(), between.process);
        let mut packed =
            Self { name, tag, own: Vec::new(), outgoing: Vec::new(), incoming: Vec::new() };
        let Content::User(functions) = &array.content else { return Ok(packed) };
        for one in between.blueprint.moves(array.description.deal().unwrap_or_default())? {
            if one.source == process {
                let is_own = one.target == process;
                let message = packed.packed(one, &**functions)?;
                if is_own { &mut packed.own } else { &mut packed.outgoing }.push(message);
            } else if one.target == process {
                let message = Message { move_: one, nbytes: Box::new(0), bytes: Box::default() };
                packed.incoming.push(message);
            }
        }
        Ok(packed)
    }

    fn packed(&self, move_: Move, functions: &dyn UserRows) -> Result<Message> {
        let nbytes = functions.nbytes(&move_.rows)?;
        let mut bytes = self.zeroed(nbytes)?;
        functions.pack(&move_.rows, &mut bytes)?;
        Ok(Message { move_, nbytes: Box::new(nbytes), bytes })
    }

    fn zeroed(&self, nbytes: u64) -> Result<Box<[u8]>> {
        zeroed(nbytes).map_err(|source| MalleableError::Memory {
            name: self.name.clone(),
            nbytes,
            source,
        })
    }

    /// Sends and receives how many bytes there are.
    ///
    /// # Errors
    ///
    /// If it takes too long, or what MPI answers.
    pub fn exchange_sizes(&mut self, transfer: &mut Transfer, between: Between<'_>) -> Result<()> {
        let mut sizes: Vec<(usize, *mut u8, bool)> = Vec::new();
        for message in &mut self.incoming {
            sizes.push((message.move_.source, (&raw mut *message.nbytes).cast(), false));
        }
        for message in &mut self.outgoing {
            sizes.push((message.move_.target, (&raw mut *message.nbytes).cast(), true));
        }
        for (other, nbytes, sends) in sizes {
            // SAFETY: on the heap until all are done, or for ever if that fails.
            unsafe { transfer.post(between, (self.tag, &self.name), (other, nbytes, 8), sends)? };
        }
        let held = (std::mem::take(&mut self.incoming), std::mem::take(&mut self.outgoing));
        (self.incoming, self.outgoing) = kept(transfer.finish(between), held)?;
        Ok(())
    }

    /// Makes room for what comes.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    pub fn make_room(&mut self) -> Result<()> {
        let mut incoming = std::mem::take(&mut self.incoming);
        for message in &mut incoming {
            message.bytes = self.zeroed(*message.nbytes)?;
        }
        self.incoming = incoming;
        Ok(())
    }

    /// Sends and receives the bytes.
    ///
    /// # Errors
    ///
    /// If it takes too long, or what MPI answers.
    pub fn exchange(mut self, transfer: &mut Transfer, between: Between<'_>) -> Result<Self> {
        for message in &mut self.incoming {
            let end = (message.move_.source, message.bytes.as_mut_ptr(), message.bytes.len());
            // SAFETY: the bytes stay where they are until all are done.
            unsafe { transfer.post(between, (self.tag, &self.name), end, false)? };
        }
        for message in &mut self.outgoing {
            let end = (message.move_.target, message.bytes.as_mut_ptr(), message.bytes.len());
            // SAFETY: as above.
            unsafe { transfer.post(between, (self.tag, &self.name), end, true)? };
        }
        kept(transfer.finish(between), self)
    }

    /// Has the program make room, and unpack what this process has now, in the order of the rows.
    ///
    /// # Errors
    ///
    /// What its functions return.
    pub fn unpack(self, between: Between<'_>, array: &Array) -> Result<()> {
        let Content::User(functions) = &array.content else { return Ok(()) };
        let deal = array.description.deal().unwrap_or_default();
        if between.blueprint.rank_of(between.process).is_some() {
            functions.adopt(&between.blueprint.rows_after(deal, between.process)?)?;
        }
        let mut arrived = self.own;
        arrived.extend(self.incoming);
        arrived.sort_by_key(|message| message.move_.rows.start);
        arrived.iter().try_for_each(|one| functions.unpack(&one.move_.rows, &one.bytes))
    }
}

/// Memory of zeros, whose pages are touched by who writes them first.
fn zeroed(nbytes: u64) -> io::Result<Box<[u8]>> {
    let no_memory = || io::Error::from(io::ErrorKind::OutOfMemory);
    let nbytes = usize::try_from(nbytes).map_err(|_| no_memory())?;
    if nbytes == 0 {
        return Ok(Box::default());
    }
    let layout = alloc::Layout::array::<u8>(nbytes).map_err(|_| no_memory())?;
    // SAFETY: a layout of at least one byte; and then as many bytes, all zero, of this allocator.
    unsafe {
        let bytes = alloc::alloc_zeroed(layout);
        if bytes.is_null() {
            Err(no_memory())
        } else {
            Ok(Box::from_raw(std::ptr::slice_from_raw_parts_mut(bytes, nbytes)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_memory_is_an_error() {
        assert_eq!(*zeroed(3).unwrap(), [0, 0, 0]);
        assert_eq!(*zeroed(0).unwrap(), []);
        for nbytes in [1 << 60, u64::MAX] {
            assert_eq!(zeroed(nbytes).unwrap_err().kind(), io::ErrorKind::OutOfMemory);
        }
    }
}
