//! The functions of the library that the program has loaded.

use super::{Command, Handle, Mpi};
use crate::error::{MalleableError, Result};
use freestone_mpi::{CreateKey, Dialect, ErrorString, LoadError, Opened, SetAttribute};
use std::ffi::{c_char, c_int, c_void};

type FromInt = unsafe extern "C" fn(c_int) -> Handle;
type ToInt = unsafe extern "C" fn(Handle) -> c_int;
type Version = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
type Flag = unsafe extern "C" fn(*mut c_int) -> c_int;
type Number = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type ToHandle = unsafe extern "C" fn(Handle, *mut Handle) -> c_int;
type OnHandle = unsafe extern "C" fn(*mut Handle) -> c_int;
type SetHandler = unsafe extern "C" fn(Handle, Handle) -> c_int;
type WithNumber = unsafe extern "C" fn(Handle, c_int, *mut Handle) -> c_int;
type Split = unsafe extern "C" fn(Handle, c_int, c_int, *mut Handle) -> c_int;
type Send =
    unsafe extern "C" fn(*const u8, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int;
type Receive =
    unsafe extern "C" fn(*mut u8, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int;
type Probe = unsafe extern "C" fn(c_int, c_int, Handle, *mut c_int, *mut c_void) -> c_int;
type Test = unsafe extern "C" fn(*mut Handle, *mut c_int, *mut c_void) -> c_int;
type Reduce =
    unsafe extern "C" fn(*const i64, *mut i64, c_int, Handle, Handle, Handle, *mut Handle) -> c_int;
type Broadcast = unsafe extern "C" fn(*mut u8, c_int, Handle, c_int, Handle, *mut Handle) -> c_int;
type SetInfo = unsafe extern "C" fn(Handle, *const c_char, *const c_char) -> c_int;
type Spawn = unsafe extern "C" fn(
    *const c_char,
    *mut *mut c_char,
    c_int,
    Handle,
    c_int,
    Handle,
    *mut Handle,
    *mut c_int,
) -> c_int;

/// The functions of the library that the program has loaded.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    dialect: Dialect,
    finalized: Flag,
    comm_rank: Number,
    comm_size: Number,
    comm_get_parent: OnHandle,
    comm_dup: ToHandle,
    comm_split: Split,
    comm_free: OnHandle,
    comm_set_errhandler: SetHandler,
    comm_spawn: Spawn,
    comm_create_keyval: CreateKey,
    comm_set_attr: SetAttribute,
    intercomm_merge: WithNumber,
    isend: Send,
    irecv: Receive,
    iprobe: Probe,
    iallreduce: Reduce,
    ibcast: Broadcast,
    ibarrier: ToHandle,
    test: Test,
    info_create: OnHandle,
    info_set: SetInfo,
    info_free: OnHandle,
    error_string: ErrorString,
    version: Version,
    /// None where a communicator is the same number in C and Fortran.
    comm_from_int: Option<FromInt>,
    comm_to_int: Option<ToInt>,
}

impl Library {
    /// The library of this program, which has to be initialised, and not finalised yet.
    ///
    /// # Errors
    ///
    /// If there is none, or it is not.
    #[allow(clippy::missing_transmute_annotations)] // the fields say what the functions are
    pub fn loaded() -> Result<Self> {
        let opened = Opened::loaded().ok_or(LoadError::NotFound)?;
        macro_rules! function {
            ($name:literal $(, $other:literal)*) => {
                // SAFETY: the functions of MPI have these types.
                unsafe {
                    let symbol = opened.symbol($name)$(.or_else(|_| opened.symbol($other)))*;
                    std::mem::transmute(symbol?)
                }
            };
        }
        let (initialized, finalized): (Flag, Flag) =
            (function!(c"MPI_Initialized"), function!(c"MPI_Finalized"));
        let (mut has_begun, mut has_ended) = (0, 0);
        // SAFETY: these may be called at any time.
        unsafe {
            initialized(&raw mut has_begun);
            finalized(&raw mut has_ended);
        }
        if has_begun == 0 || has_ended != 0 {
            let problem = "MPI is not initialised: call MPI_Init before, and MPI_Finalize after";
            return Err(MalleableError::BadCall(problem.to_owned()));
        }
        let (comm_from_int, comm_to_int) = if opened.dialect.is_int {
            (None, None)
        } else {
            // The names of the standard interface, and Open MPI's.
            (
                Some(function!(c"MPI_Comm_fromint", c"MPI_Comm_f2c")),
                Some(function!(c"MPI_Comm_toint", c"MPI_Comm_c2f")),
            )
        };
        Ok(Self {
            comm_from_int,
            comm_to_int,
            dialect: opened.dialect,
            finalized,
            comm_rank: function!(c"MPI_Comm_rank"),
            comm_size: function!(c"MPI_Comm_size"),
            comm_get_parent: function!(c"MPI_Comm_get_parent"),
            comm_dup: function!(c"MPI_Comm_dup"),
            comm_split: function!(c"MPI_Comm_split"),
            comm_free: function!(c"MPI_Comm_free"),
            comm_set_errhandler: function!(c"MPI_Comm_set_errhandler"),
            comm_spawn: function!(c"MPI_Comm_spawn"),
            comm_create_keyval: function!(c"MPI_Comm_create_keyval"),
            comm_set_attr: function!(c"MPI_Comm_set_attr"),
            intercomm_merge: function!(c"MPI_Intercomm_merge"),
            isend: function!(c"MPI_Isend"),
            irecv: function!(c"MPI_Irecv"),
            iprobe: function!(c"MPI_Iprobe"),
            iallreduce: function!(c"MPI_Iallreduce"),
            ibcast: function!(c"MPI_Ibcast"),
            ibarrier: function!(c"MPI_Ibarrier"),
            test: function!(c"MPI_Test"),
            info_create: function!(c"MPI_Info_create"),
            info_set: function!(c"MPI_Info_set"),
            info_free: function!(c"MPI_Info_free"),
            error_string: function!(c"MPI_Error_string"),
            version: function!(c"MPI_Get_library_version"),
        })
    }

    /// A communicator as C has it, by its number in Fortran.
    pub fn of_fortran(&self, comm: c_int) -> Handle {
        let Some(convert) = self.comm_from_int else { return comm.cast_unsigned() as Handle };
        // SAFETY: any number may be given.
        unsafe { convert(comm) }
    }

    /// The number that a communicator has in Fortran.
    pub fn to_fortran(&self, comm: Handle) -> c_int {
        let Some(convert) = self.comm_to_int else { return (comm as u32).cast_signed() };
        // SAFETY: a communicator.
        unsafe { convert(comm) }
    }

    /// Whether a communicator is that of no ranks.
    pub fn is_null(&self, comm: Handle) -> bool {
        self.dialect.is_null(comm)
    }

    /// Has `MPI_Finalize` call a function first, while there is MPI yet: it deletes the attributes
    /// of the communicator of this process alone before all else.
    ///
    /// # Errors
    ///
    /// What MPI answers.
    pub fn before_end(&self, act: extern "C" fn()) -> Result<()> {
        let own = self.dialect.comm_self;
        // SAFETY: functions and communicator of this library.
        let done = unsafe {
            freestone_mpi::before_end(self.comm_create_keyval, self.comm_set_attr, own, act)
        };
        done.or_else(|(call, code)| self.check(call, code))
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the function of the library that gave the code.
        let text = unsafe { freestone_mpi::error_text(self.error_string, code) };
        Err(MalleableError::Mpi { call, text })
    }

    fn number(&self, call: &'static str, function: Number, comm: Handle) -> Result<usize> {
        let mut number = 0;
        // SAFETY: a communicator, and a place for a number.
        self.check(call, unsafe { function(comm, &raw mut number) })?;
        Ok(number.max(0).cast_unsigned() as usize)
    }

    /// What a function makes, whose errors are returned from now on if it is a communicator.
    fn made(
        &self,
        call: &'static str,
        function: impl FnOnce(*mut Handle) -> c_int,
    ) -> Result<Handle> {
        let mut made = 0;
        self.check(call, function(&raw mut made))?;
        Ok(made)
    }

    fn returning(&self, comm: Handle) -> Result<Handle> {
        let handler = self.dialect.errors_return;
        // SAFETY: a communicator of ours.
        let code = unsafe { (self.comm_set_errhandler)(comm, handler) };
        self.check("MPI_Comm_set_errhandler", code)?;
        Ok(comm)
    }
}

/// MPI counts in ints; longer messages are cut before.
fn count(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

impl Mpi for Library {
    fn rank(&self, comm: Handle) -> Result<usize> {
        self.number("MPI_Comm_rank", self.comm_rank, comm)
    }

    fn size(&self, comm: Handle) -> Result<usize> {
        self.number("MPI_Comm_size", self.comm_size, comm)
    }

    fn parent(&self) -> Result<Option<Handle>> {
        // SAFETY: a place for a handle; and likewise below.
        let parent =
            self.made("MPI_Comm_get_parent", |made| unsafe { (self.comm_get_parent)(made) })?;
        if self.dialect.is_null(parent) { Ok(None) } else { self.returning(parent).map(Some) }
    }

    fn has_guards(&self) -> bool {
        // The longest of all interfaces.
        let (mut text, mut len) = (vec![0_u8; 8192], 0);
        // SAFETY: room for the longest text.
        unsafe { (self.version)(text.as_mut_ptr().cast(), &raw mut len) };
        text.starts_with(b"MPICH") && std::env::var_os("PMI_FD").is_some()
    }

    fn is_over(&self) -> bool {
        let mut is_over = 0;
        // SAFETY: it may be called at any time.
        unsafe { (self.finalized)(&raw mut is_over) };
        is_over != 0
    }

    fn world(&self) -> Handle {
        self.dialect.world
    }

    fn duplicate(&self, comm: Handle) -> Result<Handle> {
        // SAFETY: as above.
        let made = self.made("MPI_Comm_dup", |made| unsafe { (self.comm_dup)(comm, made) })?;
        self.returning(made)
    }

    fn split(&self, comm: Handle, key: Option<usize>) -> Result<Option<Handle>> {
        let colour = key.map_or(self.dialect.undefined, |_| 0);
        let key = count(key.unwrap_or(0));
        // SAFETY: as above.
        let made = self
            .made("MPI_Comm_split", |made| unsafe { (self.comm_split)(comm, colour, key, made) })?;
        if self.dialect.is_null(made) { Ok(None) } else { self.returning(made).map(Some) }
    }

    fn free(&self, mut comm: Handle) -> Result<()> {
        // SAFETY: a communicator of ours, with no request left.
        self.check("MPI_Comm_free", unsafe { (self.comm_free)(&raw mut comm) })
    }

    fn spawn(&self, comm: Handle, command: &Command, count: usize) -> Result<Handle> {
        // SAFETY: as above.
        let mut info = self.made("MPI_Info_create", |made| unsafe { (self.info_create)(made) })?;
        // SAFETY: words that end with zeros.
        let code = unsafe { (self.info_set)(info, c"wdir".as_ptr(), command.folder.as_ptr()) };
        self.check("MPI_Info_set", code)?;
        let mut words: Vec<*mut c_char> =
            command.arguments.iter().map(|word| word.as_ptr().cast_mut()).collect();
        words.push(std::ptr::null_mut());
        let (program, number) = (command.program.as_ptr(), self::count(count));
        // SAFETY: words that end with zeros, in a list that ends with null; nobody wants the codes
        // of single processes.
        let sides = self.made("MPI_Comm_spawn", |made| unsafe {
            let words = words.as_mut_ptr();
            (self.comm_spawn)(program, words, number, info, 0, comm, made, std::ptr::null_mut())
        });
        // SAFETY: ours.
        self.check("MPI_Info_free", unsafe { (self.info_free)(&raw mut info) })?;
        self.returning(sides?)
    }

    fn merge(&self, sides: Handle, high: bool) -> Result<Handle> {
        let high = c_int::from(high);
        // SAFETY: as above.
        let made = self.made("MPI_Intercomm_merge", |made| unsafe {
            (self.intercomm_merge)(sides, high, made)
        })?;
        self.returning(made)
    }

    unsafe fn send(
        &self,
        comm: Handle,
        to: usize,
        tag: i32,
        bytes: *const u8,
        nbytes: usize,
    ) -> Result<Handle> {
        let byte = self.dialect.byte;
        // SAFETY: as the caller says.
        self.made("MPI_Isend", |made| unsafe {
            (self.isend)(bytes, count(nbytes), byte, count(to), tag, comm, made)
        })
    }

    unsafe fn receive(
        &self,
        comm: Handle,
        from: usize,
        tag: i32,
        bytes: *mut u8,
        nbytes: usize,
    ) -> Result<Handle> {
        let byte = self.dialect.byte;
        // SAFETY: as the caller says.
        self.made("MPI_Irecv", |made| unsafe {
            (self.irecv)(bytes, count(nbytes), byte, count(from), tag, comm, made)
        })
    }

    fn has_message(&self, comm: Handle, from: Option<usize>, tag: i32) -> Result<bool> {
        let mut has = 0;
        let from = from.map_or(self.dialect.any_source, count);
        let ignore = std::ptr::without_provenance_mut(self.dialect.status_ignore);
        // SAFETY: a communicator, and a place for a number.
        let code = unsafe { (self.iprobe)(from, tag, comm, &raw mut has, ignore) };
        self.check("MPI_Iprobe", code)?;
        Ok(has != 0)
    }

    unsafe fn largest(
        &self,
        comm: Handle,
        own: *const i64,
        into: *mut i64,
        number: usize,
    ) -> Result<Handle> {
        let Dialect { int64, max, .. } = self.dialect;
        // SAFETY: as the caller says.
        self.made("MPI_Iallreduce", |made| unsafe {
            (self.iallreduce)(own, into, count(number), int64, max, comm, made)
        })
    }

    unsafe fn broadcast(
        &self,
        comm: Handle,
        root: usize,
        bytes: *mut u8,
        nbytes: usize,
    ) -> Result<Handle> {
        let byte = self.dialect.byte;
        // SAFETY: as the caller says.
        self.made("MPI_Ibcast", |made| unsafe {
            (self.ibcast)(bytes, count(nbytes), byte, count(root), comm, made)
        })
    }

    fn barrier(&self, comm: Handle) -> Result<Handle> {
        // SAFETY: as above.
        self.made("MPI_Ibarrier", |made| unsafe { (self.ibarrier)(comm, made) })
    }

    fn test(&self, request: &mut Handle) -> Result<bool> {
        let mut done = 0;
        let ignore = std::ptr::without_provenance_mut(self.dialect.status_ignore);
        // SAFETY: a request, and a place for a number.
        self.check("MPI_Test", unsafe { (self.test)(request, &raw mut done, ignore) })?;
        Ok(done != 0)
    }
}
