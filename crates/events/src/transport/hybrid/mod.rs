//! Ranks of several nodes: memory that is shared within each, TCP between them.
//!
//! What one rank sends to another always goes the same way, so that it arrives in order. All ranks meet by
//! TCP, and are connected to rank 0, whichever node they are on.
//!
//! See docs/decisions/116-ranks-of-one-node-find-each-others-memory-where-they-meet.md

mod ends;
mod neighbours;

use super::arena::Block;
use super::node::{Layout, Node};
use super::pipe::Pipe;
use super::tcp::Tcp;
use super::{Incoming, Outgoing, Transport, TransportError};
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
    words: Vec<String>,
    here: Option<Here>,
}

impl Met {
    /// Meets all other ranks.
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
        let pipe = Pipe::new().map_err(failed)?;
        let node = sharing.name.as_ref().and_then(|name| neighbours::node(name));
        let here = node.map(|node| Here::new(node, sharing.arena, &pipe)).transpose();
        let here = here.map_err(failed)?;
        let word = here.as_ref().map_or_else(String::new, |here| here.word().to_string());
        let (tcp, words) = Tcp::meet_saying(&word, pipe, meeting, rank, ranks, access, timeout)?;
        Ok(Self { tcp, words, here })
    }

    /// Its connections.
    pub fn tcp(&self) -> &Tcp {
        &self.tcp
    }

    /// Shares memory with the ranks of the same node, if there are some.
    ///
    /// # Errors
    ///
    /// If their memory can't be opened.
    pub fn share(self) -> Result<Box<dyn Transport>, TransportError> {
        let Self { tcp, words, here } = self;
        let Some(here) = here else { return Ok(Box::new(tcp)) };
        let others =
            (0..).zip(&words).filter_map(|(rank, word)| Some((rank, Neighbour::read(word)?)));
        let near: Vec<(Rank, Neighbour)> =
            others.filter(|(_, other)| other.is_beside(here.word())).collect();
        match near.len() {
            0 | 1 => Ok(Box::new(tcp)),
            _ => Ok(Box::new(Hybrid::new(tcp, words.len(), &near, here)?)),
        }
    }
}

/// What the system does not give.
fn failed(source: io::Error) -> TransportError {
    let what = format!(
        "no memory that the ranks of this node share; to have them talk by TCP, unset {NODE} for all of them"
    );
    TransportError::Io { what, source }
}

impl Hybrid {
    fn new(
        tcp: Tcp,
        ranks: usize,
        near: &[(Rank, Neighbour)],
        here: Here,
    ) -> Result<Self, TransportError> {
        let mut numbers = vec![None; ranks];
        for (number, (rank, _)) in (0..).zip(near) {
            numbers[*rank as usize] = Some(number);
        }
        let own = numbers[tcp.rank() as usize].unwrap_or_default();
        let (first, owner) = &near[0];
        let layout = Layout::new(near.len() as u32, owner.arena);
        let memory = owner.memory(layout.nbytes());
        let region = memory.map_err(|error| {
            if is_gone(&error) { TransportError::Lost(*first) } else { failed(error) }
        })?;
        let ends = Ends::new().map_err(failed)?;
        let mut pipes: Vec<Option<File>> = Vec::with_capacity(near.len());
        for (number, (_, neighbour)) in (0..).zip(near) {
            match ends.watch(number, neighbour).and_then(|()| neighbour.pipe()) {
                Ok(pipe) => pipes.push(Some(pipe)),
                Err(error) if is_gone(&error) => {
                    Node::lose(&region, layout, number);
                    pipes.push(None);
                }
                Err(error) => return Err(failed(error)),
            }
        }
        let near: Vec<Rank> = near.iter().map(|(rank, _)| *rank).collect();
        let node = Node::of_named(&region, layout, own, near.clone(), pipes);
        let (polls, is_far_due) = (AtomicU32::new(0), AtomicBool::new(true));
        Ok(Self { tcp, node, near, numbers, ends, polls, is_far_due, _here: here })
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
