//! Functions of the program, as the crate calls them.

use freestone_malleable::data::UserRows;
use freestone_malleable::{Layout, MalleableError};
use std::ffi::{c_int, c_void};
use std::ops::Range;

type Result<T> = freestone_malleable::Result<T>;

/// `fsm_layout_fn` of the header.
pub type LayoutFunction = unsafe extern "C" fn(*mut c_void, u64, c_int, *mut u64) -> c_int;
type Nbytes = unsafe extern "C" fn(*mut c_void, u64, u64, *mut u64) -> c_int;
type Pack = unsafe extern "C" fn(*mut c_void, u64, u64, *mut c_void) -> c_int;
type Adopt = unsafe extern "C" fn(*mut c_void, u64, u64) -> c_int;
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

/// The rows of a program, which calls its functions.
#[derive(Debug)]
pub struct UserData {
    name: String,
    nbytes: Nbytes,
    pack: Pack,
    adopt: Adopt,
    unpack: Unpack,
    context: *mut c_void,
}

// SAFETY: called by the thread that is in a call of the library; the program's context is its own.
unsafe impl Send for UserData {}

impl UserData {
    /// The functions, if all are there.
    pub fn new(name: &str, given: Functions) -> Option<Self> {
        Some(Self {
            name: name.to_owned(),
            nbytes: given.nbytes?,
            pack: given.pack?,
            adopt: given.adopt?,
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

    fn adopt(&self, rows: &Range<u64>) -> Result<()> {
        // SAFETY: as above.
        let code = unsafe { (self.adopt)(self.context, rows.start, rows.end) };
        self.check("adopt", code, rows)
    }

    fn unpack(&self, rows: &Range<u64>, bytes: &[u8]) -> Result<()> {
        let (from, nbytes) = (bytes.as_ptr().cast(), bytes.len() as u64);
        // SAFETY: as above.
        let code = unsafe { (self.unpack)(self.context, rows.start, rows.end, from, nbytes) };
        self.check("unpack", code, rows)
    }
}

/// The layouts of a program, which calls its function.
pub fn layout(function: LayoutFunction, context: *mut c_void) -> Layout {
    struct Context(*mut c_void);
    // SAFETY: as for `UserData`.
    unsafe impl Send for Context {}
    impl Context {
        fn get(&self) -> *mut c_void {
            self.0
        }
    }
    let context = Context(context);
    Box::new(move |rows, ranks| {
        let mut offsets = vec![0; ranks + 1];
        let count = c_int::try_from(ranks).unwrap_or(c_int::MAX);
        // SAFETY: room for one offset more than there are ranks.
        let code = unsafe { function(context.get(), rows, count, offsets.as_mut_ptr()) };
        if code == 0 { Ok(offsets) } else { Err(format!("the layout function returned {code}")) }
    })
}
