//! Data on its way from the sources to the targets, as one process takes part in it.

use super::packed::Packed;
use super::together::copy_to_all;
use super::transfer::{Between, Transfer};
use crate::blueprint::Move;
use crate::data::{Array, Content, Form, Kind};
use crate::error::Result;

/// An array's messages have its number, from here on, as their tag.
const FIRST_TAG: i32 = 100;

/// Begins to move rows, point to point, in place: all receives, then all sends. All processes
/// call it together.
///
/// # Errors
///
/// If there is no memory on any process, or what MPI answers.
pub fn start(
    transfer: &mut Transfer,
    between: Between<'_>,
    arrays: &mut [Array],
    kind: Kind,
) -> Result<()> {
    between.agree(make_room(between, arrays, kind), "making room for rows")?;
    post_rows(transfer, between, arrays, kind)
}

fn post_rows(
    transfer: &mut Transfer,
    between: Between<'_>,
    arrays: &[Array],
    kind: Kind,
) -> Result<()> {
    for sends in [false, true] {
        for (tag, array) in
            (FIRST_TAG..).zip(arrays.iter()).filter(|(_, array)| is_moved(array, kind))
        {
            let deal = array.description.deal().unwrap_or_default();
            for one in between.blueprint.moves(deal)? {
                if let Some(end) = end_of(&one, between.process, sends) {
                    let nbytes = (one.rows.end - one.rows.start) * array.row_nbytes();
                    let end = (end, array.at(one.rows.start), nbytes as usize);
                    // SAFETY: rows that are held, or that this process is to have, whose
                    // addresses and pages stay until the resize is over.
                    unsafe { transfer.post(between, (tag, &array.description.name), end, sends)? };
                }
            }
        }
    }
    Ok(())
}

/// Moves all that is not constant; all processes call it together. What fails on one of them,
/// such as a function of the program, all of them return, and none of them waits for it.
///
/// # Errors
///
/// If it takes too long, there is no memory, what MPI answers or a function of the program
/// returns.
pub fn move_variables(
    transfer: &mut Transfer,
    between: Between<'_>,
    arrays: &mut [Array],
) -> Result<()> {
    let packed = make_room(between, arrays, Kind::Variable)
        .and_then(|()| user_rows(arrays, |at, tag| Packed::pack(between, tag, &arrays[at])));
    let mut packed = between.agree(packed, "packing rows")?;
    post_rows(transfer, between, arrays, Kind::Variable)?;
    transfer.finish(between)?;
    copy_values(between, arrays)?;
    if packed.is_empty() {
        return Ok(());
    }
    for one in &mut packed {
        one.exchange_sizes(transfer, between)?;
    }
    let has_room = packed.iter_mut().try_for_each(Packed::make_room);
    between.agree(has_room, "making room for packed rows")?;
    let mut arrived = Vec::new();
    for one in packed {
        arrived.push(one.exchange(transfer, between)?);
    }
    let mut arrived = arrived.into_iter();
    let unpacked = user_rows(arrays, |at, _| {
        arrived.next().map_or(Ok(()), |one| one.unpack(between, &arrays[at]))
    });
    between.agree(unpacked.map(|_| ()), "unpacking rows")
}

fn make_room(between: Between<'_>, arrays: &mut [Array], kind: Kind) -> Result<()> {
    arrays.iter_mut().filter(|array| is_moved(array, kind)).try_for_each(|array| {
        let deal = array.description.deal().unwrap_or_default();
        array.make_room(&between.blueprint.rows_after(deal, between.process)?)
    })
}

/// What a function makes of each array that the program packs, by its index and its tag.
fn user_rows<T>(arrays: &[Array], make: impl FnMut(usize, i32) -> Result<T>) -> Result<Vec<T>> {
    let mut make = make;
    (0..arrays.len())
        .zip(FIRST_TAG..)
        .filter(|(at, _)| matches!(arrays[*at].content, Content::User(_)))
        .map(|(at, tag)| make(at, tag))
        .collect()
}

/// Copies replicated values of rank 0 to all.
fn copy_values(between: Between<'_>, arrays: &[Array]) -> Result<()> {
    let Between { mpi, bridge, timeout, .. } = between;
    arrays.iter().try_for_each(|array| match (&array.content, array.description.form) {
        (Content::Replicated(bytes), Form::Replicated { nbytes }) => {
            let bytes = (*bytes, nbytes as usize);
            // SAFETY: the program has registered so many bytes, and waits.
            unsafe { copy_to_all(mpi, bridge, bytes, timeout, "copying values") }
        }
        _ => Ok(()),
    })
}

fn is_moved(array: &Array, kind: Kind) -> bool {
    matches!(array.description.form, Form::Rows { kind: its, .. } if its == kind)
}

/// The process at the other end of a move, if this one sends, or receives, in it.
fn end_of(one: &Move, process: usize, sends: bool) -> Option<usize> {
    let (own, other) = if sends { (one.source, one.target) } else { (one.target, one.source) };
    (own == process && other != process).then_some(other)
}
