//! Locks and semaphores, first come, first served.
//!
//! A lock or semaphore is there while somebody is in or in line. What holds after each request:
//!
//! - each entry is in one of them, and either in or in line;
//! - no more are in than the limit, and nobody is in line while fewer are;
//! - who goes in has waited for longest.

use super::Answers;
use crate::manager::api::Outcome;
use crate::manager::sharing::{Entry, Limit, LockRequest};
use freestone_base::{Ticket, WorkerId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// How many of those who are in one who waits is shown.
const MAX_LISTED: usize = 8;

/// When an entry came, counted from the first.
type Turn = u64;

/// A lock or semaphore.
#[derive(Serialize, Deserialize)]
struct Lock {
    limit: Limit,
    /// Who is in, and who is in line, by when they came.
    inside: BTreeMap<Turn, u64>,
    line: BTreeMap<Turn, u64>,
}

/// One who is in, or in line.
#[derive(Serialize, Deserialize)]
struct Hold {
    title: String,
    turn: Turn,
    holder: String,
    worker: Option<WorkerId>,
    /// To be resolved when it is in.
    tickets: Vec<Ticket>,
}

/// All locks and semaphores.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Locks {
    by_title: HashMap<String, Lock>,
    holds: HashMap<u64, Hold>,
    turns: Turn,
}

impl Lock {
    fn has_room(&self) -> bool {
        self.inside.len() < self.limit.map_or(1, |limit| limit.get() as usize)
    }
}

impl Locks {
    pub fn on_request(&mut self, request: LockRequest, answers: &mut Answers) {
        match request {
            LockRequest::Enter { title, limit, hold, holder, worker, ticket } => {
                let turn = self.turns;
                self.turns += 1;
                let entering = Hold { title, turn, holder, worker, tickets: Vec::new() };
                let entry = self.enter(limit, hold, entering);
                answers.push((ticket, Outcome::Entered(entry)));
            }
            LockRequest::Await { hold, ticket } => self.wait(hold, ticket, answers),
        }
    }

    fn enter(&mut self, limit: Limit, number: u64, hold: Hold) -> Entry {
        let lock = self.by_title.entry(hold.title.clone()).or_insert_with(|| Lock {
            limit,
            inside: BTreeMap::new(),
            line: BTreeMap::new(),
        });
        if lock.limit != limit {
            return Entry::Other { limit: lock.limit };
        }
        let has_room = lock.has_room();
        let among = if has_room { &mut lock.inside } else { &mut lock.line };
        among.insert(hold.turn, number);
        let listed = lock.inside.values().take(MAX_LISTED);
        let entry = if has_room {
            Entry::Granted
        } else {
            Entry::Queued { holders: listed.map(|hold| self.holds[hold].holder.clone()).collect() }
        };
        self.holds.insert(number, hold);
        entry
    }

    fn wait(&mut self, number: u64, ticket: Ticket, answers: &mut Answers) {
        let Some(hold) = self.holds.get_mut(&number) else {
            return answers.push((ticket, Outcome::Accepted(false)));
        };
        if self.by_title[&hold.title].inside.contains_key(&hold.turn) {
            answers.push((ticket, Outcome::Accepted(true)));
        } else {
            hold.tickets.push(ticket);
        }
    }

    pub fn leave(&mut self, number: u64, answers: &mut Answers) {
        let Some(hold) = self.holds.remove(&number) else { return };
        let ended = hold.tickets.into_iter().map(|ticket| (ticket, Outcome::Accepted(false)));
        answers.extend(ended);
        let Some(lock) = self.by_title.get_mut(&hold.title) else { return };
        lock.inside.remove(&hold.turn);
        lock.line.remove(&hold.turn);
        while lock.has_room()
            && let Some((turn, next)) = lock.line.pop_first()
        {
            lock.inside.insert(turn, next);
            let next = self.holds.get_mut(&next).expect("who is in line has an entry");
            let granted = next.tickets.drain(..).map(|ticket| (ticket, Outcome::Accepted(true)));
            answers.extend(granted);
        }
        if lock.inside.is_empty() {
            self.by_title.remove(&hold.title);
        }
    }

    /// A worker is lost, with the tasks that ran there.
    pub fn on_left(&mut self, worker: WorkerId, answers: &mut Answers) {
        let there = self.holds.iter().filter(|(_, hold)| hold.worker == Some(worker));
        let mut there: Vec<(Turn, u64)> = there.map(|(hold, at)| (at.turn, *hold)).collect();
        there.sort_unstable();
        // Those in line first: none of them is to go in.
        for (_, hold) in there.into_iter().rev() {
            self.leave(hold, answers);
        }
    }

    /// Checks what holds after each request; for tests.
    pub fn check(&self) {
        let mut entries = 0;
        for (title, lock) in &self.by_title {
            assert!(!lock.inside.is_empty(), "{title} is there for nobody");
            assert!(lock.inside.len() <= lock.limit.map_or(1, |limit| limit.get() as usize));
            assert!(lock.line.is_empty() || !lock.has_room(), "{title} has room for a waiter");
            let last_in = lock.inside.last_key_value().map(|(turn, _)| *turn);
            assert!(lock.line.keys().all(|turn| Some(*turn) > last_in), "{title}: out of turn");
            for (turn, number) in lock.inside.iter().chain(&lock.line) {
                entries += 1;
                let hold = &self.holds[number];
                assert!(hold.title == *title && hold.turn == *turn);
                assert!(hold.tickets.is_empty() || lock.line.contains_key(turn));
            }
        }
        assert_eq!(entries, self.holds.len());
    }
}
