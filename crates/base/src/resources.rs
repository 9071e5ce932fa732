//! Resources: what a task takes and what a worker has.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Amounts of everything that is counted; memory and disk in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash, Serialize, Deserialize)]
pub struct Resources {
    /// Processor cores.
    pub cores: u32,
    /// Graphics processors.
    pub gpus: u32,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of disk.
    pub disk: u64,
}

impl Resources {
    /// What a call takes that says nothing: one core.
    pub const ONE_CORE: Self = Self { cores: 1, gpus: 0, memory: 0, disk: 0 };

    /// Whether `self` can be taken out of `free`.
    pub const fn fit(&self, free: &Self) -> bool {
        self.cores <= free.cores
            && self.gpus <= free.gpus
            && self.memory <= free.memory
            && self.disk <= free.disk
    }

    /// What is left of `self` after `other` is taken, or nothing if it does not fit.
    #[must_use]
    pub const fn checked_sub(&self, other: &Self) -> Option<Self> {
        if !other.fit(self) {
            return None;
        }
        Some(Self {
            cores: self.cores - other.cores,
            gpus: self.gpus - other.gpus,
            memory: self.memory - other.memory,
            disk: self.disk - other.disk,
        })
    }

    /// The sum of both.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            cores: self.cores + other.cores,
            gpus: self.gpus + other.gpus,
            memory: self.memory.saturating_add(other.memory),
            disk: self.disk.saturating_add(other.disk),
        }
    }
}

impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} cores, {} gpus, {} bytes of memory, {} bytes of disk",
            self.cores, self.gpus, self.memory, self.disk
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_and_given_back_is_what_was_there() {
        let all = Resources { cores: 4, gpus: 1, memory: 100, disk: 10 };
        let some = Resources { cores: 3, gpus: 1, memory: 40, disk: 0 };
        let left = all.checked_sub(&some).expect("it fits");
        assert_eq!(left, Resources { cores: 1, gpus: 0, memory: 60, disk: 10 });
        assert_eq!(left.plus(&some), all);
        assert_eq!(left.checked_sub(&some), None);
    }
}
