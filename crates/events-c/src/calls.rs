//! Firing events.

use crate::arrays::{self, MAX_DIMS, Order};
use crate::error::{Refused, answer};
use crate::places;
use crate::recording;
use crate::runtime::{Part, part, rank};
use crate::views::{Address, Addresses};
use crate::words::{self, ADDRESS, NONE, TEXT, size_of_type};
use freestone_events::{EventId, EventsError, Failure, Lasting, Payload, Target, say};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Arc;

/// The bytes of so many elements of a type.
///
/// # Safety
/// `data` points to them.
unsafe fn bytes_of<'a>(
    data: *const c_void,
    kind: c_int,
    count: usize,
) -> Result<(u32, &'a [u8]), Refused> {
    let known = u32::try_from(kind).ok().filter(|&kind| kind != ADDRESS);
    let Some((kind, size)) = known.and_then(|kind| Some((kind, size_of_type(kind)?))) else {
        return Err(Refused::bad_call(format!(
            "{kind} is no type of what events carry; possible are FSE_NONE to FSE_BYTE, \
             FSE_BOOL to FSE_INT16 and FSE_TEXT, and fse_fire_address for addresses"
        )));
    };
    let nbytes = count.checked_mul(size).filter(|&nbytes| isize::try_from(nbytes).is_ok());
    let Some(nbytes) = nbytes else {
        return Err(Refused::too_large(format!(
            "{count} elements of {size} bytes are more than a machine can have"
        )));
    };
    if kind == NONE && count > 0 && !data.is_null() {
        return Err(Refused::bad_call(format!(
            "an event of FSE_NONE carries nothing, and there are {count} elements; give their type"
        )));
    }
    if nbytes == 0 {
        return Ok((kind, &[]));
    }
    if data.is_null() {
        return Err(Refused::bad_call(format!(
            "the data is a null pointer, with {count} elements"
        )));
    }
    // SAFETY: as the caller says.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast(), nbytes) };
    if kind == TEXT
        && let Err(error) = std::str::from_utf8(bytes)
    {
        return Err(Refused::bad_call(format!(
            "the text is not UTF-8 from its byte {} on; fire other bytes as FSE_BYTE",
            error.valid_up_to()
        )));
    }
    Ok((kind, bytes))
}

/// Fires an event, lasting as `flags` say.
///
/// # Safety
/// `data` points to `count` elements of the type; `id` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_fire_flags(
    data: *const c_void,
    kind: c_int,
    count: usize,
    target: c_int,
    id: *const c_char,
    flags: c_uint,
) -> c_int {
    let fire = || -> Result<c_int, Refused> {
        let lasting = lasting(flags)?;
        let part = part()?;
        // SAFETY: as the caller says.
        let ((kind, bytes), id) = unsafe { (bytes_of(data, kind, count)?, words::id(id)?) };
        let target = words::target(part.numbers(), target)?;
        fire_at(part, &target, &id, lasting, (kind, &[bytes]))?;
        Ok(0)
    };
    answer(fire())
}

/// Fires an array of a shape, lasting as `flags` say.
///
/// # Safety
/// `data` points to as many elements of the type as `shape` says, which has `ndims` numbers; `id` ends
/// with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_fire_array(
    data: *const c_void,
    kind: c_int,
    ndims: c_int,
    shape: *const usize,
    target: c_int,
    id: *const c_char,
    flags: c_uint,
) -> c_int {
    let target = |part: Part| words::target(part.numbers(), target);
    // SAFETY: as the caller says.
    answer(unsafe { fire_array((data, kind), (ndims, shape, Order::RowMajor), target, id, flags) })
}

/// The same for an array of Fortran's, at several ranks.
///
/// # Safety
/// As for [`fse_fire_array`]; `targets` points to `ntargets` numbers.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // as the header has them
pub unsafe extern "C" fn fse_fire_array_f(
    data: *const c_void,
    kind: c_int,
    ndims: c_int,
    shape: *const usize,
    targets: *const c_int,
    ntargets: usize,
    id: *const c_char,
    flags: c_uint,
) -> c_int {
    let target = |part: Part| {
        // SAFETY: as the caller says.
        let targets = unsafe { std::slice::from_raw_parts(targets, ntargets) };
        if let [one] = targets {
            return words::target(part.numbers(), *one);
        }
        let group = targets.iter().map(|&one| words::rank_of(part.numbers(), one));
        group.collect::<Result<_, _>>().map(Target::Group)
    };
    let order = Order::ColumnMajor;
    // SAFETY: as the caller says.
    answer(unsafe { fire_array((data, kind), (ndims, shape, order), target, id, flags) })
}

unsafe fn fire_array(
    (data, kind): (*const c_void, c_int),
    (ndims, shape, order): (c_int, *const usize, Order),
    target: impl FnOnce(Part) -> Result<Target, Refused>,
    id: *const c_char,
    flags: c_uint,
) -> Result<c_int, Refused> {
    let lasting = lasting(flags)?;
    let part = part()?;
    let ndims = usize::try_from(ndims).ok().filter(|&ndims| (1..=MAX_DIMS).contains(&ndims));
    let Some(ndims) = ndims.filter(|_| !shape.is_null()) else {
        return Err(Refused::bad_call(format!(
            "an array has 1 to {MAX_DIMS} dimensions, and a shape with as many numbers"
        )));
    };
    // SAFETY: as the caller says.
    let shape = unsafe { std::slice::from_raw_parts(shape, ndims) };
    let count = shape.iter().try_fold(1_usize, |count, &extent| count.checked_mul(extent));
    let count = count.ok_or_else(|| {
        Refused::too_large(format!("an array of the shape {shape:?} has too many elements"))
    })?;
    // SAFETY: as the caller says.
    let ((kind, bytes), id) = unsafe { (bytes_of(data, kind, count)?, words::id(id)?) };
    let head = arrays::head(kind, order, shape).ok_or_else(|| {
        Refused::bad_call(format!("arrays of type {kind} have no shape; fire it by fse_fire"))
    })?;
    let target = target(part)?;
    fire_at(part, &target, &id, lasting, (arrays::ARRAY, &[&head[..], bytes]))?;
    Ok(0)
}

/// Fires an event.
///
/// # Safety
/// As for [`fse_fire_flags`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_fire(
    data: *const c_void,
    kind: c_int,
    count: usize,
    target: c_int,
    id: *const c_char,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { fse_fire_flags(data, kind, count, target, id, 0) }
}

/// Fires an event that is fired again, at its target, each time it is consumed.
///
/// # Safety
/// As for [`fse_fire_flags`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_fire_persistent(
    data: *const c_void,
    kind: c_int,
    count: usize,
    target: c_int,
    id: *const c_char,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { fse_fire_flags(data, kind, count, target, id, 1) }
}

/// Fires an event at several ranks.
///
/// # Safety
/// As for [`fse_fire_flags`]; `targets` points to `ntargets` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_fire_group(
    data: *const c_void,
    kind: c_int,
    count: usize,
    targets: *const c_int,
    ntargets: usize,
    id: *const c_char,
) -> c_int {
    let fire = || -> Result<c_int, Refused> {
        let part = part()?;
        // SAFETY: as the caller says.
        let ((kind, bytes), id) = unsafe { (bytes_of(data, kind, count)?, words::id(id)?) };
        if targets.is_null() && ntargets > 0 {
            return Err(Refused::bad_call("the targets are a null pointer"));
        }
        let targets: &[c_int] = match ntargets {
            0 => &[],
            // SAFETY: as the caller says.
            _ => unsafe { std::slice::from_raw_parts(targets, ntargets) },
        };
        let group: Result<_, _> =
            targets.iter().map(|&one| words::rank_of(part.numbers(), one)).collect();
        fire_at(part, &Target::Group(group?), &id, Lasting::Once, (kind, &[bytes]))?;
        Ok(0)
    };
    answer(fire())
}

/// Fires an event that carries an address at this rank.
///
/// # Safety
/// `id` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_fire_address(address: *const c_void, id: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    answer(unsafe { fire_value(Payload::value(ADDRESS, Arc::new(Address(address))), id, 0) })
}

/// Fires an event that carries addresses at this rank, lasting as `flags` say.
///
/// # Safety
/// `addresses` points to `count` of them; `id` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_fire_addresses(
    addresses: *const *const c_void,
    count: usize,
    id: *const c_char,
    flags: c_uint,
) -> c_int {
    let fire = || -> Result<c_int, Refused> {
        let nbytes = count.checked_mul(size_of::<usize>());
        let fits = nbytes.is_some_and(|nbytes| isize::try_from(nbytes).is_ok());
        if !fits {
            let text = format!("{count} addresses are more than a machine can have");
            return Err(Refused::too_large(text));
        }
        if addresses.is_null() && count > 0 {
            return Err(Refused::bad_call(format!(
                "the addresses are a null pointer, and there are {count}"
            )));
        }
        let addresses = match count {
            0 => &[],
            // SAFETY: as the caller says.
            _ => unsafe { std::slice::from_raw_parts(addresses, count) },
        };
        let list = Addresses(addresses.into());
        // SAFETY: as the caller says.
        unsafe { fire_value(Payload::value(ADDRESS, Arc::new(list)), id, flags) }
    };
    answer(fire())
}

unsafe fn fire_value(payload: Payload, id: *const c_char, flags: c_uint) -> Result<c_int, Refused> {
    // SAFETY: as the caller says.
    let id = unsafe { words::id(id)? };
    let (rank, lasting) = (rank()?, lasting(flags)?);
    let fire = || rank.fire_own(&id, lasting, payload);
    recording::fires(&id, &Target::Rank(rank.rank()), 1, fire)?;
    Ok(0)
}

fn fire_at(
    part: Part,
    target: &Target,
    id: &EventId,
    lasting: Lasting,
    (kind, parts): (u32, &[&[u8]]),
) -> Result<(), EventsError> {
    match part {
        Part::Rank(rank) => {
            let fire = || rank.fire(target, id, lasting, kind, parts);
            recording::fires(id, target, rank.ranks(), fire)
        }
        Part::Bridge(bridge) => bridge.fire(target, id, lasting, kind, parts),
    }
}

fn lasting(flags: c_uint) -> Result<Lasting, Refused> {
    match flags {
        0 => Ok(Lasting::Once),
        1 => Ok(Lasting::Persistent),
        _ => Err(Refused::bad_call("an event has no flag but FSE_PERSISTENT")),
    }
}

/// Ends the run on all ranks with an error.
///
/// # Safety
/// `message` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_fail(message: *const c_char) -> c_int {
    let fail = || -> Result<c_int, Refused> {
        // SAFETY: as the caller says.
        let message = unsafe { words::text(message, "message")? };
        end_by(&message.to_string_lossy())
    };
    answer(fail())
}

/// Ends the run on all ranks, as an exception of C++ ends this process: called by the header's handler.
///
/// # Safety
/// `text` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_uncaught(text: *const c_char) {
    // SAFETY: as the caller says.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    let ended = end_by(&format!("nobody caught its exception: {text}"));
    // Without a run the process ends as any other.
    if ended.is_ok()
        && let Ok(rank) = rank()
        && let Some(error) = rank.error()
    {
        say(&format!("freestone events: {error}"));
    }
}

fn end_by(text: &str) -> Result<c_int, Refused> {
    let (who, events) = places::caller();
    rank()?.fail(Failure::text(&format!("{who}: {text}{events}")));
    Ok(0)
}
