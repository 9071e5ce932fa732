//! Resources: what a task takes and what a worker has.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Amounts of everything that is counted; memory and disk in bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Hash, Serialize, Deserialize)]
pub struct Resources {
    /// Processor cores.
    pub cores: u32,
    /// Graphics processors.
    pub gpus: u32,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of disk.
    pub disk: u64,
    /// What users count by names of their own, such as licences; never with an amount of 0.
    pub custom: Custom,
}

/// Amounts by name.
pub type Custom = BTreeMap<Box<str>, u32>;

impl Resources {
    /// What a call takes that says nothing: one core.
    pub const ONE_CORE: Self =
        Self { cores: 1, gpus: 0, memory: 0, disk: 0, custom: BTreeMap::new() };

    /// Whether `self` can be taken out of `free`.
    pub fn fit(&self, free: &Self) -> bool {
        self.fit_without_custom(free) && self.lacking(free).next().is_none()
    }

    /// Whether `self` can be taken out of `free` but for what has a name of the user's.
    pub const fn fit_without_custom(&self, free: &Self) -> bool {
        self.cores <= free.cores
            && self.gpus <= free.gpus
            && self.memory <= free.memory
            && self.disk <= free.disk
    }

    /// The names of the custom resources of which `free` has less than `self`.
    pub fn lacking<'a>(&'a self, free: &'a Self) -> impl Iterator<Item = &'a str> {
        let wanted = self.custom.iter();
        let short = wanted.filter(|(name, amount)| **amount > free.amount(name));
        short.map(|(name, _)| &**name)
    }

    fn amount(&self, name: &str) -> u32 {
        self.custom.get(name).copied().unwrap_or(0)
    }

    /// Takes `other` out of `self`; whether it fits, or nothing is taken.
    pub fn take(&mut self, other: &Self) -> bool {
        if !other.fit(self) {
            return false;
        }
        self.cores -= other.cores;
        self.gpus -= other.gpus;
        self.memory -= other.memory;
        self.disk -= other.disk;
        for (name, amount) in &other.custom {
            if let Some(left) = self.custom.get_mut(name) {
                *left -= amount;
            }
        }
        self.custom.retain(|_, left| *left > 0);
        true
    }

    /// Puts `other` back.
    pub fn give_back(&mut self, other: &Self) {
        self.cores += other.cores;
        self.gpus += other.gpus;
        self.memory = self.memory.saturating_add(other.memory);
        self.disk = self.disk.saturating_add(other.disk);
        for (name, amount) in &other.custom {
            let sum = self.custom.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*amount);
        }
    }

    /// All but what has a name of the user's.
    #[must_use]
    pub const fn without_custom(&self) -> Self {
        let Self { cores, gpus, memory, disk, .. } = *self;
        Self { cores, gpus, memory, disk, custom: BTreeMap::new() }
    }

    /// Only what has a name of the user's.
    #[must_use]
    pub fn only_custom(&self) -> Self {
        Self { custom: self.custom.clone(), ..Self::default() }
    }

    /// The larger of both, each resource for itself.
    #[must_use]
    pub fn larger(&self, other: &Self) -> Self {
        let mut custom = self.custom.clone();
        for (name, amount) in &other.custom {
            let most = custom.entry(name.clone()).or_default();
            *most = (*most).max(*amount);
        }
        Self {
            cores: self.cores.max(other.cores),
            gpus: self.gpus.max(other.gpus),
            memory: self.memory.max(other.memory),
            disk: self.disk.max(other.disk),
            custom,
        }
    }

    /// The smaller of both, each resource for itself.
    #[must_use]
    pub fn smaller(&self, other: &Self) -> Self {
        let both = self.custom.iter();
        let both = both.map(|(name, amount)| (name.clone(), (*amount).min(other.amount(name))));
        Self {
            cores: self.cores.min(other.cores),
            gpus: self.gpus.min(other.gpus),
            memory: self.memory.min(other.memory),
            disk: self.disk.min(other.disk),
            custom: both.filter(|(_, amount)| *amount > 0).collect(),
        }
    }

    /// How often `each` can be taken out of `self`; `u64::MAX` if it takes nothing.
    pub fn times(&self, each: &Self) -> u64 {
        let by = |all: u64, each: u64| all.checked_div(each).unwrap_or(u64::MAX);
        let custom = each.custom.iter();
        let custom = custom.map(|(name, amount)| by(self.amount(name).into(), (*amount).into()));
        by(self.cores.into(), each.cores.into())
            .min(by(self.gpus.into(), each.gpus.into()))
            .min(by(self.memory, each.memory))
            .min(by(self.disk, each.disk))
            .min(custom.min().unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} cores, {} gpus, {} bytes of memory, {} bytes of disk",
            self.cores, self.gpus, self.memory, self.disk
        )?;
        self.custom.iter().try_for_each(|(name, amount)| write!(f, ", {amount} {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn licences(amount: u32) -> Custom {
        Custom::from([("licence".into(), amount)])
    }

    #[test]
    fn what_is_taken_and_given_back_is_what_was_there() {
        let all = Resources { cores: 4, gpus: 1, memory: 100, disk: 10, custom: licences(2) };
        let some = Resources { cores: 3, gpus: 1, memory: 40, disk: 0, custom: licences(1) };
        let mut left = all.clone();
        assert!(left.take(&some));
        let rest = Resources { cores: 1, gpus: 0, memory: 60, disk: 10, custom: licences(1) };
        assert_eq!(left, rest);
        assert!(!left.take(&some));
        assert_eq!(left, rest);
        left.give_back(&some);
        assert_eq!(left, all);
    }

    #[test]
    fn the_last_of_a_custom_resource_comes_back() {
        let all = Resources { custom: licences(2), ..Resources::ONE_CORE };
        let mut left = all.clone();
        assert!(left.take(&all.only_custom()));
        assert_eq!(left, Resources::ONE_CORE);
        assert_eq!(all.lacking(&left).collect::<Vec<_>>(), ["licence"]);
        assert!(!all.fit(&left) && all.fit_without_custom(&left));
        left.give_back(&all.only_custom());
        assert_eq!(left, all);
    }

    #[test]
    fn amounts_are_compared_name_by_name() {
        let one = Resources { custom: licences(3), ..Resources::ONE_CORE };
        let other = Resources { cores: 2, ..Resources::default() };
        assert_eq!(one.larger(&other), Resources { cores: 2, ..one.clone() });
        assert_eq!(one.smaller(&other), Resources::ONE_CORE);
        let each = Resources { custom: licences(2), ..Resources::default() };
        assert_eq!((one.times(&each), other.times(&each)), (1, 0));
        assert_eq!(one.times(&Resources::default()), u64::MAX);
        assert_eq!(
            one.to_string(),
            "1 cores, 0 gpus, 0 bytes of memory, 0 bytes of disk, 3 licence"
        );
    }
}
