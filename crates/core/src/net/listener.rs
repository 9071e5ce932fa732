//! Where a manager or a worker is connected to: a unix socket, and TLS if it is asked for.

use super::admission::Admission;
use super::stream::Stream;
use super::unix;
use crate::wire::Address;
use freestone_tls::{Access, Revoked};
use mio::net::{TcpListener, UnixListener};
use mio::{Interest, Registry, Token};
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Listens on a unix socket, which is removed when this is dropped, and maybe on TCP.
#[derive(Debug)]
pub struct Listener {
    path: PathBuf,
    unix: UnixListener,
    tcp: Option<(TcpListener, Access)>,
    descriptors: usize,
}

/// The part of a process's descriptors that connections leave to the rest of the program, and the
/// most that they leave.
const RESERVED_SHARE: usize = 8;
const MAX_RESERVED: usize = 64;

/// Whether an error of `accept` says nothing of the next time.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), WouldBlock | Interrupted | ConnectionAborted)
}

/// How many descriptors this process may have.
fn descriptors() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: room for the answer.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return MAX_RESERVED;
    }
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}

impl Listener {
    /// Makes the socket.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let unix = unix::bind(path)?;
        Ok(Self { path: path.to_owned(), unix, tcp: None, descriptors: descriptors() })
    }

    /// Listens on TCP besides, at `place`, a host and port (0: any).
    ///
    /// # Errors
    /// Those of the operating system, with the place.
    pub fn bind_tcp(&mut self, place: &str, access: Access) -> io::Result<()> {
        let with_address =
            |error: io::Error| io::Error::new(error.kind(), format!("{place}: {error}"));
        let mut resolved = place.to_socket_addrs().map_err(with_address)?;
        let resolved = resolved.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let listener = TcpListener::bind(resolved).map_err(with_address)?;
        self.tcp = Some((listener, access));
        Ok(())
    }

    /// Registers what there is, all under one token.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut self.unix, token, Interest::READABLE)?;
        match &mut self.tcp {
            Some((listener, _)) => registry.register(listener, token, Interest::READABLE),
            None => Ok(()),
        }
    }

    /// The next connection, if one waits; over TCP only as long as `admission` has a place.
    ///
    /// # Errors
    /// Why one that may wait can't be taken now: no event will tell of it again, as `admission`
    /// then knows.
    pub(super) fn accept(&self, admission: &mut Admission) -> Result<Option<Stream>, String> {
        let is_full = admission.is_full();
        let accepted = self.accept_one(!is_full);
        admission.has_waiting = accepted.is_err() || (is_full && matches!(accepted, Ok(None)));
        accepted
    }

    fn accept_one(&self, with_tcp: bool) -> Result<Option<Stream>, String> {
        match self.unix.accept() {
            Ok((stream, _)) => {
                self.check_limit(&stream)?;
                return Ok(Some(Stream::Unix(stream)));
            }
            Err(error) if !is_passing(&error) => return Err(error.to_string()),
            Err(_) => {}
        }
        let Some((listener, access)) = self.tcp.as_ref().filter(|_| with_tcp) else {
            return Ok(None);
        };
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if is_passing(&error) => continue,
                Err(error) => return Err(error.to_string()),
            };
            self.check_limit(&stream)?;
            // One that can't be served is dropped, and the next one has its turn.
            if let Ok(stream) = Stream::accept(stream, access) {
                return Ok(Some(stream));
            }
        }
    }

    /// Refuses a new descriptor that is among the last that this process may have, as the system
    /// gives out the lowest that is free: those are left to the rest of the program.
    fn check_limit(&self, stream: &impl AsRawFd) -> Result<(), String> {
        let reserve = (self.descriptors / RESERVED_SHARE).min(MAX_RESERVED);
        if (stream.as_raw_fd() as usize + reserve) < self.descriptors {
            return Ok(());
        }
        Err(format!(
            "this process has nearly all of the {} descriptors that it may have (ulimit -n)",
            self.descriptors
        ))
    }

    /// Members that are trusted no longer; none over a unix socket.
    pub fn revoked(&self) -> Option<&Revoked> {
        self.tcp.as_ref().map(|(_, access)| &access.revoked)
    }

    /// How many descriptors this process may have.
    pub fn descriptors(&self) -> usize {
        self.descriptors
    }

    /// The port and the interface of TCP.
    pub fn tcp(&self) -> Option<SocketAddr> {
        self.tcp.as_ref()?.0.local_addr().ok()
    }

    /// Where others connect. `host` is reported in place of an interface that stands for all.
    pub fn address(&self, host: &str) -> Address {
        let unix = self.path.display().to_string();
        match self.tcp() {
            None => Address::Unix(unix),
            Some(bound) if bound.ip().is_unspecified() => {
                let host = match host.parse() {
                    Ok(IpAddr::V6(ip)) => format!("[{ip}]"),
                    _ => host.to_owned(),
                };
                Address::Either { unix, tcp: format!("{host}:{}", bound.port()) }
            }
            Some(bound) => Address::Either { unix, tcp: bound.to_string() },
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // It may be gone with its folder already.
        let _ = std::fs::remove_file(&self.path);
    }
}
