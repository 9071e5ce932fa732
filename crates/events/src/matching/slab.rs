//! Values at numbers that are used again, each a member of up to two linked lists.

#[cfg(test)]
thread_local! {
    /// How often this thread has looked at a value, its neighbours, or a key.
    pub static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts a look, for the test that says how many there are.
#[inline]
pub fn note_look() {
    #[cfg(test)]
    LOOKS.set(LOOKS.get() + 1);
}

/// No number.
pub const NONE: u32 = u32::MAX;

/// The neighbours of a value in a list.
#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

/// The ends of a list.
#[derive(Clone, Copy, Debug)]
pub struct List {
    head: u32,
    tail: u32,
}

impl List {
    /// A list without members.
    pub const EMPTY: Self = Self { head: NONE, tail: NONE };

    /// The first member.
    pub fn first(self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// Whether it has no members.
    pub fn is_empty(self) -> bool {
        self.head == NONE
    }
}

#[derive(Debug)]
struct Node<T> {
    value: T,
    links: [Link; 2],
}

#[derive(Debug)]
enum Entry<T> {
    Used(Node<T>),
    Free(u32),
}

/// Values at numbers. Every operation takes constant time.
#[derive(Debug)]
pub struct Slab<T> {
    entries: Vec<Entry<T>>,
    free: u32,
    len: usize,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: NONE, len: 0 }
    }
}

impl<T> Slab<T> {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Keeps a value, in no list; its number.
    ///
    /// # Panics
    ///
    /// With more than `u32::MAX - 1` values, which no memory holds.
    pub fn insert(&mut self, value: T) -> u32 {
        let links = [Link { before: NONE, after: NONE }; 2];
        let entry = Entry::Used(Node { value, links });
        self.len += 1;
        if self.free == NONE {
            let number = u32::try_from(self.entries.len()).expect("fewer than 2^32 values");
            self.entries.push(entry);
            return number;
        }
        let number = self.free;
        let freed = std::mem::replace(&mut self.entries[number as usize], entry);
        if let Entry::Free(next) = freed {
            self.free = next;
        }
        number
    }

    /// Takes a value out that is in no list any more.
    pub fn remove(&mut self, number: u32) -> Option<T> {
        let entry = self.entries.get_mut(number as usize)?;
        if matches!(entry, Entry::Free(_)) {
            return None;
        }
        let Entry::Used(node) = std::mem::replace(entry, Entry::Free(self.free)) else {
            return None;
        };
        self.free = number;
        self.len -= 1;
        Some(node.value)
    }

    /// The value at a number.
    pub fn get(&self, number: u32) -> Option<&T> {
        self.node(number).map(|node| &node.value)
    }

    /// The value at a number, to change.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        note_look();
        match self.entries.get_mut(number as usize) {
            Some(Entry::Used(node)) => Some(&mut node.value),
            _ => None,
        }
    }

    /// Every number and value.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.entries.iter().zip(0..).filter_map(|(entry, number)| match entry {
            Entry::Used(node) => Some((number, &node.value)),
            Entry::Free(_) => None,
        })
    }

    /// Who comes after `number` in the list that it is in by its link `which`.
    pub fn after(&self, number: u32, which: usize) -> Option<u32> {
        self.node(number).map(|node| node.links[which].after).filter(|&after| after != NONE)
    }

    /// Makes `number` the last of a list, by its link `which`.
    pub fn push_back(&mut self, list: &mut List, number: u32, which: usize) {
        let end = list.tail;
        if let Some(link) = self.link(number, which) {
            *link = Link { before: end, after: NONE };
        }
        match self.link(end, which) {
            Some(link) => link.after = number,
            None => list.head = number,
        }
        list.tail = number;
    }

    /// Makes `number` the first of a list, by its link `which`.
    pub fn push_front(&mut self, list: &mut List, number: u32, which: usize) {
        let first = list.head;
        if let Some(link) = self.link(number, which) {
            *link = Link { before: NONE, after: first };
        }
        match self.link(first, which) {
            Some(link) => link.before = number,
            None => list.tail = number,
        }
        list.head = number;
    }

    /// Takes `number` out of a list that it is in by its link `which`.
    pub fn unlink(&mut self, list: &mut List, number: u32, which: usize) {
        let Some(link) = self.link(number, which) else { return };
        let Link { before, after } = std::mem::replace(link, Link { before: NONE, after: NONE });
        match self.link(before, which) {
            Some(link) => link.after = after,
            None => list.head = after,
        }
        match self.link(after, which) {
            Some(link) => link.before = before,
            None => list.tail = before,
        }
    }

    fn node(&self, number: u32) -> Option<&Node<T>> {
        note_look();
        match self.entries.get(number as usize) {
            Some(Entry::Used(node)) => Some(node),
            _ => None,
        }
    }

    fn link(&mut self, number: u32, which: usize) -> Option<&mut Link> {
        note_look();
        match self.entries.get_mut(number as usize) {
            Some(Entry::Used(node)) => Some(&mut node.links[which]),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(slab: &Slab<char>, list: List, which: usize) -> String {
        let mut next = list.first();
        std::iter::from_fn(|| {
            let number = next?;
            next = slab.after(number, which);
            slab.get(number).copied()
        })
        .collect()
    }

    #[test]
    fn a_value_is_in_two_lists_at_once() {
        let (mut slab, mut odd, mut all) = (Slab::default(), List::EMPTY, List::EMPTY);
        let numbers: Vec<u32> = "abcde".chars().map(|value| slab.insert(value)).collect();
        for (index, &number) in numbers.iter().enumerate() {
            slab.push_back(&mut all, number, 1);
            if index % 2 == 0 {
                slab.push_back(&mut odd, number, 0);
            }
        }
        assert_eq!(
            (members(&slab, odd, 0), members(&slab, all, 1)),
            ("ace".into(), "abcde".into())
        );
        for &number in &numbers[..3] {
            slab.unlink(&mut all, number, 1);
        }
        slab.unlink(&mut odd, numbers[4], 0);
        assert_eq!((members(&slab, odd, 0), members(&slab, all, 1)), ("ac".into(), "de".into()));
    }

    #[test]
    fn numbers_are_used_again() {
        let mut slab = Slab::default();
        let first = slab.insert('a');
        assert_eq!(slab.remove(first), Some('a'));
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.insert('b'), first);
        assert_eq!((slab.len(), slab.entries.len()), (1, 1));
    }
}
