//! The connection to another rank.

use super::{arrivals, silence};
use crate::limits;
use crate::transport::{Life, TransportError, batch};
use freestone_tls::Tls;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// So many bytes do not wait for more.
const BATCH: usize = 16 << 10;
/// What follows so closely on what was written waits for more: encrypting and writing cost more
/// than that.
const CLOSE: Duration = Duration::from_micros(5);

/// The connection to another rank; it does not block.
#[allow(clippy::struct_excessive_bools)] // what it has shown: none follows from another
#[derive(Debug)]
pub struct Peer {
    tls: Tls<TcpStream>,
    /// What waits to be written, from `written` on.
    out: Vec<u8>,
    written: usize,
    wrote: Option<Instant>,
    /// Nothing comes any more.
    pub is_closed: bool,
    /// It said that it is done.
    pub has_left: bool,
    /// It has given a sign of life.
    pub shows_life: bool,
    /// Whether it was silent when it was last looked at.
    was_silent: bool,
}

impl Peer {
    /// A connection on which hands were shaken.
    pub fn new(tls: Tls<TcpStream>) -> io::Result<Self> {
        tls.stream().set_nonblocking(true)?;
        silence::listen(tls.stream())?;
        Ok(Self {
            tls,
            out: Vec::new(),
            written: 0,
            wrote: None,
            is_closed: false,
            has_left: false,
            shows_life: false,
            was_silent: false,
        })
    }

    /// Its descriptor.
    pub fn fd(&self) -> RawFd {
        self.tls.stream().as_raw_fd()
    }

    /// What is known of its process.
    pub fn life(&self) -> Option<Life> {
        (self.shows_life && !self.is_closed).then(|| arrivals::life(self.fd())).flatten()
    }

    /// Ends the connection: what has arrived can still be read.
    pub fn cut(&self) {
        // It may have ended by itself.
        let _: io::Result<()> = self.tls.stream().shutdown(Shutdown::Both);
    }

    /// Ends the connection if its other side is silent, and was when it was last looked at: this machine may
    /// have been asleep in between.
    pub fn cut_if_silent(&mut self) {
        let is_silent = !self.is_closed && silence::is_silent(self.fd());
        if is_silent && self.was_silent {
            self.is_closed = true;
        }
        self.was_silent = is_silent;
    }

    /// Whether a frame may be added.
    pub fn has_room(&self) -> bool {
        self.out.len() - self.written < limits::get().send_buffer.0
    }

    /// Whether something waits to be written.
    pub fn waits(&self) -> bool {
        self.written < self.out.len() || self.tls.wants_write()
    }

    /// Adds a frame.
    pub fn put(&mut self, parts: &[&[u8]]) {
        batch::append(&mut self.out, parts);
    }

    /// Whether what waits may wait for more: something was written a moment ago.
    pub fn may_wait(&self) -> bool {
        self.out.len() - self.written < BATCH && self.wrote.is_some_and(|at| at.elapsed() < CLOSE)
    }

    /// Writes what waits, as far as there is room.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.written < self.out.len() {
            match self.tls.write(&self.out[self.written..]) {
                Ok(taken) => self.written += taken,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        self.written = 0;
        self.wrote = Some(Instant::now());
        match self.tls.flush() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            flushed => flushed,
        }
    }

    /// Reads what is there, as far as there is room; whether there may be more.
    pub fn fill(&mut self, input: &mut Input) -> io::Result<bool> {
        loop {
            if input.end == input.bytes.len() {
                return Ok(true);
            }
            match self.tls.read(&mut input.bytes[input.end..]) {
                Ok(0) => {
                    self.is_closed = true;
                    return Ok(false);
                }
                Ok(read) => input.end += read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_closed = true;
                    return Err(error);
                }
            }
        }
    }
}

/// What was read and is not a whole frame yet.
#[derive(Debug)]
pub struct Input {
    bytes: Box<[u8]>,
    end: usize,
}

impl Input {
    /// Room for frames of up to so many bytes, and more.
    pub fn new(longest: usize) -> Self {
        Self { bytes: vec![0; 2 * longest].into(), end: 0 }
    }

    /// Calls `take` with each whole frame.
    pub fn split(
        &mut self,
        longest: usize,
        take: impl FnMut(&[u8]) -> Result<(), TransportError>,
    ) -> Result<(), TransportError> {
        let used = batch::split(&self.bytes[..self.end], longest, take)?;
        self.bytes.copy_within(used..self.end, 0);
        self.end -= used;
        Ok(())
    }
}
