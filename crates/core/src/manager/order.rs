//! Workers by load, so that one changes its place in a few steps however many there are.

use freestone_base::WorkerId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Workers, the least loaded first; equals in an order that follows from the events and means
/// nothing. Only the loads are searched, and they are few.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Order {
    /// Those of each load; none is empty.
    levels: BTreeMap<u32, Vec<WorkerId>>,
    /// By id: where in its level a worker is.
    places: Vec<u32>,
    /// Memory of levels that were empty.
    spare: Vec<Vec<WorkerId>>,
}

impl Order {
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    pub fn insert(&mut self, load: u32, id: WorkerId) {
        let index = id.0 as usize;
        if self.places.len() <= index {
            self.places.resize(index + 1, 0);
        }
        let spare = &mut self.spare;
        let level = self.levels.entry(load).or_insert_with(|| spare.pop().unwrap_or_default());
        self.places[index] = level.len() as u32;
        level.push(id);
    }

    /// Takes a worker out; whether it was there.
    pub fn remove(&mut self, load: u32, id: WorkerId) -> bool {
        let Some(level) = self.levels.get_mut(&load) else { return false };
        let place = self.places.get(id.0 as usize).map_or(0, |place| *place as usize);
        if level.get(place) != Some(&id) {
            return false;
        }
        level.swap_remove(place);
        if let Some(moved) = level.get(place) {
            self.places[moved.0 as usize] = place as u32;
        }
        if level.is_empty() {
            self.spare.extend(self.levels.remove(&load));
        }
        true
    }

    /// The first of `iter`.
    pub fn first(&self) -> Option<(u32, WorkerId)> {
        let (load, level) = self.levels.first_key_value()?;
        level.first().map(|id| (*load, *id))
    }

    /// Loads and workers, the least loaded first, or by `rev` the most loaded.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, WorkerId)> + '_ {
        self.levels.iter().flat_map(|(load, level)| level.iter().map(|id| (*load, *id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_loaded_is_first() {
        let mut order = Order::default();
        for (load, id) in [(64, 0), (0, 1), (64, 2), (128, 3)] {
            order.insert(load, WorkerId(id));
        }
        let ids = |order: &Order| order.iter().map(|(_, id)| id.0).collect::<Vec<_>>();
        assert_eq!(ids(&order), [1, 0, 2, 3]);
        assert!(order.remove(64, WorkerId(0)) && !order.remove(64, WorkerId(0)));
        assert!(!order.remove(0, WorkerId(2)));
        assert!(order.remove(0, WorkerId(1)));
        assert!(order.remove(128, WorkerId(3)));
        order.insert(0, WorkerId(3));
        assert_eq!(ids(&order), [3, 2]);
        assert_eq!(order.iter().next_back(), Some((64, WorkerId(2))));
    }
}
