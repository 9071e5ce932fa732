//! Functions of the program, as the crate calls them.

use freestone_malleable::data::UserRows;
use freestone_malleable::{Layout, MalleableError};
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;

thread_local! {
    static THROWN: RefCell<Option<String>> = RefCell::default();
}

/// What a function of the program has thrown that returns an error for it.
///
/// # Safety
/// `text` ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsm_threw(text: *const c_char) {
    // SAFETY: as the caller says.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    THROWN.replace(Some(text));
}

type Result<T> = freestone_malleable::Result<T>;

/// `fsm_layout_fn` of the header.
pub type LayoutFunction = unsafe extern "C" fn(*mut c_void, u64, c_int, *mut u64) -> c_int;
type Nbytes = unsafe extern "C" fn(*mut c_void, u64, u64, *mut u64) -> c_int;
type Pack = unsafe extern "C" fn(*mut c_void, u64, u64, *mut c_void) -> c_int;
/// `fsm_owner_fn` of the header.
pub type OwnerFunction = unsafe extern "C" fn(*mut c_void, u64, c_int, u64, *mut u64) -> c_int;
type Adopt = unsafe extern "C" fn(*mut c_void, u64, u64) -> c_int;
/// `fsm_adopt_runs_fn` of the header.
pub type AdoptRuns = unsafe extern "C" fn(*mut c_void, c_int, *const u64) -> c_int;
type Unpack = unsafe extern "C" fn(*mut c_void, u64, u64, *const c_void, u64) -> c_int;

/// `fsm_functions` of the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    nbytes: Option<Nbytes>,
    pack: Option<Pack>,
    adopt: Option<Adopt>,
    unpack: Option<Unpack>,
    context: *mut c_void,
}

/// How a program makes room.
#[derive(Clone, Copy, Debug)]
enum Room {
    OneRun(Adopt),
    Runs(AdoptRuns),
}

/// The rows of a program, which calls its functions.
#[derive(Debug)]
pub struct UserData {
    name: String,
    nbytes: Nbytes,
    pack: Pack,
    room: Room,
    unpack: Unpack,
    context: *mut c_void,
}

// SAFETY: called by the thread that is in a call of the library; the program's context is its own.
unsafe impl Send for UserData {}

impl UserData {
    /// The functions, if all are there; with `adopt_runs` for rows in several runs.
    pub fn new(name: &str, given: Functions, adopt_runs: Option<AdoptRuns>) -> Option<Self> {
        Some(Self {
            name: name.to_owned(),
            nbytes: given.nbytes?,
            pack: given.pack?,
            room: adopt_runs.map(Room::Runs).or(given.adopt.map(Room::OneRun))?,
            unpack: given.unpack?,
            context: given.context,
        })
    }

    fn check(&self, what: &'static str, code: c_int, rows: &Range<u64>) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        let (name, rows) = (self.name.clone(), rows.clone());
        Err(MalleableError::Callback { what, name, code, rows })
    }
}

impl UserRows for UserData {
    fn nbytes(&self, rows: &Range<u64>) -> Result<u64> {
        let mut nbytes = 0;
        // SAFETY: the program has given the function with its context; and likewise below.
        let code = unsafe { (self.nbytes)(self.context, rows.start, rows.end, &raw mut nbytes) };
        self.check("nbytes", code, rows)?;
        Ok(nbytes)
    }

    fn pack(&self, rows: &Range<u64>, bytes: &mut [u8]) -> Result<()> {
        let into = bytes.as_mut_ptr().cast();
        // SAFETY: as above; there are as many bytes as it has asked for.
        let code = unsafe { (self.pack)(self.context, rows.start, rows.end, into) };
        self.check("pack", code, rows)
    }

    fn adopt(&self, runs: &[Range<u64>]) -> Result<()> {
        let all = runs.first().map_or(0, |run| run.start)..runs.last().map_or(0, |run| run.end);
        match self.room {
            Room::OneRun(adopt) => {
                // SAFETY: as above.
                let code = unsafe { adopt(self.context, all.start, all.end) };
                self.check("adopt", code, &all)
            }
            Room::Runs(adopt) => {
                let bounds: Vec<u64> = runs.iter().flat_map(|run| [run.start, run.end]).collect();
                let count = c_int::try_from(runs.len()).unwrap_or(c_int::MAX);
                // SAFETY: as above; there are two numbers for each run.
                let code = unsafe { adopt(self.context, count, bounds.as_ptr()) };
                self.check("adopt_runs", code, &all)
            }
        }
    }

    fn has_runs(&self) -> bool {
        matches!(self.room, Room::Runs(_))
    }

    fn unpack(&self, rows: &Range<u64>, bytes: &[u8]) -> Result<()> {
        let (from, nbytes) = (bytes.as_ptr().cast(), bytes.len() as u64);
        // SAFETY: as above.
        let code = unsafe { (self.unpack)(self.context, rows.start, rows.end, from, nbytes) };
        self.check("unpack", code, rows)
    }
}

/// A program's context, in a function that one thread calls at a time.
struct Context(*mut c_void);

// SAFETY: as for `UserData`.
unsafe impl Send for Context {}

impl Context {
    fn get(&self) -> *mut c_void {
        self.0
    }
}

/// The layouts of a program, which calls its function.
pub fn layout(function: LayoutFunction, context: *mut c_void) -> Layout {
    let context = Context(context);
    Layout::Offsets(Box::new(move |rows, ranks| {
        let mut offsets = vec![0; ranks + 1];
        let count = c_int::try_from(ranks).unwrap_or(c_int::MAX);
        // SAFETY: room for one offset more than there are ranks.
        let code = unsafe { function(context.get(), rows, count, offsets.as_mut_ptr()) };
        if code == 0 { Ok(offsets) } else { Err(format!("the layout function returned {code}")) }
    }))
}

/// The owners of rows, of which it asks a program's function.
pub fn owner(function: OwnerFunction, context: *mut c_void) -> Layout {
    let context = Context(context);
    Layout::Owner(Box::new(move |rows, ranks, row| {
        let count = c_int::try_from(ranks).unwrap_or(c_int::MAX);
        let mut end = row + 1;
        // SAFETY: a place for a number.
        let rank = unsafe { function(context.get(), rows, count, row, &raw mut end) };
        match u64::try_from(rank) {
            Ok(rank) => Ok((rank, end)),
            Err(_) => Err(match THROWN.take() {
                Some(text) => format!("the owner function threw {text:?} for row {row}"),
                None => format!("the owner function returned {rank} for row {row}"),
            }),
        }
    }))
}
