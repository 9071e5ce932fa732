//! The functions of MPI that events need, each behind the gate where the program may hold MPI.

use super::Role;
use super::gate;
use crate::transport::TransportError;
use freestone_mpi::{CreateKey, Dialect, ErrorString, Handle, LoadError, Opened, SetAttribute};
use std::ffi::{c_int, c_void};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

type Fn0 = unsafe extern "C" fn() -> c_int;
type Flag = unsafe extern "C" fn(*mut c_int) -> c_int;
type Number = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type InitThread = unsafe extern "C" fn(*mut c_int, *mut c_void, c_int, *mut c_int) -> c_int;
type Barrier = unsafe extern "C" fn(Handle, *mut Handle) -> c_int;
type Split = unsafe extern "C" fn(Handle, c_int, c_int, *mut Handle) -> c_int;
type Duplicate = unsafe extern "C" fn(Handle, *mut Handle) -> c_int;
type OnHandle = unsafe extern "C" fn(*mut Handle) -> c_int;
type SetHandler = unsafe extern "C" fn(Handle, Handle) -> c_int;
type GetHandler = unsafe extern "C" fn(Handle, *mut Handle) -> c_int;
type Send =
    unsafe extern "C" fn(*const u8, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int;
type Receive =
    unsafe extern "C" fn(*mut u8, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int;
type Test = unsafe extern "C" fn(*mut Handle, *mut c_int, *mut c_void) -> c_int;
type Wait = unsafe extern "C" fn(*mut Handle, *mut c_void) -> c_int;
type Gather = unsafe extern "C" fn(
    *const u8,
    c_int,
    Handle,
    *mut u8,
    c_int,
    Handle,
    Handle,
    *mut Handle,
) -> c_int;
type GatherV = unsafe extern "C" fn(
    *const u8,
    c_int,
    Handle,
    *mut u8,
    *const c_int,
    *const c_int,
    Handle,
    Handle,
    *mut Handle,
) -> c_int;
type FromFortran = unsafe extern "C" fn(c_int) -> Handle;

/// How often who waits for the other ranks looks for them.
const MEETING_POLL: Duration = Duration::from_micros(200);

/// The functions of a library.
#[derive(Clone, Copy)]
pub struct Library {
    /// Its constants.
    pub dialect: Dialect,
    init_thread: InitThread,
    initialized: Flag,
    finalized: Flag,
    query_thread: Flag,
    is_thread_main: Flag,
    finalize: Fn0,
    comm_size: Number,
    comm_rank: Number,
    comm_dup: Duplicate,
    comm_split: Split,
    ibarrier: Barrier,
    comm_free: OnHandle,
    comm_set_errhandler: SetHandler,
    comm_get_errhandler: GetHandler,
    comm_test_inter: Number,
    isend: Send,
    irecv: Receive,
    test: Test,
    wait: Wait,
    cancel: OnHandle,
    iallgather: Gather,
    iallgatherv: GatherV,
    error_string: ErrorString,
    comm_create_keyval: CreateKey,
    comm_set_attr: SetAttribute,
    /// None, where it is a macro.
    comm_f2c: Option<FromFortran>,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.dialect.name)
    }
}

impl Library {
    /// The library that this process has loaded, else one that is found: `FREESTONE_EVENTS_MPI`,
    /// the standard names, beside the `mpiexec` that started this process or is on the path, and in
    /// `folders`.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn find(folders: &[PathBuf]) -> Result<Self, TransportError> {
        let given = std::env::var("FREESTONE_EVENTS_MPI").ok().filter(|path| !path.is_empty());
        let opened = Opened::find(given.as_deref(), folders).map_err(no_library)?;
        Self::new(opened).map_err(no_library)
    }

    /// The library that this process has loaded already.
    ///
    /// # Errors
    ///
    /// If it lacks a function.
    pub fn loaded() -> Result<Option<Self>, TransportError> {
        Opened::loaded().map(Self::new).transpose().map_err(no_library)
    }

    #[allow(clippy::missing_transmute_annotations)] // the fields say what the functions are
    fn new(opened: Opened) -> Result<Self, LoadError> {
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the functions of MPI have these types.
                unsafe { std::mem::transmute(opened.symbol($name)?) }
            };
        }
        Ok(Self {
            dialect: opened.dialect,
            init_thread: function!(c"MPI_Init_thread"),
            initialized: function!(c"MPI_Initialized"),
            finalized: function!(c"MPI_Finalized"),
            query_thread: function!(c"MPI_Query_thread"),
            is_thread_main: function!(c"MPI_Is_thread_main"),
            finalize: function!(c"MPI_Finalize"),
            comm_size: function!(c"MPI_Comm_size"),
            comm_rank: function!(c"MPI_Comm_rank"),
            comm_dup: function!(c"MPI_Comm_dup"),
            comm_split: function!(c"MPI_Comm_split"),
            ibarrier: function!(c"MPI_Ibarrier"),
            comm_free: function!(c"MPI_Comm_free"),
            comm_set_errhandler: function!(c"MPI_Comm_set_errhandler"),
            comm_get_errhandler: function!(c"MPI_Comm_get_errhandler"),
            comm_test_inter: function!(c"MPI_Comm_test_inter"),
            isend: function!(c"MPI_Isend"),
            irecv: function!(c"MPI_Irecv"),
            test: function!(c"MPI_Test"),
            wait: function!(c"MPI_Wait"),
            cancel: function!(c"MPI_Cancel"),
            iallgather: function!(c"MPI_Iallgather"),
            iallgatherv: function!(c"MPI_Iallgatherv"),
            error_string: function!(c"MPI_Error_string"),
            comm_create_keyval: function!(c"MPI_Comm_create_keyval"),
            comm_set_attr: function!(c"MPI_Comm_set_attr"),
            // SAFETY: as above.
            comm_f2c: opened
                .symbol(c"MPI_Comm_f2c")
                .ok()
                .map(|symbol| unsafe { std::mem::transmute::<*mut c_void, FromFortran>(symbol) }),
        })
    }

    /// Initialises MPI, if the program has not; whether it did. `role` says which threads call it.
    ///
    /// # Errors
    ///
    /// If the program has begun it so that no threads, or not this one, may call it.
    pub fn begin(&self, role: Role) -> Result<bool, TransportError> {
        let mut flag = 0;
        // SAFETY: places for numbers; these may be called at any time.
        self.check("MPI_Finalized", unsafe { (self.finalized)(&raw mut flag) })?;
        if flag != 0 {
            let what = "MPI is finalised, and cannot be begun again".to_owned();
            let cure = "begin the run, or attach to it, before MPI_Finalize";
            let source = io::Error::new(io::ErrorKind::Unsupported, cure);
            return Err(TransportError::Io { what, source });
        }
        // SAFETY: as above.
        self.check("MPI_Initialized", unsafe { (self.initialized)(&raw mut flag) })?;
        let begins = flag == 0;
        let level = if begins { self.init(role)? } else { self.level()? };
        if role == Role::Rank {
            self.agree(level)?;
        }
        Ok(begins)
    }

    fn init(&self, role: Role) -> Result<c_int, TransportError> {
        let mut level = 0;
        let Dialect { thread_single, thread_multiple, .. } = self.dialect;
        let wanted = if role == Role::Rank { thread_multiple } else { thread_single };
        let none = std::ptr::null_mut;
        // SAFETY: not initialised yet; no arguments are given.
        let code = unsafe { (self.init_thread)(none(), none().cast(), wanted, &raw mut level) };
        self.check("MPI_Init_thread", code)?;
        Ok(level)
    }

    fn level(&self) -> Result<c_int, TransportError> {
        let mut level = 0;
        // SAFETY: initialised; this may be called by any thread.
        self.check("MPI_Query_thread", unsafe { (self.query_thread)(&raw mut level) })?;
        Ok(level)
    }

    /// Sees to it that only those threads call MPI that the program's thread level allows.
    fn agree(&self, level: c_int) -> Result<(), TransportError> {
        let Dialect { thread_funneled, thread_serialized, thread_multiple, .. } = self.dialect;
        if level < thread_funneled {
            return Err(no_threads(format!(
                "MPI is initialised with thread level {level}, MPI_THREAD_SINGLE: a rank has threads; \
                 call MPI_Init_thread with MPI_THREAD_FUNNELED ({thread_funneled}) or more, or be \
                 outside of the run (ev.attach in Python, fse_attach in C)"
            )));
        }
        if level < thread_serialized {
            let mut is_main = 0;
            // SAFETY: initialised, and a place for a number.
            self.check("MPI_Is_thread_main", unsafe { (self.is_thread_main)(&raw mut is_main) })?;
            if is_main == 0 {
                return Err(no_threads(
                    "MPI is initialised with MPI_THREAD_FUNNELED, and this is not the thread that \
                     did it; begin the run there"
                        .to_owned(),
                ));
            }
            gate::funnel();
        } else if level < thread_multiple {
            if !gate::is_offered() {
                return Err(no_threads(format!(
                    "MPI is initialised with thread level {level}, MPI_THREAD_SERIALIZED, and this \
                     program cannot hold it: call MPI_Init_thread with MPI_THREAD_MULTIPLE \
                     ({thread_multiple}), or with MPI_THREAD_FUNNELED ({thread_funneled}) and calls \
                     of progress"
                )));
            }
            gate::serialise(true);
        } else {
            gate::serialise(false);
        }
        Ok(())
    }

    /// Has MPI call a function at the beginning of its end, when messages still go. Where MPI refuses it, nothing is
    /// called.
    pub fn before_end(&self, call: extern "C" fn()) {
        let own = self.dialect.comm_self;
        // SAFETY: functions and communicator of this library.
        let _ = unsafe {
            freestone_mpi::before_end(self.comm_create_keyval, self.comm_set_attr, own, call)
        };
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

    /// Looks whether the processes of a communicator can be the ranks of a run.
    ///
    /// # Errors
    ///
    /// If it is null, was freed, or has two groups.
    pub fn check_communicator(&self, comm: Handle) -> Result<(), TransportError> {
        let bad = |what| Err(TransportError::BadCommunicator { what });
        if self.dialect.is_null(comm) {
            return bad("null, as it is where a process is in none");
        }
        let mut is_inter = 0;
        // SAFETY: a handle, which MPI looks up, and a place for a number.
        let test = || unsafe { (self.comm_test_inter)(comm, &raw mut is_inter) };
        let code = self.returning_errors(test);
        match (code, is_inter) {
            (0, 0) => Ok(()),
            (0, _) => bad("an intercommunicator, which has two groups"),
            _ => bad("none that MPI has; it may have been freed"),
        }
    }

    /// Calls MPI so that an error comes back, which else would end the program.
    fn returning_errors(&self, call: impl FnOnce() -> c_int) -> c_int {
        // Which of the two has the handler for a wrong communicator depends on the version of MPI.
        let handlers = [self.dialect.world, self.dialect.comm_self];
        gate::through(|| {
            let before = handlers.map(|comm| {
                let mut handler = 0;
                // SAFETY: communicators that are always there, and a place for a handler.
                unsafe {
                    (self.comm_get_errhandler)(comm, &raw mut handler);
                    (self.comm_set_errhandler)(comm, self.dialect.errors_return);
                }
                handler
            });
            let code = call();
            for (comm, handler) in handlers.into_iter().zip(before) {
                // SAFETY: the handler that the communicator had.
                unsafe { (self.comm_set_errhandler)(comm, handler) };
            }
            code
        })
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

    /// Waits for what all ranks do together, as long as `check` gives no error.
    fn until_done(
        &self,
        mut request: Handle,
        check: &dyn Fn() -> Result<(), TransportError>,
    ) -> Result<(), TransportError> {
        while !self.test(&mut request)? {
            check()?;
            std::thread::sleep(MEETING_POLL);
        }
        Ok(())
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

    /// A communicator of those ranks that give the same `colour`, in the same order. All ranks of
    /// the other one have to call it.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub fn split(&self, comm: Handle, colour: c_int) -> Result<Handle, TransportError> {
        let mut part = 0;
        // SAFETY: a communicator, and a place for another.
        let code = gate::through(|| unsafe { (self.comm_split)(comm, colour, 0, &raw mut part) });
        self.check("MPI_Comm_split", code)?;
        Ok(part)
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

    /// The communicator that a program in Fortran has as this number.
    pub fn from_fortran(&self, comm: c_int) -> Handle {
        match self.comm_f2c {
            // SAFETY: a number, which the library looks up.
            Some(convert) => unsafe { convert(comm) },
            // In MPICH's interface a handle is that number.
            None => comm as u32 as Handle,
        }
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
    /// There are so many bytes, which stay, untouched, until the request is done.
    ///
    /// # Errors
    ///
    /// What MPI says.
    pub unsafe fn irecv(
        &self,
        comm: Handle,
        source: Option<u32>,
        tag: c_int,
        (start, len): (*mut u8, usize),
    ) -> Result<Handle, TransportError> {
        let mut request = 0;
        let (len, byte) = (count(len), self.dialect.byte);
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
    /// All have to call it. While they do not, `check` is called time and again; if that gives an error,
    /// nothing else can be done with the communicator.
    ///
    /// # Errors
    ///
    /// What MPI or `check` says.
    pub fn exchange(
        &self,
        comm: Handle,
        own: &[u8],
        round: usize,
        check: &dyn Fn() -> Result<(), TransportError>,
    ) -> Result<Vec<Vec<u8>>, TransportError> {
        let (_, ranks) = self.place(comm)?;
        let byte = self.dialect.byte;
        let mine = own.len() as u64;
        let (mut lens, mine) = (vec![0_u64; ranks as usize], Box::new(mine));
        let (word, mut request) = (count(size_of::<u64>()), 0);
        // SAFETY: room for a number of each rank, kept until the request is done or given up.
        let code = gate::through(|| unsafe {
            let (from, to) = ((&raw const *mine).cast(), lens.as_mut_ptr().cast());
            (self.iallgather)(from, word, byte, to, word, byte, comm, &raw mut request)
        });
        self.check("MPI_Iallgather", code)?;
        let done = self.until_done(request, check);
        let (lens, _) = kept(done, (lens, mine))?;
        let mut all: Vec<Vec<u8>> =
            lens.iter().map(|&len| Vec::with_capacity(len as usize)).collect();
        let longest = lens.iter().max().map_or(0, |&len| len as usize);
        let each = (round / lens.len()).max(1);
        for start in (0..longest).step_by(each) {
            let part = |len: usize| len.saturating_sub(start).min(each);
            let parts: Vec<_> = lens.iter().map(|&len| part(len as usize)).collect();
            let mine = &own[start.min(own.len())..][..part(own.len())];
            let round = self.exchange_round(comm, mine, &parts, check)?;
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
        check: &dyn Fn() -> Result<(), TransportError>,
    ) -> Result<Vec<u8>, TransportError> {
        let (byte, mine, mut request) = (self.dialect.byte, mine.to_vec(), 0);
        let lens: Vec<c_int> = parts.iter().map(|&len| count(len)).collect();
        let starts: Vec<c_int> =
            lens.iter().scan(0, |next, len| Some(std::mem::replace(next, *next + len))).collect();
        let mut all = vec![0; parts.iter().sum()];
        // SAFETY: room for what each rank gives, where it is said to be, kept as above.
        let code = gate::through(|| unsafe {
            let (from, to, len) = (mine.as_ptr(), all.as_mut_ptr(), count(mine.len()));
            let (lens, starts) = (lens.as_ptr(), starts.as_ptr());
            (self.iallgatherv)(from, len, byte, to, lens, starts, byte, comm, &raw mut request)
        });
        self.check("MPI_Iallgatherv", code)?;
        let done = self.until_done(request, check);
        Ok(kept(done, (all, mine, lens, starts))?.0)
    }

    fn check(&self, what: &'static str, code: c_int) -> Result<(), TransportError> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the function and the code are of one library.
        let text = unsafe { freestone_mpi::error_text(self.error_string, code) };
        Err(TransportError::Io { what: what.to_owned(), source: io::Error::other(text) })
    }
}

/// What MPI worked with, unless it may do so until the end of the process, as the others never came.
fn kept<T>(done: Result<(), TransportError>, buffers: T) -> Result<T, TransportError> {
    match done {
        Ok(()) => Ok(buffers),
        Err(error) => {
            std::mem::forget(buffers);
            Err(error)
        }
    }
}

/// MPI counts in ints; frames are far smaller.
fn count(len: usize) -> c_int {
    c_int::try_from(len).unwrap_or(c_int::MAX)
}

fn no_threads(what: String) -> TransportError {
    let cure = "events come and go in threads of their own, or when the program calls progress";
    TransportError::Io { what, source: io::Error::new(io::ErrorKind::Unsupported, cure) }
}

fn no_library(what: impl std::fmt::Display) -> TransportError {
    let cure = "install an MPI library with the standard interface (pip install mpich), or name \
                one in FREESTONE_EVENTS_MPI";
    TransportError::Io {
        what: what.to_string(),
        source: io::Error::new(io::ErrorKind::Unsupported, cure),
    }
}
