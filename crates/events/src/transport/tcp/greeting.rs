//! Greeting those who come to where ranks listen: each in a thread of its own, so that one which says
//! nothing keeps nobody else waiting.

use super::named::{prepared, read_named};
use crate::limits;
use crate::sync::lock;
use freestone_tls::{Access, Tls};
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long to sleep before looking again whether somebody has come.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// How many the system lets wait at a listener, if it has room for so many.
const QUEUE: i32 = 4096;

pub type Stream = Tls<TcpStream>;

/// Who has come: its connection, and the number and the text that it says first.
pub struct Greeted {
    pub tls: Stream,
    pub number: u32,
    pub text: String,
}

/// Greets those who have the certificate; others are not let in.
#[derive(Debug)]
pub struct Greeter {
    access: Access,
    busy: Arc<Busy>,
}

/// How many are being greeted.
#[derive(Debug, Default)]
struct Busy {
    count: Mutex<usize>,
    freed: Condvar,
}

impl Greeter {
    pub fn new(access: &Access) -> Self {
        Self { access: access.clone(), busy: Arc::default() }
    }

    /// Whether another one can be greeted at once.
    fn has_room(&self) -> bool {
        *lock(&self.busy.count) < limits::get().greeted
    }

    /// Greets who has come, in a thread that goes on with `each`. Waits first until others have been
    /// greeted, if they are many.
    ///
    /// # Errors
    ///
    /// If the system has no thread for it.
    pub fn greet(
        &self,
        stream: TcpStream,
        each: impl FnOnce(Greeted) + Send + 'static,
    ) -> io::Result<()> {
        let (place, access) = (Greeting::begin(&self.busy), self.access.clone());
        let thread = std::thread::Builder::new().name("events-greeting".to_owned());
        thread.spawn(move || {
            let _place = place;
            // Who does not have the certificate, or says nothing, has an error of its own.
            if let Ok(greeted) = greet(stream, &access) {
                each(greeted);
            }
        })?;
        Ok(())
    }
}

fn greet(stream: TcpStream, access: &Access) -> io::Result<Greeted> {
    stream.set_nonblocking(false)?;
    let mut tls = Tls::accept(prepared(stream)?, access)?;
    let (number, text) = read_named(&mut tls)?;
    Ok(Greeted { tls, number, text })
}

/// One of those that are greeted at the same time, for as long as it lives.
struct Greeting(Arc<Busy>);

impl Greeting {
    fn begin(busy: &Arc<Busy>) -> Self {
        let is_full = |count: &mut usize| *count >= limits::get().greeted;
        let count = busy.freed.wait_while(lock(&busy.count), is_full);
        *count.unwrap_or_else(PoisonError::into_inner) += 1;
        Self(Arc::clone(busy))
    }
}

impl Drop for Greeting {
    fn drop(&mut self) {
        *lock(&self.0.count) -= 1;
        self.0.freed.notify_one();
    }
}

/// A listener, and those who have come to it.
#[derive(Debug)]
pub struct Entrance<'a> {
    listener: &'a TcpListener,
    greeter: Greeter,
    sender: Sender<Greeted>,
    greeted: Receiver<Greeted>,
}

impl<'a> Entrance<'a> {
    pub fn new(listener: &'a TcpListener, access: &Access) -> Self {
        let (sender, greeted) = channel();
        Self { listener, greeter: Greeter::new(access), sender, greeted }
    }

    /// The next who has come.
    ///
    /// # Errors
    ///
    /// If nobody has by `end`, or `is_over` says so; or what the system says.
    pub fn next(&self, end: Instant, mut is_over: impl FnMut() -> bool) -> io::Result<Greeted> {
        loop {
            self.greet_waiting()?;
            if let Ok(greeted) = self.greeted.recv_timeout(POLL_INTERVAL) {
                return Ok(greeted);
            }
            if is_over() {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            if Instant::now() >= end {
                return Err(ErrorKind::TimedOut.into());
            }
        }
    }

    /// Begins to greet those who wait, as many as there may be.
    fn greet_waiting(&self) -> io::Result<()> {
        self.listener.set_nonblocking(true)?;
        while self.greeter.has_room() {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let sender = self.sender.clone();
                    // Nobody may wait for it any more.
                    self.greeter.greet(stream, move |greeted| drop(sender.send(greeted)))?;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Listens at an address, where many may come at once.
pub fn listen(address: impl ToSocketAddrs) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    // SAFETY: a plain call on a descriptor that is open; the standard library asks for room for fewer.
    unsafe { libc::listen(listener.as_raw_fd(), QUEUE) };
    Ok(listener)
}
