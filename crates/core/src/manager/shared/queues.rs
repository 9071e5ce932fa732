//! Queues: items leave in the order in which they came, and go to who has waited for longest.
//!
//! An item that was taken is its taker's until the entry ends, and is kept until then: if the taker
//! is lost, it goes back to its place. What holds after each request:
//!
//! - nobody waits for an item while there is one, nor for room while there is some;
//! - a queue that is neither open, closed nor of use to anybody does not exist;
//! - each item has one reference: it is in a queue, taken, or waits for room.

use super::Step;
use crate::manager::sharing::{Given, Item, QueueRequest, Waiter};
use freestone_base::WorkerId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// When an item or entry came, counted from the first.
type Turn = u64;

#[derive(Default, Serialize, Deserialize)]
struct Queue {
    capacity: u32,
    /// The entry that has opened it: the queue ends with it.
    owner: Option<u64>,
    closed: bool,
    items: BTreeMap<Turn, Item>,
    /// Who waits for room, and who for an item, by when they came.
    putters: BTreeMap<Turn, u64>,
    takers: BTreeMap<Turn, u64>,
    /// The entries that have taken an item and have not ended.
    taken: BTreeSet<u64>,
}

#[derive(Serialize, Deserialize)]
enum Role {
    /// Has opened the queue.
    Owning,
    /// Waits for room for an item.
    Putting(Item),
    /// Waits for an item; until its worker is to be let go, if it `moves`.
    Taking { moves: bool },
    /// Has an item, which came at this turn.
    Taken(Turn, Item),
    /// Has an item of a queue that is no more.
    Kept(Item),
}

#[derive(Serialize, Deserialize)]
struct Hold {
    title: String,
    turn: Turn,
    by: Waiter,
    role: Role,
}

/// All queues.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Queues {
    by_title: HashMap<String, Queue>,
    holds: HashMap<u64, Hold>,
    turns: Turn,
}

impl Queue {
    fn has_room(&self) -> bool {
        self.capacity == 0 || self.items.len() < self.capacity as usize
    }

    fn is_of_use(&self) -> bool {
        self.closed
            || self.owner.is_some()
            || !(self.items.is_empty()
                && self.putters.is_empty()
                && self.takers.is_empty()
                && self.taken.is_empty())
    }
}

impl Queues {
    pub fn on_request(&mut self, request: QueueRequest, step: &mut Step) {
        match request {
            QueueRequest::Open { title, capacity, by } => self.open(title, capacity, by, step),
            QueueRequest::Put { title, capacity, item, by } => {
                if let Some(refused) = self.refusal(&title, capacity, true) {
                    step.released.push(item.name);
                    return step.answer(by.ticket, refused);
                }
                self.line_up(&title, by, Role::Putting(item), step);
            }
            QueueRequest::Take { title, capacity, by, moves } => {
                if let Some(refused) = self.refusal(&title, capacity, false) {
                    return step.answer(by.ticket, refused);
                }
                self.line_up(&title, by, Role::Taking { moves }, step);
            }
            QueueRequest::Close { title, capacity, ticket } => {
                if let Some(refused) = self.refusal(&title, capacity, false) {
                    return step.answer(ticket, refused);
                }
                self.by_title.get_mut(&title).expect("it was made").closed = true;
                self.advance(&title, step);
                step.answer(ticket, Given::Stored);
            }
            QueueRequest::Delete { title, ticket } => {
                self.delete(&title, step);
                step.answer(ticket, Given::Stored);
            }
            QueueRequest::Count { title, ticket } => {
                let items = self.by_title.get(&title).map_or(0, |queue| queue.items.len()) as u64;
                step.answer(ticket, Given::Count { items });
            }
        }
    }

    fn open(&mut self, title: String, capacity: u32, by: Waiter, step: &mut Step) {
        if let Some(queue) = self.by_title.get(&title) {
            return step.answer(by.ticket, Given::Other { capacity: queue.capacity });
        }
        let queue = Queue { capacity, owner: Some(by.hold), ..Queue::default() };
        self.by_title.insert(title.clone(), queue);
        let turn = self.next_turn();
        self.holds.insert(by.hold, Hold { title, turn, by, role: Role::Owning });
        step.answer(by.ticket, Given::Stored);
    }

    /// Why a queue does not do what is asked; it exists afterwards if it does.
    fn refusal(&mut self, title: &str, capacity: Option<u32>, puts: bool) -> Option<Given> {
        if let Some(capacity) = capacity {
            let queue = || Queue { capacity, ..Queue::default() };
            self.by_title.entry(title.to_owned()).or_insert_with(queue);
        }
        let Some(queue) = self.by_title.get(title) else { return Some(Given::Closed) };
        if capacity.is_some_and(|capacity| capacity != queue.capacity) {
            return Some(Given::Other { capacity: queue.capacity });
        }
        (puts && queue.closed).then_some(Given::Closed)
    }

    fn line_up(&mut self, title: &str, by: Waiter, role: Role, step: &mut Step) {
        let turn = self.next_turn();
        let queue = self.by_title.get_mut(title).expect("it was made");
        let line = if matches!(role, Role::Taking { .. }) {
            &mut queue.takers
        } else {
            &mut queue.putters
        };
        line.insert(turn, by.hold);
        self.holds.insert(by.hold, Hold { title: title.to_owned(), turn, by, role });
        self.advance(title, step);
    }

    fn next_turn(&mut self) -> Turn {
        self.turns += 1;
        self.turns
    }

    /// Grants what can be granted.
    fn advance(&mut self, title: &str, step: &mut Step) {
        while self.give_one(title, step) || self.accept_one(title, step) {}
        let Some(queue) = self.by_title.get_mut(title) else { return };
        let mut ended = Vec::new();
        if queue.closed {
            ended.extend(std::mem::take(&mut queue.putters).into_values());
            if self.is_at_end(title) {
                let queue = self.by_title.get_mut(title).expect("it is there");
                ended.extend(std::mem::take(&mut queue.takers).into_values());
            }
        }
        for hold in ended {
            self.dismiss(hold, Given::Closed, step);
        }
        if self.by_title.get(title).is_some_and(|queue| !queue.is_of_use()) {
            self.by_title.remove(title);
        }
    }

    /// Gives the first item to the first who waits for one, if there are both.
    fn give_one(&mut self, title: &str, step: &mut Step) -> bool {
        let Some(queue) = self.by_title.get_mut(title) else { return false };
        if queue.items.is_empty() {
            return false;
        }
        let Some((_, number)) = queue.takers.pop_first() else { return false };
        let (turn, item) = queue.items.pop_first().expect("there is an item");
        queue.taken.insert(number);
        let hold = self.holds.get_mut(&number).expect("who waits has an entry");
        hold.role = Role::Taken(turn, item.clone());
        step.answer(hold.by.ticket, Given::Item { item, version: turn });
        true
    }

    /// Takes in the item of the first who waits for room, if there is some.
    fn accept_one(&mut self, title: &str, step: &mut Step) -> bool {
        let Some(queue) = self.by_title.get_mut(title) else { return false };
        if queue.closed || !queue.has_room() {
            return false;
        }
        let Some((turn, number)) = queue.putters.pop_first() else { return false };
        let hold = self.holds.remove(&number).expect("who waits has an entry");
        let Role::Putting(item) = hold.role else { unreachable!("who waits for room puts") };
        queue.items.insert(turn, item);
        step.answer(hold.by.ticket, Given::Stored);
        true
    }

    /// Whether nothing is left in a queue that is closed, and nothing can come back: all who have
    /// taken something wait for the end themselves.
    fn is_at_end(&self, title: &str) -> bool {
        let queue = &self.by_title[title];
        let owner = |number: &u64| self.holds[number].by.owner;
        let waiting: BTreeSet<u64> = queue.takers.values().map(owner).collect();
        queue.items.is_empty() && queue.taken.iter().all(|number| waiting.contains(&owner(number)))
    }

    /// Answers an entry that is in no line any more and has nothing.
    fn dismiss(&mut self, number: u64, given: Given, step: &mut Step) {
        let hold = self.holds.remove(&number).expect("who waits has an entry");
        if let Role::Putting(item) = hold.role {
            step.released.push(item.name);
        }
        step.answer(hold.by.ticket, given);
    }

    /// An entry ends: what it has taken goes back, or is done with. Whether it had anything.
    pub fn end(&mut self, number: u64, is_done: bool, step: &mut Step) -> bool {
        if self.withdraw(number, step) {
            return false;
        }
        let Some(Hold { title, role, .. }) = self.holds.remove(&number) else { return false };
        match role {
            Role::Taken(turn, item) => {
                let queue = self.by_title.get_mut(&title).expect("what was taken has a queue");
                queue.taken.remove(&number);
                if is_done {
                    step.released.push(item.name);
                } else {
                    queue.items.insert(turn, item);
                }
                self.advance(&title, step);
            }
            Role::Kept(item) => step.released.push(item.name),
            Role::Owning => self.delete(&title, step),
            Role::Putting(_) | Role::Taking { .. } => unreachable!("who waits was dismissed"),
        }
        true
    }

    /// An entry no longer waits; whether it did.
    pub fn withdraw(&mut self, number: u64, step: &mut Step) -> bool {
        let Some(hold) = self.holds.get(&number) else { return false };
        if !matches!(hold.role, Role::Putting(_) | Role::Taking { .. }) {
            return false;
        }
        let (title, turn) = (hold.title.clone(), hold.turn);
        let queue = self.by_title.get_mut(&title).expect("who waits has a queue");
        queue.putters.remove(&turn);
        queue.takers.remove(&turn);
        self.dismiss(number, Given::Ended, step);
        self.advance(&title, step);
        true
    }

    fn delete(&mut self, title: &str, step: &mut Step) {
        let Some(queue) = self.by_title.remove(title) else { return };
        if let Some(owner) = queue.owner {
            self.holds.remove(&owner);
        }
        step.released.extend(queue.items.into_values().map(|item| item.name));
        for number in queue.putters.into_values().chain(queue.takers.into_values()) {
            self.dismiss(number, Given::Closed, step);
        }
        for number in queue.taken {
            let hold = self.holds.get_mut(&number).expect("who has taken has an entry");
            if let Role::Taken(_, item) = &hold.role {
                hold.role = Role::Kept(item.clone());
            }
        }
    }

    /// A worker is to be let go: who moves waits there no longer.
    pub fn on_retiring(&mut self, worker: WorkerId, step: &mut Step) {
        let moves = |hold: &Hold| {
            hold.by.worker == Some(worker) && matches!(hold.role, Role::Taking { moves: true })
        };
        let there = self.holds.iter().filter(|(_, hold)| moves(hold));
        let mut there: Vec<(Turn, u64)> =
            there.map(|(number, hold)| (hold.turn, *number)).collect();
        there.sort_unstable();
        for (_, number) in there {
            self.withdraw(number, step);
        }
    }

    /// A worker is lost, with the tasks that ran there.
    pub fn on_left(&mut self, worker: WorkerId, step: &mut Step) {
        let there = self.holds.iter().filter(|(_, hold)| hold.by.worker == Some(worker));
        // Those that wait first: none of them is to be given what comes back.
        let mut there: Vec<(bool, Turn, u64)> = there
            .map(|(number, hold)| {
                let has_item = matches!(hold.role, Role::Taken(..) | Role::Kept(_));
                (has_item, hold.turn, *number)
            })
            .collect();
        there.sort_unstable();
        for (_, _, number) in there {
            self.end(number, false, step);
        }
    }

    /// Checks what holds after each request; for tests.
    pub fn check(&self) {
        let mut entries = 0;
        for (title, queue) in &self.by_title {
            assert!(queue.is_of_use(), "{title} is there for nobody");
            assert!(queue.items.is_empty() || queue.takers.is_empty(), "{title}: who waits?");
            assert!(queue.putters.is_empty() || !(queue.closed || queue.has_room()));
            assert!(!queue.closed || queue.takers.is_empty() || !self.is_at_end(title));
            for (turn, number) in queue.putters.iter().chain(&queue.takers) {
                let hold = &self.holds[number];
                assert!(hold.title == *title && hold.turn == *turn);
            }
            for number in &queue.taken {
                assert!(matches!(self.holds[number].role, Role::Taken(..)));
            }
            if let Some(owner) = queue.owner {
                assert!(matches!(self.holds[&owner].role, Role::Owning));
                entries += 1;
            }
            entries += queue.putters.len() + queue.takers.len() + queue.taken.len();
        }
        let kept = self.holds.values().filter(|hold| matches!(hold.role, Role::Kept(_))).count();
        assert_eq!(entries + kept, self.holds.len());
    }
}
