//! Which processors there are, and where: packages and cores; and where memory is placed.

mod policy;

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

pub use policy::{Nodes, POLICIES, Policy, Request, bind};

/// A processor that this process may run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Its number.
    pub id: usize,
    /// Its core, within the package.
    pub core: usize,
    /// Its package.
    pub package: usize,
}

/// The processors of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    processors: Vec<Processor>,
}

impl Topology {
    /// A topology of these processors, for tests and for machines that do not tell theirs.
    pub fn of(mut processors: Vec<Processor>) -> Self {
        processors.sort_by_key(|one| (one.package, one.core, one.id));
        Self { processors }
    }

    /// That of this machine, of the processors that this process may run on.
    pub fn here() -> Self {
        let root = Path::new("/sys/devices/system/cpu");
        let processors = allowed().into_iter().map(|id| {
            let read = |name: &str| {
                let path = root.join(format!("cpu{id}/topology/{name}"));
                fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok())
            };
            Processor {
                id,
                core: read("core_id").unwrap_or(id),
                package: read("physical_package_id").unwrap_or(0),
            }
        });
        Self::of(processors.collect())
    }

    /// The processors that workers run on: one for each core, or all of them; package by package.
    pub fn places(&self, hyperthreading: bool) -> Vec<Processor> {
        let mut places = self.processors.clone();
        if !hyperthreading {
            places.dedup_by_key(|one| (one.package, one.core));
        }
        places
    }
}

/// The bytes of the cache that cores share, the last one before memory; none if the system tells of none.
pub fn last_cache() -> Option<usize> {
    static HERE: OnceLock<Option<usize>> = OnceLock::new();
    *HERE.get_or_init(|| last_cache_under(Path::new("/sys/devices/system/cpu/cpu0/cache")))
}

/// That of a folder like `/sys/devices/system/cpu/cpu0/cache`. Where it has two levels, a hypervisor may
/// hide the third one.
fn last_cache_under(root: &Path) -> Option<usize> {
    let size = |index: usize| {
        let read = |name: &str| fs::read_to_string(root.join(format!("index{index}/{name}"))).ok();
        let level: usize = read("level")?.trim().parse().ok()?;
        let kibibytes: usize = read("size")?.trim().strip_suffix('K')?.parse().ok()?;
        (level >= 3).then_some((level, kibibytes << 10))
    };
    (0..8).filter_map(size).max().map(|(_, bytes)| bytes)
}

fn allowed() -> Vec<usize> {
    // SAFETY: the set is plain bits, and its size is given.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) != 0 {
            return vec![0];
        }
        set
    };
    let bits = 8 * size_of::<libc::cpu_set_t>();
    // SAFETY: every number is below the size of the set.
    (0..bits).filter(|id| unsafe { libc::CPU_ISSET(*id, &set) }).collect()
}

/// Keeps the calling thread on these processors; it stays where it is if the system refuses.
pub fn pin(processors: &[usize]) {
    // SAFETY: the set is plain bits, every number is checked against its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for id in processors.iter().filter(|id| **id < 8 * size_of::<libc::cpu_set_t>()) {
            libc::CPU_SET(*id, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

/// The processors that the calling thread may run on.
pub fn pinned() -> Vec<usize> {
    allowed()
}

/// The processor that the calling thread runs on now.
pub fn processor() -> i32 {
    // SAFETY: it only tells a number.
    unsafe { libc::sched_getcpu() }
}

/// Moves the calling thread to another of the processors that it may run on, where it may be moved
/// from again; tells whether there is one.
///
/// The system puts a thread that is woken on the processor of who wakes it when all others have
/// something to do, even if that is only a thread that yields.
pub fn leave() -> bool {
    let (here, all) = (processor(), allowed());
    let others: Vec<usize> =
        all.iter().copied().filter(|id| usize::try_from(here) != Ok(*id)).collect();
    if others.is_empty() {
        return false;
    }
    pin(&others);
    pin(&all);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_counts_once_without_hyperthreading() {
        let of = |id, core, package| Processor { id, core, package };
        let fake = Topology::of(vec![of(0, 0, 0), of(1, 0, 1), of(2, 0, 0), of(3, 1, 1)]);
        let ids = |all: bool| fake.places(all).iter().map(|one| one.id).collect::<Vec<_>>();
        assert_eq!(ids(true), [0, 2, 1, 3]);
        assert_eq!(ids(false), [0, 1, 3]);
    }

    #[test]
    fn a_thread_leaves_its_processor_and_may_come_back() {
        let run = || {
            let all = allowed();
            assert_eq!(leave(), all.len() > 1);
            assert_eq!(allowed(), all);
            pin(&all[..1]);
            assert!(!leave(), "there is no other one");
            assert_eq!(allowed(), all[..1]);
        };
        std::thread::spawn(run).join().expect("it moves");
    }

    #[test]
    fn the_last_cache_is_the_shared_one() {
        let root = std::env::temp_dir().join(format!("freestone-caches-{}", std::process::id()));
        let add = |index: usize, level: &str, size: &str| {
            let folder = root.join(format!("index{index}"));
            fs::create_dir_all(&folder).expect("it can be written");
            fs::write(folder.join("level"), level).expect("it can be written");
            fs::write(folder.join("size"), size).expect("it can be written");
        };
        assert_eq!(last_cache_under(&root), None);
        add(0, "1\n", "32K\n");
        add(1, "2\n", "512K\n");
        assert_eq!(last_cache_under(&root), None);
        add(2, "3\n", "32768K\n");
        assert_eq!(last_cache_under(&root), Some(32 << 20));
        fs::remove_dir_all(&root).expect("it was written");
    }

    #[test]
    fn this_machine_has_processors() {
        assert!(!Topology::here().places(false).is_empty());
    }
}
