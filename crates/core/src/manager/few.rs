//! Short lists: as long as there are few items, they lie in the record itself.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::{Deref, DerefMut};
use thin_vec::ThinVec;

/// A list of which up to `N` items need no allocation. Slots (four bytes) with `N` = 3 and ids
/// (eight bytes) with `N` = 1 take 16 bytes; a `SmallVec` takes 24.
#[derive(Clone)]
pub(in crate::manager) enum Few<T, const N: usize> {
    /// At least one; those behind `len` are copies of the first.
    Inline { len: u8, items: [T; N] },
    /// None, without an allocation, or as many as there are.
    Listed(ThinVec<T>),
}

impl<T: Copy, const N: usize> Few<T, N> {
    pub const fn new() -> Self {
        Self::Listed(ThinVec::new())
    }

    pub fn push(&mut self, item: T) {
        match self {
            Self::Listed(list) if list.capacity() == 0 => {
                *self = Self::Inline { len: 1, items: [item; N] };
            }
            Self::Listed(list) => list.push(item),
            Self::Inline { len, items } if (*len as usize) < N => {
                items[*len as usize] = item;
                *len += 1;
            }
            Self::Inline { items, .. } => {
                let mut list = ThinVec::with_capacity(2 * N + 1);
                list.extend_from_slice(&items[..]);
                list.push(item);
                *self = Self::Listed(list);
            }
        }
    }

    /// Removes all items, and gives their memory back.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// Keeps the items for which `keep` holds, in their order.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        match self {
            Self::Listed(list) => list.retain(|item| keep(item)),
            Self::Inline { len, items } => {
                *self = items[..*len as usize].iter().copied().filter(keep).collect();
            }
        }
    }
}

impl<T: Copy, const N: usize> Default for Few<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const N: usize> Deref for Few<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Inline { len, items } => &items[..*len as usize],
            Self::Listed(list) => list,
        }
    }
}

impl<T, const N: usize> DerefMut for Few<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Inline { len, items } => &mut items[..*len as usize],
            Self::Listed(list) => list,
        }
    }
}

impl<T: Copy, const N: usize> Extend<T> for Few<T, N> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

impl<T: Copy, const N: usize> FromIterator<T> for Few<T, N> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut few = Self::new();
        few.extend(items);
        few
    }
}

/// The items of a list that is used up.
pub(in crate::manager) struct Items<T, const N: usize> {
    few: Few<T, N>,
    next: usize,
}

impl<T: Copy, const N: usize> Iterator for Items<T, N> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let item = self.few.get(self.next).copied();
        self.next += 1;
        item
    }
}

impl<T: Copy, const N: usize> IntoIterator for Few<T, N> {
    type Item = T;
    type IntoIter = Items<T, N>;

    fn into_iter(self) -> Items<T, N> {
        Items { few: self, next: 0 }
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a Few<T, N> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Serialize, const N: usize> Serialize for Few<T, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, T: Copy + Deserialize<'de>, const N: usize> Deserialize<'de> for Few<T, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_take_two_words() {
        assert_eq!(size_of::<Few<u32, 3>>(), 16);
        assert_eq!(size_of::<Few<u64, 1>>(), 16);
    }

    proptest! {
        /// Whatever is done to it, it holds what a `Vec` holds.
        #[test]
        fn it_is_a_list(changes in prop::collection::vec((0..8_u8, 0..9_u32), 0..40)) {
            let (mut few, mut list) = (Few::<u32, 3>::new(), Vec::new());
            for (change, item) in changes {
                match change {
                    0 => (few.clear(), list.clear()).0,
                    1 => (few.retain(|one| *one != item), list.retain(|one| *one != item)).0,
                    _ => (few.push(item), list.push(item)).0,
                }
                prop_assert_eq!(&few[..], &list[..]);
                let bytes = postcard::to_allocvec(&few).expect("a list can be encoded");
                prop_assert_eq!(&bytes, &postcard::to_allocvec(&list).expect("so can this"));
                let decoded: Few<u32, 3> = postcard::from_bytes(&bytes).expect("it was encoded");
                prop_assert_eq!(&decoded[..], &list[..]);
                prop_assert_eq!(few.clone().into_iter().collect::<Vec<_>>(), list.clone());
            }
        }
    }
}
