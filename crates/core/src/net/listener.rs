//! Where a manager or a worker is connected to: a unix socket, and TLS if it is asked for.

use super::stream::Stream;
use crate::wire::Address;
use freestone_tls::Access;
use mio::net::{TcpListener, UnixListener};
use mio::{Interest, Registry, Token};
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

/// Listens on a unix socket, which is removed when this is dropped, and maybe on TCP.
#[derive(Debug)]
pub struct Listener {
    path: PathBuf,
    unix: UnixListener,
    tcp: Option<(TcpListener, Access)>,
}

impl Listener {
    /// Makes the socket.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let unix = UnixListener::bind(path)?;
        Ok(Self { path: path.to_owned(), unix, tcp: None })
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

    /// The next connection, until none waits.
    pub fn accept(&self) -> Option<Stream> {
        if let Ok((stream, _)) = self.unix.accept() {
            return Some(Stream::Unix(stream));
        }
        let (listener, access) = self.tcp.as_ref()?;
        loop {
            let (stream, _) = listener.accept().ok()?;
            // One that can't be served is dropped, and the next one has its turn.
            if let Ok(stream) = Stream::accept(stream, access) {
                return Some(stream);
            }
        }
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
