//! How the connection between two ranks of a run comes about: when one of them first sends.
//!
//! Both may begin at once. The connection that the lower rank makes is the one that is kept: a higher one
//! that comes meanwhile gets that answer, and waits for it.

use super::greeting::Stream;
use super::named::{prepared, read_named, write_named};
use super::peer::Peer;
use crate::event::Rank;
use crate::limits;
use crate::sync::lock;
use freestone_tls::{Access, Tls};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a rank says, with its number, when it comes to another to send.
pub const CONNECTING: &str = "connecting";
/// What it is answered when that one has a connection on its way.
const ON_ITS_WAY: &str = "on its way";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    /// Nobody has sent.
    Free,
    /// It is being made by this rank.
    Pending,
    /// It is being made by the other rank, which has come.
    Arriving,
    /// There is a connection.
    Open,
    /// There is none, and none will be made.
    Closed,
}

/// The connections of a rank to those with which its run began.
#[derive(Debug)]
pub struct Links {
    rank: Rank,
    access: Access,
    /// Where each listens.
    addresses: Vec<String>,
    states: Mutex<Vec<Link>>,
    changed: Condvar,
    /// What is to become a connection, by target: ended when that is lost, as it may answer nothing.
    connecting: Mutex<BTreeMap<Rank, TcpStream>>,
    /// Who could not be reached, and when each is lost: it may be done, as this rank is about to hear.
    unreachable: Mutex<Vec<(Rank, Instant)>>,
    has_unreachable: AtomicBool,
}

impl Links {
    /// Those of `rank`; `is_open` says which there are.
    pub fn new(
        rank: Rank,
        access: &Access,
        addresses: Vec<String>,
        is_open: impl Fn(usize) -> bool,
    ) -> Self {
        let link = |other| if is_open(other) { Link::Open } else { Link::Free };
        let states = Mutex::new((0..addresses.len()).map(link).collect());
        let (access, changed, unreachable) = (access.clone(), Condvar::new(), Mutex::default());
        let connecting = Mutex::default();
        let has_unreachable = AtomicBool::new(false);
        Self { rank, access, addresses, states, changed, connecting, unreachable, has_unreachable }
    }

    /// Whose they are.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// How many ranks it knows.
    pub fn len(&self) -> Rank {
        self.addresses.len() as Rank
    }

    /// Makes the connection to a rank, unless there is one, or waits until that one has made it. `open` is
    /// given it, and called once for all threads.
    pub fn reach(&self, target: Rank, open: impl FnOnce(Peer)) {
        let Some(address) = self.addresses.get(target as usize) else { return };
        let mut links = lock(&self.states);
        match links[target as usize] {
            Link::Free => {}
            Link::Pending | Link::Arriving => return self.wait(target, links),
            Link::Open | Link::Closed => return,
        }
        links[target as usize] = Link::Pending;
        drop(links);
        let made = self.connect(target, address);
        lock(&self.connecting).remove(&target);
        let links = lock(&self.states);
        match (links[target as usize], made) {
            (Link::Pending, Ok(Some(peer))) => {
                open(peer);
                self.set(links, target, Link::Open);
            }
            (Link::Pending, Err(_)) => self.close_unmade(target, links),
            _ => self.wait(target, links),
        }
    }

    /// Takes the connection that a rank has made, unless one to it is on its way and is to be kept.
    pub fn accept(&self, source: Rank, mut tls: Stream, open: impl FnOnce(Peer)) -> io::Result<()> {
        let mut links = lock(&self.states);
        let link = &mut links[source as usize];
        match link {
            // One that is open here may still be on its way there.
            Link::Open => return self.refer(links, &mut tls),
            Link::Pending if source > self.rank => return self.refer(links, &mut tls),
            Link::Arriving | Link::Closed => return Ok(()),
            Link::Free | Link::Pending => {}
        }
        let before = std::mem::replace(link, Link::Arriving);
        drop(links);
        let made = write_named(&mut tls, self.rank, "")
            .and_then(|()| tls.flush())
            .and_then(|()| Peer::new(tls));
        let mut links = lock(&self.states);
        if links[source as usize] == Link::Closed {
            return Ok(());
        }
        match made {
            Ok(peer) => {
                open(peer);
                self.set(links, source, Link::Open);
                Ok(())
            }
            Err(error) => {
                links[source as usize] = before;
                Err(error)
            }
        }
    }

    /// Tells who has come that there is another connection.
    fn refer(&self, links: MutexGuard<'_, Vec<Link>>, tls: &mut Stream) -> io::Result<()> {
        drop(links);
        write_named(tls, self.rank, ON_ITS_WAY).and_then(|()| tls.flush())
    }

    /// A rank is lost: nobody connects to it any more.
    pub fn close(&self, rank: Rank) {
        let links = lock(&self.states);
        if links.get(rank as usize).is_some_and(|link| *link != Link::Open) {
            self.set(links, rank, Link::Closed);
        }
        // Its partner is in `note_connecting`: either that one sees the state, or we see the stream.
        if let Some(stream) = lock(&self.connecting).remove(&rank) {
            // It may have ended by itself.
            let _: io::Result<()> = stream.shutdown(Shutdown::Both);
        }
    }

    /// Notes that a rank can't be reached, and is lost after a wait.
    pub fn note_unreachable(&self, rank: Rank, wait: Duration) {
        lock(&self.unreachable).push((rank, Instant::now() + wait));
        self.has_unreachable.store(true, Ordering::Release);
    }

    /// Who is lost now because it can't be reached: each is given once.
    pub fn take_lost(&self) -> Vec<Rank> {
        if !self.has_unreachable.load(Ordering::Acquire) {
            return Vec::new();
        }
        let (mut unreachable, now) = (lock(&self.unreachable), Instant::now());
        let lost = unreachable.iter().filter(|(_, at)| *at <= now).map(|(rank, _)| *rank).collect();
        unreachable.retain(|(_, at)| *at > now);
        self.has_unreachable.store(!unreachable.is_empty(), Ordering::Release);
        lost
    }

    /// How long it is until [`Links::take_lost`] has more to give.
    pub fn until_lost(&self) -> Option<Duration> {
        let at = lock(&self.unreachable).iter().map(|(_, at)| *at).min();
        at.map(|at| at.saturating_duration_since(Instant::now()))
    }

    fn set(&self, mut links: MutexGuard<'_, Vec<Link>>, rank: Rank, link: Link) {
        links[rank as usize] = link;
        drop(links);
        self.changed.notify_all();
    }

    fn close_unmade(&self, rank: Rank, links: MutexGuard<'_, Vec<Link>>) {
        self.note_unreachable(rank, limits::get().unreachable_wait);
        self.set(links, rank, Link::Closed);
    }

    /// Waits until a connection that is on its way has come.
    fn wait(&self, rank: Rank, links: MutexGuard<'_, Vec<Link>>) {
        let is_unmade = |link: Link| matches!(link, Link::Pending | Link::Arriving);
        let waited =
            self.changed.wait_timeout_while(links, limits::get().connect_timeout, |links| {
                is_unmade(links[rank as usize])
            });
        let (links, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if is_unmade(links[rank as usize]) {
            self.close_unmade(rank, links);
        }
    }

    /// The process on the other side may be stopped, while its system has taken the connection.
    fn note_connecting(&self, target: Rank, stream: &TcpStream) -> io::Result<()> {
        lock(&self.connecting).insert(target, stream.try_clone()?);
        match lock(&self.states)[target as usize] {
            Link::Closed => Err(ErrorKind::ConnectionAborted.into()),
            _ => Ok(()),
        }
    }

    /// Connects to a rank; none, if that one's connection is on its way.
    fn connect(&self, target: Rank, address: &str) -> io::Result<Option<Peer>> {
        let stream = connect_once(address, limits::get().connect_timeout)?;
        self.note_connecting(target, &stream)?;
        let mut tls = Tls::connect(stream, &self.access)?;
        write_named(&mut tls, self.rank, CONNECTING)?;
        tls.flush()?;
        match read_named(&mut tls)? {
            (_, answer) if answer == ON_ITS_WAY => Ok(None),
            _ => Peer::new(tls).map(Some),
        }
    }
}

/// Connects to a rank that listened when all met: if it does not, it has ended.
fn connect_once(address: &str, timeout: Duration) -> io::Result<TcpStream> {
    let found = address.to_socket_addrs()?.next();
    let found = found.ok_or_else(|| io::Error::other("it is no address"))?;
    let stream = TcpStream::connect_timeout(&found, timeout)?;
    // The system may have given the connection the very port where nobody listens any more.
    if stream.local_addr()? == found {
        return Err(ErrorKind::ConnectionRefused.into());
    }
    let stream = prepared(stream)?;
    stream.set_read_timeout(Some(timeout))?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use freestone_tls::Identity;
    use std::net::TcpListener;

    fn links(rank: Rank, access: &Access, addresses: [&str; 2]) -> Links {
        Links::new(rank, access, addresses.map(str::to_owned).to_vec(), |_| false)
    }

    fn take(listener: &TcpListener, access: &Access) -> Stream {
        let mut tls = Tls::accept(listener.accept().unwrap().0, access).unwrap();
        assert_eq!(read_named(&mut tls).unwrap().1, CONNECTING);
        tls
    }

    #[test]
    fn who_comes_when_its_connection_is_open_here_waits_for_it_there() {
        let access = &Access::new(&Identity::make(1).unwrap()).unwrap();
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let addresses = listeners.each_ref().map(|one| one.local_addr().unwrap().to_string());
        let [first, second] =
            [0, 1].map(|rank| links(rank, access, addresses.each_ref().map(String::as_str)));
        let opened = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let reach = scope.spawn(|| second.reach(0, |_| lock(&opened).push("by the second")));
            // Rank 1 has come to rank 0, which has not looked at it yet and comes to rank 1 itself.
            let late = take(&listeners[0], access);
            let reached = scope.spawn(|| first.reach(1, |_| lock(&opened).push("by the first")));
            let tls = take(&listeners[1], access);
            second
                .accept(0, tls, |_| {
                    // The answer is written, so that rank 0 has its connection before rank 1.
                    reached.join().unwrap();
                    first.accept(1, late, |_| lock(&opened).push("late")).unwrap();
                    lock(&opened).push("at the second");
                })
                .unwrap();
            reach.join().unwrap();
        });
        assert_eq!(*lock(&opened), ["by the first", "at the second"]);
        assert!(second.take_lost().is_empty() && second.until_lost().is_none());
    }
}
