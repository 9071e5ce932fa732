//! Which event goes to which task.
//!
//! See the `README.md` in this folder for the rules.

mod queues;
mod report;
mod request;
mod slab;
#[cfg(test)]
mod tests;

pub use report::{Leftover, Waiting};
pub use request::{Mode, Submission};

use crate::event::{Dependency, Event, EventId, Lasting, Rank};
use queues::{Arrived, Need, Queues};
use request::{Batch, Request, all_persistent};
use slab::{NONE, Slab};
use std::collections::{BTreeMap, HashMap};

/// Which of a matcher's tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId {
    number: u32,
    order: u64,
}

/// A task that is to run.
#[derive(Debug)]
pub struct Ready<T, P> {
    /// The task.
    pub task: T,
    /// What it is given.
    pub given: Given<P>,
}

/// What a task is given.
#[derive(Debug, PartialEq, Eq)]
pub enum Given<P> {
    /// These events, in the order of its dependencies.
    Events(Vec<Event<P>>),
    /// It is greedy: what [`Matcher::gather`] gives when it starts.
    All(RequestId),
    /// Nothing yet, it is not to run: it holds the first events of a batch, and runs with the last
    /// or after [`Matcher::flush`].
    Begun(RequestId),
}

/// Brings events and tasks together. Every event has one consumer at most; which, does not depend
/// on how many others wait.
#[derive(Debug)]
pub struct Matcher<T, P> {
    queues: Queues<P>,
    requests: Slab<Request<T, P>>,
    /// The tasks of a name, by the order of their submission.
    names: HashMap<String, BTreeMap<u64, u32>>,
    /// Orders requests and arrivals.
    clock: u64,
    transient: usize,
}

impl<T, P: Clone> Default for Matcher<T, P> {
    fn default() -> Self {
        Self {
            queues: Queues::default(),
            requests: Slab::default(),
            names: HashMap::new(),
            clock: 0,
            transient: 0,
        }
    }
}

impl<T: Clone, P: Clone> Matcher<T, P> {
    /// Takes a task. What can run now is added to `ready`.
    ///
    /// Time and memory grow with the number of its dependencies, with nothing else.
    pub fn submit(&mut self, submission: Submission<T>, ready: &mut Vec<Ready<T, P>>) -> RequestId {
        self.clock += 1;
        let order = self.clock;
        if submission.on.is_empty() {
            ready.push(Ready { task: submission.task, given: Given::Events(Vec::new()) });
            return RequestId { number: NONE, order };
        }
        let request = Request::new(submission, order);
        let (collects, slots) = (request.mode.collects(), request.slots.len());
        self.transient += usize::from(!request.mode.persistent);
        let name = request.name.clone();
        let number = self.requests.insert(request);
        if let Some(name) = name {
            self.names.entry(name).or_default().insert(order, number);
        }
        for slot in 0..slots {
            self.want(number, slot, collects);
        }
        if collects {
            self.take_stored(number);
        }
        self.advance(number, ready);
        RequestId { number, order }
    }

    /// Takes an event: gives it to the first task that wants it, or keeps it.
    pub fn deliver(&mut self, event: Event<P>, ready: &mut Vec<Ready<T, P>>) {
        self.clock += 1;
        let arrived = Arrived { event, arrival: self.clock };
        if arrived.event.lasting == Lasting::Persistent {
            self.deliver_persistent(&arrived, ready);
            return;
        }
        match self.queues.first_need(arrived.event.source, &arrived.event.id) {
            Some(need) => self.give(need, arrived, ready),
            None => self.queues.store(arrived, false),
        }
    }

    /// Takes at most one event for each dependency, of those that are there: with the index of
    /// the dependency.
    pub fn retrieve(&mut self, on: &[Dependency]) -> Vec<(usize, Event<P>)> {
        let take = |(index, dependency)| Some((index, self.queues.take(dependency)?.event));
        on.iter().enumerate().filter_map(take).collect()
    }

    /// All events that a greedy task is given as it starts: by dependency, then by arrival.
    pub fn gather(&mut self, id: RequestId, ready: &mut Vec<Ready<T, P>>) -> Vec<Event<P>> {
        let Some(request) = self.find(id) else { return Vec::new() };
        request.called = false;
        let events = request.take_all();
        if request.mode.persistent {
            if !all_persistent(&events) {
                self.advance(id.number, ready);
            }
        } else {
            self.forget(id.number);
        }
        events
    }

    /// A batch has waited long enough: its task runs once it has an event for each dependency.
    pub fn flush(&mut self, id: RequestId, ready: &mut Vec<Ready<T, P>>) {
        if let Some(request) = self.find(id).filter(|request| !request.called) {
            request.batch = Batch::Due;
            self.advance(id.number, ready);
        }
    }

    /// Whether a task of this name waits.
    pub fn is_submitted(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// Removes the tasks of this name that are not to run yet, and gives them. Events that they
    /// have taken go to the next task that wants them, or wait.
    pub fn remove(&mut self, name: &str, ready: &mut Vec<Ready<T, P>>) -> Vec<T> {
        let mut numbers: Vec<u32> =
            self.names.get(name).into_iter().flat_map(BTreeMap::values).copied().collect();
        numbers.retain(|&number| self.requests.get(number).is_some_and(|request| !request.called));
        numbers.into_iter().filter_map(|number| self.remove_number(number, ready)).collect()
    }

    /// Removes a task that is not to run yet, as [`Matcher::remove`] does; what it lacked, if it was there.
    pub fn withdraw(
        &mut self,
        id: RequestId,
        ready: &mut Vec<Ready<T, P>>,
    ) -> Option<Vec<Dependency>> {
        let request = self.find(id).filter(|request| !request.called)?;
        let lacks = request.lacks().cloned().collect();
        self.remove_number(id.number, ready);
        Some(lacks)
    }

    /// Whether an event with `id` from `source` waits to be consumed.
    pub fn has_event(&self, source: Rank, id: &EventId) -> bool {
        self.queues.has_event(source, id)
    }

    /// Whether a task, of any kind, waits for an event with `id` from any rank.
    pub fn is_wanted(&self, id: &EventId) -> bool {
        self.queues.first_need(NONE, id).is_some()
    }

    /// Whether a task waits or an event is unconsumed that the end of a run has to wait for.
    pub fn is_outstanding(&self) -> bool {
        self.transient > 0 || self.queues.once() > 0
    }

    fn find(&mut self, id: RequestId) -> Option<&mut Request<T, P>> {
        self.requests.get_mut(id.number).filter(|request| request.order == id.order)
    }

    /// Fills a slot from what is there, or has it wait.
    fn want(&mut self, number: u32, slot: usize, collects: bool) {
        let Some(request) = self.requests.get_mut(number) else { return };
        let order = request.order;
        let dependency = &request.slots[slot].dependency;
        if !collects && let Some(arrived) = self.queues.take(dependency) {
            request.hold(slot, arrived);
            return;
        }
        let need = Need { request: number, slot: slot as u32, order };
        request.slots[slot].need = self.queues.add_need(dependency, need);
    }

    /// Gives a task that collects all that is there for it, in the order of arrival.
    fn take_stored(&mut self, number: u32) {
        let Some(request) = self.requests.get_mut(number) else { return };
        for slot in 0..request.slots.len() {
            while let Some(arrived) = self.queues.take_transient(&request.slots[slot].dependency) {
                let poorest = request.poorest(slot, &arrived.event);
                request.hold(poorest, arrived);
            }
        }
    }

    fn give(&mut self, need: Need, arrived: Arrived<P>, ready: &mut Vec<Ready<T, P>>) {
        let Some(request) = self.requests.get_mut(need.request) else { return };
        if request.runs_for_each() && self.queues.persistent() == 0 {
            let given = Given::Events(vec![arrived.event]);
            ready.push(Ready { task: request.task.clone(), given });
            return;
        }
        let slot = request.poorest(need.slot as usize, &arrived.event);
        if !request.mode.collects() {
            let wanting = &mut request.slots[slot];
            self.queues
                .remove_need(&wanting.dependency, std::mem::replace(&mut wanting.need, NONE));
        }
        request.hold(slot, arrived);
        self.advance(need.request, ready);
    }

    /// Gives a copy to everyone who wants it, in the order of submission, and keeps it.
    fn deliver_persistent(&mut self, arrived: &Arrived<P>, ready: &mut Vec<Ready<T, P>>) {
        let needs = self.queues.all_needs(arrived.event.source, &arrived.event.id);
        self.queues.store(arrived.clone(), false);
        for need in needs {
            let Some(request) = self.requests.get(need.request) else { continue };
            let slot = &request.slots[need.slot as usize];
            // A task that collects takes one copy ahead: it would take copies for ever.
            if request.order == need.order && slot.need != NONE && slot.held.is_empty() {
                self.give_to_slot(need, arrived.clone(), ready);
            }
        }
    }

    fn give_to_slot(&mut self, need: Need, arrived: Arrived<P>, ready: &mut Vec<Ready<T, P>>) {
        let Some(request) = self.requests.get_mut(need.request) else { return };
        let wanting = &mut request.slots[need.slot as usize];
        if !request.mode.collects() {
            self.queues
                .remove_need(&wanting.dependency, std::mem::replace(&mut wanting.need, NONE));
        }
        request.hold(need.slot as usize, arrived);
        self.advance(need.request, ready);
    }

    /// Runs a task as often as what it holds allows.
    fn advance(&mut self, number: u32, ready: &mut Vec<Ready<T, P>>) {
        let Self { requests, queues, .. } = self;
        let Some(request) = requests.get_mut(number) else { return };
        loop {
            if request.missing > 0 && request.mode.collects() {
                fill_with_persistent(request, queues);
            }
            if request.mode.at_least > 0 && request.count > 0 && request.batch == Batch::Empty {
                request.batch = Batch::Filling;
                if request.is_filling() {
                    let id = RequestId { number, order: request.order };
                    ready.push(Ready { task: request.task.clone(), given: Given::Begun(id) });
                }
            }
            if request.missing > 0 || request.is_filling() {
                return;
            }
            if request.mode.greedy {
                if !std::mem::replace(&mut request.called, true) {
                    let id = RequestId { number, order: request.order };
                    ready.push(Ready { task: request.task.clone(), given: Given::All(id) });
                }
                return;
            }
            let events = request.take_one_each();
            let endless = all_persistent(&events);
            ready.push(Ready { task: request.task.clone(), given: Given::Events(events) });
            if !request.mode.persistent {
                self.forget(number);
                return;
            }
            // It would run for ever without anything new.
            if endless {
                return;
            }
        }
    }

    fn remove_number(&mut self, number: u32, ready: &mut Vec<Ready<T, P>>) -> Option<T> {
        let request = self.forget(number)?;
        let mut held: Vec<_> = request.slots.into_iter().flat_map(|slot| slot.held).collect();
        held.retain(|arrived| arrived.event.lasting != Lasting::Persistent);
        held.sort_by_key(|arrived| arrived.arrival);
        let mut unwanted = Vec::new();
        for arrived in held {
            match self.queues.first_need(arrived.event.source, &arrived.event.id) {
                Some(need) => self.give(need, arrived, ready),
                None => unwanted.push(arrived),
            }
        }
        for arrived in unwanted.into_iter().rev() {
            self.queues.store(arrived, true);
        }
        Some(request.task)
    }

    /// Drops a request and its needs.
    fn forget(&mut self, number: u32) -> Option<Request<T, P>> {
        let request = self.requests.remove(number)?;
        for slot in request.slots.iter().filter(|slot| slot.need != NONE) {
            self.queues.remove_need(&slot.dependency, slot.need);
        }
        self.transient -= usize::from(!request.mode.persistent);
        if let Some(name) = &request.name
            && let Some(numbers) = self.names.get_mut(name)
        {
            numbers.remove(&request.order);
            if numbers.is_empty() {
                self.names.remove(name);
            }
        }
        Some(request)
    }
}

/// Fills the empty slots of a task that holds something with copies of persistent events.
fn fill_with_persistent<T, P: Clone>(request: &mut Request<T, P>, queues: &mut Queues<P>) {
    if queues.persistent() == 0 {
        return;
    }
    for slot in 0..request.slots.len() {
        if request.slots[slot].held.is_empty()
            && let Some(arrived) = queues.take(&request.slots[slot].dependency)
        {
            request.hold(slot, arrived);
        }
    }
}
