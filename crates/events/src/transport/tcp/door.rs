//! The doors of a rank for those who join while the run is on, and for ranks that come to send.
//!
//! Rank 0 keeps the meeting open. Who comes there asks to join (`Asks`), is given a number and the
//! addresses of all ranks, connects to each, and says that it has come (`Came`). The others keep its
//! connection until they are told of it ([`Door::collect`]); only then they hear what it says.

use super::greeting::{Greeted, Greeter, Stream};
use super::links::CONNECTING;
use super::meeting::{DISAGREES, JOINING, differing};
use super::named::{read_named, write_named};
use super::peer::Peer;
use crate::event::Rank;
use crate::limits;
use crate::sync::lock;
use crate::transport::Joining;
use freestone_tls::Access;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// What it is told instead of a number, with why.
pub const REFUSED: u32 = u32::MAX - 1;

type Arrive = dyn Fn(Rank, Stream) -> io::Result<()> + Send + Sync;

/// What the threads at the doors of a rank share with it.
pub struct Door {
    rank: Rank,
    room: u32,
    access: Access,
    /// Takes the connection of a rank that has come to send.
    arrive: Box<Arrive>,
    /// Makes the rank look for news.
    wake: Box<dyn Fn() + Send + Sync>,
    news: Mutex<VecDeque<Joining>>,
    has_news: AtomicBool,
    /// Connections of those who are no ranks yet, with their attempts.
    waiting: Mutex<BTreeMap<Rank, (u64, Peer)>>,
    admissions: Mutex<Admissions>,
    /// Locked by who lets a rank in: they join one after the other.
    admitting: Mutex<()>,
    changed: Condvar,
    listeners: Mutex<Vec<Arc<TcpListener>>>,
    is_closed: AtomicBool,
}

/// Where rank 0 lets joining ranks in.
struct Admissions {
    ranks: u32,
    /// Where all ranks listen.
    addresses: Vec<String>,
    /// The number that who asks is given, and who is lost.
    next: Option<(Rank, Vec<Rank>)>,
    /// Counts those who were let in, ranks or not.
    attempts: u64,
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a door of rank {}, room for {}", self.rank, self.room)
    }
}

impl Door {
    /// The doors of one of `ranks` ranks, of which there may be as many as `room`.
    pub fn new(
        rank: Rank,
        ranks: u32,
        room: u32,
        access: &Access,
        arrive: impl Fn(Rank, Stream) -> io::Result<()> + Send + Sync + 'static,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            rank,
            room,
            access: access.clone(),
            arrive: Box::new(arrive),
            wake: Box::new(wake),
            news: Mutex::default(),
            has_news: AtomicBool::new(false),
            waiting: Mutex::default(),
            admissions: Mutex::new(Admissions {
                ranks,
                addresses: Vec::new(),
                next: None,
                attempts: 0,
            }),
            admitting: Mutex::default(),
            changed: Condvar::new(),
            listeners: Mutex::default(),
            is_closed: AtomicBool::new(false),
        })
    }

    /// Takes connections of joining ranks and of those that come to send, until the door is closed.
    pub fn open(self: &Arc<Self>, listener: TcpListener) -> io::Result<()> {
        self.serve(listener, |door, tls, number, text| {
            if text == CONNECTING {
                (door.arrive)(number, tls)
            } else {
                door.keep(tls, number, &text)
            }
        })
    }

    /// Takes those who ask to join, until the door is closed; `addresses` is where ranks listen.
    pub fn keep_meeting(
        self: &Arc<Self>,
        listener: TcpListener,
        addresses: Vec<String>,
    ) -> io::Result<()> {
        lock(&self.admissions).addresses = addresses;
        self.serve(
            listener,
            |door, tls, number, text| {
                if number == JOINING { door.receive(tls, &text) } else { Ok(()) }
            },
        )
    }

    /// Lets in who asked.
    pub fn admit(&self, number: Rank, lost: &[Rank]) {
        lock(&self.admissions).next = Some((number, lost.to_vec()));
        self.changed.notify_all();
    }

    /// The connection of one that asked to join and is a rank now.
    pub fn collect(&self, rank: Rank) -> Option<Peer> {
        lock(&self.waiting).remove(&rank).map(|(_, peer)| peer)
    }

    /// There are so many ranks now: the last one is told.
    pub fn grow(&self, ranks: u32) {
        lock(&self.admissions).ranks = ranks;
        self.changed.notify_all();
    }

    /// Whether there is something to hear of joining ranks.
    pub fn has_news(&self) -> bool {
        self.has_news.load(Ordering::Acquire)
    }

    /// What there is to hear.
    pub fn take_news(&self) -> VecDeque<Joining> {
        let mut news = lock(&self.news);
        self.has_news.store(false, Ordering::Release);
        std::mem::take(&mut news)
    }

    /// Nobody joins any more.
    pub fn close(&self) {
        let admissions = lock(&self.admissions);
        self.is_closed.store(true, Ordering::Release);
        drop(admissions);
        self.changed.notify_all();
        for listener in lock(&self.listeners).drain(..) {
            // SAFETY: a plain call on a descriptor that `listener` keeps open; who accepts there
            // gets an error, and looks.
            unsafe { libc::shutdown(listener.as_raw_fd(), libc::SHUT_RDWR) };
        }
        lock(&self.waiting).clear();
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Calls `each` with those who come and have the certificate, and with what they say first.
    fn serve(
        self: &Arc<Self>,
        listener: TcpListener,
        each: impl Fn(&Self, Stream, u32, String) -> io::Result<()> + Send + Sync + 'static,
    ) -> io::Result<()> {
        listener.set_nonblocking(false)?;
        let (door, listener, each) = (Arc::clone(self), Arc::new(listener), Arc::new(each));
        let greeter = Greeter::new(&self.access);
        lock(&self.listeners).push(Arc::clone(&listener));
        let thread = std::thread::Builder::new().name("events-door".to_owned());
        thread.spawn(move || {
            loop {
                let accepted = listener.accept();
                if door.is_closed() {
                    return;
                }
                let begun = accepted.and_then(|(stream, _)| {
                    let (door, each) = (Arc::clone(&door), Arc::clone(&each));
                    greeter.greet(stream, move |Greeted { tls, number, text }| {
                        // Whoever it is has its own error.
                        let _: io::Result<()> = each(&door, tls, number, text);
                    })
                });
                if begun.is_err() {
                    // There may be no descriptors, or no threads, for a while.
                    std::thread::sleep(limits::get().retry_interval);
                }
            }
        })?;
        Ok(())
    }

    /// Keeps the connection of a joining rank until it is a rank.
    fn keep(&self, mut tls: Stream, number: Rank, attempt: &str) -> io::Result<()> {
        let attempt: u64 = attempt.parse().map_err(io::Error::other)?;
        let mut waiting = lock(&self.waiting);
        // One that was given up may still be on its way here.
        let is_late = waiting.get(&number).is_some_and(|(other, _)| *other > attempt);
        if number >= self.room || is_late || self.is_closed() {
            return Ok(());
        }
        write_named(&mut tls, self.rank, "")?;
        tls.flush()?;
        waiting.insert(number, (attempt, Peer::new(tls)?));
        Ok(())
    }

    /// Lets one in who asks to join, or says why not.
    fn receive(&self, mut tls: Stream, text: &str) -> io::Result<()> {
        let _admitting = lock(&self.admitting);
        if self.is_closed() {
            return refuse(&mut tls, "the run is over");
        }
        let (address, settings) = text.split_once(' ').unwrap_or((text, ""));
        let ranks = lock(&self.admissions).ranks;
        if let Some(words) = differing(ranks, &limits::get().shared(), settings) {
            write_named(&mut tls, DISAGREES, &words)?;
            return tls.flush();
        }
        if ranks >= self.room {
            let room = self.room;
            let why = format!(
                "the run has {room} ranks, and room for no more; FREESTONE_EVENTS_MOST of its \
                 rank 0 says how many there may be"
            );
            return refuse(&mut tls, &why);
        }
        self.tell(Joining::Asks);
        let Some((number, lost)) = self.wait_for(|admissions| admissions.next.take()) else {
            return refuse(&mut tls, "the run is over");
        };
        let came = self.send_rank(&mut tls, number, &lost);
        if came.is_err() {
            self.tell(Joining::Gone);
            return came;
        }
        lock(&self.admissions).addresses.push(address.to_owned());
        self.tell(Joining::Came);
        match self.wait_for(|admissions| (admissions.ranks > number).then_some(admissions.ranks)) {
            Some(ranks) => write_named(&mut tls, ranks, "").and_then(|()| tls.flush()),
            None => refuse(&mut tls, "the run is over"),
        }
    }

    /// Tells a joining rank its number and where all are, and waits until it is connected to them.
    fn send_rank(&self, tls: &mut Stream, number: Rank, lost: &[Rank]) -> io::Result<()> {
        let mut admissions = lock(&self.admissions);
        admissions.attempts += 1;
        let (attempt, addresses) = (admissions.attempts, admissions.addresses.clone());
        drop(admissions);
        write_named(tls, number, &attempt.to_string())?;
        write_named(tls, self.room, "")?;
        for (rank, address) in (0..number).zip(&addresses) {
            write_named(tls, rank, if lost.contains(&rank) { "" } else { address })?;
        }
        tls.flush()?;
        tls.stream().set_read_timeout(Some(limits::get().join_timeout))?;
        read_named(tls).map(drop)
    }

    fn tell(&self, news: Joining) {
        lock(&self.news).push_back(news);
        self.has_news.store(true, Ordering::Release);
        (self.wake)();
    }

    /// Waits until there is something to do; none once the door is closed.
    fn wait_for<R>(&self, mut look: impl FnMut(&mut Admissions) -> Option<R>) -> Option<R> {
        let mut admissions = lock(&self.admissions);
        loop {
            if let Some(found) = look(&mut admissions) {
                return Some(found);
            }
            if self.is_closed() {
                return None;
            }
            admissions = self.changed.wait(admissions).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn refuse(tls: &mut Stream, why: &str) -> io::Result<()> {
    write_named(tls, REFUSED, why)?;
    tls.flush()
}
