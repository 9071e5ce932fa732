//! The connections between the ranks of a run and whoever held their meeting, kept while the run goes
//! on: one side reports lost ranks, the other that a rank has given up or has left.

use super::peer::{Input, Peer};
use crate::event::Rank;
use crate::sync::lock;
use crate::transport::TransportError;
use freestone_tls::Tls;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::TcpStream;
use std::os::fd::RawFd;
use std::sync::Mutex;

/// The longest frame: the number of a rank.
const FRAME: usize = size_of::<Rank>();
const GIVEN_UP: u8 = 1;
const LEFT: u8 = 2;

/// One end of such a connection.
#[derive(Debug)]
struct Line {
    peer: Peer,
    input: Input,
}

impl Line {
    fn new(tls: Tls<TcpStream>) -> io::Result<Self> {
        Ok(Self { peer: Peer::new(tls)?, input: Input::new(FRAME) })
    }

    /// Reads the frames that have arrived.
    fn read(&mut self, mut take: impl FnMut(&[u8])) {
        // What fails is closed.
        let _: io::Result<bool> = self.peer.fill(&mut self.input);
        let split = self.input.split(FRAME, |frame| {
            take(frame);
            Ok(())
        });
        self.peer.is_closed |= split.is_err();
    }

    /// Writes a frame. Whoever can't be reached any more needs none.
    fn report(&mut self, frame: &[u8]) {
        self.peer.put(&[frame]);
        let _: io::Result<()> = self.peer.flush();
    }
}

/// A rank's connection to whoever watches over it.
#[derive(Debug)]
pub struct Watcher {
    line: Line,
    /// Ranks that were reported as lost, and not taken yet.
    lost: VecDeque<Rank>,
}

impl Watcher {
    /// Over the connection on which a rank met the others.
    pub fn new(tls: Tls<TcpStream>) -> io::Result<Self> {
        Ok(Self { line: Line::new(tls)?, lost: VecDeque::new() })
    }

    /// Its descriptor; none once nobody watches.
    pub fn fd(&self) -> Option<RawFd> {
        (!self.line.peer.is_closed).then(|| self.line.peer.fd())
    }

    /// Whether a rank was reported as lost.
    pub fn reports_loss(&mut self) -> bool {
        let Self { line, lost } = self;
        line.read(|frame| lost.extend(frame.try_into().map(Rank::from_le_bytes)));
        !lost.is_empty()
    }

    /// The next rank that was reported as lost.
    pub fn next_lost(&mut self) -> Option<Rank> {
        self.reports_loss();
        self.lost.pop_front()
    }

    /// Why a connection to another rank failed: one is lost, or else what the system says.
    pub fn reason(&self, source: io::Error) -> io::Error {
        let lost = self.lost.front();
        lost.map_or(source, |rank| io::Error::other(TransportError::Lost(*rank)))
    }

    /// Reports that the run is over for this rank because another is lost.
    pub fn give_up(&mut self) {
        self.line.report(&[GIVEN_UP]);
    }

    /// Reports that this rank is done.
    pub fn leave(&mut self) {
        self.line.report(&[LEFT]);
    }
}

/// Watches over the ranks of a meeting: reports lost ranks to the others, and knows which have given
/// up.
#[derive(Debug, Default)]
pub struct Watch {
    ranks: Mutex<BTreeMap<Rank, Watched>>,
}

#[derive(Debug, Default)]
struct Watched {
    line: Option<Line>,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Alive,
    GivenUp,
    Left,
    Lost,
}

impl Watched {
    /// Reads what the rank has reported since.
    fn state(&mut self) -> State {
        let Self { line: Some(line), state } = self else { return self.state };
        line.read(|frame| match (*state, frame) {
            (State::Lost, _) => {}
            (_, [GIVEN_UP]) => *state = State::GivenUp,
            (_, [LEFT]) => *state = State::Left,
            _ => {}
        });
        if line.peer.is_closed {
            self.line = None;
        }
        self.state
    }

    fn report(&mut self, lost: Rank) {
        if let Some(line) = &mut self.line {
            line.report(&lost.to_le_bytes());
        }
    }
}

fn lost(ranks: &BTreeMap<Rank, Watched>) -> impl Iterator<Item = Rank> {
    ranks.iter().filter(|(_, one)| one.state == State::Lost).map(|(rank, _)| *rank)
}

impl Watch {
    /// Reports to all ranks that one is lost, unless it has left; whether that was so. A meeting to
    /// which not all have come ends with it.
    pub fn lose(&self, rank: Rank) -> bool {
        let mut ranks = lock(&self.ranks);
        let watched = ranks.entry(rank).or_default();
        if matches!(watched.state(), State::Left | State::Lost) {
            return false;
        }
        watched.state = State::Lost;
        for (_, other) in ranks.iter_mut().filter(|(number, _)| **number != rank) {
            other.report(rank);
        }
        true
    }

    /// Whether the run is over for a rank because another is lost, while its program may still
    /// compute.
    pub fn has_given_up(&self, rank: Rank) -> bool {
        lock(&self.ranks).get_mut(&rank).is_some_and(|one| one.state() == State::GivenUp)
    }

    /// Those that are lost.
    pub fn lost(&self) -> Vec<Rank> {
        lost(&lock(&self.ranks)).collect()
    }

    /// Keeps the connection of a rank that knows where the others are, and reports to it who was
    /// lost meanwhile.
    pub(super) fn keep(&self, rank: Rank, tls: Tls<TcpStream>) -> io::Result<()> {
        let mut ranks = lock(&self.ranks);
        let others: Vec<_> = lost(&ranks).collect();
        let watched = ranks.entry(rank).or_default();
        watched.line = Some(Line::new(tls)?);
        for other in others {
            watched.report(other);
        }
        Ok(())
    }
}

/// What could not be reached; a lost rank, if that is why.
pub fn failed(what: &str, source: io::Error) -> TransportError {
    match source.downcast::<TransportError>() {
        Ok(lost) => lost,
        Err(source) => TransportError::Io { what: format!("{what}: no connection"), source },
    }
}
