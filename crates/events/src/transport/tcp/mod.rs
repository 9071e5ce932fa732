//! Ranks on several machines: TCP, and both sides of each connection show the run's certificate.
//!
//! Rank 0 is connected to all others; the connection of any other pair is made when one of the two first
//! sends. An empty frame says that a rank is done; an end without it is the loss of that rank.

mod arrivals;
mod arriving;
mod door;
#[cfg(test)]
mod door_tests;
mod greeting;
mod joining;
mod links;
mod meeting;
mod named;
mod peer;
mod silence;
mod waiting;
mod watch;

pub use joining::Invitation;
pub use meeting::Meeting;
pub(super) use meeting::Vote;
pub use watch::Watch;

use super::late::{Flush, Late};
use super::pipe::Pipe;
use super::{Incoming, Life, Outgoing, Transport, TransportError, frame};
use crate::event::Rank;
use crate::limits;
use crate::sync::lock;
use door::Door;
use freestone_tls::{Access, Tls};
use links::Links;
use peer::{Input, Peer};
use silence::Silence;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};
use watch::{Watcher, failed};

/// The most bytes of a payload in one frame.
const LONGEST: usize = 256 << 10;
/// So often it is looked for what has come before it is looked who is silent.
const POLLS: u32 = 1 << 12;
/// The longest frame: with its head and its identifier.
const FRAME: usize = LONGEST + (8 << 10);

/// One rank's connections to others.
#[derive(Debug)]
pub struct Tcp {
    shared: Arc<Shared>,
    late: Late,
    /// How many ranks there were at the beginning.
    ranks: u32,
    /// Who was lost before this rank joined, if it did.
    lost_before: Option<Vec<Rank>>,
}

#[derive(Debug)]
struct Shared {
    rank: Rank,
    /// By rank; none for this one, those that have yet to join and those that were lost before.
    peers: Vec<OnceLock<Mutex<Peer>>>,
    /// How those between founders come about.
    links: Links,
    /// None, if nobody watches over this rank.
    watcher: Mutex<Option<Watcher>>,
    /// Whether there is something to read from whoever watches.
    has_report: AtomicBool,
    /// Where others come.
    door: OnceLock<Arc<Door>>,
    /// Ranks for which something waits to be written.
    waiting: AtomicU32,
    polling: Mutex<Polling>,
    /// Whether somebody sleeps, or is about to.
    sleeps: AtomicBool,
    /// Written to in order to wake who sleeps.
    pipe: Pipe,
    /// Whether reading stopped before there was nothing more.
    has_more: AtomicBool,
}

#[derive(Debug)]
struct Polling {
    /// Made when there is something to read.
    inputs: Vec<Option<Input>>,
    /// Whose connection has ended.
    lost: Vec<bool>,
    silence: Silence,
    /// How often it was looked for what has come.
    polls: u32,
}

impl Tcp {
    /// Meets all other ranks.
    ///
    /// # Errors
    ///
    /// If they have not come by `timeout`, or one is lost before all have met.
    pub fn meet(
        meeting: &str,
        rank: Rank,
        ranks: u32,
        access: &Access,
        timeout: Duration,
    ) -> Result<Self, TransportError> {
        let pipe = Pipe::new().map_err(|source| unable(rank, source))?;
        let alone = |_: &[String]| Vote::alone(rank);
        Ok(Self::meet_saying("", pipe, meeting, rank, ranks, access, timeout, alone)?.0)
    }

    /// The same, and each rank says a word, votes when it knows all words, and learns whether all of its group agree.
    #[allow(clippy::too_many_arguments)] // one caller
    pub(super) fn meet_saying(
        word: &str,
        pipe: Pipe,
        meeting: &str,
        rank: Rank,
        ranks: u32,
        access: &Access,
        timeout: Duration,
        vote: impl FnOnce(&[String]) -> Vote,
    ) -> Result<(Self, bool), TransportError> {
        let meeting::Met { peers, addresses, is_agreed, most, listener, watcher } =
            meeting::meet(meeting, rank, ranks, access, timeout, word, vote)?;
        let links = Links::new(rank, access, addresses, |other| {
            peers.get(other).is_some_and(Option::is_some)
        });
        let tcp = Self::begin(links, peers, most, listener, access, pipe, None)?;
        *lock(&tcp.shared.watcher) = Some(watcher);
        Ok((tcp, is_agreed))
    }

    /// Joins the run whose ranks have met, or are about to, at `meeting`, as its last rank.
    ///
    /// # Errors
    ///
    /// If it is over, has no room, or is not to be reached by `timeout`.
    pub fn join(meeting: &str, access: &Access, timeout: Duration) -> Result<Self, TransportError> {
        let arrived = arriving::join(meeting, access, timeout)?;
        let arriving::Arrived { rank, most, peers, lost, listener } = arrived;
        // It has connected to all others, and who comes later connects to it.
        let links = Links::new(rank, access, Vec::new(), |_| false);
        let pipe = Pipe::new().map_err(|source| unable(rank, source))?;
        Self::begin(links, peers, most, listener, access, pipe, Some(lost))
    }

    /// To how many other ranks there is a connection.
    pub fn connections(&self) -> usize {
        self.shared.connected().count()
    }

    /// Keeps the meeting of which this rank, 0, is: as many may join as it had room for.
    ///
    /// # Errors
    ///
    /// If the system has no thread for it.
    pub fn keep(&self, meeting: Meeting, addresses: Vec<String>) -> Result<(), TransportError> {
        let Some(door) = self.shared.door.get().filter(|_| self.room() > self.ranks) else {
            return Ok(());
        };
        let kept = door.keep_meeting(meeting.into_listener(), addresses);
        kept.map_err(|source| failed("the meeting", source))
    }

    /// As [`Transport::sleep`], and until `beside` is readable.
    pub(super) fn sleep_beside(
        &self,
        beside: Option<RawFd>,
        is_idle: &dyn Fn() -> bool,
        timeout: Option<Duration>,
    ) {
        let shared = &self.shared;
        let mut polling = lock(&shared.polling);
        shared.sleeps.store(true, Ordering::Relaxed);
        // Its partner is in `wake`: either the waker sees the sleeper, or `is_idle` sees what the
        // waker did before.
        fence(Ordering::SeqCst);
        if !shared.has_more.load(Ordering::Acquire) && !shared.has_news() && is_idle() {
            let until_look = Some(polling.silence.until_look());
            let times = [timeout, shared.links.until_lost(), until_look];
            shared.wait(beside, times.into_iter().flatten().min());
            shared.cut_silent(&mut polling.silence);
        }
        shared.sleeps.store(false, Ordering::Relaxed);
        shared.pipe.clear();
    }

    fn begin(
        links: Links,
        peers: Vec<Option<Peer>>,
        most: u32,
        listener: TcpListener,
        access: &Access,
        pipe: Pipe,
        lost_before: Option<Vec<Rank>>,
    ) -> Result<Self, TransportError> {
        let rank = links.rank();
        let failed = |source| unable(rank, source);
        let ranks = peers.len() as u32;
        let room = most.max(ranks) as usize;
        let mut places: Vec<OnceLock<Mutex<Peer>>> = peers
            .into_iter()
            .map(|peer| peer.map(Mutex::new).map_or_else(OnceLock::new, OnceLock::from))
            .collect();
        places.resize_with(room, OnceLock::new);
        let inputs = (0..room).map(|_| None).collect();
        let shared = Arc::new(Shared {
            rank,
            peers: places,
            links,
            watcher: Mutex::new(None),
            has_report: AtomicBool::new(true),
            door: OnceLock::new(),
            waiting: AtomicU32::new(0),
            polling: Mutex::new(Polling {
                inputs,
                lost: vec![false; room],
                silence: Silence::new(),
                polls: 0,
            }),
            sleeps: AtomicBool::new(false),
            pipe,
            has_more: AtomicBool::new(false),
        });
        shared.open_door(ranks, listener, access).map_err(failed)?;
        let late = Late::default();
        late.start(Arc::downgrade(&shared)).map_err(failed)?;
        Ok(Self { shared, late, ranks, lost_before })
    }
}

fn unable(rank: Rank, source: io::Error) -> TransportError {
    TransportError::Io { what: format!("rank {rank}"), source }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        self.shared.close_door();
    }
}

impl Shared {
    /// Others can come to `listener` from now on.
    fn open_door(
        self: &Arc<Self>,
        ranks: u32,
        listener: TcpListener,
        access: &Access,
    ) -> io::Result<()> {
        let arrive = {
            let shared: Weak<Self> = Arc::downgrade(self);
            move |source, tls| shared.upgrade().map_or(Ok(()), |shared| shared.accept(source, tls))
        };
        let wake = {
            let shared: Weak<Self> = Arc::downgrade(self);
            move || {
                if let Some(shared) = shared.upgrade() {
                    shared.wake();
                }
            }
        };
        let door = Door::new(self.rank, ranks, self.peers.len() as u32, access, arrive, wake);
        door.open(listener)?;
        self.door.get_or_init(|| door);
        Ok(())
    }

    fn close_door(&self) {
        if let Some(door) = self.door.get() {
            door.close();
        }
    }

    fn has_news(&self) -> bool {
        self.door.get().is_some_and(|door| door.has_news())
    }

    /// Takes the connection of a rank that has come to send.
    fn accept(&self, source: Rank, tls: Tls<TcpStream>) -> io::Result<()> {
        if source == self.rank || source >= self.links.len() {
            return Ok(());
        }
        self.links.accept(source, tls, |peer| self.open(source, peer))
    }

    fn open(&self, rank: Rank, peer: Peer) {
        // Set once: `links` opens each once.
        let _ = self.peers[rank as usize].set(Mutex::new(peer));
        // Who sleeps does not look there yet, and what came with the answer is not to be seen by
        // the system any more.
        self.wake();
    }

    /// The connection to a rank, made now if there is none; none, if it can't be reached.
    fn peer(&self, target: Rank) -> Option<&Mutex<Peer>> {
        let place = self.peers.get(target as usize)?;
        if place.get().is_none() {
            self.links.reach(target, |peer| self.open(target, peer));
        }
        place.get()
    }

    /// All ranks that this one is connected to.
    fn connected(&self) -> impl Iterator<Item = &Mutex<Peer>> {
        self.peers.iter().filter_map(OnceLock::get)
    }

    fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.sleeps.load(Ordering::Relaxed) {
            self.pipe.wake();
        }
    }

    /// Writes what waits for a rank. What fails is noticed when its connection is read.
    fn write(&self, peer: &mut Peer) {
        let before = peer.waits();
        if peer.flush().is_err() {
            peer.is_closed = true;
        }
        if before && !peer.waits() {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn write_all(&self) {
        if self.waiting.load(Ordering::Acquire) > 0 {
            for peer in self.connected() {
                self.write(&mut lock(peer));
            }
        }
    }

    /// Ends the connection to a lost rank, and makes none to it; whether there was one.
    fn cut(&self, rank: Rank) -> bool {
        self.links.close(rank);
        let peer = self.peers.get(rank as usize).and_then(OnceLock::get);
        peer.inspect(|peer| lock(peer).cut()).is_some()
    }

    /// Closes the connections to ranks that were reported as lost: what they sent before is still
    /// read, then the end.
    fn cut_lost(&self) {
        let mut watcher = lock(&self.watcher);
        let Some(reports) = watcher.as_mut() else { return };
        while let Some(rank) = reports.next_lost() {
            if !self.cut(rank) {
                self.links.note_unreachable(rank, Duration::ZERO);
            }
        }
        if reports.fd().is_none() {
            *watcher = None;
        }
    }

    /// From time to time, ends the connections to machines that are silent.
    fn cut_silent(&self, silence: &mut Silence) {
        if silence.is_due() {
            self.connected().for_each(|peer| lock(peer).cut_if_silent());
        }
    }
}

impl Flush for Shared {
    fn flush_late(&self) -> bool {
        let waited = self.waiting.load(Ordering::Acquire) > 0;
        self.write_all();
        waited
    }
}

impl Transport for Tcp {
    fn rank(&self) -> Rank {
        self.shared.rank
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn room(&self) -> u32 {
        self.shared.peers.len() as u32
    }

    fn lost_before(&self) -> Option<&[Rank]> {
        self.lost_before.as_deref()
    }

    fn is_informed_of_losses(&self, other: Rank) -> bool {
        // Of those that are connected each tells the others, and all are by rank 0.
        self.shared.peers.get(other as usize).is_some_and(|peer| peer.get().is_some())
    }

    fn shows_life(&self) -> bool {
        true
    }

    fn show_life(&self, target: Rank) {
        // Who is lost needs none.
        let _ = self.send(target, &Outgoing::Alive);
    }

    fn life(&self, source: Rank) -> Option<Life> {
        let peer = self.shared.peers.get(source as usize)?.get()?;
        lock(peer).life()
    }

    fn lose(&self, rank: Rank) {
        self.shared.cut(rank);
    }

    fn admit(&self, number: Rank, lost: &[Rank]) {
        if let Some(door) = self.shared.door.get() {
            door.admit(number, lost);
        }
    }

    fn grow(&self, ranks: u32) {
        let Some(door) = self.shared.door.get() else { return };
        // Nobody else sets them: ranks grow one step after the other.
        for (rank, place) in (0..ranks).zip(&self.shared.peers) {
            if place.get().is_none()
                && let Some(peer) = door.collect(rank)
            {
                let _ = place.set(Mutex::new(peer));
            }
        }
        door.grow(ranks);
    }

    fn send(&self, target: Rank, message: &Outgoing<'_>) -> Result<(), TransportError> {
        let shared = &self.shared;
        let Some(peer) = shared.peer(target) else { return Err(TransportError::Lost(target)) };
        let mut peer = lock(peer);
        if peer.is_closed {
            return Err(TransportError::Lost(target));
        }
        // What runtimes tell each other is little, and has to come through.
        if !peer.has_room() && !matches!(message, Outgoing::Control(_) | Outgoing::Alive) {
            shared.write(&mut peer);
            if !peer.has_room() {
                return Err(TransportError::Full);
            }
        }
        if !peer.waits() {
            shared.waiting.fetch_add(1, Ordering::AcqRel);
        }
        frame::encode(message).with_parts(message, |parts| peer.put(parts));
        if !peer.may_wait() {
            shared.write(&mut peer);
        }
        if peer.waits() {
            drop(peer);
            self.late.note();
        }
        Ok(())
    }

    fn longest(&self, _target: Rank) -> usize {
        LONGEST
    }

    fn poll(&self, take: &mut dyn FnMut(Rank, Incoming)) -> Result<usize, TransportError> {
        let shared = &self.shared;
        let mut polling = lock(&shared.polling);
        shared.write_all();
        // Set by `wait`, which the same mutex keeps apart. A rank that is never idle hears of its
        // peers by their connections.
        if shared.has_report.load(Ordering::Relaxed) {
            shared.has_report.store(false, Ordering::Relaxed);
            shared.cut_lost();
        }
        // The clock costs more than the look at a connection.
        polling.polls = polling.polls.wrapping_add(1);
        if polling.polls.is_multiple_of(POLLS) {
            shared.cut_silent(&mut polling.silence);
        }
        let (mut count, mut has_more) = (0, false);
        let Polling { inputs, lost, .. } = &mut *polling;
        for ((source, peer), input) in (0..).zip(&shared.peers).zip(inputs) {
            let Some(peer) = peer.get() else { continue };
            let input = input.get_or_insert_with(|| Input::new(FRAME));
            let is_known = &mut lost[source as usize];
            if *is_known {
                continue;
            }
            has_more |= lock(peer).fill(input).unwrap_or(false);
            // Not with the connection locked: who takes may send.
            let (mut has_left, mut shows_life) = (false, false);
            input.split(FRAME, |frame| {
                if frame.is_empty() {
                    has_left = true;
                    return Ok(());
                }
                match frame::decode(source, frame, || None)? {
                    Incoming::Alive => shows_life = true,
                    incoming => {
                        take(source, incoming);
                        count += 1;
                    }
                }
                Ok(())
            })?;
            let mut peer = lock(peer);
            peer.has_left |= has_left;
            peer.shows_life |= shows_life;
            *is_known = peer.is_closed;
            let is_lost = peer.is_closed && !peer.has_left;
            drop(peer);
            if is_lost {
                take(source, Incoming::Lost);
                count += 1;
            }
        }
        shared.has_more.store(has_more, Ordering::Release);
        for rank in shared.links.take_lost() {
            take(rank, Incoming::Lost);
            count += 1;
        }
        if let Some(door) = shared.door.get().filter(|door| door.has_news()) {
            for news in door.take_news() {
                take(shared.rank, Incoming::Joining(news));
                count += 1;
            }
        }
        Ok(count)
    }

    fn sleep(&self, is_idle: &dyn Fn() -> bool, timeout: Option<Duration>) {
        self.sleep_beside(None, is_idle, timeout);
    }

    fn wake(&self) {
        self.shared.wake();
    }

    fn flush(&self) {
        self.shared.write_all();
    }

    fn give_up(&self) {
        if let Some(watcher) = lock(&self.shared.watcher).as_mut() {
            watcher.give_up();
        }
    }

    fn leave(&self) {
        if let Some(mut watcher) = lock(&self.shared.watcher).take() {
            watcher.leave();
        }
        self.shared.close_door();
        self.late.stop();
        let end = Instant::now() + limits::get().close_timeout;
        let mut polling = lock(&self.shared.polling);
        for peer in self.shared.connected() {
            lock(peer).put(&[]);
        }
        let is_done = |peer: &Mutex<Peer>, input: &mut Input| {
            let mut peer = lock(peer);
            let _: io::Result<()> = peer.flush();
            // Who closes before the other has read makes it lose what was sent last.
            let _: io::Result<bool> = peer.fill(input);
            let left = input.split(FRAME, |frame| {
                peer.has_left |= frame.is_empty();
                Ok(())
            });
            left.is_err() || peer.is_closed || (peer.has_left && !peer.waits())
        };
        loop {
            let pairs = self.shared.peers.iter().zip(&mut polling.inputs);
            let open = pairs.filter_map(|(peer, input)| Some((peer.get()?, input)));
            let still = open
                .filter_map(|(peer, input)| {
                    let input = input.get_or_insert_with(|| Input::new(FRAME));
                    (!is_done(peer, input)).then_some(())
                })
                .count();
            if still == 0 || Instant::now() >= end {
                return;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}
