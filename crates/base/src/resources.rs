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

/// Amounts by name. Most calls have none, and all copy and compare them: an empty one costs nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default, Hash, Serialize, Deserialize)]
#[serde(from = "BTreeMap<Box<str>, u32>", into = "BTreeMap<Box<str>, u32>")]
pub struct Custom(
    /// In the order of the names, without amounts of 0.
    Vec<(Box<str>, u32)>,
);

impl Custom {
    /// Nothing.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and amounts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.0.iter().map(|(name, amount)| (&**name, *amount))
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| (**known).cmp(name))
    }

    fn get(&self, name: &str) -> u32 {
        self.find(name).map_or(0, |index| self.0[index].1)
    }

    fn set(&mut self, name: &str, amount: u32) {
        match self.find(name) {
            Ok(index) if amount == 0 => drop(self.0.remove(index)),
            Ok(index) => self.0[index].1 = amount,
            Err(index) if amount > 0 => self.0.insert(index, (name.into(), amount)),
            Err(_) => {}
        }
    }
}

impl<N: Into<Box<str>>> FromIterator<(N, u32)> for Custom {
    fn from_iter<I: IntoIterator<Item = (N, u32)>>(amounts: I) -> Self {
        let some = amounts.into_iter().filter(|(_, amount)| *amount > 0);
        let sorted: BTreeMap<Box<str>, u32> =
            some.map(|(name, amount)| (name.into(), amount)).collect();
        Self(sorted.into_iter().collect())
    }
}

impl From<BTreeMap<Box<str>, u32>> for Custom {
    fn from(amounts: BTreeMap<Box<str>, u32>) -> Self {
        amounts.into_iter().collect()
    }
}

impl From<Custom> for BTreeMap<Box<str>, u32> {
    fn from(custom: Custom) -> Self {
        custom.0.into_iter().collect()
    }
}

impl Resources {
    /// What a call takes that says nothing: one core.
    pub const ONE_CORE: Self =
        Self { cores: 1, gpus: 0, memory: 0, disk: 0, custom: Custom::new() };

    /// Whether `self` can be taken out of `free`.
    pub fn fit(&self, free: &Self) -> bool {
        self.fit_without_custom(free) && !self.lacks(free)
    }

    /// Whether `self` can be taken out of `free` but for what has a name of the user's.
    pub const fn fit_without_custom(&self, free: &Self) -> bool {
        self.cores <= free.cores
            && self.gpus <= free.gpus
            && self.memory <= free.memory
            && self.disk <= free.disk
    }

    /// Whether `free` has less of a custom resource than `self`.
    pub fn lacks(&self, free: &Self) -> bool {
        !self.custom.is_empty() && self.lacking(free).next().is_some()
    }

    /// The names of the custom resources of which `free` has less than `self`.
    pub fn lacking<'a>(&'a self, free: &'a Self) -> impl Iterator<Item = &'a str> {
        let short = self.custom.iter().filter(|(name, amount)| *amount > free.custom.get(name));
        short.map(|(name, _)| name)
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
        for (name, amount) in other.custom.iter() {
            self.custom.set(name, self.custom.get(name) - amount);
        }
        true
    }

    /// Puts `other` back.
    pub fn give_back(&mut self, other: &Self) {
        self.cores += other.cores;
        self.gpus += other.gpus;
        self.memory = self.memory.saturating_add(other.memory);
        self.disk = self.disk.saturating_add(other.disk);
        for (name, amount) in other.custom.iter() {
            self.custom.set(name, self.custom.get(name).saturating_add(amount));
        }
    }

    /// All but what has a name of the user's.
    #[must_use]
    pub const fn without_custom(&self) -> Self {
        let Self { cores, gpus, memory, disk, .. } = *self;
        Self { cores, gpus, memory, disk, custom: Custom::new() }
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
        for (name, amount) in other.custom.iter() {
            custom.set(name, custom.get(name).max(amount));
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
        let both = both.map(|(name, amount)| (name, amount.min(other.custom.get(name))));
        Self {
            cores: self.cores.min(other.cores),
            gpus: self.gpus.min(other.gpus),
            memory: self.memory.min(other.memory),
            disk: self.disk.min(other.disk),
            custom: both.collect(),
        }
    }

    /// How often `each` can be taken out of `self`; `u64::MAX` if it takes nothing.
    pub fn times(&self, each: &Self) -> u64 {
        let by = |all: u64, each: u64| all.checked_div(each).unwrap_or(u64::MAX);
        let custom = each.custom.iter();
        let custom = custom.map(|(name, amount)| by(self.custom.get(name).into(), amount.into()));
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
        [("licence", amount)].into_iter().collect()
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
