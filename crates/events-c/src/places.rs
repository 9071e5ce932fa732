//! Where in the user's source a call is: the header's macros say so, debug information else.

use freestone_events::rank::{Code, Label};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::with_exposed_provenance;
use std::sync::{Arc, Mutex, PoisonError};

/// The longest name of a task that is taken from the source.
const LONGEST: usize = 60;

/// What nobody has said anything about.
const NOWHERE: Code = Code { describe: described, address: 0, file: 0, text: 0, line: 0 };

thread_local! {
    /// The call that comes next.
    static NEXT: Cell<Code> = const { Cell::new(NOWHERE) };
    /// The task that this thread runs.
    static TASK: Cell<Code> = const { Cell::new(NOWHERE) };
}

/// Says where the next call of this thread is: called by the header's macros.
///
/// # Safety
/// `file` and `text`, what is written between the call's parentheses, are literals of the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fse_at(file: *const c_char, line: c_int, text: *const c_char) {
    let (file, text) = (file.expose_provenance(), text.expose_provenance());
    NEXT.set(Code { file, text, line: line.cast_unsigned(), ..NOWHERE });
}

/// The task that is submitted by this call.
pub fn task(address: *const c_void) -> Code {
    Code { address: address.expose_provenance(), ..NEXT.replace(NOWHERE) }
}

/// What waits by this call: the task that this thread runs, or the program.
pub fn here() -> Label {
    let (call, task) = (NEXT.replace(NOWHERE), TASK.get());
    let describe = if task.address == 0 { program } else { described };
    let Code { address, text, .. } = task;
    let place = if call.file == 0 { task } else { call };
    Label::Code(Code { describe, address, text, ..place }, None)
}

/// By what people know a task.
pub fn label(code: Code, name: Option<Arc<str>>) -> Label {
    Label::Code(code, name)
}

/// Runs a task.
pub fn run<T>(code: Code, body: impl FnOnce() -> T) -> T {
    let former = TASK.replace(code);
    let done = body();
    TASK.set(former);
    done
}

/// What a trace calls a task. Debug information is read once for each task's code.
pub fn name_of(code: &Code, name: Option<&str>) -> String {
    static KNOWN: Mutex<BTreeMap<(usize, usize), String>> = Mutex::new(BTreeMap::new());
    let own = || {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let named = known.entry((code.address, code.text)).or_insert_with(|| own_name(code));
        named.clone()
    };
    name.map_or_else(own, ToOwned::to_owned)
}

fn own_name(code: &Code) -> String {
    let written = || Symbol::at(code.address).name;
    let name = literal(code.text).and_then(first).or_else(written);
    name.unwrap_or_else(|| format!("at {:#x}", code.address))
}

/// A task, for people: its name, and where it is submitted or else where it begins.
pub fn described(code: &Code, name: Option<&str>) -> String {
    let symbol = Symbol::at(code.address);
    let written = literal(code.text).and_then(first);
    let own = || written.or(symbol.name).unwrap_or_else(|| format!("at {:#x}", code.address));
    let what = name.map_or_else(own, |name| format!("'{name}'"));
    match literal(code.file).map(|file| format!("{file}:{}", code.line)).or(symbol.place) {
        Some(place) => format!("{what} ({place})"),
        None => what,
    }
}

fn program(code: &Code, _name: Option<&str>) -> String {
    match literal(code.file) {
        Some(file) => format!("the program ({file}:{})", code.line),
        None => "the program".to_owned(),
    }
}

fn literal(address: usize) -> Option<String> {
    if address == 0 {
        return None;
    }
    // SAFETY: a literal of the program, as who called `fse_at` has said.
    let text = unsafe { CStr::from_ptr(with_exposed_provenance(address)) };
    Some(text.to_string_lossy().into_owned())
}

/// The first argument, if it is the name of a function.
#[allow(clippy::needless_pass_by_value)] // as `and_then` gives it
fn first(arguments: String) -> Option<String> {
    let name = arguments.split(',').next()?.trim().trim_start_matches('&');
    let is_name = |letter: char| letter.is_alphanumeric() || "_:.->".contains(letter);
    let fits = !name.is_empty() && name.len() <= LONGEST && name.chars().all(is_name);
    fits.then(|| name.to_owned())
}

/// What debug information says of a function.
#[derive(Default)]
struct Symbol {
    name: Option<String>,
    place: Option<String>,
}

impl Symbol {
    fn at(address: usize) -> Self {
        let mut found = Self::default();
        if address == 0 {
            return found;
        }
        // What is looked for is the instruction before, as of calls.
        backtrace::resolve(with_exposed_provenance::<c_void>(address + 1).cast_mut(), |symbol| {
            found.name = symbol.name().map(|name| name.to_string());
            let file = symbol.filename().map(|file| file.display().to_string());
            found.place = file.zip(symbol.lineno()).map(|(file, line)| format!("{file}:{line}"));
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_argument_is_the_name_of_a_task() {
        let name = |text: &str| first(text.to_owned());
        assert_eq!(name("add_up, NULL, 1, FSE_ALL").as_deref(), Some("add_up"));
        assert_eq!(name("&Model::step, &model").as_deref(), Some("Model::step"));
        assert_eq!(name("[](auto) { return 1, 2; }, NULL"), None);
        assert_eq!(name(""), None);
    }

    extern "C" fn somewhere() {}

    #[test]
    fn a_task_without_a_place_is_described_by_what_is_known_of_its_code() {
        let code = task(somewhere as extern "C" fn() as *const c_void);
        assert!(described(&code, None).contains("somewhere"), "{}", described(&code, None));
        assert!(described(&code, Some("x")).starts_with("'x'"));
        // SAFETY: literals.
        unsafe { fse_at(c"model.c".as_ptr(), 12, c"step, NULL, 0".as_ptr()) };
        let code = task(somewhere as extern "C" fn() as *const c_void);
        assert_eq!(described(&code, None), "step (model.c:12)");
        assert_eq!(described(&code, Some("x")), "'x' (model.c:12)");
        assert_eq!(here().to_string(), "the program");
        // SAFETY: literals.
        unsafe { fse_at(c"model.c".as_ptr(), 20, c"1, 0, id".as_ptr()) };
        assert_eq!(run(code, here).to_string(), "step (model.c:20)");
    }
}
