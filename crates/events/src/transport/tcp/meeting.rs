//! How ranks find each other: each tells one place where it listens, and is told where all do. Then
//! each connects to rank 0, which so sees who is lost. Who comes later is the subject of `door.rs`, and
//! the other connections that of `links.rs`.

use super::Peer;
use super::greeting::{Entrance, Greeted, Stream, listen};
use super::named::{prepared, read_named, write_named};
use super::watch::{Watch, Watcher, failed};
use crate::event::Rank;
use crate::limits;
use crate::transport::TransportError;
use freestone_tls::{Access, Tls};
use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longer than any run.
const FOREVER: Duration = Duration::from_secs(1 << 32);
/// What a joining rank says where others say their rank.
pub const JOINING: u32 = u32::MAX;
/// What a rank is answered, with the number of a lost rank, where others get addresses.
const LOST: u32 = u32::MAX - 2;
/// The same, with in what which rank does not agree with rank 0.
pub const DISAGREES: u32 = u32::MAX - 3;
/// Between the address of a rank and the word that it says to all others.
const WORD: char = '@';
/// The same, with who has not come in time.
const ABSENT: u32 = u32::MAX - 4;

/// Where all ranks of a run meet.
#[derive(Debug)]
pub struct Meeting {
    listener: TcpListener,
    access: Access,
    watch: Watch,
    is_closed: AtomicBool,
}

/// Who has come to a meeting, by rank, with the address at which it listens.
type Came = Vec<Option<(Stream, String)>>;

impl Meeting {
    /// A meeting at an address; port 0 is any that is free.
    ///
    /// # Errors
    ///
    /// If nothing can listen there.
    pub fn new(address: &str, access: &Access) -> Result<Self, TransportError> {
        let listener = listen(address).map_err(|source| failed(address, source))?;
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
        limits::renew()?;
        let (own, wait) = (shared_settings(ranks), Wait::begin("the others", timeout));
        let entrance = Entrance::new(&self.listener, &self.access);
        let mut came: Came = (0..ranks).map(|_| None).collect();
        while came.iter().any(Option::is_none) {
            if let Some(lost) = self.watch.lost().first() {
                came.into_iter().flatten().for_each(|(tls, _)| turn_away(tls, *lost));
                return Err(TransportError::Lost(*lost));
            }
            let is_one_lost = || !self.watch.lost().is_empty();
            let Greeted { tls, number: rank, text } = match entrance
                .next(wait.end, || self.is_closed() || is_one_lost())
            {
                Err(_) if is_one_lost() => continue,
                Err(error) => {
                    let (absent, meeting) = (absent(&came), self.address()?.to_string());
                    let why = format!("{absent} had not come after {:.1?}", wait.begun.elapsed());
                    came.into_iter().flatten().for_each(|(tls, _)| answer(tls, ABSENT, &why));
                    return Err(wait.failed(&absent, &meeting, error));
                }
                Ok(greeted) => greeted,
            };
            if rank == JOINING {
                // It tries again, until there is a run to join.
                continue;
            }
            let (address, settings) = text.split_once(' ').unwrap_or((&text, ""));
            if let Some(words) = differing(rank, &own, settings) {
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
        Ok(addresses.into_iter().map(|text| split_word(&text).0).collect())
    }

    /// Turns away who comes after [`Meeting::hold`], until the meeting is closed: a rank that can't
    /// meet the others because one is lost, and a rank that comes again because its process ended,
    /// and which is lost itself.
    pub fn guard(&self) {
        let never = Instant::now() + FOREVER;
        let entrance = Entrance::new(&self.listener, &self.access);
        while !self.is_closed() {
            match entrance.next(never, || self.is_closed()) {
                Ok(Greeted { tls, number, .. }) => {
                    turn_away(tls, self.watch.lost().first().copied().unwrap_or(number));
                }
                // There may be no descriptors for a while.
                Err(_) => std::thread::sleep(limits::get().retry_interval),
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

    /// What listens there.
    pub(super) fn into_listener(self) -> TcpListener {
        self.listener
    }
}

fn absent(came: &Came) -> String {
    let absent = (0_u32..).zip(came).filter(|(_, one)| one.is_none());
    let absent: Vec<_> = absent.map(|(rank, _)| rank.to_string()).collect();
    format!("ranks {}", absent.join(", "))
}

/// How long somebody waits for the others.
struct Wait {
    who: String,
    begun: Instant,
    end: Instant,
}

impl Wait {
    fn begin(who: &str, timeout: Duration) -> Self {
        let begun = Instant::now();
        Self { who: who.to_owned(), begun, end: begun + timeout }
    }

    /// Why it was in vain: another error than one of the system has its own words.
    fn failed(&self, what: &str, meeting: &str, source: io::Error) -> TransportError {
        let source = match source.downcast::<TransportError>() {
            Ok(error) => return error,
            Err(source) => source,
        };
        TransportError::NotMet {
            who: self.who.clone(),
            waited: self.begun.elapsed(),
            what: what.to_owned(),
            meeting: meeting.to_owned(),
            source: plain(source),
        }
    }
}

/// In words what the system says of a connection that ended or on which nothing came.
fn plain(source: io::Error) -> io::Error {
    let kind = source.kind();
    let text = match kind {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            "the other side ended the connection, or its process has ended"
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "nothing came in this time",
        ErrorKind::ConnectionRefused => "nobody listens there",
        ErrorKind::ConnectionAborted => "the meeting was closed",
        _ => return source,
    };
    io::Error::new(kind, text)
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

/// In what a rank does not agree with what is expected, as words.
pub fn differing(rank: Rank, expected: &str, own: &str) -> Option<String> {
    let (setting, expected, value) = limits::disagreement(expected, own)?;
    Some([&rank.to_string(), setting, value, expected].join(" "))
}

/// The error of the words: a rank, a setting, what that rank has, and what is expected.
pub fn disagreement(words: &str) -> TransportError {
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
    /// Whether all that have named the same group are able to do what they have voted on.
    pub is_agreed: bool,
    /// How many ranks there may be.
    pub most: u32,
    /// Where ranks with higher numbers came to.
    pub listener: TcpListener,
    /// To whoever watches over the ranks.
    pub watcher: Watcher,
}

/// What a rank says to rank 0 once it knows the words of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vote {
    /// Which ranks have to agree: those that name the same.
    pub group: Rank,
    /// Whether it is able to do what they want.
    pub is_able: bool,
}

impl Vote {
    const ABLE: &str = "able";

    /// One of a rank that needs nobody's consent.
    pub fn alone(rank: Rank) -> Self {
        Self { group: rank, is_able: true }
    }

    fn write(self, to: &mut impl Write) -> io::Result<()> {
        write_named(to, self.group, if self.is_able { Self::ABLE } else { "" })
    }

    fn read(number: u32, text: &str) -> Self {
        Self { group: number, is_able: text == Self::ABLE }
    }
}

/// Meets the other ranks, says a word to all of them, and connects to rank 0, which hears what this one votes,
/// given the words of all.
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
    word: &str,
    vote: impl FnOnce(&[String]) -> Vote,
) -> Result<Met, TransportError> {
    limits::renew()?;
    let wait = Wait::begin(&format!("rank {rank}"), timeout);
    let end = wait.end;
    let stream =
        connect(meeting, end).map_err(|source| wait.failed("rank 0 to listen", meeting, source))?;
    let here = stream.local_addr().map_err(|source| failed(meeting, source))?.ip();
    let listener = listen((here, 0)).map_err(|source| failed("this rank", source))?;
    let own = listener.local_addr().map_err(|source| failed("this rank", source))?.to_string();
    let own = format!("{own}{WORD}{word}");
    let (most, texts, mut watcher) = ask(stream, rank, ranks, access, &own, end)
        .map_err(|source| wait.failed(&format!("all {ranks} ranks to come"), meeting, source))?;
    let (addresses, words): (Vec<_>, Vec<_>) = texts.iter().map(|text| split_word(text)).unzip();
    let mut peers: Vec<Option<Peer>> = (0..ranks).map(|_| None).collect();
    let vote = vote(&words);
    let mut is_agreed = vote.is_able;
    if let (1.., Some(address)) = (rank, addresses.first()) {
        let mut greet = || {
            let stream = connect_unless(address, end, || watcher.reports_loss())?;
            let mut tls = Tls::connect(stream, access)?;
            write_named(&mut tls, rank, "")?;
            vote.write(&mut tls)?;
            tls.flush()?;
            let left = end.saturating_duration_since(Instant::now());
            tls.stream().set_read_timeout(Some(left.max(limits::get().retry_interval)))?;
            let (number, text) = read_named(&mut tls)?;
            is_agreed = Vote::read(number, &text).is_able;
            Peer::new(tls)
        };
        let met = greet();
        let what = format!("rank 0 to take its connection at {address}");
        let failed = |source| wait.failed(&what, meeting, watcher.reason(source));
        peers[0] = Some(met.map_err(failed)?);
    }
    let entrance = Entrance::new(&listener, access);
    let mut came: Vec<Option<(Stream, Vote)>> = (0..ranks).map(|_| None).collect();
    while rank == 0 && came.iter().skip(1).any(Option::is_none) {
        let greeted = entrance.next(end, || watcher.reports_loss());
        let Greeted { mut tls, number, .. } = greeted.map_err(|source| {
            let lacking = (1..ranks).filter(|other| came[*other as usize].is_none());
            let lacking: Vec<_> = lacking.map(|other| other.to_string()).collect();
            let what = format!("ranks {} to connect to it", lacking.join(", "));
            wait.failed(&what, meeting, watcher.reason(source))
        })?;
        if number > 0 && number < ranks {
            let voted = read_named(&mut tls).map_err(|source| failed("a rank", source))?;
            came[number as usize] = Some((tls, Vote::read(voted.0, &voted.1)));
        }
    }
    drop(entrance);
    if rank == 0 {
        let votes = came.iter().flatten().map(|(_, vote)| *vote).chain([vote]);
        let unable: BTreeSet<Rank> =
            votes.filter(|vote| !vote.is_able).map(|vote| vote.group).collect();
        is_agreed = !unable.contains(&vote.group);
        for (peer, one) in peers.iter_mut().zip(came) {
            let Some((mut tls, vote)) = one else { continue };
            let verdict = Vote { is_able: !unable.contains(&vote.group), ..vote };
            let answered = verdict.write(&mut tls).and_then(|()| tls.flush());
            // Who has ended meanwhile is found to be lost where its connection is read.
            let _ = answered;
            *peer = Some(Peer::new(tls).map_err(|source| failed("a rank", source))?);
        }
    }
    Ok(Met { peers, addresses, is_agreed, most, listener, watcher })
}

fn split_word(text: &str) -> (String, String) {
    let (address, word) = text.split_once(WORD).unwrap_or((text, ""));
    (address.to_owned(), word.to_owned())
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
    let left = end.saturating_duration_since(Instant::now()).max(limits::get().retry_interval);
    tls.stream().set_read_timeout(Some(left))?;
    let mut read = || match read_named(&mut tls)? {
        (LOST, rank) => {
            let rank = rank.parse().map_err(io::Error::other)?;
            Err(io::Error::other(TransportError::Lost(rank)))
        }
        (DISAGREES, words) => Err(io::Error::other(disagreement(&words))),
        (ABSENT, who) => Err(io::Error::other(who)),
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
        let left = end.saturating_duration_since(Instant::now()).max(limits::get().retry_interval);
        match TcpStream::connect_timeout(&found, left.min(limits::get().step_timeout)) {
            // Where nobody listens yet, the system may have given the connection that very port:
            // it then leads to itself, and keeps the port from who is to listen there.
            Ok(stream) if stream.local_addr()? == found => {
                drop(stream);
                std::thread::sleep(limits::get().retry_interval);
            }
            Ok(stream) => return prepared(stream),
            Err(error) if Instant::now() >= end || is_over() => return Err(error),
            Err(_) => std::thread::sleep(limits::get().retry_interval),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use freestone_tls::Identity;

    const LONG: Duration = Duration::from_secs(60);

    fn access() -> Access {
        Access::new(&Identity::make(1).unwrap()).unwrap()
    }

    /// What rank 1 of 3 gets to hear while `hold` does something with the meeting.
    fn error_of_rank_1(hold: impl FnOnce(Meeting)) -> String {
        let access = access();
        let meeting = Meeting::new("127.0.0.1:0", &access).unwrap();
        let address = meeting.address().unwrap().to_string();
        std::thread::scope(|scope| {
            let met = scope.spawn(|| {
                meet(&address, 1, 3, &access, LONG, "", |_| Vote::alone(1))
                    .err()
                    .unwrap()
                    .to_string()
            });
            hold(meeting);
            let error = met.join().unwrap();
            assert!(error.contains(&format!("at the meeting, {address}")), "{error}");
            error
        })
    }

    #[test]
    fn a_rank_that_waits_when_rank_0_dies_says_for_what_and_where() {
        let error = error_of_rank_1(|meeting| {
            let entrance = Entrance::new(&meeting.listener, &meeting.access);
            // As the system does with the connections of a process that has ended.
            drop(entrance.next(Instant::now() + LONG, || false).unwrap());
        });
        assert!(error.starts_with("rank 1 waited "), "{error}");
        assert!(error.contains(" for all 3 ranks to come, "), "{error}");
        assert!(error.contains("its process has ended; start all ranks, rank 0 too"), "{error}");
    }

    #[test]
    fn a_rank_is_informed_of_who_has_not_come() {
        let error = error_of_rank_1(|meeting| {
            // Rank 1 has come already, so that it can't come to `hold`.
            let entrance = Entrance::new(&meeting.listener, &meeting.access);
            let came = entrance.next(Instant::now() + LONG, || false).unwrap();
            drop(entrance);
            let held = meeting.hold(3, 3, Duration::ZERO).unwrap_err().to_string();
            assert!(held.contains(" for ranks 0, 1, 2, at "), "{held}");
            answer(came.tls, ABSENT, "ranks 0, 2 had not come after 2s");
        });
        assert!(error.contains(": ranks 0, 2 had not come after 2s; "), "{error}");
    }

    #[test]
    fn where_nobody_listens_the_error_names_rank_0() {
        let error =
            meet("127.0.0.1:1", 1, 3, &access(), Duration::from_millis(1), "", |_| Vote::alone(1))
                .err()
                .unwrap();
        let text = error.to_string();
        assert!(
            text.contains(" for rank 0 to listen, at the meeting, 127.0.0.1:1: nobody"),
            "{text}"
        );
    }
}
