//! The rules of matching, written down in the simplest way: everything in one list.

use freestone_events::event::{Dependency, Event, Lasting, Rank, Source};
use freestone_events::matching::Mode;

struct Request {
    task: u32,
    on: Vec<Dependency>,
    mode: Mode,
    held: Vec<Vec<Event<u32>>>,
}

/// A matcher that looks at everyone.
#[derive(Default)]
pub struct Naive {
    requests: Vec<Request>,
    events: Vec<Event<u32>>,
}

/// Which task ran, and the payloads that it got.
pub type Ran = (u32, Vec<u32>);

fn fits(dependency: &Dependency, source: Rank, event: &Event<u32>) -> bool {
    let from = match dependency.source {
        Source::Any => true,
        Source::Rank(rank) => rank == source,
    };
    from && dependency.id == event.id
}

impl Naive {
    pub fn submit(&mut self, task: u32, on: &[Dependency], mode: Mode, ran: &mut Vec<Ran>) {
        let held = vec![Vec::new(); on.len()];
        self.requests.push(Request { task, on: on.to_vec(), mode, held });
        let last = self.requests.len() - 1;
        for (slot, dependency) in on.iter().enumerate() {
            if mode.persistent {
                self.take_transient(last, slot);
            } else if let Some(event) = self.take(dependency) {
                self.requests[last].held[slot].push(event);
            }
        }
        self.advance(last, ran);
    }

    pub fn deliver(&mut self, event: Event<u32>, ran: &mut Vec<Ran>) {
        if event.lasting == Lasting::Persistent {
            self.events.push(event.clone());
            let tasks: Vec<u32> = self.requests.iter().map(|request| request.task).collect();
            for task in tasks {
                self.give_copies(task, &event, ran);
            }
            return;
        }
        let wants = |request: &Request| request.slot_for(&event).is_some();
        let Some(index) = self.requests.iter().position(wants) else {
            self.events.push(event);
            return;
        };
        let slot = self.requests[index].slot_for(&event).unwrap();
        self.requests[index].held[slot].push(event);
        self.advance(index, ran);
    }

    pub fn retrieve(&mut self, on: &[Dependency]) -> Vec<u32> {
        on.iter()
            .filter_map(|dependency| self.take(dependency))
            .map(|event| event.payload)
            .collect()
    }

    pub fn is_outstanding(&self) -> bool {
        self.requests.iter().any(|request| !request.mode.persistent)
            || self.events.iter().any(|event| event.lasting == Lasting::Once)
    }

    /// A persistent event meets a task: one copy for each dependency that holds nothing.
    fn give_copies(&mut self, task: u32, event: &Event<u32>, ran: &mut Vec<Ran>) {
        let find = |naive: &Self| naive.requests.iter().position(|request| request.task == task);
        let slots = find(self).map_or(0, |index| self.requests[index].on.len());
        for slot in 0..slots {
            let Some(index) = find(self) else { return };
            let request = &mut self.requests[index];
            if fits(&request.on[slot], event.source, event) && request.held[slot].is_empty() {
                request.held[slot].push(event.clone());
                self.advance(index, ran);
            }
        }
    }

    fn take(&mut self, dependency: &Dependency) -> Option<Event<u32>> {
        let index = self.events.iter().position(|event| fits(dependency, event.source, event))?;
        let event = self.events.remove(index);
        if event.lasting == Lasting::Persistent {
            self.events.push(event.clone());
        }
        Some(event)
    }

    fn take_transient(&mut self, index: usize, slot: usize) {
        let mut kept = Vec::new();
        for event in std::mem::take(&mut self.events) {
            let request = &mut self.requests[index];
            let is_for = event.lasting != Lasting::Persistent
                && fits(&request.on[slot], event.source, &event);
            match request.slot_for(&event).filter(|_| is_for) {
                Some(slot) => request.held[slot].push(event),
                None => kept.push(event),
            }
        }
        self.events = kept;
    }

    fn advance(&mut self, index: usize, ran: &mut Vec<Ran>) {
        loop {
            if self.requests[index].mode.persistent {
                self.fill(index);
            }
            let request = &mut self.requests[index];
            if request.held.iter().any(Vec::is_empty) {
                return;
            }
            let events: Vec<_> = request.held.iter_mut().map(|held| held.remove(0)).collect();
            ran.push((request.task, events.iter().map(|event| event.payload).collect()));
            if !request.mode.persistent {
                self.requests.remove(index);
                return;
            }
            if events.iter().all(|event| event.lasting == Lasting::Persistent) {
                return;
            }
        }
    }

    fn fill(&mut self, index: usize) {
        for slot in 0..self.requests[index].on.len() {
            let request = &self.requests[index];
            if request.held[slot].is_empty() {
                let dependency = request.on[slot].clone();
                let found = self.take(&dependency);
                self.requests[index].held[slot].extend(found);
            }
        }
    }
}

impl Request {
    /// Which dependency gets an event, if one wants it: the one that holds fewest.
    fn slot_for(&self, event: &Event<u32>) -> Option<usize> {
        let fitting = (0..self.on.len()).filter(|&slot| fits(&self.on[slot], event.source, event));
        let wanting = fitting.filter(|&slot| self.mode.persistent || self.held[slot].is_empty());
        wanting.min_by_key(|&slot| self.held[slot].len())
    }
}
