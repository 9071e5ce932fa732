//! Where a manager or a worker is connected to: a unix socket, and TLS if it is asked for.

use super::stream::Stream;
use crate::wire::Address;
use freestone_tls::Access;
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

/// What came of looking for a connection.
#[derive(Debug)]
pub enum Accepted {
    /// One that has to show who it is.
    Stream(Stream),
    /// None waits.
    Nothing,
    /// One may wait that can't be taken now, and why: no event will tell of it again.
    Later(String),
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
        let unix = UnixListener::bind(path)?;
        Ok(Self { path: path.to_owned(), unix, tcp: None, descriptors: descriptors() })
    }

    /// Listens on TCP besides, at `place`, a host and port (0: any).
    ///
    /// # Errors
    /// Those of the operating system, with the place.
    pub fn bind_tcp(&mut self, place: &str, access: Access) -> io::Result<()> {
        let told = |error: io::Error| io::Error::new(error.kind(), format!("{place}: {error}"));
        let mut resolved = place.to_socket_addrs().map_err(told)?;
        let resolved = resolved.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let listener = TcpListener::bind(resolved).map_err(told)?;
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

    /// The next connection, if one waits; over TCP only `with_tcp`.
    pub fn accept(&self, with_tcp: bool) -> Accepted {
        match self.unix.accept() {
            Ok((stream, _)) if self.is_near_limit(&stream) => return self.near_limit(),
            Ok((stream, _)) => return Accepted::Stream(Stream::Unix(stream)),
            Err(error) if !is_passing(&error) => return Accepted::Later(error.to_string()),
            Err(_) => {}
        }
        let Some((listener, access)) = self.tcp.as_ref().filter(|_| with_tcp) else {
            return Accepted::Nothing;
        };
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) if self.is_near_limit(&stream) => return self.near_limit(),
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Accepted::Nothing;
                }
                Err(error) if is_passing(&error) => continue,
                Err(error) => return Accepted::Later(error.to_string()),
            };
            // One that can't be served is dropped, and the next one has its turn.
            if let Ok(stream) = Stream::accept(stream, access) {
                return Accepted::Stream(stream);
            }
        }
    }

    /// Whether a new descriptor is among the last that this process may have: the system gives out
    /// the lowest that is free. They are left to the rest of the program.
    fn is_near_limit(&self, stream: &impl AsRawFd) -> bool {
        let reserve = (self.descriptors / RESERVED_SHARE).min(MAX_RESERVED);
        stream.as_raw_fd() as usize + reserve >= self.descriptors
    }

    fn near_limit(&self) -> Accepted {
        Accepted::Later(format!(
            "this process has nearly all of the {} descriptors that it may have (ulimit -n)",
            self.descriptors
        ))
    }

    /// How many descriptors this process may have.
    pub fn descriptors(&self) -> usize {
        self.descriptors
    }

    /// The port and the interface of TCP.
    pub fn tcp(&self) -> Option<SocketAddr> {
        self.tcp.as_ref()?.0.local_addr().ok()
    }

    /// Where others connect. `host` is told in place of an interface that stands for all.
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
