//! A table of slots that are used again, each with the generation of its occupant.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A number that names a slot of one kind of table.
pub(super) trait Slot: Copy {
    fn of(index: u32) -> Self;
    fn index(self) -> usize;
}

macro_rules! slot {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub(super) struct $name(pub u32);

        impl Slot for $name {
            fn of(index: u32) -> Self {
                Self(index)
            }

            fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

slot!(
    /// A block's place in the table.
    BlockSlot
);
slot!(
    /// A task's place in the table.
    TaskSlot
);

slot!(
    /// A reduction's place in the table.
    ReductionSlot
);

struct Entry<T> {
    generation: u32,
    value: Option<T>,
}

/// Values in slots. Generations are counted over the whole table, so its memory can be given
/// back when it is empty, and no old id is taken for a new one.
pub(super) struct Table<S, T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
    generation: u32,
    slots: PhantomData<S>,
}

impl<S: Slot, T> Table<S, T> {
    pub fn new() -> Self {
        Self { entries: Vec::new(), free: Vec::new(), generation: 0, slots: PhantomData }
    }

    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    fn next_generation(&mut self) -> u32 {
        self.generation = self.generation.wrapping_add(1);
        self.generation
    }

    pub fn insert(&mut self, value: T) -> S {
        let generation = self.next_generation();
        let entry = Entry { generation, value: Some(value) };
        if let Some(slot) = self.free.pop() {
            self.entries[slot as usize] = entry;
            return S::of(slot);
        }
        self.entries.push(entry);
        S::of((self.entries.len() - 1) as u32)
    }

    pub fn remove(&mut self, slot: S) -> Option<T> {
        let value = self.entries.get_mut(slot.index())?.value.take()?;
        self.free.push(slot.index() as u32);
        if self.free.len() == self.entries.len() {
            self.entries = Vec::new();
            self.free = Vec::new();
        }
        Some(value)
    }

    /// The slots that are occupied now.
    pub fn slots(&self) -> Vec<S> {
        let occupied = self.entries.iter().enumerate().filter(|(_, entry)| entry.value.is_some());
        occupied.map(|(index, _)| S::of(index as u32)).collect()
    }

    pub fn get(&self, slot: S) -> Option<&T> {
        self.entries.get(slot.index())?.value.as_ref()
    }

    pub fn get_mut(&mut self, slot: S) -> Option<&mut T> {
        self.entries.get_mut(slot.index())?.value.as_mut()
    }

    pub fn generation(&self, slot: S) -> u32 {
        self.entries[slot.index()].generation
    }

    /// Makes the occupant a new one as far as ids are concerned.
    pub fn renew(&mut self, slot: S) {
        let generation = self.next_generation();
        self.entries[slot.index()].generation = generation;
    }

    /// Whether the slot holds that generation's occupant.
    pub fn holds(&self, slot: S, generation: u32) -> bool {
        self.entries
            .get(slot.index())
            .is_some_and(|entry| entry.generation == generation && entry.value.is_some())
    }
}

impl<S: Slot, T> Index<S> for Table<S, T> {
    type Output = T;

    fn index(&self, slot: S) -> &T {
        self.entries[slot.index()].value.as_ref().expect("the slot is occupied")
    }
}

impl<S: Slot, T> IndexMut<S> for Table<S, T> {
    fn index_mut(&mut self, slot: S) -> &mut T {
        self.entries[slot.index()].value.as_mut().expect("the slot is occupied")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_used_again_under_another_generation() {
        let mut table: Table<TaskSlot, &str> = Table::new();
        let first = table.insert("first");
        let generation = table.generation(first);
        assert_eq!(table.remove(first), Some("first"));
        let second = table.insert("second");
        assert_eq!(first, second);
        assert!(!table.holds(first, generation));
        assert_eq!(table.len(), 1);
    }
}
