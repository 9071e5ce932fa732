//! What ranks do together with small messages, in bounded time.

use super::faults::at_step;
use crate::error::{MalleableError, Problem, Result};
use crate::mpi::{Deadline, Handle, Mpi, wait};
use crate::resize::{Tally, Vote};
use std::time::Duration;

/// A message to a rank that has given up waiting for it.
const TAG_LATE: i32 = 70;
/// How long who has waited in vain waits for others that have, too.
const LATE_TIMEOUT: Duration = Duration::from_secs(2);
/// Longer messages go in pieces: MPI counts in ints.
const CHUNK: usize = 32 << 20;

/// Waits for requests until all are done.
///
/// # Errors
///
/// [`MalleableError::Timeout`], or what MPI answers.
pub fn finish(
    mpi: &dyn Mpi,
    requests: &mut Vec<Handle>,
    timeout: Duration,
    what: &str,
) -> Result<()> {
    let is_done = wait(Deadline::after(timeout), || are_done(mpi, requests, |request| request))?;
    if is_done { Ok(()) } else { Err(late(what, timeout, String::new())) }
}

/// Whether all requests are done; those that are leave the list.
///
/// # Errors
///
/// What MPI answers.
pub fn are_done<T>(
    mpi: &dyn Mpi,
    pending: &mut Vec<T>,
    request_of: impl Fn(&mut T) -> &mut Handle,
) -> Result<bool> {
    let mut problem = None;
    // One by one: MPICH's `Testall` was seen to fail with many of them.
    pending.retain_mut(|one| match mpi.test(request_of(one)) {
        Ok(is_done) => !is_done,
        Err(error) => {
            problem = Some(error);
            false
        }
    });
    problem.map_or(Ok(pending.is_empty()), Err)
}

/// Copies memory of one rank to all.
///
/// # Safety
///
/// There are so many bytes, and nobody else uses them.
///
/// # Errors
///
/// [`MalleableError::Timeout`], or what MPI answers.
pub unsafe fn copy_to_all(
    mpi: &dyn Mpi,
    comm: Handle,
    (bytes, nbytes): (*mut u8, usize),
    timeout: Duration,
    what: &str,
) -> Result<()> {
    for first in (0..nbytes).step_by(CHUNK) {
        let (bytes, nbytes) = (bytes.wrapping_add(first), CHUNK.min(nbytes - first));
        // SAFETY: as the caller says.
        let request = unsafe { mpi.broadcast(comm, 0, bytes, nbytes)? };
        finish(mpi, &mut vec![request], timeout, what)?;
    }
    Ok(())
}

/// What one rank gives, on all ranks; others may give anything.
///
/// # Errors
///
/// [`MalleableError::Timeout`], or what MPI answers.
pub fn tell(
    mpi: &dyn Mpi,
    comm: Handle,
    root: usize,
    own: Vec<u8>,
    timeout: Duration,
    what: &str,
) -> Result<Vec<u8>> {
    let mut nbytes = Box::new(own.len() as u64);
    // SAFETY: on the heap, and kept if the request is given up.
    let request = unsafe { mpi.broadcast(comm, root, (&raw mut *nbytes).cast(), 8)? };
    let nbytes = kept(finish(mpi, &mut vec![request], timeout, what), nbytes)?;
    let mut bytes = if mpi.rank(comm)? == root { own } else { vec![0; *nbytes as usize] };
    // SAFETY: as above.
    let request = unsafe { mpi.broadcast(comm, root, bytes.as_mut_ptr(), bytes.len())? };
    kept(finish(mpi, &mut vec![request], timeout, what), bytes)
}

/// What was sent or received, once that is done. Otherwise MPI may use it yet, so that it stays
/// for ever.
///
/// # Errors
///
/// That of `done`.
pub fn kept<T>(done: Result<()>, held: T) -> Result<T> {
    match done {
        Ok(()) => Ok(held),
        Err(error) => {
            std::mem::forget(held);
            Err(error)
        }
    }
}

/// What each rank gives, by rank.
///
/// # Errors
///
/// [`MalleableError::Timeout`], or what MPI answers.
pub fn gather(
    mpi: &dyn Mpi,
    comm: Handle,
    own: &[u8],
    timeout: Duration,
    what: &str,
) -> Result<Vec<Vec<u8>>> {
    (0..mpi.size(comm)?).map(|root| tell(mpi, comm, root, own.to_vec(), timeout, what)).collect()
}

/// What each rank has come by, if all have; else the error of the first one that has one, on all of
/// them, with `who` that is and the largest step of all.
///
/// # Errors
///
/// [`MalleableError::Reported`], [`MalleableError::Timeout`], or what MPI answers.
pub fn agree<T>(
    mpi: &dyn Mpi,
    comm: Handle,
    own: Result<T>,
    step: i64,
    who: impl Fn(usize) -> String,
    timeout: Duration,
    what: &str,
) -> Result<T> {
    let (rank, size) = (mpi.rank(comm)?, mpi.size(comm)?);
    let flag = if own.is_err() { size - rank } else { 0 };
    let [flag, step] = largest(mpi, comm, [flag.cast_signed() as i64, step], timeout, what)?;
    let Ok(flag @ 1..) = usize::try_from(flag) else { return own };
    let root = size.saturating_sub(flag);
    let bytes = own.err().map_or(Ok(Vec::new()), |error| postcard::to_stdvec(&error.problem()))?;
    let problem: Problem = postcard::from_bytes(&tell(mpi, comm, root, bytes, timeout, what)?)?;
    Err(MalleableError::Reported(at_step(&who(root), step, &problem)))
}

/// The largest of all ranks' numbers, one by one.
///
/// # Errors
///
/// [`MalleableError::Timeout`], or what MPI answers.
pub fn largest<const N: usize>(
    mpi: &dyn Mpi,
    comm: Handle,
    own: [i64; N],
    timeout: Duration,
    what: &str,
) -> Result<[i64; N]> {
    let own = Box::new(own);
    let mut found = Box::new([0; N]);
    // SAFETY: on the heap, and kept if the request is given up.
    let request = unsafe { mpi.largest(comm, own.as_ptr(), found.as_mut_ptr(), N)? };
    let (_, found) = kept(finish(mpi, &mut vec![request], timeout, what), (own, found))?;
    Ok(*found)
}

/// What all ranks report.
///
/// # Errors
///
/// [`MalleableError::Timeout`], with who did not come; or what MPI answers.
pub fn count_votes(
    mpi: &dyn Mpi,
    comm: Handle,
    vote: &Vote,
    what: &str,
    timeout: Duration,
) -> Result<Tally> {
    if mpi.has_message(comm, None, TAG_LATE)? {
        return Err(MalleableError::Disagreement(format!(
            "rank {} comes to {what} after others have given up waiting for it: their step_timeout is \
             over",
            mpi.rank(comm)?
        )));
    }
    match largest(mpi, comm, vote.words(), timeout, what) {
        Ok(found) => Ok(Tally::of(&found)),
        Err(MalleableError::Timeout { .. }) => Err(late(what, timeout, missing(mpi, comm)?)),
        Err(error) => Err(error),
    }
}

/// Which ranks have not come, as those that have know of each other.
fn missing(mpi: &dyn Mpi, comm: Handle) -> Result<String> {
    let (rank, size) = (mpi.rank(comm)?, mpi.size(comm)?);
    for other in (0..size).filter(|other| *other != rank) {
        // SAFETY: no bytes.
        unsafe { mpi.send(comm, other, TAG_LATE, std::ptr::null(), 0)? };
    }
    let mut absent: Vec<usize> = (0..size).filter(|other| *other != rank).collect();
    wait(Deadline::after(LATE_TIMEOUT), || {
        let mut problem = None;
        absent.retain(|other| match mpi.has_message(comm, Some(*other), TAG_LATE) {
            Ok(has) => !has,
            Err(error) => {
                problem = Some(error);
                true
            }
        });
        problem.map_or(Ok(absent.is_empty()), Err)
    })?;
    if absent.is_empty() {
        return Ok(String::new());
    }
    let absent: Vec<_> = absent.iter().map(usize::to_string).collect();
    Ok(format!(
        ": rank {} did not come (has it ended, or does it skip the checkpoint?)",
        absent.join(", ")
    ))
}

/// The error of a wait that has taken too long.
pub fn late(what: &str, timeout: Duration, missing: String) -> MalleableError {
    MalleableError::Timeout { what: what.to_owned(), timeout_s: timeout.as_secs_f64(), missing }
}
