//! Where in the user's source a call is: the header's macros say so, debug information else.

use crate::callers;
use crate::views::View;
use freestone_events::rank::{Code, Label};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, with_exposed_provenance};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The longest name of a task that is taken from the source.
const LONGEST: usize = 60;
/// How many events of a task are named.
const EVENTS: usize = 5;

/// What nobody has said anything about.
const NOWHERE: Code = Code { describe: described, address: 0, file: 0, text: 0, line: 0 };

thread_local! {
    /// The call that comes next.
    static NEXT: Cell<Code> = const { Cell::new(NOWHERE) };
    /// The task that this thread runs.
    static TASK: Cell<Running> = const { Cell::new(Running { code: NOWHERE, events: (null(), 0) }) };
}

/// Where the run began.
static BEGUN: OnceLock<Code> = OnceLock::new();

/// A task that runs, and its events, which stay where they are as long as it does.
#[derive(Clone, Copy)]
struct Running {
    code: Code,
    events: (*const View, c_int),
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
    let (call, task) = (NEXT.replace(NOWHERE), TASK.get().code);
    let describe = if task.address == 0 { program } else { described };
    let Code { address, text, .. } = task;
    let place = if call.file == 0 { task } else { call };
    Label::Code(Code { describe, address, text, ..place }, None)
}

/// By what people know a task.
pub fn label(code: Code, name: Option<Arc<str>>) -> Label {
    Label::Code(code, name)
}

/// The run begins by this call.
pub fn begin() {
    let call = NEXT.replace(NOWHERE);
    if call.file != 0 {
        // The first one, of several runs, is the best that is known.
        let _ = BEGUN.set(call);
    }
}

/// Who makes this call, and where, for people: the task that this thread runs, with its events, or the program.
/// Where no macro says it, debug information does; it takes long, and is for calls that end a run.
pub fn caller() -> (String, String) {
    let (call, Running { code, events }) = (NEXT.replace(NOWHERE), TASK.get());
    let place = literal(call.file).map(|file| format!("{file}:{}", call.line));
    let place = place.or_else(callers::place);
    if code.address != 0 {
        let name = own_name(&code);
        let who = place.map_or_else(|| described(&code, None), |place| format!("{name} ({place})"));
        // SAFETY: the task runs, so that its events are there.
        return (who, unsafe { given(events) });
    }
    let begun = BEGUN.get().and_then(|call| Some((literal(call.file)?, call.line)));
    let who = match (place, begun) {
        (Some(place), _) => format!("the program ({place})"),
        (None, Some((file, line))) => format!("the program that began at {file}:{line}"),
        _ => "the program".to_owned(),
    };
    (who, String::new())
}

/// The events of a task, for people, as the end of a sentence.
///
/// # Safety
/// The events are there.
pub unsafe fn given((events, count): (*const View, c_int)) -> String {
    let count = usize::try_from(count).unwrap_or(0);
    if count == 0 {
        return String::new();
    }
    // SAFETY: as the caller says.
    let events = unsafe { std::slice::from_raw_parts(events, count) };
    let named: Vec<_> = events.iter().take(EVENTS).map(View::origin).collect();
    let more = count.saturating_sub(EVENTS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("; it had {}{more}", named.join(", "))
}

/// Runs a task with its events.
pub fn run<T>(code: Code, events: (*const View, c_int), body: impl FnOnce() -> T) -> T {
    let former = TASK.replace(Running { code, events });
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
        assert_eq!(run(code, (null(), 0), here).to_string(), "step (model.c:20)");
    }
}
