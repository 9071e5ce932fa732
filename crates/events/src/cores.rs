//! Which cores a rank has, and how a thread stays on one.

use std::io::Error;
use std::mem::{MaybeUninit, size_of};

/// The cores of a rank that shares those of its process, or its launcher's, with others of the same
/// machine: its part of them, at least one.
pub fn of_rank(index: u32, ranks: u32) -> Vec<usize> {
    part(&allowed(0), index as usize, ranks as usize)
}

/// The cores of a rank that a launcher started: those to which the launcher has bound it, or else its
/// part of those of the machine, as far as the launcher says how many ranks are there.
pub fn of_process() -> Vec<usize> {
    let own = allowed(0);
    // SAFETY: a plain call.
    let parent = allowed(unsafe { libc::getppid() });
    if own.len() < parent.len() {
        return own;
    }
    let (index, ranks) = local_rank(&|name| std::env::var(name).ok()).unwrap_or((0, 1));
    part(&own, index, ranks)
}

/// Keeps this thread on a core.
///
/// # Errors
///
/// If the machine has no such core, or this process may not use it.
pub fn pin(core: usize) -> Result<(), Error> {
    if core >= 8 * size_of::<libc::cpu_set_t>() {
        return Err(Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: a set of cores, of which zeros are none; `core` is within it.
    let failed = unsafe {
        let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) != 0
    };
    if failed { Err(Error::last_os_error()) } else { Ok(()) }
}

/// The cores that a process, or with 0 this thread, may use; one if nobody knows.
fn allowed(process: libc::pid_t) -> Vec<usize> {
    // SAFETY: a set of cores, of which zeros are none, with its size.
    let set = unsafe {
        let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init();
        let size = size_of::<libc::cpu_set_t>();
        (libc::sched_getaffinity(process, size, &raw mut set) == 0).then_some(set)
    };
    let Some(set) = set else { return vec![0] };
    let cores = 0..8 * size_of::<libc::cpu_set_t>();
    // SAFETY: within the set.
    cores.filter(|&core| unsafe { libc::CPU_ISSET(core, &set) }).collect()
}

/// Which of how many ranks of this machine this process is, by what launchers say.
fn local_rank(variable: &dyn Fn(&str) -> Option<String>) -> Option<(usize, usize)> {
    const PAIRS: [(&str, &str); 3] = [
        ("MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
        // As in `2(x3),1`: two on each of three nodes, one on the next.
        ("SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"),
    ];
    let number = |name: &str| {
        let value = variable(name)?;
        let end = value.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(value.len());
        value[..end].parse::<usize>().ok()
    };
    let pair = |(index, ranks): &(&str, &str)| Some((number(index)?, number(ranks)?));
    PAIRS.iter().find_map(pair).filter(|(index, ranks)| index < ranks)
}

fn part(cores: &[usize], index: usize, ranks: usize) -> Vec<usize> {
    let bound = |index: usize| index * cores.len() / ranks.max(1);
    let own = &cores[bound(index)..bound(index + 1)];
    if own.is_empty() { vec![cores[index % cores.len()]] } else { own.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_share_the_cores() {
        let cores = [0, 1, 4, 5, 6];
        assert_eq!(part(&cores, 0, 2), [0, 1]);
        assert_eq!(part(&cores, 1, 2), [4, 5, 6]);
        assert_eq!(part(&cores, 0, 1), cores);
        let many: Vec<_> = (0..10).map(|index| part(&cores, index, 10)).collect();
        assert!(many.iter().all(|own| own.len() == 1));
    }

    #[test]
    fn launchers_say_which_rank_of_a_machine_a_process_is() {
        let found = |pairs: &[(&str, &str)]| {
            let pairs: Vec<_> = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            local_rank(&|name| {
                pairs.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
            })
        };
        assert_eq!(found(&[("MPI_LOCALRANKID", "1"), ("MPI_LOCALNRANKS", "4")]), Some((1, 4)));
        let slurm = [("SLURM_LOCALID", "1"), ("SLURM_STEP_TASKS_PER_NODE", "2(x3),1")];
        assert_eq!(found(&slurm), Some((1, 2)));
        assert_eq!(found(&[("MPI_LOCALRANKID", "4"), ("MPI_LOCALNRANKS", "4")]), None);
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn a_thread_stays_on_its_core() {
        let core = *allowed(0).last().unwrap();
        std::thread::spawn(move || {
            pin(core).unwrap();
            assert_eq!(allowed(0), [core]);
            assert!(pin(1 << 20).is_err());
        })
        .join()
        .unwrap();
    }
}
