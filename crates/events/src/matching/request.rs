//! A task that waits for its events.

use super::queues::Arrived;
use super::slab::NONE;
use crate::event::{Dependency, Event, Lasting};
use std::collections::VecDeque;

/// How a task takes events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// It stays, and runs each time its dependencies are met, several times at once if they are.
    pub persistent: bool,
    /// One run takes all events that are there when it starts, at least one for each dependency.
    pub greedy: bool,
    /// Greedy, and it waits for so many events, or for [`Matcher::flush`](super::Matcher::flush).
    pub at_least: usize,
}

/// A task to be submitted.
#[derive(Clone, Debug)]
pub struct Submission<T> {
    /// What to run.
    pub task: T,
    /// The events that it needs, in the order in which it gets them.
    pub on: Vec<Dependency>,
    /// How it takes them.
    pub mode: Mode,
    /// By what it can be found, told of and removed.
    pub name: Option<String>,
}

impl<T> Submission<T> {
    /// A task that runs once, when `on` is met.
    pub fn once(task: T, on: Vec<Dependency>) -> Self {
        Self { task, on, mode: Mode::default(), name: None }
    }
}

/// One dependency of a request.
#[derive(Debug)]
pub(super) struct Slot<P> {
    pub dependency: Dependency,
    /// The number of its need, while it wants events.
    pub need: u32,
    pub held: VecDeque<Arrived<P>>,
}

/// How far the batch of a task is that waits for a certain number of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Batch {
    /// It holds nothing.
    #[default]
    Empty,
    /// It has begun, and fills.
    Filling,
    /// It is to run with what there is.
    Due,
}

/// A task that waits.
#[derive(Debug)]
pub(super) struct Request<T, P> {
    pub task: T,
    pub name: Option<String>,
    pub mode: Mode,
    pub order: u64,
    pub slots: Vec<Slot<P>>,
    /// Slots that hold nothing.
    pub missing: usize,
    /// How many events the slots hold.
    pub count: usize,
    /// Greedy, and to be run: it takes what it holds when it starts.
    pub called: bool,
    /// How far its batch is, if it waits for one.
    pub batch: Batch,
    /// Whether an event could go to more than one slot.
    pub overlapping: bool,
}

impl<T, P: Clone> Request<T, P> {
    pub fn new(submission: Submission<T>, order: u64) -> Self {
        let Submission { task, on, mode, name } = submission;
        let slot = |dependency| Slot { dependency, need: NONE, held: VecDeque::new() };
        let missing = on.len();
        let overlapping = mode.collects() && overlap(&on);
        let slots = on.into_iter().map(slot).collect();
        let (count, called, batch) = (0, false, Batch::default());
        Self { task, name, mode, order, slots, missing, count, called, batch, overlapping }
    }

    /// Whether each event is a run of its own: there is nothing to hold it for.
    pub fn runs_for_each(&self) -> bool {
        self.mode.persistent && !self.mode.greedy && self.slots.len() == 1
    }

    /// Puts an event into a slot.
    pub fn hold(&mut self, slot: usize, arrived: Arrived<P>) {
        let held = &mut self.slots[slot].held;
        self.missing -= usize::from(held.is_empty());
        self.count += 1;
        held.push_back(arrived);
    }

    /// The dependencies for which it has no event.
    pub fn lacks(&self) -> impl Iterator<Item = &Dependency> {
        self.slots.iter().filter(|slot| slot.held.is_empty()).map(|slot| &slot.dependency)
    }

    /// Whether it waits for more events than one for each dependency.
    pub fn is_filling(&self) -> bool {
        self.count < self.mode.at_least && self.batch != Batch::Due
    }

    /// One event of each slot, in the order of the dependencies.
    pub fn take_one_each(&mut self) -> Vec<Event<P>> {
        let mut events = Vec::with_capacity(self.slots.len());
        self.missing = 0;
        for slot in &mut self.slots {
            events.extend(slot.held.pop_front().map(|arrived| arrived.event));
            self.missing += usize::from(slot.held.is_empty());
        }
        self.count -= events.len();
        events
    }

    /// All events, by dependency, then by arrival.
    pub fn take_all(&mut self) -> Vec<Event<P>> {
        self.missing = self.slots.len();
        (self.count, self.batch) = (0, Batch::Empty);
        let held = self.slots.iter_mut().flat_map(|slot| std::mem::take(&mut slot.held));
        held.map(|arrived| arrived.event).collect()
    }

    /// Where an event that is meant for `slot` should go: where it is missed most.
    pub fn poorest(&self, slot: usize, event: &Event<P>) -> usize {
        if !self.overlapping {
            return slot;
        }
        let fits = |slot: &Slot<P>| {
            slot.need != NONE && slot.dependency.id == event.id && slot.accepts(event.source)
        };
        let fitting = self.slots.iter().enumerate().filter(|(_, slot)| fits(slot));
        fitting.min_by_key(|(_, slot)| slot.held.len()).map_or(slot, |(index, _)| index)
    }
}

impl<P> Slot<P> {
    fn accepts(&self, source: crate::event::Rank) -> bool {
        match self.dependency.source {
            crate::event::Source::Rank(rank) => rank == source,
            crate::event::Source::Any => true,
        }
    }
}

impl Mode {
    /// Whether a slot may hold more than one event.
    pub(super) fn collects(self) -> bool {
        self.persistent || self.greedy
    }
}

fn overlap(on: &[Dependency]) -> bool {
    let mut ids: Vec<&[u8]> = on.iter().map(|dependency| dependency.id.as_bytes()).collect();
    ids.sort_unstable();
    let repeated = ids.windows(2).any(|pair| pair[0] == pair[1]);
    let is_any = |dependency: &Dependency| dependency.source == crate::event::Source::Any;
    let mut seen = std::collections::HashSet::new();
    repeated && (on.iter().any(is_any) || !on.iter().all(|dependency| seen.insert(dependency)))
}

/// Whether none of the events could ever run out.
pub(super) fn all_persistent<P>(events: &[Event<P>]) -> bool {
    events.iter().all(|event| event.lasting == Lasting::Persistent)
}
