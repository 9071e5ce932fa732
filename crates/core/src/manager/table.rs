//! A table of slots that are used again, each with the generation of its occupant.

use serde::{Deserialize, Serialize};
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

/// A number that names a slot of one kind of table. Counted from 1 in memory, so that an `Option` of it
/// takes no more.
pub(super) trait Slot: Copy {
    fn of(index: u32) -> Self;
    fn index(self) -> usize;
}

macro_rules! slot {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize,
        )]
        pub(super) struct $name(NonZeroU32);

        impl Slot for $name {
            fn of(index: u32) -> Self {
                Self(NonZeroU32::MIN.saturating_add(index))
            }

            fn index(self) -> usize {
                self.0.get() as usize - 1
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

/// What may lie in a table.
pub(super) trait Occupant {
    /// It is this generation's from now on. Only tasks have ids that outlive them, and note it.
    fn begin(&mut self, _generation: u32) {}
}

/// As a power of two, how many entries a page has.
const PAGE_BITS: usize = 8;

/// Values in slots, in pages, so that growing copies nothing and keeps no reserve. Generations are
/// counted over the whole table, so that its memory can be given back when it is empty, and no old
/// id is taken for a new one. They lie in the values, which have room for them between other fields.
#[derive(Serialize, Deserialize)]
pub(super) struct Table<S, T> {
    pages: Vec<Vec<Option<T>>>,
    free: Vec<u32>,
    generation: u32,
    occupied: usize,
    slots: PhantomData<S>,
}

impl<S: Slot, T: Occupant> Table<S, T> {
    pub fn new() -> Self {
        Self { pages: Vec::new(), free: Vec::new(), generation: 0, occupied: 0, slots: PhantomData }
    }

    pub fn len(&self) -> usize {
        self.occupied
    }

    fn next_generation(&mut self) -> u32 {
        self.generation = self.generation.wrapping_add(1);
        self.generation
    }

    /// A slot, with what is in it.
    pub fn entry(&self, slot: S) -> Option<&Option<T>> {
        let index = slot.index();
        self.pages.get(index >> PAGE_BITS)?.get(index & ((1 << PAGE_BITS) - 1))
    }

    fn entry_mut(&mut self, slot: S) -> Option<&mut Option<T>> {
        let index = slot.index();
        self.pages.get_mut(index >> PAGE_BITS)?.get_mut(index & ((1 << PAGE_BITS) - 1))
    }

    pub fn insert(&mut self, mut value: T) -> S {
        value.begin(self.next_generation());
        let new = Some(value);
        self.occupied += 1;
        if let Some(slot) = self.free.pop().map(S::of) {
            if let Some(entry) = self.entry_mut(slot) {
                *entry = new;
            }
            return slot;
        }
        if self.pages.last().is_none_or(|page| page.len() == 1 << PAGE_BITS) {
            self.pages.push(Vec::with_capacity(1 << PAGE_BITS));
        }
        let before = (self.pages.len() - 1) << PAGE_BITS;
        let page = self.pages.last_mut().expect("a page was pushed");
        page.push(new);
        S::of((before + page.len() - 1) as u32)
    }

    pub fn remove(&mut self, slot: S) -> Option<T> {
        let value = self.entry_mut(slot)?.take()?;
        self.free.push(slot.index() as u32);
        self.occupied -= 1;
        if self.occupied == 0 {
            self.free = Vec::new();
            // The first page stays: a table may go empty with every task.
            self.pages.truncate(1);
            self.pages.iter_mut().for_each(Vec::clear);
        }
        Some(value)
    }

    /// What is there now, with its slots.
    pub fn iter(&self) -> impl Iterator<Item = (S, &T)> {
        let entries = self.pages.iter().flatten().enumerate();
        entries.filter_map(|(index, entry)| Some((S::of(index as u32), entry.as_ref()?)))
    }

    /// The slots that are occupied now.
    pub fn slots(&self) -> Vec<S> {
        self.iter().map(|(slot, _)| slot).collect()
    }

    pub fn get(&self, slot: S) -> Option<&T> {
        self.entry(slot)?.as_ref()
    }

    pub fn get_mut(&mut self, slot: S) -> Option<&mut T> {
        self.entry_mut(slot)?.as_mut()
    }

    /// Makes the occupant a new one as far as ids are concerned.
    pub fn renew(&mut self, slot: S) {
        let generation = self.next_generation();
        if let Some(value) = self.get_mut(slot) {
            value.begin(generation);
        }
    }
}

impl<S: Slot, T: Occupant> Index<S> for Table<S, T> {
    type Output = T;

    fn index(&self, slot: S) -> &T {
        self.get(slot).expect("the slot is occupied")
    }
}

impl<S: Slot, T: Occupant> IndexMut<S> for Table<S, T> {
    fn index_mut(&mut self, slot: S) -> &mut T {
        self.get_mut(slot).expect("the slot is occupied")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbered(u32);

    impl Occupant for Numbered {
        fn begin(&mut self, generation: u32) {
            self.0 = generation;
        }
    }

    #[test]
    fn a_slot_is_used_again_under_another_generation() {
        let mut table: Table<TaskSlot, Numbered> = Table::new();
        let first = table.insert(Numbered(0));
        let Some(Numbered(generation)) = table.remove(first) else { panic!("it was there") };
        let second = table.insert(Numbered(0));
        assert_eq!(first, second);
        assert_ne!(table[second].0, generation);
        assert_eq!(table.len(), 1);
    }
}
