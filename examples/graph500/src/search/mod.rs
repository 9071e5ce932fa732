//! Kernel 2: breadth-first search as tasks that events set off, level by level.
//!
//! Down, a level is a persistent task that depends on `visit_n` from any rank, as in the paper
//! (section V, figure 2): it takes in visits while this rank and the others still search. The
//! event `searched_n` of all ranks ends the level. Up, all ranks need the whole frontier: each fires
//! its part at all as one bitmap, `frontier_n`, which ranks of one node read in place. What is said
//! in an event of all ranks suffices for each to decide alike how to go on.

mod direction;
mod level;

#[cfg(test)]
mod tests;

pub use direction::{Compass, Direction, Tally};
pub use level::Search;

use crate::building::Built;
use crate::exchange::{fire_at_all, of_all, share};
use crate::words;
use freestone_events::{Dependency, Event, EventsError, Failure, Payload, Rank, Source, Submit};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A rank's kernel, for any number of searches, one after the other. The rank must have one worker:
/// tasks that are ready run in their order then.
#[derive(Clone, Debug)]
pub struct Kernel {
    state: Arc<Mutex<State>>,
    compass: Compass,
}

#[derive(Debug)]
struct State {
    search: Search,
    compass: Compass,
    direction: Direction,
    started: Instant,
    found: Found,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The label of each own vertex's parent, -1 where it was not reached.
    pub parents: Vec<i64>,
    /// From the first rank's start until all had their parents in memory.
    pub elapsed: Duration,
    /// How many levels were searched.
    pub levels: u32,
}

type Done = Result<(), EventsError>;
type Events = Vec<Event<Payload>>;

impl Kernel {
    /// A kernel that searches in one direction only, or turns.
    ///
    /// # Errors
    ///
    /// If the run ends before.
    pub fn new(rank: &Rank, built: &Built, turns: bool) -> Result<Self, EventsError> {
        let own = (built.graph.len() as u64, built.graph.edges());
        let parts = share(rank, "sizes", &words::from_u64s(&[own.0, own.1]))?;
        let whole: Tally = parts.iter().map(|event| tally(&event.payload)).sum();
        let compass = Compass::new(turns, whole.vertices, whole.edges);
        let state = State {
            search: Search::new(rank.rank(), &built.numbering, &built.graph),
            compass: compass.clone(),
            direction: Direction::Down,
            started: Instant::now(),
            found: Found::default(),
        };
        Ok(Self { state: Arc::new(Mutex::new(state)), compass })
    }

    /// Searches from a root, given by its number. All ranks have to call it.
    ///
    /// # Errors
    ///
    /// If the run ends before.
    pub fn search(&self, rank: &Rank, root: u32) -> Result<Found, EventsError> {
        let kernel = self.clone();
        when_all(rank, "start", move |rank, _| kernel.start(rank, root))?;
        fire_at_all(rank, "start", &[])?;
        rank.wait(vec![Dependency::new(Source::Rank(rank.rank()), "found")], None)?;
        let mut found = std::mem::take(&mut self.state().found);
        let nanoseconds = [found.elapsed.as_nanos() as u64];
        let times = share(rank, "times", &words::from_u64s(&nanoseconds))?;
        let longest = times.iter().flat_map(|event| words::u64s(event.payload.bytes())).max();
        found.elapsed = Duration::from_nanos(longest.unwrap_or_default());
        Ok(found)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, rank: &Rank, root: u32) -> Done {
        let mut state = self.state();
        state.started = Instant::now();
        state.compass = self.compass.clone();
        state.direction = Direction::Down;
        state.search.begin(root);
        drop(state);
        self.go_on(rank, 0, Tally { vertices: 1, edges: 0 })
    }

    /// Begins a level from a frontier, of which all ranks know the size.
    fn go_on(&self, rank: &Rank, level: u32, frontier: Tally) -> Done {
        if frontier.vertices == 0 {
            return self.end(rank, level);
        }
        let mut state = self.state();
        let next = state.compass.turn(frontier);
        let turned = std::mem::replace(&mut state.direction, next) != next;
        drop(state);
        match next {
            Direction::Down => self.search_down(rank, level),
            Direction::Up if turned => self.share_frontier(rank, level),
            Direction::Up => self.search_up(rank, level),
        }
    }

    fn search_down(&self, rank: &Rank, level: u32) -> Done {
        let (visit, searched) = (format!("visit_{level}"), format!("searched_{level}"));
        let kernel = self.clone();
        let on = Submit::on(vec![Dependency::new(Source::Any, visit.as_str())]);
        rank.submit_many(on.persistent().named(&visit), move |_, events| {
            let mut state = kernel.state();
            for event in &events {
                state.search.visit(event.payload.bytes());
            }
            Ok(())
        })?;
        let (kernel, name) = (self.clone(), visit.clone());
        when_all(rank, &searched, move |rank, events| {
            rank.remove(&name);
            kernel.state().search.advance();
            kernel.go_on(rank, level + 1, events.iter().map(|event| tally(&event.payload)).sum())
        })?;
        let mut state = self.state();
        let sent =
            state.search.search_down(|target, visits| rank.fire_bytes(target, &visit, visits))?;
        drop(state);
        fire_at_all(rank, &searched, &[&bytes_of(sent)])
    }

    /// Before a search up that follows one down: nobody knows more than its part of the frontier.
    fn share_frontier(&self, rank: &Rank, level: u32) -> Done {
        let (kernel, id) = (self.clone(), format!("turned_{level}"));
        when_all(rank, &id, move |rank, events| {
            kernel.take_frontiers(rank, &events);
            kernel.search_up(rank, level)
        })?;
        self.fire_frontier(rank, &id, Tally::default())
    }

    fn search_up(&self, rank: &Rank, level: u32) -> Done {
        let (kernel, id) = (self.clone(), format!("frontier_{}", level + 1));
        when_all(rank, &id, move |rank, events| {
            kernel.take_frontiers(rank, &events);
            kernel.go_on(rank, level + 1, events.iter().map(|event| tally(&event.payload)).sum())
        })?;
        let found = self.state().search.search_up();
        self.fire_frontier(rank, &id, found)
    }

    fn fire_frontier(&self, rank: &Rank, id: &str, found: Tally) -> Done {
        let frontier = self.state().search.own_frontier();
        fire_at_all(rank, id, &[&bytes_of(found), &frontier])
    }

    fn take_frontiers(&self, rank: &Rank, events: &Events) {
        let mut state = self.state();
        for event in events.iter().filter(|event| event.source != rank.rank()) {
            state.search.take_frontier(event.source, &event.payload.bytes()[TALLY..]);
        }
    }

    fn end(&self, rank: &Rank, levels: u32) -> Done {
        let kernel = self.clone();
        when_all(rank, "end", move |rank, _| {
            let mut state = kernel.state();
            state.found.elapsed = state.started.elapsed();
            drop(state);
            rank.fire_bytes(rank.rank(), "found", &[])
        })?;
        let mut state = self.state();
        state.found.parents = state.search.parents();
        state.found.levels = levels;
        drop(state);
        fire_at_all(rank, "end", &[])
    }
}

/// Runs a task once there is an event of every rank.
fn when_all(
    rank: &Rank,
    id: &str,
    body: impl FnOnce(&Rank, Events) -> Done + Send + 'static,
) -> Done {
    rank.submit(Submit::on(of_all(rank, id)), |rank, events| {
        body(rank, events).map_err(|error| Failure::text(&error.to_string()))
    })
}

/// Bytes of a tally.
const TALLY: usize = 16;

fn bytes_of(tally: Tally) -> Vec<u8> {
    words::from_u64s(&[tally.vertices, tally.edges])
}

fn tally(payload: &Payload) -> Tally {
    let mut numbers = words::u64s(payload.bytes());
    let mut next = || numbers.next().unwrap_or_default();
    Tally { vertices: next(), edges: next() }
}
