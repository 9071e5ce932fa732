//! The calls that ask which rows a rank has, and where.

use crate::calls::{name, with_job};
use crate::error::{Refused, answer, remember};
use freestone_malleable::data::{Array, Form};
use std::ffi::{c_char, c_int, c_void};
use std::ops::Range;

/// The only run of rows that a rank has, of all of its runs.
const ONLY: c_int = -1;

fn run_of(array: &Array, run: c_int) -> Result<Range<u64>, Refused> {
    if run == ONLY {
        return Ok(array.one_run()?);
    }
    let found = usize::try_from(run).ok().and_then(|run| array.held.get(run)).cloned();
    found.ok_or_else(|| {
        let (description, runs) = (&array.description, array.held.len());
        Refused::bad_call(format!(
            "{description} has no run {run} on this rank, which has {runs}, counted from 0"
        ))
    })
}

/// How many runs of rows this rank has of an array.
///
/// # Safety
/// `word` ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsm_runs(word: *const c_char) -> c_int {
    answer(with_job(|job| {
        // SAFETY: as the caller says.
        let runs = job.array(&unsafe { name(word)? })?.held.len();
        Ok(c_int::try_from(runs).unwrap_or(c_int::MAX))
    }))
}

/// The rank that has a row.
///
/// # Safety
/// `word` ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsm_rank_of(word: *const c_char, row: u64) -> c_int {
    answer(with_job(|job| {
        // SAFETY: as the caller says.
        let rank = job.rank_of(&unsafe { name(word)? }, row)?;
        Ok(c_int::try_from(rank).unwrap_or(c_int::MAX))
    }))
}

/// The rows that this rank has of an array: their address, null for those in the program's memory.
///
/// # Safety
/// As for [`fsm_run`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsm_rows(
    word: *const c_char,
    first: *mut u64,
    count: *mut u64,
) -> *mut c_void {
    // SAFETY: as the caller says.
    unsafe { fsm_run(word, ONLY, first, count) }
}

/// One run of the rows that this rank has of an array: its address, and which rows it has.
///
/// # Safety
/// `word` ends with a zero; `first` and `count` are null or places for numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsm_run(
    word: *const c_char,
    run: c_int,
    first: *mut u64,
    count: *mut u64,
) -> *mut c_void {
    let found = with_job(|job| {
        // SAFETY: as the caller says.
        let array = job.array(&unsafe { name(word)? })?;
        let rows = run_of(array, run)?;
        Ok((array.at(rows.start), rows))
    });
    match found {
        Ok((address, rows)) => {
            // SAFETY: as the caller says.
            unsafe {
                if let Some(first) = first.as_mut() {
                    *first = rows.start;
                }
                if let Some(count) = count.as_mut() {
                    *count = rows.end - rows.start;
                }
            }
            address.cast()
        }
        Err(refused) => {
            remember(&refused.text);
            std::ptr::null_mut()
        }
    }
}

/// Where one run of this rank's rows of an array is, or its only one, for C++ and Fortran, which
/// have rows of so many bytes.
///
/// # Safety
/// `word` ends with a zero; the others are places for an address and numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsm_typed_rows(
    word: *const c_char,
    run: c_int,
    row_nbytes: i64,
    address: *mut *mut c_void,
    first: *mut u64,
    count: *mut u64,
) -> c_int {
    answer(with_job(|job| {
        // SAFETY: as the caller says.
        let name = unsafe { name(word)? };
        let array = job.array(&name)?;
        let description = &array.description;
        match description.form {
            Form::Rows { row_nbytes: held, .. } if u64::try_from(row_nbytes) == Ok(held) => {}
            Form::Rows { .. } => {
                return Err(Refused::bad_call(format!(
                    "{description} can't be taken as rows of {row_nbytes} bytes: give the width and \
                     the type that they have"
                )));
            }
            _ => {
                return Err(Refused::bad_call(format!(
                    "{description} is in the program's own memory: the library has no rows of it"
                )));
            }
        }
        let rows = run_of(array, run)?;
        // SAFETY: as the caller says.
        unsafe {
            *address = array.at(rows.start).cast();
            *first = rows.start;
            *count = rows.end - rows.start;
        }
        Ok(0)
    }))
}
