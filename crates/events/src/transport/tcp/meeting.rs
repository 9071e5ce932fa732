//! How ranks find each other: each tells one place where it listens, and is told where all do. Then
//! each connects to those with lower numbers. Who comes later is the subject of `door.rs`.

use super::Peer;
use super::watch::{Watch, Watcher, failed};
use crate::event::Rank;
use crate::transport::TransportError;
use freestone_tls::{Access, Tls};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The longest that an address is.
const LONGEST: u32 = 256;
/// How long to wait before another attempt to reach who may not listen yet.
pub const AGAIN: Duration = Duration::from_millis(50);
/// How long one message of the meeting may take.
pub const STEP: Duration = Duration::from_secs(10);
/// How long to sleep before looking again whether somebody has come.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Longer than any run.
const FOREVER: Duration = Duration::from_secs(1 << 32);
/// What a rank is answered, with the number of a lost rank, where others get addresses.
const LOST: u32 = u32::MAX - 2;

/// Where all ranks of a run meet.
#[derive(Debug)]
pub struct Meeting {
    listener: TcpListener,
    access: Access,
    watch: Watch,
    is_closed: AtomicBool,
}

type Stream = Tls<TcpStream>;
/// Who has come to a meeting, by rank, with the address at which it listens.
type Came = Vec<Option<(Stream, String)>>;

impl Meeting {
    /// A meeting at an address; port 0 is any that is free.
    ///
    /// # Errors
    ///
    /// If nothing can listen there.
    pub fn new(address: &str, access: &Access) -> Result<Self, TransportError> {
        let listener = TcpListener::bind(address).map_err(|source| failed(address, source))?;
        let (access, is_closed) = (access.clone(), AtomicBool::new(false));
        Ok(Self { listener, access, watch: Watch::default(), is_closed })
    }

    /// Where it is.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn address(&self) -> Result<SocketAddr, TransportError> {
        self.listener.local_addr().map_err(|source| failed("the meeting", source))
    }

    /// Waits for all ranks and tells each where the others are, and that there may be as many as
    /// `most`; where they are. From then on it watches over them.
    ///
    /// # Errors
    ///
    /// If they have not come by `timeout`, one is lost before all have, or the meeting is closed.
    pub fn hold(
        &self,
        ranks: u32,
        most: u32,
        timeout: Duration,
    ) -> Result<Vec<String>, TransportError> {
        let end = Instant::now() + timeout;
        let mut came: Came = (0..ranks).map(|_| None).collect();
        while came.iter().any(Option::is_none) {
            if let Some(lost) = self.watch.lost().first() {
                came.into_iter().flatten().for_each(|(tls, _)| turn_away(tls, *lost));
                return Err(TransportError::Lost(*lost));
            }
            let is_one_lost = || !self.watch.lost().is_empty();
            let accepted = accept(&self.listener, end, || self.is_closed() || is_one_lost());
            let stream = match accepted {
                Err(_) if is_one_lost() => continue,
                accepted => accepted.map_err(|error| failed(&absent(&came), error))?,
            };
            // Who does not have the certificate, or is no rank, is not let in.
            if let Ok((rank, tls, address)) = self.greet(stream)
                && let Some(place) = came.get_mut(rank as usize)
            {
                *place = Some((tls, address));
            }
        }
        let addresses: Vec<_> = came.iter().flatten().map(|(_, address)| address.clone()).collect();
        for (rank, (mut tls, _)) in (0..).zip(came.into_iter().flatten()) {
            let sent =
                addresses.iter().try_for_each(|address| write_named(&mut tls, most, address));
            let kept = sent.and_then(|()| tls.flush()).and_then(|()| self.watch.keep(rank, tls));
            kept.map_err(|source| failed("the meeting", source))?;
        }
        Ok(addresses)
    }

    /// Turns away who comes after [`Meeting::hold`], until the meeting is closed: a rank that can't
    /// meet the others because one is lost, and a rank that comes again because its process ended,
    /// and which is lost itself.
    pub fn guard(&self) {
        let never = Instant::now() + FOREVER;
        while !self.is_closed() {
            let accepted = accept(&self.listener, never, || self.is_closed());
            match accepted.and_then(|stream| self.greet(stream)) {
                Ok((rank, tls, _)) => {
                    turn_away(tls, self.watch.lost().first().copied().unwrap_or(rank));
                }
                // There may be no descriptors for a while.
                Err(_) => std::thread::sleep(AGAIN),
            }
        }
    }

    /// Ends [`Meeting::hold`] and [`Meeting::guard`].
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// Watches over the ranks that have met, or are about to.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    fn is_closed(&self) -> bool {
        // Its partner is in `close`.
        self.is_closed.load(Ordering::Acquire)
    }

    fn greet(&self, stream: TcpStream) -> io::Result<(Rank, Stream, String)> {
        let mut tls = Tls::accept(stream, &self.access)?;
        let (rank, address) = read_named(&mut tls)?;
        Ok((rank, tls, address))
    }

    /// What listens there.
    pub(super) fn into_listener(self) -> TcpListener {
        self.listener
    }
}

fn absent(came: &Came) -> String {
    let absent = (0_u32..).zip(came).filter(|(_, one)| one.is_none());
    let absent: Vec<_> = absent.map(|(rank, _)| rank.to_string()).collect();
    format!("ranks {} have not come to the meeting", absent.join(", "))
}

/// Answers a rank that another is lost, or itself.
fn turn_away(mut tls: Stream, lost: Rank) {
    // Who can't be reached has an error of its own.
    let _ = write_named(&mut tls, LOST, &lost.to_string()).and_then(|()| tls.flush());
}

/// What a rank has when it has met the others.
pub struct Met {
    /// Connections to all other ranks, by rank.
    pub peers: Vec<Option<Peer>>,
    /// How many ranks there may be.
    pub most: u32,
    /// Where ranks with higher numbers came to.
    pub listener: TcpListener,
    /// To whoever watches over the ranks.
    pub watcher: Watcher,
}

/// Meets all other ranks.
///
/// # Errors
///
/// If they, or the meeting, are not to be reached by `timeout`, or one is lost.
pub fn meet(
    meeting: &str,
    rank: Rank,
    ranks: u32,
    access: &Access,
    timeout: Duration,
) -> Result<Met, TransportError> {
    let end = Instant::now() + timeout;
    let stream = connect(meeting, end).map_err(|source| failed(meeting, source))?;
    let here = stream.local_addr().map_err(|source| failed(meeting, source))?.ip();
    let listener = TcpListener::bind((here, 0)).map_err(|source| failed("this rank", source))?;
    let own = listener.local_addr().map_err(|source| failed("this rank", source))?.to_string();
    let (most, addresses, mut watcher) = ask(stream, rank, ranks, access, &own, end)
        .map_err(|source| failed(&format!("the meeting at {meeting}"), source))?;
    let mut peers: Vec<Option<Peer>> = (0..ranks).map(|_| None).collect();
    for (number, address) in (0..rank).zip(&addresses) {
        let mut greet = || {
            let stream = connect_unless(address, end, || watcher.reports_loss())?;
            let mut tls = Tls::connect(stream, access)?;
            write_named(&mut tls, rank, "")?;
            tls.flush()?;
            Peer::new(tls)
        };
        let met = greet();
        let what = format!("rank {number} at {address}");
        peers[number as usize] = Some(met.map_err(|source| watcher.failed(&what, source))?);
    }
    while peers.iter().skip(rank as usize + 1).any(Option::is_none) {
        let stream = accept(&listener, end, || watcher.reports_loss())
            .map_err(|source| watcher.failed("ranks with higher numbers", source))?;
        let Ok(mut tls) = Tls::accept(stream, access) else { continue };
        let Ok((number, _)) = read_named(&mut tls) else { continue };
        if number > rank && number < ranks {
            let peer = Peer::new(tls).map_err(|source| failed("a rank", source))?;
            peers[number as usize] = Some(peer);
        }
    }
    Ok(Met { peers, most, listener, watcher })
}

/// Tells the meeting where this rank is; how many there may be, where all are, and who watches.
fn ask(
    stream: TcpStream,
    rank: Rank,
    ranks: u32,
    access: &Access,
    own: &str,
    end: Instant,
) -> io::Result<(u32, Vec<String>, Watcher)> {
    let mut tls = Tls::connect(stream, access)?;
    write_named(&mut tls, rank, own)?;
    tls.flush()?;
    let left = end.saturating_duration_since(Instant::now()).max(AGAIN);
    tls.stream().set_read_timeout(Some(left))?;
    let mut read = || match read_named(&mut tls)? {
        (LOST, rank) => {
            let rank = rank.parse().map_err(io::Error::other)?;
            Err(io::Error::other(TransportError::Lost(rank)))
        }
        answered => Ok(answered),
    };
    let answered: Vec<_> = (0..ranks).map(|_| read()).collect::<io::Result<_>>()?;
    let most = answered.first().map_or(ranks, |(most, _)| *most);
    let addresses = answered.into_iter().map(|(_, address)| address).collect();
    Ok((most, addresses, Watcher::new(tls)?))
}

/// Connects to who may not listen yet.
pub fn connect(address: &str, end: Instant) -> io::Result<TcpStream> {
    connect_unless(address, end, || false)
}

fn connect_unless(
    address: &str,
    end: Instant,
    mut is_over: impl FnMut() -> bool,
) -> io::Result<TcpStream> {
    loop {
        let found = address.to_socket_addrs()?.next();
        let found = found.ok_or_else(|| io::Error::other("it is no address"))?;
        let left = end.saturating_duration_since(Instant::now()).max(AGAIN);
        match TcpStream::connect_timeout(&found, left.min(STEP)) {
            // Where nobody listens yet, the system may have given the connection that very port:
            // it then leads to itself, and keeps the port from who is to listen there.
            Ok(stream) if stream.local_addr()? == found => {
                drop(stream);
                std::thread::sleep(AGAIN);
            }
            Ok(stream) => return prepared(stream),
            Err(error) if Instant::now() >= end || is_over() => return Err(error),
            Err(_) => std::thread::sleep(AGAIN),
        }
    }
}

fn accept(
    listener: &TcpListener,
    end: Instant,
    mut is_over: impl FnMut() -> bool,
) -> io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return prepared(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if is_over() {
                    return Err(ErrorKind::ConnectionAborted.into());
                }
                if Instant::now() >= end {
                    return Err(ErrorKind::TimedOut.into());
                }
                std::thread::sleep(POLL_INTERVAL);
            }
            Err(error) => return Err(error),
        }
    }
}

/// A connection on which nothing takes long.
pub fn prepared(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(STEP))?;
    stream.set_write_timeout(Some(STEP))?;
    Ok(stream)
}

/// Writes a number, a rank most often, and a text.
pub fn write_named(to: &mut impl Write, rank: u32, text: &str) -> io::Result<()> {
    let len = text.len() as u32;
    let bytes = [&rank.to_le_bytes()[..], &len.to_le_bytes(), text.as_bytes()].concat();
    to.write_all(&bytes)
}

/// Reads what [`write_named`] wrote.
pub fn read_named(from: &mut impl Read) -> io::Result<(u32, String)> {
    let mut head = [0; 8];
    from.read_exact(&mut head)?;
    let (rank, len) = head.split_at(4);
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes of eight"));
    let (rank, len) = (word(rank), word(len));
    if len > LONGEST {
        return Err(io::Error::new(ErrorKind::InvalidData, "an address is too long"));
    }
    let mut text = vec![0; len as usize];
    from.read_exact(&mut text)?;
    let text = String::from_utf8(text).map_err(|error| io::Error::other(error.to_string()))?;
    Ok((rank, text))
}
