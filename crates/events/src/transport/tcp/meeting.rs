//! How ranks find each other: each tells one place where it listens, and is told where all do. Then
//! each connects to rank 0, which so sees who is lost. Who comes later is the subject of `door.rs`, and
//! the other connections that of `links.rs`.

use super::Peer;
use super::watch::{Watch, Watcher, failed};
use crate::event::Rank;
use crate::limits;
use crate::transport::TransportError;
use freestone_tls::{Access, Tls};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The longest that an address is, with the settings that ranks share.
const LONGEST: u32 = 1024;
/// How long to wait before another attempt to reach who may not listen yet.
pub const AGAIN: Duration = Duration::from_millis(50);
/// How long to sleep before looking again whether somebody has come.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Longer than any run.
const FOREVER: Duration = Duration::from_secs(1 << 32);
/// What a joining rank says where others say their rank.
pub const JOINING: u32 = u32::MAX;
/// What a rank is answered, with the number of a lost rank, where others get addresses.
const LOST: u32 = u32::MAX - 2;
/// The same, with in what which rank does not agree with rank 0.
const DISAGREES: u32 = u32::MAX - 3;

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
        limits::check()?;
        let (own, end) = (shared_settings(ranks), Instant::now() + timeout);
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
            let Ok((rank, tls, text)) = self.greet(stream) else { continue };
            if rank == JOINING {
                // It tries again, until there is a run to join.
                continue;
            }
            let (address, settings) = text.split_once(' ').unwrap_or((&text, ""));
            if let Some((setting, expected, value)) = limits::disagreement(&own, settings) {
                let words = [&rank.to_string(), setting, value, expected].join(" ");
                came.into_iter().flatten().for_each(|(tls, _)| answer(tls, DISAGREES, &words));
                answer(tls, DISAGREES, &words);
                return Err(disagreement(&words));
            }
            if let Some(place) = came.get_mut(rank as usize) {
                *place = Some((tls, address.to_owned()));
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
fn turn_away(tls: Stream, lost: Rank) {
    answer(tls, LOST, &lost.to_string());
}

fn answer(mut tls: Stream, number: u32, text: &str) {
    // Who can't be reached has an error of its own.
    let _ = write_named(&mut tls, number, text).and_then(|()| tls.flush());
}

/// In what all ranks have to agree, as words.
fn shared_settings(ranks: u32) -> String {
    format!("{} FREESTONE_EVENTS_RANKS={ranks}", limits::get().shared())
}

/// The error of the words: a rank, a setting, what that rank has, and what is expected.
fn disagreement(words: &str) -> TransportError {
    let mut words = words.split(' ').map(str::to_owned);
    let mut next = || words.next().unwrap_or_default();
    TransportError::Disagreement {
        rank: next().parse().unwrap_or_default(),
        setting: next(),
        value: next(),
        expected: next(),
    }
}

/// What a rank has when it has met the others.
pub struct Met {
    /// Connections, by rank: between rank 0 and all others.
    pub peers: Vec<Option<Peer>>,
    /// Where each rank listens.
    pub addresses: Vec<String>,
    /// How many ranks there may be.
    pub most: u32,
    /// Where ranks with higher numbers came to.
    pub listener: TcpListener,
    /// To whoever watches over the ranks.
    pub watcher: Watcher,
}

/// Meets the other ranks, and connects to rank 0.
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
    limits::check()?;
    let end = Instant::now() + timeout;
    let stream = connect(meeting, end).map_err(|source| failed(meeting, source))?;
    let here = stream.local_addr().map_err(|source| failed(meeting, source))?.ip();
    let listener = TcpListener::bind((here, 0)).map_err(|source| failed("this rank", source))?;
    let own = listener.local_addr().map_err(|source| failed("this rank", source))?.to_string();
    let (most, addresses, mut watcher) = ask(stream, rank, ranks, access, &own, end)
        .map_err(|source| failed(&format!("the meeting at {meeting}"), source))?;
    let mut peers: Vec<Option<Peer>> = (0..ranks).map(|_| None).collect();
    if let (1.., Some(address)) = (rank, addresses.first()) {
        let mut greet = || {
            let stream = connect_unless(address, end, || watcher.reports_loss())?;
            let mut tls = Tls::connect(stream, access)?;
            write_named(&mut tls, rank, "")?;
            tls.flush()?;
            Peer::new(tls)
        };
        let met = greet();
        let what = format!("rank 0 at {address}");
        peers[0] = Some(met.map_err(|source| watcher.failed(&what, source))?);
    }
    while rank == 0 && peers.iter().skip(1).any(Option::is_none) {
        let stream = accept(&listener, end, || watcher.reports_loss())
            .map_err(|source| watcher.failed("the other ranks", source))?;
        let Ok(mut tls) = Tls::accept(stream, access) else { continue };
        let Ok((number, _)) = read_named(&mut tls) else { continue };
        if number > 0 && number < ranks {
            let peer = Peer::new(tls).map_err(|source| failed("a rank", source))?;
            peers[number as usize] = Some(peer);
        }
    }
    Ok(Met { peers, addresses, most, listener, watcher })
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
    write_named(&mut tls, rank, &format!("{own} {}", shared_settings(ranks)))?;
    tls.flush()?;
    let left = end.saturating_duration_since(Instant::now()).max(AGAIN);
    tls.stream().set_read_timeout(Some(left))?;
    let mut read = || match read_named(&mut tls)? {
        (LOST, rank) => {
            let rank = rank.parse().map_err(io::Error::other)?;
            Err(io::Error::other(TransportError::Lost(rank)))
        }
        (DISAGREES, words) => Err(io::Error::other(disagreement(&words))),
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
        match TcpStream::connect_timeout(&found, left.min(limits::get().step_timeout)) {
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
    let timeout = Some(limits::get().step_timeout);
    stream.set_read_timeout(timeout)?;
    stream.set_write_timeout(timeout)?;
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
