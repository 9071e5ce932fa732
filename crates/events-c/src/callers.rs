//! Where in the user's source a call comes from, by the stack and debug information.

use std::path::Path;

/// The innermost line of the user's: none without debug information.
pub fn place() -> Option<String> {
    let mut found = None;
    backtrace::trace(|frame| {
        backtrace::resolve_frame(frame, |symbol| {
            let file = symbol.filename().filter(|file| is_users(file));
            if let (None, Some((file, line))) = (&found, file.zip(symbol.lineno())) {
                found = Some(format!("{}:{line}", file.display()));
            }
        });
        found.is_none()
    });
    found
}

/// Whether a file is none of this library, the module of Fortran and the headers, or of the compiler's and the
/// system's libraries, whose paths are cut off where those were compiled.
fn is_users(file: &Path) -> bool {
    let is_rust = file.extension().is_some_and(|end| end == "rs");
    let is_ours = file.file_stem().is_some_and(|name| name == "freestone_events");
    let is_compilers = file.starts_with("/usr/include") || file.to_string_lossy().contains("/c++/");
    file.is_absolute() && !(is_rust || is_ours || is_compilers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_user_are_places() {
        for file in ["/ada/model.cpp", "/ada/src/model.f90", "/ada/c/model.c"] {
            assert!(is_users(Path::new(file)), "{file}");
        }
        let others = [
            "/build/crates/events-c/src/calls.rs",
            "/prefix/include/freestone_events.h",
            "./csu/../sysdeps/nptl/libc_start_call_main.h",
            "/prefix/include/freestone_events.f90",
            "/usr/include/c++/12/bits/stl_vector.h",
            "/prefix/lib/../include/c++/13/stdexcept",
        ];
        for file in others {
            assert!(!is_users(Path::new(file)), "{file}");
        }
    }
}
