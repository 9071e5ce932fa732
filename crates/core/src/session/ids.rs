//! Numbers that each client counts from its own beginning, and what the manager has in their place.

use super::Violation;
use crate::wire::CallOptions;
use freestone_base::FunctionId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The client in the manager's own program counts from the beginning, other clients from here.
const FIRST_CATEGORY: u32 = 1 << 31;
const FIRST_COLLECTION: u64 = 1 << 63;
const FIRST_HOLD: u64 = 1 << 63;

/// Numbers that were given to all clients together.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Counters {
    categories: u32,
    collections: u64,
    holds: u64,
}

/// What one client's numbers stand for.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Ids {
    functions: Vec<FunctionId>,
    categories: BTreeMap<u32, u32>,
    pub collections: BTreeMap<u64, u64>,
    /// Entries of shared state that have not ended.
    pub holds: BTreeMap<u64, u64>,
    /// The options of the last call, as they came and as the manager has them: most calls have the
    /// same, and then they share them.
    last: Option<[Arc<CallOptions>; 2]>,
}

impl Ids {
    /// A client defines its next function.
    pub fn define(&mut self, function: FunctionId, number: FunctionId) -> Result<(), Violation> {
        if function.0 as usize != self.functions.len() {
            return Err(Violation::Function(function));
        }
        self.functions.push(number);
        Ok(())
    }

    pub fn function(&self, function: FunctionId) -> Result<FunctionId, Violation> {
        let known = self.functions.get(function.0 as usize);
        known.copied().ok_or(Violation::Function(function))
    }

    pub fn options(&mut self, given: Arc<CallOptions>, shared: &mut Counters) -> Arc<CallOptions> {
        if let Some([last, known]) = &self.last
            && *last == given
        {
            return Arc::clone(known);
        }
        let mut known = Arc::clone(&given);
        if given.tag.is_some() {
            // The session has it with what waits for the call.
            Arc::make_mut(&mut known).tag = None;
        }
        if given.category != 0 {
            let category = self.categories.entry(given.category).or_insert_with(|| {
                shared.categories += 1;
                FIRST_CATEGORY | shared.categories
            });
            Arc::make_mut(&mut known).category = *category;
        }
        self.last = Some([given, Arc::clone(&known)]);
        known
    }

    /// The number of a new collection.
    pub fn collect(&mut self, collection: u64, shared: &mut Counters) -> Result<u64, Violation> {
        if self.collections.contains_key(&collection) {
            return Err(Violation::Collection(collection));
        }
        shared.collections += 1;
        let number = FIRST_COLLECTION | shared.collections;
        self.collections.insert(collection, number);
        Ok(number)
    }

    /// The number of a new entry of shared state.
    pub fn enter(&mut self, hold: u64, shared: &mut Counters) -> Result<u64, Violation> {
        if self.holds.contains_key(&hold) {
            return Err(Violation::Hold(hold));
        }
        shared.holds += 1;
        let number = FIRST_HOLD | shared.holds;
        self.holds.insert(hold, number);
        Ok(number)
    }

    pub fn disperse(&mut self, collection: u64) -> Result<u64, Violation> {
        self.collections.remove(&collection).ok_or(Violation::Collection(collection))
    }
}
