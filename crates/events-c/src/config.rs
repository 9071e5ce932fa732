//! How a program runs: what C gives, then the environment, then what suits the machine.

use crate::error::Refused;
use freestone_events::transport::mpi::MEET_TIMEOUT;
use freestone_events::{Config, Progress, limits};
use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// `fse_config` of the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Given {
    ranks: c_int,
    workers: c_int,
    progress_thread: c_int,
    spin_us: c_int,
    arena: usize,
    stuck_s: f64,
    send_timeout_s: f64,
    mapping: c_int,
    report_mapping: c_int,
    backlog: usize,
    inbox: usize,
    slow_task_s: f64,
    meet_timeout_s: f64,
    grace_s: f64,
    trace: *const c_char,
}

impl Default for Given {
    fn default() -> Self {
        // SAFETY: numbers and a pointer, all of which may be zero.
        unsafe { std::mem::zeroed() }
    }
}

/// How many ranks, how much memory for large events, and how each rank works.
#[derive(Debug)]
pub struct Settings {
    pub ranks: u32,
    pub arena: usize,
    pub meet_timeout: Duration,
    pub grace: Duration,
    /// Whether each worker stays on a core, and whether to say on which.
    pub is_mapped: bool,
    pub report_mapping: bool,
    /// Where what the ranks do is to be read, for Perfetto.
    pub trace: Option<PathBuf>,
    /// Without the number of workers, if nobody said it: it depends on the rank's cores.
    pub config: Config,
}

const ARENA: usize = 1 << 30;

/// How long other ranks may compute after one is lost: they may have something to save.
const GRACE: Duration = Duration::from_secs(10);

/// Reads what was given and the environment.
///
/// # Errors
/// If a value makes no sense.
pub fn resolve(given: Given) -> Result<Settings, Refused> {
    let ranks = at_least_one("RANKS", given.ranks)?.unwrap_or(1);
    let workers = at_least_one("WORKERS", given.workers)?.unwrap_or(0);
    let is_mapped = match (given.mapping, variable("MAPPING").as_deref()) {
        (0, None | Some("none")) => false,
        (0, Some("linear")) | (1, _) => true,
        (0, Some(other)) => return Err(bad("MAPPING", other, "must be none or linear")),
        (other, _) => return Err(bad("MAPPING", other, "must be 0 or 1")),
    };
    let report_mapping = match (given.report_mapping, variable("REPORT_MAPPING").as_deref()) {
        (0, None | Some("0" | "false")) => false,
        (0, Some("1" | "true")) | (1, _) => true,
        (0, Some(other)) => return Err(bad("REPORT_MAPPING", other, "must be true or false")),
        (other, _) => return Err(bad("REPORT_MAPPING", other, "must be 0 or 1")),
    };
    let progress = match (given.progress_thread, variable("PROGRESS").as_deref()) {
        (0, None | Some("worker")) => Progress::IdleWorker,
        (0, Some("thread")) | (1, _) => Progress::Thread,
        (0, Some("program")) | (2, _) => Progress::Program,
        (0, Some(other)) => {
            return Err(bad("PROGRESS", other, "must be worker, thread or program"));
        }
        (other, _) => return Err(bad("progress_thread", other, "must be 0, 1 or 2")),
    };
    let arena = nbytes("ARENA", given.arena)?.unwrap_or(ARENA);
    let inbox = nbytes("INBOX", given.inbox)?;
    let backlog = match given.backlog {
        0 => at_least_one("BACKLOG", 0)?.map(|backlog| backlog as usize),
        backlog => Some(backlog),
    };
    let usual = Config::default();
    let config = Config {
        workers: workers as usize,
        progress,
        inbox: inbox.unwrap_or(usual.inbox),
        backlog: backlog.unwrap_or(usual.backlog),
        stuck: seconds("STUCK_S", given.stuck_s)?,
        slow_task: seconds("SLOW_TASK_S", given.slow_task_s)?,
        send_timeout: seconds("SEND_TIMEOUT_S", given.send_timeout_s)?,
        ..usual
    };
    let config = Config { spin: spin(given.spin_us, ranks)?.unwrap_or(config.spin), ..config };
    let meet_timeout = seconds("MEET_TIMEOUT_S", given.meet_timeout_s)?.unwrap_or(MEET_TIMEOUT);
    let grace = seconds("GRACE_S", given.grace_s)?.unwrap_or(GRACE);
    let trace = trace(given.trace)?;
    Ok(Settings { ranks, arena, meet_timeout, grace, is_mapped, report_mapping, trace, config })
}

fn trace(given: *const c_char) -> Result<Option<PathBuf>, Refused> {
    let text = |given| {
        // SAFETY: not null, and text that ends with a zero byte, as the header asks for.
        unsafe { CStr::from_ptr(given) }.to_string_lossy().into_owned()
    };
    match if given.is_null() { variable("TRACE") } else { Some(text(given)) } {
        Some(path) if Path::new(&path).extension().is_none_or(|ending| ending != "json") => {
            Err(bad("TRACE", path, "must end in .json: it is for Perfetto"))
        }
        path => Ok(path.map(PathBuf::from)),
    }
}

/// How long to spin, if that was said or there are more ranks than processors.
fn spin(given: c_int, ranks: u32) -> Result<Option<Duration>, Refused> {
    let micros = |value: u64| Some(Duration::from_micros(value));
    if given != 0 {
        return Ok(micros(given.max(0) as u64));
    }
    if let Some(value) = variable("SPIN_US") {
        return number("SPIN_US", &value).map(micros);
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(if ranks as usize > cores { micros(0) } else { None })
}

fn seconds(name: &str, given: f64) -> Result<Option<Duration>, Refused> {
    let seconds = match variable(name) {
        Some(value) if given == 0.0 => number(name, &value)?,
        _ => given,
    };
    if seconds == 0.0 {
        return Ok(None);
    }
    let period = Duration::try_from_secs_f64(seconds);
    period.map(Some).map_err(|_| bad(name, seconds, "must be a number of seconds"))
}

fn at_least_one(name: &str, given: c_int) -> Result<Option<u32>, Refused> {
    let value = match (given, variable(name)) {
        (0, Some(value)) => number::<u32>(name, &value)?,
        (0, None) => return Ok(None),
        (given, _) => u32::try_from(given).unwrap_or(0),
    };
    if value == 0 { Err(bad(name, given, "must be at least 1")) } else { Ok(Some(value)) }
}

fn nbytes(name: &str, given: usize) -> Result<Option<usize>, Refused> {
    if given > 0 {
        return Ok(Some(given));
    }
    let Some(value) = variable(name) else { return Ok(None) };
    let found = limits::nbytes(&value);
    found.map(Some).ok_or_else(|| bad(name, value, "must be bytes, as in 64MiB"))
}

fn number<T: FromStr>(name: &str, value: &str) -> Result<T, Refused> {
    value.trim().parse().map_err(|_| bad(name, value, "must be a number"))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(format!("FREESTONE_EVENTS_{name}")).ok()
}

fn bad(name: &str, value: impl std::fmt::Display, must: &str) -> Refused {
    Refused::bad_call(format!("{name} (FREESTONE_EVENTS_{name}) is {value}: it {must}"))
}
