//! Streams of bytes: unix sockets, and TLS for everything else.
//!
//! See docs/decisions/007-no-plaintext-tcp.md

use super::unix;
use crate::wire::Address;
use freestone_tls::{Access, Revoked, Tls};
use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, ErrorKind, Read, Write};
use std::net::ToSocketAddrs;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::path::Path;
use std::time::Duration;

/// How long a host may take to answer, and to shake hands.
const CONNECT: Duration = Duration::from_secs(10);
/// A connection on which nothing is acknowledged for this long is broken.
const UNACKNOWLEDGED: Duration = Duration::from_secs(20);
/// When nothing is said for so long, the other side is asked whether it is there.
const ASK_AFTER: Duration = Duration::from_secs(5);

/// A byte stream that does not block. There is no plain TCP: what leaves the machine is encrypted.
#[derive(Debug)]
pub enum Stream {
    /// A unix socket.
    Unix(UnixStream),
    /// TLS over TCP.
    Tls(Box<Tls<TcpStream>>),
}

impl Stream {
    /// Connects to an address, waiting for it; afterwards the stream does not block.
    ///
    /// # Errors
    /// Those of the operating system and of TLS; for a TCP address also when there is no `access`.
    pub fn connect(address: &Address, access: Option<&Access>) -> io::Result<Self> {
        match address {
            Address::Unix(path) => connect_unix(path),
            Address::Tcp(place) => connect_tcp(place, access),
            // A socket is of use only on its own machine; elsewhere there is none, or a dead one.
            Address::Either { unix, tcp } => {
                connect_unix(unix).or_else(|_| connect_tcp(tcp, access))
            }
        }
    }

    /// Takes over a connection that came over TCP.
    ///
    /// # Errors
    /// When the system or TLS refuses.
    pub fn accept(stream: TcpStream, access: &Access) -> io::Result<Self> {
        tune(&stream)?;
        Ok(Self::Tls(Box::new(Tls::accept(stream, access)?)))
    }

    /// What is registered with a poller.
    pub(super) fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Unix(stream) => stream,
            Self::Tls(tls) => tls.stream_mut(),
        }
    }

    /// Whether bytes that were taken have not been handed to the system.
    pub(super) fn wants_write(&self) -> bool {
        match self {
            Self::Unix(_) => false,
            Self::Tls(tls) => tls.wants_write(),
        }
    }

    /// Whether a read that gives less than it could means that there is no more.
    pub(super) fn says_all(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tls(tls) => tls.is_drained(),
        }
    }

    /// The address on this machine, if it is not a unix socket.
    pub(super) fn local_ip(&self) -> Option<std::net::IpAddr> {
        match self {
            Self::Unix(_) => None,
            Self::Tls(tls) => Some(tls.stream().local_addr().ok()?.ip()),
        }
    }

    /// Whether the other side has shown who it is by reaching this: only the user can reach a unix
    /// socket.
    pub(super) fn is_unix(&self) -> bool {
        matches!(self, Self::Unix(_))
    }

    /// The certificate that the other side has shown, once it has.
    pub(super) fn certificate(&self) -> Option<&[u8]> {
        match self {
            Self::Unix(_) => None,
            Self::Tls(tls) => tls.peer(),
        }
    }

    /// Whether the other side has shown a certificate that is revoked.
    pub(super) fn is_revoked(&self, revoked: &Revoked) -> bool {
        self.certificate().is_some_and(|shown| revoked.contains(shown))
    }

    /// Where the other side is, for people.
    pub(super) fn peer(&self) -> String {
        match self {
            Self::Unix(_) => "this machine".to_owned(),
            Self::Tls(tls) => tls
                .stream()
                .peer_addr()
                .map_or_else(|_| "a host".to_owned(), |peer| peer.to_string()),
        }
    }
}

fn connect_unix(path: &str) -> io::Result<Stream> {
    unix::connect(Path::new(path))?.try_into()
}

fn connect_tcp(place: &str, access: Option<&Access>) -> io::Result<Stream> {
    let access = access.ok_or_else(|| {
        io::Error::new(
            ErrorKind::PermissionDenied,
            "a connection over TCP needs the cluster's access file with its certificate",
        )
    })?;
    let resolved = place.to_socket_addrs()?.next().ok_or(ErrorKind::AddrNotAvailable)?;
    let stream = std::net::TcpStream::connect_timeout(&resolved, CONNECT)?;
    tune(&stream)?;
    stream.set_read_timeout(Some(CONNECT))?;
    stream.set_write_timeout(Some(CONNECT))?;
    let tls = Tls::connect(stream, access).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => {
            io::Error::new(ErrorKind::TimedOut, "the other side does not shake hands; is it TLS?")
        }
        _ => error,
    })?;
    tls.stream().set_nonblocking(true)?;
    Ok(Stream::Tls(Box::new(tls.map(TcpStream::from_std))))
}

/// Small messages go at once, and a host that vanished is noticed.
fn tune(stream: &impl AsFd) -> io::Result<()> {
    let socket = SockRef::from(stream);
    socket.set_tcp_nodelay(true)?;
    let asks = TcpKeepalive::new().with_time(ASK_AFTER).with_interval(ASK_AFTER);
    socket.set_tcp_keepalive(&asks)?;
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED))
}

impl AsRawFd for Stream {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Unix(stream) => stream.as_raw_fd(),
            Self::Tls(tls) => tls.stream().as_raw_fd(),
        }
    }
}

impl TryFrom<std::os::unix::net::UnixStream> for Stream {
    type Error = io::Error;

    fn try_from(stream: std::os::unix::net::UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self::Unix(UnixStream::from_std(stream)))
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tls(tls) => tls.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tls(tls) => tls.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Unix(_) => Ok(()),
            Self::Tls(tls) => tls.push(),
        }
    }
}
