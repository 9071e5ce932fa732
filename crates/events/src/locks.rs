//! Named locks of a rank, as a state machine: who holds what, who waits, who is next.
//!
//! A task that waits for events lets go of its locks ([`Locks::let_go`]) and takes them back
//! before it goes on ([`Locks::take_back`]), one after the other in the order in which it first
//! took them: so a program whose tasks take locks in one order has no deadlock by it. Each lock
//! goes to whoever has waited longest.

use std::collections::{HashMap, VecDeque};

/// A task that runs.
pub type Owner = u64;

/// A lock was to be let go by who does not hold it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("lock {name:?} is not held by this task; unlock what was locked, once")]
pub struct NotHeld {
    /// Which lock.
    pub name: String,
}

#[derive(Debug)]
struct Lock {
    owner: Owner,
    queue: VecDeque<Owner>,
}

/// The locks of a rank that somebody holds.
#[derive(Debug, Default)]
pub struct Locks {
    by_name: HashMap<String, Lock>,
    held: HashMap<Owner, Vec<String>>,
    /// What those who take locks back have yet to take.
    retaking: HashMap<Owner, VecDeque<String>>,
}

impl Locks {
    /// Takes a lock, or queues for it; whether it is held now. One that is held already stays so.
    pub fn lock(&mut self, owner: Owner, name: &str) -> bool {
        if self.try_lock(owner, name) {
            return true;
        }
        if let Some(lock) = self.by_name.get_mut(name) {
            lock.queue.push_back(owner);
        }
        false
    }

    /// Takes a lock if nobody else holds it; whether it is held now.
    pub fn try_lock(&mut self, owner: Owner, name: &str) -> bool {
        if let Some(lock) = self.by_name.get(name) {
            return lock.owner == owner;
        }
        self.by_name.insert(name.to_owned(), Lock { owner, queue: VecDeque::new() });
        self.held.entry(owner).or_default().push(name.to_owned());
        true
    }

    /// Lets go of a lock. Those who have all they queued for are added to `granted`.
    ///
    /// # Errors
    ///
    /// If `owner` does not hold it.
    pub fn unlock(
        &mut self,
        owner: Owner,
        name: &str,
        granted: &mut Vec<Owner>,
    ) -> Result<(), NotHeld> {
        let held = self.held.get_mut(&owner);
        let position = held.as_ref().and_then(|held| held.iter().position(|other| other == name));
        let (Some(held), Some(position)) = (held, position) else {
            return Err(NotHeld { name: name.to_owned() });
        };
        held.remove(position);
        if held.is_empty() {
            self.held.remove(&owner);
        }
        self.pass_on(name, granted);
        Ok(())
    }

    /// Lets go of all locks of a task; which, in the order in which it took them.
    pub fn let_go(&mut self, owner: Owner, granted: &mut Vec<Owner>) -> Vec<String> {
        let names = self.held.remove(&owner).unwrap_or_default();
        for name in &names {
            self.pass_on(name, granted);
        }
        names
    }

    /// Takes locks back in this order; whether all are held now. If not, `owner` is granted them
    /// when it has the last one.
    pub fn take_back(&mut self, owner: Owner, names: Vec<String>) -> bool {
        self.retaking.insert(owner, names.into());
        self.go_on_retaking(owner)
    }

    /// Whether a task holds a lock.
    pub fn holds(&self, owner: Owner, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|lock| lock.owner == owner)
    }

    /// The locks of a task, in the order in which it took them.
    pub fn of(&self, owner: Owner) -> Vec<String> {
        self.held.get(&owner).cloned().unwrap_or_default()
    }

    /// Who holds a lock.
    pub fn owner(&self, name: &str) -> Option<Owner> {
        self.by_name.get(name).map(|lock| lock.owner)
    }

    /// How many locks are held.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether no lock is held.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    fn pass_on(&mut self, name: &str, granted: &mut Vec<Owner>) {
        let Some(lock) = self.by_name.get_mut(name) else { return };
        let Some(next) = lock.queue.pop_front() else {
            self.by_name.remove(name);
            return;
        };
        lock.owner = next;
        self.held.entry(next).or_default().push(name.to_owned());
        if self.go_on_retaking(next) {
            granted.push(next);
        }
    }

    fn go_on_retaking(&mut self, owner: Owner) -> bool {
        while let Some(name) = self.retaking.get_mut(&owner).and_then(VecDeque::pop_front) {
            if !self.lock(owner, &name) {
                return false;
            }
        }
        self.retaking.remove(&owner);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_goes_to_who_waited_longest() {
        let (mut locks, mut granted) = (Locks::default(), Vec::new());
        assert!(locks.lock(1, "a") && locks.lock(1, "a"));
        assert!(!locks.try_lock(2, "a"));
        assert!(!locks.lock(2, "a") && !locks.lock(3, "a"));
        locks.unlock(1, "a", &mut granted).unwrap();
        assert_eq!((granted.as_slice(), locks.owner("a")), (&[2][..], Some(2)));
        assert_eq!(locks.unlock(1, "a", &mut granted), Err(NotHeld { name: "a".into() }));
        assert_eq!(locks.let_go(2, &mut granted), ["a"]);
        locks.unlock(3, "a", &mut granted).unwrap();
        assert!(locks.is_empty() && locks.held.is_empty());
    }

    #[test]
    fn a_task_that_waits_lets_go_and_takes_back_in_its_order() {
        let (mut locks, mut granted) = (Locks::default(), Vec::new());
        assert!(locks.lock(1, "b") && locks.lock(1, "a"));
        let names = locks.let_go(1, &mut granted);
        assert_eq!((names.as_slice(), locks.len()), (&["b".to_owned(), "a".to_owned()][..], 0));
        assert!(locks.lock(2, "a"));
        assert!(!locks.take_back(1, names));
        assert!(locks.holds(1, "b"));
        locks.unlock(2, "a", &mut granted).unwrap();
        assert_eq!(granted, [1]);
        assert!(locks.holds(1, "a") && locks.retaking.is_empty());
    }
}
