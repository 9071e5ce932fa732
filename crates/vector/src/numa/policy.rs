//! Where memory is placed on machines with several memory nodes.
//!
//! See docs/decisions/045-numa-policies-apply-to-large-results.md

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// Which node gets the pages of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// What the process was started with: as a rule, where a page is first written.
    #[default]
    Default,
    /// All nodes in turn.
    Interleave,
    /// This node, and others when it is full.
    Preferred(usize),
    /// The node of the worker that first writes a page, whatever the process was started with.
    Local,
}

/// Makes a policy; `preferred` is given a node's number.
type Make = fn(usize) -> Policy;

/// All policies, with their names.
pub const POLICIES: [(&str, Make); 4] = [
    ("default", |_| Policy::Default),
    ("interleave", |_| Policy::Interleave),
    ("preferred", Policy::Preferred),
    ("local", |_| Policy::Local),
];

impl Policy {
    /// The policy of this name; `preferred` takes a node's number.
    pub fn named(name: &str, node: usize) -> Option<Self> {
        POLICIES.iter().find(|(known, _)| *known == name).map(|(_, policy)| policy(node))
    }
}

/// The memory nodes of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes {
    ids: Vec<usize>,
}

/// What the system is asked for: a mode, and a bit for each node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The number of the mode in `linux/mempolicy.h`.
    pub mode: libc::c_int,
    /// The nodes below 64.
    pub mask: u64,
}

impl Nodes {
    /// These nodes, for tests and for machines that do not tell theirs.
    pub fn of(ids: Vec<usize>) -> Self {
        Self { ids }
    }

    /// Those of this machine.
    pub fn here() -> &'static Self {
        static HERE: OnceLock<Nodes> = OnceLock::new();
        HERE.get_or_init(|| Self::under(Path::new("/sys/devices/system/node")))
    }

    /// Those with memory that a folder like `/sys/devices/system/node` tells.
    pub fn under(folder: &Path) -> Self {
        let text = fs::read_to_string(folder.join("has_memory")).unwrap_or_default();
        let ids = text.trim().split(',').filter_map(range_of).flatten().collect();
        Self { ids }
    }

    /// Whether there is a node of this number.
    pub fn has(&self, node: usize) -> bool {
        self.ids.contains(&node)
    }

    /// The numbers of all nodes.
    pub fn ids(&self) -> &[usize] {
        &self.ids
    }

    /// What to ask the system for; nothing where it would change nothing.
    pub fn request(&self, policy: Policy) -> Option<Request> {
        let bits =
            |ids: &[usize]| ids.iter().filter(|id| **id < 64).fold(0, |mask, id| mask | 1 << id);
        match policy {
            Policy::Default => None,
            Policy::Interleave if self.ids.len() < 2 => None,
            Policy::Interleave => {
                Some(Request { mode: libc::MPOL_INTERLEAVE, mask: bits(&self.ids) })
            }
            Policy::Preferred(node) if !self.has(node) => None,
            Policy::Preferred(node) => {
                Some(Request { mode: libc::MPOL_PREFERRED, mask: bits(&[node]) })
            }
            Policy::Local => Some(Request { mode: libc::MPOL_LOCAL, mask: 0 }),
        }
    }
}

/// `3` or `0-3`.
fn range_of(text: &str) -> Option<std::ops::RangeInclusive<usize>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

/// Asks for pages that nobody has written yet to be placed by a policy.
///
/// Returns whether the system was asked and agreed. Where it does not (containers often forbid it),
/// pages are placed as always, which is slower at most.
pub fn bind(address: usize, length: usize, policy: Policy, nodes: &Nodes) -> bool {
    let Some(Request { mode, mask }) = nodes.request(policy) else {
        return false;
    };
    let (pointer, bits) = if mask == 0 { (std::ptr::null(), 0) } else { (&raw const mask, 65_u64) };
    // SAFETY: the pages are the caller's, and where they lie changes no content.
    unsafe { libc::syscall(libc::SYS_mbind, address, length, mode, pointer, bits, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_asks_for_its_nodes() {
        let fake = Nodes::of(vec![0, 1, 4]);
        let asked = |policy| fake.request(policy).map(|found| (found.mode, found.mask));
        assert_eq!(asked(Policy::Default), None);
        assert_eq!(asked(Policy::Interleave), Some((libc::MPOL_INTERLEAVE, 0b10011)));
        assert_eq!(asked(Policy::Preferred(4)), Some((libc::MPOL_PREFERRED, 0b10000)));
        assert_eq!(asked(Policy::Preferred(2)), None);
        assert_eq!(asked(Policy::Local), Some((libc::MPOL_LOCAL, 0)));
        assert_eq!(Nodes::of(vec![0]).request(Policy::Interleave), None);
    }

    #[test]
    fn a_fake_machine_is_read() {
        let folder = std::env::temp_dir().join(format!("nodes-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("there is a place for it");
        fs::write(folder.join("has_memory"), "0-2,5\n").expect("it is writable");
        assert_eq!(Nodes::under(&folder).ids(), [0, 1, 2, 5]);
        fs::remove_dir_all(&folder).expect("it is there");
        assert_eq!(Nodes::under(&folder).ids(), [0_usize; 0]);
    }

    #[test]
    fn names_are_read() {
        assert_eq!(Policy::named("preferred", 3), Some(Policy::Preferred(3)));
        assert_eq!(Policy::named("nearest", 0), None);
    }

    #[test]
    fn a_request_that_the_system_understands_is_granted_or_forbidden() {
        let (length, nodes) = (1 << 20, Nodes::here());
        let Some(memory) = crate::memory::Memory::new(length, Policy::Default) else { return };
        for policy in [Policy::Local, Policy::Preferred(nodes.ids().first().copied().unwrap_or(0))]
        {
            if !bind(memory.address().expose_provenance(), length, policy, nodes) {
                let code = std::io::Error::last_os_error().raw_os_error();
                assert!(
                    nodes.ids().is_empty()
                        || code == Some(libc::EPERM)
                        || code == Some(libc::ENOSYS)
                );
            }
        }
    }
}
