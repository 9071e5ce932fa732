//! Events as C sees them.

use crate::arrays::{ARRAY, Shape, elements};
use crate::error::counted;
use crate::words::{ANY, size_of_type};
use freestone_events::payload::Data;
use freestone_events::rank::Events;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null;
use std::sync::{Mutex, PoisonError};

/// `fse_event` of the header.
#[repr(C)]
#[derive(Debug)]
pub struct View {
    data: *const c_void,
    count: usize,
    kind: c_int,
    source: c_int,
    id: *const c_char,
    shape: *const usize,
    ndims: c_int,
}

impl View {
    /// From whom it is, for people.
    pub fn origin(&self) -> String {
        // SAFETY: the identifier lies beside the view, with a zero at its end.
        let id = unsafe { CStr::from_ptr(self.id) };
        format!("'{}' from rank {}", id.to_string_lossy(), self.source)
    }

    /// Whether it has this identifier, and is from this rank or any.
    pub fn fits(&self, source: c_int, id: &CStr) -> bool {
        // SAFETY: as above.
        let same = unsafe { CStr::from_ptr(self.id) } == id;
        same && (source == ANY || self.source == source)
    }
}

/// An address of this process, as what an event carries.
pub struct Address(pub *const c_void);

/// Several of them.
pub struct Addresses(pub Box<[*const c_void]>);

// SAFETY: as for one address.
unsafe impl Send for Addresses {}
// SAFETY: as above.
unsafe impl Sync for Addresses {}

// SAFETY: an address is only a number here; what lies there is the program's business.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

/// Events, and C's view of them.
pub struct Views {
    array: SmallVec<[View; 2]>,
    /// The shapes of arrays, one after the other; pointed to by `array`.
    shapes: Vec<usize>,
    /// The identifiers, each with a zero at its end; pointed to by `array`.
    ids: SmallVec<[u8; 64]>,
    /// What they carry; pointed to by `array`.
    events: Events,
}

// SAFETY: the pointers are into what lies beside them, which does not change.
unsafe impl Send for Views {}

impl Views {
    /// These events, not viewed yet.
    pub fn new(events: Events) -> Self {
        Self { array: SmallVec::new(), shapes: Vec::new(), ids: SmallVec::new(), events }
    }

    /// Where C finds them, and how many: until `self` is moved.
    pub fn look(&mut self) -> (*const View, c_int) {
        let Self { array, shapes, ids, events } = self;
        for event in events.iter() {
            ids.extend_from_slice(event.id.as_bytes());
            ids.push(0);
        }
        let mut start = 0;
        for event in events.iter() {
            let payload = &event.payload;
            let (kind, shape, bytes) = typed(payload.kind, payload.bytes());
            let (data, count) = content(&payload.data, bytes, kind);
            let id = ids[start..].as_ptr().cast();
            let (kind, source) = (kind.cast_signed(), event.source.cast_signed());
            let ndims = match &shape {
                Some(shape) => shape.len(),
                None => usize::from(count > 1),
            };
            match shape {
                Some(shape) => shapes.extend_from_slice(&shape),
                None if ndims == 1 => shapes.push(count),
                None => {}
            }
            let ndims = counted(ndims);
            array.push(View { data, count, kind, source, id, shape: null(), ndims });
            start += event.id.as_bytes().len() + 1;
        }
        let mut start = 0;
        // They stay where they are from now on.
        for view in array.iter_mut().filter(|view| view.ndims > 0) {
            view.shape = shapes[start..].as_ptr();
            start += view.ndims as usize;
        }
        (array.as_ptr(), counted(array.len()))
    }
}

fn content(data: &Data, bytes: &[u8], kind: u32) -> (*const c_void, usize) {
    if let Data::Value(value) = data {
        if let Some(Addresses(all)) = value.downcast_ref::<Addresses>() {
            return (all.as_ptr().cast(), all.len());
        }
        let address = value.downcast_ref::<Address>().map(|address| address.0);
        return (address.unwrap_or(null()), 1);
    }
    match bytes.len() {
        0 => (null(), 0),
        // What a program in Python fires has types that C has no name for: bytes.
        nbytes => (bytes.as_ptr().cast(), nbytes / size_of_type(kind).unwrap_or(1).max(1)),
    }
}

/// The type, the shape and the elements of what an event carries: of an array whose type C has a name
/// for; all else as it is.
fn typed(kind: u32, bytes: &[u8]) -> (u32, Option<Shape>, &[u8]) {
    match (kind == ARRAY).then(|| elements(bytes)).flatten() {
        Some((kind, shape, bytes)) => (kind, Some(shape), bytes),
        None => (kind, None, bytes),
    }
}

/// What was given to C and not yet freed, by address.
static GIVEN: Mutex<Option<HashMap<usize, Box<Views>>>> = Mutex::new(None);

/// Gives events to C, which frees them.
pub fn give(events: Events, found: *mut c_int) -> *const View {
    let mut views = Box::new(Views::new(events));
    let (start, count) = views.look();
    if !found.is_null() {
        // SAFETY: C gives null or a place for a number.
        unsafe { found.write(count) };
    }
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    given.get_or_insert_default().insert(start.addr(), views);
    start
}

/// Frees what `fse_wait` and `fse_retrieve_any` returned; null is nothing.
#[unsafe(no_mangle)]
pub extern "C" fn fse_free(events: *const View) {
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let freed = given.as_mut().and_then(|given| given.remove(&events.addr()));
    drop(given);
    drop(freed);
}
