//! The rank that this process is.

use crate::config::{Given, resolve};
use crate::error::{Refused, answer};
use crate::launch;
use freestone_events::{Rank, say};
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

/// A process is one rank of one run at a time. Ranks are kept for ever: threads may still look at
/// one whose run has ended.
static RANK: AtomicPtr<Rank> = AtomicPtr::new(null_mut());

/// How often the end of a run looks for Ctrl-C.
const SIGNALS: Duration = Duration::from_millis(50);

/// This process's rank.
pub fn rank() -> Result<&'static Rank, Refused> {
    // SAFETY: null, or a rank that was leaked.
    unsafe { RANK.load(Ordering::Acquire).as_ref() }.ok_or_else(|| Refused {
        code: crate::error::OVER,
        text: "no run has begun, or it is over; call this between fse_init and fse_finalise".into(),
    })
}

/// Begins the run.
///
/// # Safety
/// `given` is null or a configuration; no other thread runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_init(given: *const Given) -> c_int {
    // SAFETY: as the header asks for.
    let given = unsafe { given.as_ref() }.copied().unwrap_or_default();
    answer(init(given, None))
}

/// Begins the run on the ranks of a communicator of MPI's.
///
/// # Safety
/// As for [`fse_init`]; `comm` is a communicator, as bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_init_on(given: *const Given, comm: usize) -> c_int {
    // SAFETY: as the header asks for.
    let given = unsafe { given.as_ref() }.copied().unwrap_or_default();
    answer(init(given, Some(comm)))
}

fn init(given: Given, comm: Option<usize>) -> Result<c_int, Refused> {
    if rank().is_ok() {
        return Err(Refused::bad_call("fse_init was called twice; a process is one rank"));
    }
    let settings = resolve(given)?;
    let transport = launch::ranks(&settings, comm)?;
    let rank = Rank::start(transport, settings.config)?;
    RANK.store(Box::into_raw(Box::new(rank)), Ordering::Release);
    Ok(0)
}

/// Waits for the end of the run.
#[unsafe(no_mangle)]
pub extern "C" fn fse_finalise() -> c_int {
    let result = rank().and_then(finalise);
    if let Err(refused) = &result {
        say(&format!("freestone events: {}", refused.text));
    }
    answer(result)
}

fn finalise(rank: &Rank) -> Result<c_int, Refused> {
    loop {
        let has_ended = rank.wait_end(Some(SIGNALS));
        // Also if another rank was quicker to end the run for it, or is lost because it ended itself.
        if launch::was_interrupted() {
            say(&format!("interrupted\n{}", rank.report()));
            launch::interrupt();
        }
        if has_ended? {
            break;
        }
    }
    let finished = rank.finish();
    RANK.store(null_mut(), Ordering::Release);
    launch::part();
    launch::leave();
    let summary = finished?;
    for left in summary.held {
        say(&format!(
            "freestone events: the run ended with {left} that a persistent task had taken"
        ));
    }
    Ok(0)
}

/// The number of this rank.
#[unsafe(no_mangle)]
pub extern "C" fn fse_rank() -> c_int {
    answer(rank().map(|rank| rank.rank().cast_signed()))
}

/// How many ranks there are.
#[unsafe(no_mangle)]
pub extern "C" fn fse_ranks() -> c_int {
    answer(rank().map(|rank| rank.ranks().cast_signed()))
}

/// Whether this rank joined a run that was on.
#[unsafe(no_mangle)]
pub extern "C" fn fse_has_joined() -> c_int {
    answer(rank().map(|rank| c_int::from(rank.has_joined())))
}

/// Waits until nothing is left to do on any rank.
#[unsafe(no_mangle)]
pub extern "C" fn fse_drain() -> c_int {
    answer(rank().and_then(|rank| Ok(rank.drain().map(|()| 0)?)))
}

/// Says what waits on this rank.
#[unsafe(no_mangle)]
pub extern "C" fn fse_report() -> c_int {
    answer(rank().map(|rank| {
        say(&rank.report());
        0
    }))
}
