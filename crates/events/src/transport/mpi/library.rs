//! The MPI library of a program, loaded when it is needed.
//!
//! Two binary interfaces are known: the standard one of MPI 5, and that of MPICH, which Intel MPI,
//! Cray MPICH and MVAPICH share and for which the wheels of mpi4py are built. They differ in
//! constants and in what a handle is: a pointer, or an int. A pointer's low half is the int where
//! arguments go in registers and bytes are in little-endian order.
//!
//! See docs/decisions/028-two-mpi-binary-interfaces.md

use super::gate;
use crate::transport::TransportError;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A communicator, a request, a type: a pointer, or an int in its low half.
pub type Handle = usize;

type Fn0 = unsafe extern "C" fn() -> c_int;
type Flag = unsafe extern "C" fn(*mut c_int) -> c_int;
type Number = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type InitThread = unsafe extern "C" fn(*mut c_int, *mut c_void, c_int, *mut c_int) -> c_int;
type Barrier = unsafe extern "C" fn(Handle, *mut Handle) -> c_int;
type Duplicate = unsafe extern "C" fn(Handle, *mut Handle) -> c_int;
type OnHandle = unsafe extern "C" fn(*mut Handle) -> c_int;
type SetHandler = unsafe extern "C" fn(Handle, Handle) -> c_int;
type Send =
    unsafe extern "C" fn(*const u8, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int;
type Receive =
    unsafe extern "C" fn(*mut u8, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int;
type Test = unsafe extern "C" fn(*mut Handle, *mut c_int, *mut c_void) -> c_int;
type Wait = unsafe extern "C" fn(*mut Handle, *mut c_void) -> c_int;
type Gather =
    unsafe extern "C" fn(*const u8, c_int, Handle, *mut u8, c_int, Handle, Handle) -> c_int;
type GatherV = unsafe extern "C" fn(
    *const u8,
    c_int,
    Handle,
    *mut u8,
    *const c_int,
    *const c_int,
    Handle,
    Handle,
) -> c_int;
type Text = unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int;

/// What constants are in a binary interface.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    name: &'static str,
    /// The communicator of all ranks.
    pub world: Handle,
    byte: Handle,
    errors_return: Handle,
    any_source: c_int,
    status_ignore: usize,
    thread_serialized: c_int,
    thread_multiple: c_int,
}

const STANDARD: Dialect = Dialect {
    name: "libmpi_abi.so.1",
    world: 0x101,
    byte: 0x247,
    errors_return: 0x143,
    any_source: -1,
    status_ignore: 0,
    thread_serialized: 2048,
    thread_multiple: 4096,
};

const MPICH: Dialect = Dialect {
    name: "libmpi.so.12",
    world: 0x4400_0000,
    byte: 0x4c00_010d,
    errors_return: 0x5400_0001,
    any_source: -2,
    status_ignore: 1,
    thread_serialized: 2,
    thread_multiple: 3,
};

/// How often who waits for the other ranks looks for them.
const MEETING_POLL: Duration = Duration::from_micros(200);

/// What Open MPI is called, whose interface is neither.
const OPEN_MPI: &CStr = c"libmpi.so.40";

/// The functions of a library.
#[derive(Clone, Copy)]
pub struct Library {
    /// Its constants.
    pub dialect: Dialect,
    init_thread: InitThread,
    initialized: Flag,
    finalized: Flag,
    query_thread: Flag,
    finalize: Fn0,
    comm_size: Number,
    comm_rank: Number,
    comm_dup: Duplicate,
    ibarrier: Barrier,
    comm_free: OnHandle,
    comm_set_errhandler: SetHandler,
    isend: Send,
    irecv: Receive,
    test: Test,
    wait: Wait,
    cancel: OnHandle,
    allgather: Gather,
    allgatherv: GatherV,
    error_string: Text,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.dialect.name)
    }
}

/// A library that was opened; never closed, as MPI cannot be started twice.
#[derive(Clone, Copy)]
struct Opened(*mut c_void);

impl Opened {
    fn open(name: &CStr, flags: c_int) -> Option<Self> {
        // SAFETY: loading a library runs its constructors; those of MPI libraries are harmless.
        let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
        (!handle.is_null()).then_some(Self(handle))
    }

    fn symbol(self, name: &CStr) -> Result<*mut c_void, TransportError> {
        // SAFETY: a library that is open.
        let symbol = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if symbol.is_null() {
            return Err(no_library(format!("the MPI library has no {}", name.to_string_lossy())));
        }
        Ok(symbol)
    }
}

impl Library {
    /// The library that this process has loaded, else one that is found: `FREESTONE_EVENTS_MPI`,
    /// the standard names, beside `mpiexec`, and in `folders`.
    ///
    /// # Errors
    ///
    /// If there is none, or only one whose interface is not known.
    pub fn find(folders: &[PathBuf]) -> Result<Self, TransportError> {
        if let Some(loaded) = Self::loaded()? {
            return Ok(loaded);
        }
        let given = std::env::var("FREESTONE_EVENTS_MPI").ok().filter(|path| !path.is_empty());
        if let Some(path) = &given {
            let dialect = if path.contains("abi") { STANDARD } else { MPICH };
            let name = CString::new(path.as_str()).unwrap_or_default();
            let opened = Opened::open(&name, libc::RTLD_NOW | libc::RTLD_GLOBAL);
            let opened = opened.ok_or_else(|| {
                no_library(format!("FREESTONE_EVENTS_MPI={path} can't be loaded"))
            })?;
            return Self::new(opened, dialect);
        }
        let beside = std::env::var_os("PATH").unwrap_or_default();
        let beside = std::env::split_paths(&beside)
            .filter(|folder| folder.join("mpiexec").exists())
            .filter_map(|folder| Some(folder.parent()?.join("lib")));
        let folders: Vec<_> =
            std::iter::once(PathBuf::new()).chain(beside).chain(folders.iter().cloned()).collect();
        for dialect in [STANDARD, MPICH] {
            for folder in &folders {
                let path = folder.join(dialect.name).into_os_string().into_encoded_bytes();
                let name = CString::new(path).unwrap_or_default();
                if let Some(opened) = Opened::open(&name, libc::RTLD_NOW | libc::RTLD_GLOBAL) {
                    return Self::new(opened, dialect);
                }
            }
        }
        Err(no_library("no libmpi_abi.so.1 and no libmpi.so.12 is found".to_owned()))
    }

    /// The library that this process has loaded already.
    ///
    /// # Errors
    ///
    /// If it has one whose interface is not known.
    pub fn loaded() -> Result<Option<Self>, TransportError> {
        let flags = libc::RTLD_NOW | libc::RTLD_NOLOAD;
        for dialect in [STANDARD, MPICH] {
            let name = CString::new(dialect.name).unwrap_or_default();
            if let Some(opened) = Opened::open(&name, flags) {
                return Self::new(opened, dialect).map(Some);
            }
        }
        match Opened::open(OPEN_MPI, flags) {
            Some(_) => Err(no_library(
                "the program uses Open MPI, which has neither the standard interface of MPI 5 nor \
                 MPICH's"
                    .to_owned(),
            )),
            None => Ok(None),
        }
    }

    #[allow(clippy::missing_transmute_annotations)] // the fields say what the functions are
    fn new(opened: Opened, dialect: Dialect) -> Result<Self, TransportError> {
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the functions of MPI have these types.
                unsafe { std::mem::transmute(opened.symbol($name)?) }
            };
        }
        Ok(Self {
            dialect,
            init_thread: function!(c"MPI_Init_thread"),
            initialized: function!(c"MPI_Initialized"),
            finalized: function!(c"MPI_Finalized"),
            query_thread: function!(c"MPI_Query_thread"),
            finalize: function!(c"MPI_Finalize"),
            comm_size: function!(c"MPI_Comm_size"),
            comm_rank: function!(c"MPI_Comm_rank"),
            comm_dup: function!(c"MPI_Comm_dup"),
            ibarrier: function!(c"MPI_Ibarrier"),
            comm_free: function!(c"MPI_Comm_free"),
            comm_set_errhandler: function!(c"MPI_Comm_set_errhandler"),
            isend: function!(c"MPI_Isend"),
            irecv: function!(c"MPI_Irecv"),
            test: function!(c"MPI_Test"),
            wait: function!(c"MPI_Wait"),
            cancel: function!(c"MPI_Cancel"),
            allgather: function!(c"MPI_Allgather"),
            allgatherv: function!(c"MPI_Allgatherv"),
            error_string: function!(c"MPI_Error_string"),
        })
    }

    /// Initialises MPI, if the program has not; whether it did.
    ///
    /// # Errors
    ///
    /// If only one thread may call it.
    pub fn begin(&self) -> Result<bool, TransportError> {
        let (mut flag, mut level) = (0, 0);
        // SAFETY: places for numbers; these may be called at any time.
        self.check("MPI_Finalized", unsafe { (self.finalized)(&raw mut flag) })?;
        if flag != 0 {
            return Err(no_library("MPI is finalised, and cannot be begun again".to_owned()));
        }
        // SAFETY: as above.
        self.check("MPI_Initialized", unsafe { (self.initialized)(&raw mut flag) })?;
        let begins = flag == 0;
        if begins {
            let wanted = self.dialect.thread_multiple;
            // SAFETY: not initialised yet; no arguments are given.
            let code = unsafe {
                (self.init_thread)(
                    std::ptr::null_mut(),
                    std::ptr::null_mut(),
                    wanted,
                    &raw mut level,
                )
            };
            self.check("MPI_Init_thread", code)?;
        } else {
            // SAFETY: initialised.
            let code = gate::through(|| unsafe { (self.query_thread)(&raw mut level) });
            self.check("MPI_Query_thread", code)?;
        }
        let Dialect { thread_serialized, thread_multiple, .. } = self.dialect;
        let or_serialised = if gate::is_offered() {
            format!(" or, with fse_hold_mpi, MPI_THREAD_SERIALIZED ({thread_serialized})")
        } else {
            String::new()
        };
        let least = if gate::is_offered() { thread_serialized } else { thread_multiple };
        if level < least {
            return Err(no_library(format!(
                "MPI is initialised with thread level {level}, and events need \
                 MPI_THREAD_MULTIPLE ({thread_multiple}){or_serialised}: call MPI_Init_thread with \
                 it, or begin events first"
            )));
        }
        gate::serialise(level < self.dialect.thread_multiple);
        Ok(begins)
    }

    /// Ends MPI, unless that has been done.
    pub fn end(&self) {
        let mut flag = 0;
        // SAFETY: called by who initialised it, once no request is left.
        unsafe {
            (self.finalized)(&raw mut flag);
            if flag == 0 {
                (self.finalize)();
            }
        }
    }

    /// Waits until all ranks of a communicator have called this; false if they have not by
    /// `timeout`. MPI can't take that back: nothing else can be done with the communicator then.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub fn meet(&self, comm: Handle, timeout: Duration) -> Result<bool, TransportError> {
        let mut request = 0;
        // SAFETY: a communicator, and a place for a request.
        let code = gate::through(|| unsafe { (self.ibarrier)(comm, &raw mut request) });
        self.check("MPI_Ibarrier", code)?;
        let begin = Instant::now();
        while !self.test(&mut request)? {
            if begin.elapsed() > timeout {
                return Ok(false);
            }
            // MPI wakes nobody.
            std::thread::sleep(MEETING_POLL);
        }
        Ok(true)
    }

    /// A communicator of our own over the same ranks.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub fn duplicate(&self, comm: Handle) -> Result<Handle, TransportError> {
        let mut own = 0;
        // SAFETY: a communicator, and a place for another.
        let code = gate::through(|| unsafe { (self.comm_dup)(comm, &raw mut own) });
        self.check("MPI_Comm_dup", code)?;
        let handler = self.dialect.errors_return;
        // SAFETY: the communicator is ours.
        let code = gate::through(|| unsafe { (self.comm_set_errhandler)(own, handler) });
        self.check("MPI_Comm_set_errhandler", code)?;
        Ok(own)
    }

    /// Gives a communicator back, unless MPI has taken all of them.
    pub fn free(&self, mut comm: Handle) {
        let mut flag = 0;
        // SAFETY: ours, with no request left.
        gate::through(|| unsafe {
            (self.finalized)(&raw mut flag);
            if flag == 0 {
                (self.comm_free)(&raw mut comm);
            }
        });
    }

    /// The number of this rank, and how many there are.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub fn place(&self, comm: Handle) -> Result<(u32, u32), TransportError> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: a communicator, and places for numbers.
        self.check("MPI_Comm_rank", unsafe { (self.comm_rank)(comm, &raw mut rank) })?;
        // SAFETY: as above.
        self.check("MPI_Comm_size", unsafe { (self.comm_size)(comm, &raw mut size) })?;
        Ok((rank.cast_unsigned(), size.cast_unsigned()))
    }

    /// Begins to send.
    ///
    /// # Safety
    ///
    /// The bytes stay until the request is done.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub unsafe fn isend(
        &self,
        comm: Handle,
        target: u32,
        tag: c_int,
        bytes: &[u8],
    ) -> Result<Handle, TransportError> {
        let mut request = 0;
        let (start, len, byte) = (bytes.as_ptr(), count(bytes.len()), self.dialect.byte);
        // SAFETY: as the caller says.
        let code = gate::through(|| unsafe {
            (self.isend)(start, len, byte, target.cast_signed(), tag, comm, &raw mut request)
        });
        self.check("MPI_Isend", code)?;
        Ok(request)
    }

    /// Begins to receive, from one process or any.
    ///
    /// # Safety
    ///
    /// The buffer stays, untouched, until the request is done.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub unsafe fn irecv(
        &self,
        comm: Handle,
        source: Option<u32>,
        tag: c_int,
        buffer: &mut [u8],
    ) -> Result<Handle, TransportError> {
        let mut request = 0;
        let (start, len, byte) = (buffer.as_mut_ptr(), count(buffer.len()), self.dialect.byte);
        let source = source.map_or(self.dialect.any_source, u32::cast_signed);
        // SAFETY: as the caller says.
        let code = gate::through(|| unsafe {
            (self.irecv)(start, len, byte, source, tag, comm, &raw mut request)
        });
        self.check("MPI_Irecv", code)?;
        Ok(request)
    }

    /// Whether a request is done.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub fn test(&self, request: &mut Handle) -> Result<bool, TransportError> {
        let mut done = 0;
        let ignore = std::ptr::without_provenance_mut(self.dialect.status_ignore);
        // SAFETY: a request, and a place for a number.
        let code = gate::through(|| unsafe { (self.test)(request, &raw mut done, ignore) });
        self.check("MPI_Test", code)?;
        Ok(done != 0)
    }

    /// Gives up what was to be received.
    pub fn cancel(&self, request: &mut Handle) {
        let ignore = std::ptr::without_provenance_mut(self.dialect.status_ignore);
        // SAFETY: a request that is not done.
        gate::through(|| unsafe {
            (self.cancel)(request);
            (self.wait)(request, ignore);
        });
    }

    /// What every rank gives, for every rank, in rounds of at most `round` bytes, the same on all.
    /// All have to call it.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub fn exchange(
        &self,
        comm: Handle,
        own: &[u8],
        round: usize,
    ) -> Result<Vec<Vec<u8>>, TransportError> {
        let (_, ranks) = self.place(comm)?;
        let byte = self.dialect.byte;
        let mine = own.len() as u64;
        let mut lens = vec![0_u64; ranks as usize];
        let word = count(size_of::<u64>());
        // SAFETY: room for a number of each rank.
        let code = gate::through(|| unsafe {
            let to = lens.as_mut_ptr().cast();
            (self.allgather)((&raw const mine).cast(), word, byte, to, word, byte, comm)
        });
        self.check("MPI_Allgather", code)?;
        let mut all: Vec<Vec<u8>> =
            lens.iter().map(|&len| Vec::with_capacity(len as usize)).collect();
        let longest = lens.iter().max().map_or(0, |&len| len as usize);
        let each = (round / lens.len()).max(1);
        for start in (0..longest).step_by(each) {
            let part = |len: usize| len.saturating_sub(start).min(each);
            let parts: Vec<_> = lens.iter().map(|&len| part(len as usize)).collect();
            let mine = &own[start.min(own.len())..][..part(own.len())];
            let round = self.exchange_round(comm, mine, &parts)?;
            let mut rest = &round[..];
            for (whole, len) in all.iter_mut().zip(parts) {
                let (own, others) = rest.split_at(len);
                whole.extend_from_slice(own);
                rest = others;
            }
        }
        Ok(all)
    }

    /// What every rank gives, one after the other: as many bytes as `parts` says.
    fn exchange_round(
        &self,
        comm: Handle,
        mine: &[u8],
        parts: &[usize],
    ) -> Result<Vec<u8>, TransportError> {
        let byte = self.dialect.byte;
        let lens: Vec<c_int> = parts.iter().map(|&len| count(len)).collect();
        let starts: Vec<c_int> =
            lens.iter().scan(0, |next, len| Some(std::mem::replace(next, *next + len))).collect();
        let mut all = vec![0; parts.iter().sum()];
        // SAFETY: room for what each rank gives, where it is said to be.
        let code = gate::through(|| unsafe {
            let (lens, starts) = (lens.as_ptr(), starts.as_ptr());
            let len = count(mine.len());
            (self.allgatherv)(mine.as_ptr(), len, byte, all.as_mut_ptr(), lens, starts, byte, comm)
        });
        self.check("MPI_Allgatherv", code)?;
        Ok(all)
    }

    fn check(&self, what: &'static str, code: c_int) -> Result<(), TransportError> {
        if code == 0 {
            return Ok(());
        }
        // The longest of all interfaces, and a zero.
        let mut text = [0_u8; 1025];
        let mut len = 0;
        // SAFETY: room for the longest text.
        unsafe { (self.error_string)(code, text.as_mut_ptr().cast(), &raw mut len) };
        let text = String::from_utf8_lossy(&text[..(len.max(0) as usize).min(1024)]).into_owned();
        Err(TransportError::Io { what: what.to_owned(), source: io::Error::other(text) })
    }
}

/// MPI counts in ints; frames are far smaller.
fn count(len: usize) -> c_int {
    c_int::try_from(len).unwrap_or(c_int::MAX)
}

fn no_library(what: String) -> TransportError {
    let cure = "install an MPI library with the standard interface (pip install mpich), or name \
                one in FREESTONE_EVENTS_MPI";
    TransportError::Io { what, source: io::Error::new(io::ErrorKind::Unsupported, cure) }
}
