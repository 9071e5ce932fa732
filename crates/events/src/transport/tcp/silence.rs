//! Machines that answer nothing any more: the system alone would take a quarter of an hour to find out, and
//! for a connection on which nothing is sent it never would.

use crate::limits;
use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::net::TcpStream;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

/// So often a connection is asked for an answer, and looked at, in the time of silence that it may have.
const LOOKS: u32 = 4;

/// Makes the system ask for answers on a connection on which nothing is sent.
///
/// The process on the other side has no part in it, so one that computes or is stopped is not silent.
pub fn listen(stream: &TcpStream) -> io::Result<()> {
    let interval = Duration::from_secs(interval().as_secs().clamp(1, 32_767));
    // The count is more than is ever reached: the connection is ended by who finds it silent.
    let asks = TcpKeepalive::new().with_time(interval).with_interval(interval).with_retries(127);
    SockRef::from(stream).set_tcp_keepalive(&asks)
}

/// When connections are looked at.
#[derive(Debug)]
pub struct Silence {
    looked: Instant,
}

impl Silence {
    /// From now on.
    pub fn new() -> Self {
        Self { looked: Instant::now() }
    }

    /// How long it is until the next look.
    pub fn until_look(&self) -> Duration {
        interval().saturating_sub(self.looked.elapsed())
    }

    /// Whether it is time to look.
    pub fn is_due(&mut self) -> bool {
        let is_due = self.looked.elapsed() >= interval();
        if is_due {
            self.looked = Instant::now();
        }
        is_due
    }
}

fn interval() -> Duration {
    limits::get().silence_timeout / LOOKS
}

/// Whether the machine at the other end of a connection was asked for something and has answered nothing
/// for too long. One that answers, but takes nothing, is slow and not silent.
pub fn is_silent(connection: RawFd) -> bool {
    // SAFETY: plain numbers, which may be zeros.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: a place for the structure, with its size.
    let read = unsafe {
        let info = (&raw mut info).cast();
        libc::getsockopt(connection, libc::IPPROTO_TCP, libc::TCP_INFO, info, &raw mut len)
    };
    let asks = info.tcpi_unacked > 0 || info.tcpi_probes > 0;
    let since = Duration::from_millis(u64::from(info.tcpi_last_ack_recv));
    read == 0 && asks && since >= limits::get().silence_timeout
}
