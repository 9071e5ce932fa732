//! Who waits for what and what waits for whom: needs and unconsumed events, by source and id.

use super::slab::{List, NONE, Slab, note_look};
use crate::event::{Dependency, Event, EventId, Lasting, Rank, Source};
use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// The link by which needs are in their only list.
const ONLY: usize = 0;

/// What one queue is for: an identifier from one rank, or from any ([`NONE`]).
#[derive(Clone, Debug, Eq)]
struct Key {
    source: Rank,
    id: EventId,
}

/// A key that is looked for: its identifier is somebody else's.
trait Sought {
    fn source(&self) -> Rank;
    fn id(&self) -> &EventId;
}

impl Sought for Key {
    fn source(&self) -> Rank {
        self.source
    }

    fn id(&self) -> &EventId {
        &self.id
    }
}

impl Sought for (Rank, &EventId) {
    fn source(&self) -> Rank {
        self.0
    }

    fn id(&self) -> &EventId {
        self.1
    }
}

impl<'a> Borrow<dyn Sought + 'a> for Key {
    fn borrow(&self) -> &(dyn Sought + 'a) {
        self
    }
}

impl PartialEq for dyn Sought + '_ {
    fn eq(&self, other: &Self) -> bool {
        note_look();
        self.source() == other.source() && self.id() == other.id()
    }
}

impl Eq for dyn Sought + '_ {}

impl Hash for dyn Sought + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let source = u64::from(self.source());
        state.write_u64(self.id().hash() ^ source.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        let sought: &dyn Sought = other;
        sought.eq(self)
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let sought: &dyn Sought = self;
        sought.hash(state);
    }
}

impl Key {
    fn of(dependency: &Dependency) -> Self {
        Self { source: source_of(dependency), id: dependency.id.clone() }
    }

    fn from_any(id: &EventId) -> Self {
        Self { source: NONE, id: id.clone() }
    }
}

/// From whom, as keys have it.
fn source_of(dependency: &Dependency) -> Rank {
    match dependency.source {
        Source::Rank(rank) => rank,
        Source::Any => NONE,
    }
}

/// Takes hashes as they are: they are spread already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// A position of a request that wants events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Which request.
    pub request: u32,
    /// Which of its dependencies.
    pub slot: u32,
    /// When the request was made.
    pub order: u64,
}

/// An event, and when it came.
#[derive(Clone, Debug)]
pub struct Arrived<P> {
    /// The event.
    pub event: Event<P>,
    /// Counted per matcher.
    pub arrival: u64,
}

#[derive(Debug)]
struct Queue {
    needs: List,
    events: List,
}

impl Default for Queue {
    fn default() -> Self {
        Self { needs: List::EMPTY, events: List::EMPTY }
    }
}

/// Needs and events that have not met.
#[derive(Debug)]
pub struct Queues<P> {
    by_key: HashMap<Key, Queue, BuildHasherDefault<AsIs>>,
    needs: Slab<Need>,
    events: Slab<Arrived<P>>,
    needs_of_any: usize,
    once: usize,
    persistent: usize,
}

impl<P> Default for Queues<P> {
    fn default() -> Self {
        Self {
            by_key: HashMap::default(),
            needs: Slab::default(),
            events: Slab::default(),
            needs_of_any: 0,
            once: 0,
            persistent: 0,
        }
    }
}

impl<P: Clone> Queues<P> {
    /// How many events wait that a run has to see consumed.
    pub fn once(&self) -> usize {
        self.once
    }

    /// How many persistent events there are.
    pub fn persistent(&self) -> usize {
        self.persistent
    }

    /// How many keys, needs and events are kept: nothing, when nothing waits.
    pub fn kept(&self) -> usize {
        self.by_key.len() + self.needs.len() + self.events.len()
    }

    /// The events that wait.
    pub fn events(&self) -> impl Iterator<Item = &Event<P>> {
        self.events.iter().map(|(_, arrived)| &arrived.event)
    }

    /// Whether an event with `id` from `source` waits.
    pub fn has_event(&self, source: Rank, id: &EventId) -> bool {
        self.find(source, id).is_some_and(|queue| !queue.events.is_empty())
    }

    /// Adds a need behind those that wait for the same; its number.
    pub fn add_need(&mut self, dependency: &Dependency, need: Need) -> u32 {
        let number = self.needs.insert(need);
        let queue = self.by_key.entry(Key::of(dependency)).or_default();
        self.needs.push_back(&mut queue.needs, number, ONLY);
        self.needs_of_any += usize::from(dependency.source == Source::Any);
        number
    }

    /// Forgets a need.
    pub fn remove_need(&mut self, dependency: &Dependency, number: u32) {
        let key = Key::of(dependency);
        let Some(queue) = self.by_key.get_mut(&key) else { return };
        self.needs.unlink(&mut queue.needs, number, ONLY);
        if self.needs.remove(number).is_some() {
            self.needs_of_any -= usize::from(dependency.source == Source::Any);
        }
        self.drop_if_empty(&key);
    }

    /// Who is the first, in the order of submission, to get an event with `id` from `source`.
    pub fn first_need(&self, source: Rank, id: &EventId) -> Option<Need> {
        let exact = self.first_of(source, id);
        if self.needs_of_any == 0 {
            return exact;
        }
        match (exact, self.first_of(NONE, id)) {
            (Some(exact), Some(any)) => Some(earlier(exact, any)),
            (exact, any) => exact.or(any),
        }
    }

    /// All who would take an event with `id` from `source`, in the order of submission.
    pub fn all_needs(&self, source: Rank, id: &EventId) -> Vec<Need> {
        let mut found: Vec<Need> = Vec::new();
        for source in [source, NONE] {
            let mut next = self.find(source, id).and_then(|queue| queue.needs.first());
            while let Some(number) = next {
                found.extend(self.needs.get(number));
                next = self.needs.after(number, ONLY);
            }
        }
        found.sort_by_key(|need| (need.order, need.slot));
        found
    }

    /// Keeps an event that nobody wants yet, behind the others or before them.
    pub fn store(&mut self, arrived: Arrived<P>, before: bool) {
        let Event { source, ref id, lasting, .. } = arrived.event;
        let keys = [Key { source, id: id.clone() }, Key::from_any(id)];
        match lasting {
            Lasting::Once => self.once += 1,
            Lasting::Persistent => self.persistent += 1,
            Lasting::Weak => {}
        }
        let number = self.events.insert(arrived);
        for (which, key) in keys.into_iter().enumerate() {
            let list = &mut self.by_key.entry(key).or_default().events;
            if before {
                self.events.push_front(list, number, which);
            } else {
                self.events.push_back(list, number, which);
            }
        }
    }

    /// Consumes the oldest event that meets a dependency. A persistent one is fired again: a
    /// copy is given and it goes behind the others.
    pub fn take(&mut self, dependency: &Dependency) -> Option<Arrived<P>> {
        let number = self.find(source_of(dependency), &dependency.id)?.events.first()?;
        self.take_number(number)
    }

    /// Consumes the oldest event that meets a dependency and is not persistent.
    pub fn take_transient(&mut self, dependency: &Dependency) -> Option<Arrived<P>> {
        let which = usize::from(dependency.source == Source::Any);
        let mut next = self.find(source_of(dependency), &dependency.id)?.events.first();
        while let Some(number) = next {
            if self.events.get(number)?.event.lasting != Lasting::Persistent {
                return self.take_number(number);
            }
            next = self.events.after(number, which);
        }
        None
    }

    fn take_number(&mut self, number: u32) -> Option<Arrived<P>> {
        let Event { source, id, lasting, .. } = &self.events.get(number)?.event;
        let (lasting, keys) =
            (*lasting, [Key { source: *source, id: id.clone() }, Key::from_any(id)]);
        for (which, key) in keys.iter().enumerate() {
            if let Some(queue) = self.by_key.get_mut(key) {
                self.events.unlink(&mut queue.events, number, which);
                if lasting == Lasting::Persistent {
                    self.events.push_back(&mut queue.events, number, which);
                }
            }
        }
        if lasting == Lasting::Persistent {
            return self.events.get(number).cloned();
        }
        self.once -= usize::from(lasting == Lasting::Once);
        for key in &keys {
            self.drop_if_empty(key);
        }
        self.events.remove(number)
    }

    fn find(&self, source: Rank, id: &EventId) -> Option<&Queue> {
        let sought: &dyn Sought = &(source, id);
        self.by_key.get(sought)
    }

    fn first_of(&self, source: Rank, id: &EventId) -> Option<Need> {
        let number = self.find(source, id)?.needs.first()?;
        self.needs.get(number).copied()
    }

    fn drop_if_empty(&mut self, key: &Key) {
        let is_empty = |queue: &Queue| queue.needs.is_empty() && queue.events.is_empty();
        if self.by_key.get(key).is_some_and(is_empty) {
            self.by_key.remove(key);
        }
    }
}

fn earlier(a: Need, b: Need) -> Need {
    if (a.order, a.slot) <= (b.order, b.slot) { a } else { b }
}
