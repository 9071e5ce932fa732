//! The MPI library of a program, loaded when it is needed.
//!
//! Three binary interfaces are known: see [`Dialect`].
//!
//! See docs/decisions/028-two-mpi-binary-interfaces.md

mod attribute;
mod dialect;

pub use attribute::{CreateKey, SetAttribute, before_end};
pub use dialect::Dialect;

use dialect::{ALL, MPICH, OPEN_MPI, STANDARD};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;

/// A communicator, a request, a type: a pointer, or an int in its low half.
pub type Handle = usize;

/// There is no library that can be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// None is found.
    #[error("none of {} is found", ALL.map(|dialect| dialect.name).join(", "))]
    NotFound,
    /// The one that was named is none.
    #[error("the MPI library {0} can't be loaded")]
    NotLoaded(String),
    /// A function is missing.
    #[error("the MPI library has no {0}")]
    NoFunction(String),
}

/// A library that was opened; never closed, as MPI cannot be started twice.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    handle: *mut c_void,
    /// Its constants.
    pub dialect: Dialect,
}

impl Opened {
    /// The library that this process has loaded, else the one that is `given`, else one that is
    /// found: beside the `mpiexec` that started this process, by its name alone, beside the `mpiexec`
    /// on the path, and in `folders`.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn find(given: Option<&str>, folders: &[PathBuf]) -> Result<Self, LoadError> {
        if let Some(loaded) = Self::loaded() {
            return Ok(loaded);
        }
        let flags = libc::RTLD_NOW | libc::RTLD_GLOBAL;
        if let Some(path) = given {
            let name = CString::new(path).unwrap_or_default();
            let is_standard = path.contains("abi");
            // Only Open MPI has the symbols of its constants, and any library those of MPICH.
            return [STANDARD, OPEN_MPI, MPICH]
                .into_iter()
                .filter(|dialect| (dialect.name == STANDARD.name) == is_standard)
                .find_map(|dialect| Self::open(&name, flags, dialect))
                .ok_or_else(|| LoadError::NotLoaded(path.to_owned()));
        }
        let beside = |programs: PathBuf| {
            let has_launcher = programs.join("mpiexec").exists();
            if has_launcher { Some(programs.parent()?.join("lib")) } else { None }
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        // Ranks of another library than the launcher's would each be alone.
        let mut places = (launcher_folder().and_then(beside).into_iter())
            .chain(std::iter::once(PathBuf::new()))
            .chain(std::env::split_paths(&path).filter_map(beside))
            .chain(folders.iter().cloned())
            .flat_map(|folder| ALL.map(|dialect| (dialect, folder.join(dialect.name))));
        let found = places.find_map(|(dialect, path)| {
            let name = CString::new(path.into_os_string().into_encoded_bytes());
            Self::open(&name.unwrap_or_default(), flags, dialect)
        });
        found.ok_or(LoadError::NotFound)
    }

    /// The library that this process has loaded already.
    pub fn loaded() -> Option<Self> {
        let flags = libc::RTLD_NOW | libc::RTLD_NOLOAD;
        ALL.into_iter().find_map(|dialect| {
            let name = CString::new(dialect.name).unwrap_or_default();
            Self::open(&name, flags, dialect)
        })
    }

    fn open(name: &CStr, flags: c_int, dialect: Dialect) -> Option<Self> {
        // SAFETY: loading a library runs its constructors; those of MPI libraries are harmless.
        let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
        if handle.is_null() {
            return None;
        }
        let address = |symbol: &CStr| {
            // A linker may have copied a library's variable into the program, and all use the copy.
            // SAFETY: names, and a library that is open.
            let symbols = [libc::RTLD_DEFAULT, handle]
                .map(|scope| unsafe { libc::dlsym(scope, symbol.as_ptr()) }.addr());
            symbols.into_iter().find(|&address| address != 0).unwrap_or_default()
        };
        Some(Self { handle, dialect: dialect.resolved(address)? })
    }

    /// What `MPI_Get_library_version` says, if there is one.
    pub fn version(self) -> Option<String> {
        type Version = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
        let symbol = self.symbol(c"MPI_Get_library_version").ok()?;
        // SAFETY: the function of MPI has this type.
        let version: Version = unsafe { std::mem::transmute(symbol) };
        // The longest of all interfaces, MPICH's and the standard one's.
        let mut text = vec![0_u8; 8192];
        let mut len = 0;
        // SAFETY: room for the longest text; this may be called at any time.
        unsafe { version(text.as_mut_ptr().cast(), &raw mut len) };
        text.truncate(len.max(0).cast_unsigned() as usize);
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    /// The address of a function.
    ///
    /// # Errors
    ///
    /// If there is none of this name.
    pub fn symbol(self, name: &CStr) -> Result<*mut c_void, LoadError> {
        // SAFETY: a library that is open.
        let symbol = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        if symbol.is_null() {
            return Err(LoadError::NoFunction(name.to_string_lossy().into_owned()));
        }
        Ok(symbol)
    }
}

/// What keeps the library of this process from starting others, which it does not report itself.
pub fn spawn_problem() -> Option<String> {
    problem_of(&Opened::loaded()?.version()?, |name| std::env::var(name).ok())
}

/// Intel MPI's `MPI_Comm_spawn` ends in a segmentation fault without one variable. Without another
/// one it waits for spawned processes for minutes on some processors: who has said how messages go
/// on a host knows better.
fn problem_of(version: &str, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    if !version.starts_with("Intel") {
        return None;
    }
    let value = variable("I_MPI_SPAWN").unwrap_or_default();
    if !["on", "yes", "enable", "1"].contains(&value.to_lowercase().as_str()) {
        return Some(format!(
            "I_MPI_SPAWN is {value:?}, and Intel MPI starts no processes without it; start the \
             program by mpiexec -genv I_MPI_SPAWN on -genv I_MPI_SHM off -n 2 PROGRAM"
        ));
    }
    let is_chosen = ["I_MPI_SHM", "I_MPI_FABRICS"].iter().any(|name| variable(name).is_some());
    (!is_chosen).then(|| {
        "I_MPI_SHM is not set, and on some processors the shared memory of Intel MPI delivers \
         nothing to processes that are started later; start the program by mpiexec -genv \
         I_MPI_SPAWN on -genv I_MPI_SHM off -n 2 PROGRAM, or with another value if you know that \
         it delivers here"
            .to_owned()
    })
}

/// Where the program lies that started this process: that of `mpiexec`, if it was one.
fn launcher_folder() -> Option<PathBuf> {
    let program = std::fs::read_link(format!("/proc/{}/exe", std::os::unix::process::parent_id()));
    program.ok()?.parent().map(PathBuf::from)
}

/// `MPI_Error_string`.
pub type ErrorString = unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int;

/// What MPI has to say about an error.
///
/// # Safety
///
/// `error_string` is the function of that name of the library that gave the code.
pub unsafe fn error_text(error_string: ErrorString, code: c_int) -> String {
    // The longest of all interfaces, and a zero.
    let mut text = [0_u8; 1025];
    let mut len = 0;
    // SAFETY: room for the longest text.
    unsafe { error_string(code, text.as_mut_ptr().cast(), &raw mut len) };
    String::from_utf8_lossy(&text[..(len.max(0) as usize).min(1024)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intel_mpi_spawns_only_with_its_variables() {
        let problem = |version: &str, set: &[(&str, &str)]| {
            let found = |name: &str| set.iter().find(|(key, _)| *key == name);
            problem_of(version, |name| found(name).map(|(_, value)| (*value).to_owned()))
        };
        let intel =
            |set: &[(&str, &str)]| problem("Intel(R) MPI Library 2021.18 for Linux* OS", set);
        assert!(intel(&[]).is_some_and(|text| text.starts_with("I_MPI_SPAWN is \"\"")));
        assert!(intel(&[("I_MPI_SPAWN", "off")]).is_some());
        let text = intel(&[("I_MPI_SPAWN", "on")]).unwrap();
        assert!(text.starts_with("I_MPI_SHM is not set") && text.contains("-genv I_MPI_SHM off"));
        assert_eq!(intel(&[("I_MPI_SPAWN", "on"), ("I_MPI_SHM", "off")]), None);
        assert_eq!(intel(&[("I_MPI_SPAWN", "Enable"), ("I_MPI_FABRICS", "ofi")]), None);
        assert_eq!(problem("MPICH Version: 5.0", &[]), None);
    }
}
