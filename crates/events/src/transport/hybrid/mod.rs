//! Ranks of several nodes: memory that is shared within each, TCP between them.
//!
//! What one rank sends to another always goes the same way, so that it arrives in order. All ranks meet by
//! TCP, and are connected to rank 0, whichever node they are on.
//!
//! See docs/decisions/116-ranks-of-one-node-find-each-others-memory-where-they-meet.md
//! and docs/decisions/125-ranks-that-meet-over-tcp-share-their-nodes-memory-unless-one-cannot.md

mod ends;
mod neighbours;

use super::arena::Block;
use super::node::{Layout, Node};
use super::pipe::Pipe;
use super::tcp::{Tcp, Vote};
use super::{Incoming, Life, Outgoing, Transport, TransportError};
use crate::event::Rank;
use ends::Ends;
use freestone_tls::Access;
use neighbours::{Here, NODE, Neighbour};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// So often it is looked for what came within the node before it is looked for what came by TCP.
const NEAR_POLLS: u32 = 16;
/// So often it is looked for what has come before it is looked whose process has ended.
const POLLS: u32 = 1 << 12;

/// One rank's way to all others.
#[derive(Debug)]
pub struct Hybrid {
    tcp: Tcp,
    node: Node,
    /// Which ranks are on this node, as the node numbers them.
    near: Vec<Rank>,
    /// The number on this node of each rank that the run began with.
    numbers: Vec<Option<Rank>>,
    ends: Ends,
    polls: AtomicU32,
    /// Whether the next look is also for what came by TCP.
    is_far_due: AtomicBool,
    /// Its descriptors are open as long as somebody may look for them.
    _here: Here,
}

/// What the ranks of a node need to share memory.
#[derive(Clone, Debug)]
pub struct Sharing {
    /// What those say that share it; none for a rank that shares memory with no other.
    pub name: Option<String>,
    /// How many bytes the large payloads of each may take there.
    pub arena: usize,
}

impl Sharing {
    /// As the environment says.
    ///
    /// # Errors
    ///
    /// If that makes no sense.
    pub fn from_environment(arena: usize) -> Result<Self, TransportError> {
        Ok(Self { name: neighbours::name()?, arena })
    }
}

/// A rank that has met all others.
#[derive(Debug)]
pub struct Met {
    tcp: Tcp,
    near: Option<Near>,
}

/// What a rank has of the others of its node.
#[derive(Debug)]
struct Near {
    node: Node,
    ranks: Vec<Rank>,
    ends: Ends,
    here: Here,
}

impl Met {
    /// Meets all other ranks. Those of one node share memory, if each of them can open that of the others.
    ///
    /// # Errors
    ///
    /// As [`Tcp::meet`], and if the system has no descriptors.
    pub fn new(
        meeting: &str,
        rank: Rank,
        ranks: u32,
        access: &Access,
        timeout: Duration,
        sharing: &Sharing,
    ) -> Result<Self, TransportError> {
        let unable = |source| TransportError::Io { what: format!("rank {rank}"), source };
        let pipe = Pipe::new().map_err(unable)?;
        let node = sharing.name.as_ref().and_then(|name| neighbours::node(name));
        // Where the system has no such memory, there is nobody near.
        let here = node.and_then(|node| Here::new(node, sharing.arena, &pipe).ok());
        let word = here.as_ref().map_or_else(String::new, |here| here.word().to_string());
        let mut near = None;
        let vote = |words: &[String]| {
            let Some((here, others)) = here.and_then(|here| beside(here, words)) else {
                return Vote::alone(rank);
            };
            let group = others[0].0;
            match Near::open(rank, here, &others) {
                Ok(found) => near = Some(found),
                Err(error) => crate::say(&format!(
                    "freestone events: the ranks of the node of rank {rank} talk by TCP, as it can't open the memory of the \
                     others: {error}; {NODE}=none says that they are to"
                )),
            }
            Vote { group, is_able: near.is_some() }
        };
        let (tcp, is_agreed) =
            Tcp::meet_saying(&word, pipe, meeting, rank, ranks, access, timeout, vote)?;
        Ok(Self { tcp, near: near.filter(|_| is_agreed) })
    }

    /// Its connections.
    pub fn tcp(&self) -> &Tcp {
        &self.tcp
    }

    /// Its way to all others.
    pub fn transport(self) -> Box<dyn Transport> {
        match self.near {
            Some(near) => Box::new(Hybrid::new(self.tcp, near)),
            None => Box::new(self.tcp),
        }
    }
}

/// The ranks of the node that is here, with what each has said; none, if there is only one.
fn beside(here: Here, words: &[String]) -> Option<(Here, Vec<(Rank, Neighbour)>)> {
    let read = (0..).zip(words).filter_map(|(rank, word)| Some((rank, Neighbour::read(word)?)));
    let others: Vec<_> = read.filter(|(_, other)| other.is_beside(here.word())).collect();
    (others.len() > 1).then_some((here, others))
}

impl Near {
    /// Opens the memory that ranks share, and what wakes each.
    ///
    /// # Errors
    ///
    /// If the system does not let us. A process that has ended is a lost rank.
    fn open(own: Rank, here: Here, others: &[(Rank, Neighbour)]) -> io::Result<Self> {
        let ranks: Vec<Rank> = others.iter().map(|(rank, _)| *rank).collect();
        let (_, owner) = &others[0];
        let layout = Layout::new(ranks.len() as u32, owner.arena);
        let region = owner.memory(layout.nbytes())?;
        let ends = Ends::new()?;
        let mut pipes: Vec<Option<File>> = Vec::with_capacity(ranks.len());
        for (number, (_, neighbour)) in (0..).zip(others) {
            match ends.watch(number, neighbour).and_then(|()| neighbour.pipe()) {
                Ok(pipe) => pipes.push(Some(pipe)),
                Err(error) if is_gone(&error) => {
                    Node::lose(&region, layout, number);
                    pipes.push(None);
                }
                Err(error) => return Err(error),
            }
        }
        let own = ranks.iter().position(|rank| *rank == own).unwrap_or_default() as Rank;
        let node = Node::of_named(&region, layout, own, ranks.clone(), pipes);
        Ok(Self { node, ranks, ends, here })
    }
}

impl Hybrid {
    fn new(tcp: Tcp, near: Near) -> Self {
        let Near { node, ranks: near, ends, here } = near;
        let mut numbers = vec![None; tcp.ranks() as usize];
        for (number, rank) in (0..).zip(&near) {
            numbers[*rank as usize] = Some(number);
        }
        let (polls, is_far_due) = (AtomicU32::new(0), AtomicBool::new(true));
        Self { tcp, node, near, numbers, ends, polls, is_far_due, _here: here }
    }

    /// The number on this node of a rank; none, if it is elsewhere.
    fn number(&self, rank: Rank) -> Option<Rank> {
        self.numbers.get(rank as usize).copied().flatten()
    }

    /// A rank of this node is lost, unless it has left: what it has sent before is still read, then that.
    fn lose_near(&self, number: Rank) {
        if self.node.lose_other(number) {
            self.tcp.lose(self.near[number as usize]);
        }
    }

    /// Looks whose process has ended.
    fn look_for_ends(&self) {
        for number in self.ends.take() {
            self.lose_near(number);
        }
    }

    fn poll_tcp(&self, take: &mut dyn FnMut(Rank, Incoming)) -> Result<usize, TransportError> {
        let mut lost = Vec::new();
        let found = self.tcp.poll(&mut |source, incoming| match (&incoming, self.number(source)) {
            (Incoming::Lost, Some(number)) => lost.push(number),
            _ => take(source, incoming),
        });
        let count = lost.len();
        for number in lost {
            self.lose_near(number);
        }
        // Where something came, there may be more.
        self.is_far_due.store(matches!(found, Ok(1..)), Ordering::Relaxed);
        found.map(|found| found - count)
    }
}

/// Whether a process has ended, as its descriptors say.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

impl Transport for Hybrid {
    fn rank(&self) -> Rank {
        self.tcp.rank()
    }

    fn ranks(&self) -> u32 {
        self.tcp.ranks()
    }

    fn room(&self) -> u32 {
        self.tcp.room()
    }

    fn is_informed_of_losses(&self, other: Rank) -> bool {
        self.number(other).is_some() || self.tcp.is_informed_of_losses(other)
    }

    fn shows_life(&self) -> bool {
        true
    }

    fn show_life(&self, target: Rank) {
        match self.number(target) {
            Some(_) => self.node.beat(),
            None => self.tcp.show_life(target),
        }
    }

    fn life(&self, source: Rank) -> Option<Life> {
        let Some(number) = self.number(source) else { return self.tcp.life(source) };
        let signs = u64::from(self.node.beats_of(number));
        // They are beside the rings, which may be full.
        (signs > 0).then_some(Life { signs, can_arrive: true })
    }

    fn lose(&self, rank: Rank) {
        match self.number(rank) {
            Some(number) => self.lose_near(number),
            None => self.tcp.lose(rank),
        }
    }

    fn admit(&self, number: Rank, lost: &[Rank]) {
        self.tcp.admit(number, lost);
    }

    fn grow(&self, ranks: u32) {
        self.tcp.grow(ranks);
    }

    fn send(&self, target: Rank, message: &Outgoing<'_>) -> Result<(), TransportError> {
        match self.number(target) {
            Some(number) => self.node.send(number, message),
            None => self.tcp.send(target, message),
        }
    }

    fn longest(&self, target: Rank) -> usize {
        match self.number(target) {
            Some(number) => self.node.longest(number),
            None => self.tcp.longest(target),
        }
    }

    fn reads_blocks(&self, target: Rank) -> bool {
        self.number(target).is_some()
    }

    fn place(&self, parts: &[&[u8]]) -> Result<Option<Arc<Block>>, TransportError> {
        self.node.place(parts)
    }

    fn poll(&self, take: &mut dyn FnMut(Rank, Incoming)) -> Result<usize, TransportError> {
        // Only who polls writes it, and one thread at a time does.
        let polls = self.polls.load(Ordering::Relaxed).wrapping_add(1);
        self.polls.store(polls, Ordering::Relaxed);
        if polls.is_multiple_of(POLLS) {
            self.look_for_ends();
        }
        let mut count = 0;
        // A look at connections is a call of the system for each of them.
        if polls.is_multiple_of(NEAR_POLLS) || self.is_far_due.load(Ordering::Relaxed) {
            count = self.poll_tcp(take)?;
        }
        Ok(count + self.node.poll(take)?)
    }

    fn sleep(&self, is_idle: &dyn Fn() -> bool, timeout: Option<Duration>) {
        let bell = self.node.own_bell();
        bell.announce();
        let is_idle = || !self.node.has_news() && is_idle();
        self.tcp.sleep_beside(Some(self.ends.fd()), &is_idle, timeout);
        bell.retract();
        self.is_far_due.store(true, Ordering::Relaxed);
        self.look_for_ends();
    }

    fn wake(&self) {
        self.tcp.wake();
    }

    fn flush(&self) {
        self.tcp.flush();
    }

    fn give_up(&self) {
        self.node.give_up();
        self.tcp.give_up();
    }

    fn leave(&self) {
        self.node.leave();
        self.tcp.leave();
    }
}
