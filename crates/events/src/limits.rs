//! The times and bounds of a run that a program seldom sets: each is a variable of the environment, read
//! when a run begins.

use crate::transport::TransportError;
use std::fmt::Write;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

/// A value of a limit: what it is called, how it is read and written.
trait Value: Copy + PartialEq + 'static {
    /// Its unit, for people.
    const UNIT: &'static str;
    /// What it must be.
    const MUST: &'static str;
    /// Reads it; none, if it makes no sense.
    fn read(text: &str) -> Option<Self>;
    /// Writes it, without a space.
    fn write(self) -> String;
}

impl Value for Duration {
    const UNIT: &'static str = "s";
    const MUST: &'static str = "a number of seconds, more than 0";

    fn read(text: &str) -> Option<Self> {
        let seconds = text.trim().parse().ok()?;
        Self::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero())
    }

    fn write(self) -> String {
        self.as_secs_f64().to_string()
    }
}

/// How it is written that there is no bound.
const NONE: &str = "none";

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nbytes(pub usize);

impl Value for Nbytes {
    const UNIT: &'static str = "bytes";
    const MUST: &'static str = "a number of bytes, at least 4096, as in 64MiB";

    fn read(text: &str) -> Option<Self> {
        nbytes(text.trim()).filter(|nbytes| *nbytes >= 4096).map(Self)
    }

    fn write(self) -> String {
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        let whole = units.into_iter().find(|(shift, _)| self.0.trailing_zeros() >= *shift);
        whole.map_or_else(
            || self.0.to_string(),
            |(shift, unit)| format!("{}{unit}", self.0 >> shift),
        )
    }
}

/// A bound that may be none.
impl Value for Option<Nbytes> {
    const UNIT: &'static str = Nbytes::UNIT;
    const MUST: &'static str = "none, or a number of bytes, at least 4096, as in 64MiB";

    fn read(text: &str) -> Option<Self> {
        if text.trim() == NONE { Some(None) } else { Nbytes::read(text).map(Some) }
    }

    fn write(self) -> String {
        self.map_or_else(|| NONE.to_owned(), Nbytes::write)
    }
}

impl Value for usize {
    const UNIT: &'static str = "";
    const MUST: &'static str = "a number, at least 1";

    fn read(text: &str) -> Option<Self> {
        text.trim().parse().ok().filter(|number| *number > 0)
    }

    fn write(self) -> String {
        self.to_string()
    }
}

/// A time that may be without end.
impl Value for Option<Duration> {
    const UNIT: &'static str = Duration::UNIT;
    const MUST: &'static str = "none, or a number of seconds, more than 0";

    fn read(text: &str) -> Option<Self> {
        if text.trim() == NONE { Some(None) } else { Duration::read(text).map(Some) }
    }

    fn write(self) -> String {
        self.map_or_else(|| NONE.to_owned(), Duration::write)
    }
}

/// Reads a number of bytes, as `1048576` or `1MiB`.
pub fn nbytes(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return None,
    };
    let number: usize = digits.trim().parse().ok()?;
    number.checked_mul(1 << shift)
}

/// A limit, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The variable that sets it.
    pub variable: &'static str,
    /// Its unit; none for a count.
    pub unit: &'static str,
    /// What it is if nobody says it.
    pub default: String,
    /// What it is for.
    pub about: &'static str,
    /// Whether all ranks need the same.
    pub is_shared: bool,
}

macro_rules! limits {
    ($($(#[doc = $about:literal])* $field:ident, $name:literal: $kind:ty = $default:expr, $shared:literal;)*) => {
        /// The times and bounds of a run.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Limits {
            $($(#[doc = $about])* pub $field: $kind,)*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl Limits {
            /// What `variable` says of each, by its whole name.
            ///
            /// # Errors
            ///
            /// If it says something that makes no sense.
            pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, TransportError> {
                let mut limits = Self::default();
                $(
                    let name = concat!("FREESTONE_EVENTS_", $name);
                    if let Some(text) = variable(name) {
                        limits.$field = <$kind as Value>::read(&text).ok_or_else(|| TransportError::Setting {
                            name,
                            value: text,
                            must: <$kind as Value>::MUST.to_owned(),
                        })?;
                    }
                )*
                Ok(limits)
            }

            /// Those in which ranks have to agree, as words `NAME=VALUE`.
            pub fn shared(&self) -> String {
                let mut words = format!("version={}", env!("CARGO_PKG_VERSION"));
                $(
                    if $shared {
                        let _ = write!(words, concat!(" FREESTONE_EVENTS_", $name, "={}"), self.$field.write());
                    }
                )*
                words
            }
        }

        /// All limits.
        pub fn rows() -> Vec<Row> {
            let usual = Limits::default();
            vec![$(Row {
                variable: concat!("FREESTONE_EVENTS_", $name),
                unit: <$kind as Value>::UNIT,
                default: usual.$field.write(),
                about: concat!($($about),*),
                is_shared: $shared,
            }),*]
        }
    };
}

const fn micros(count: u64) -> Duration {
    Duration::from_micros(count)
}

const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

limits! {
    /// How long a rank waits at its end for what it has sent to go, and over TCP for the others to be done.
    close_timeout, "CLOSE_TIMEOUT_S": Duration = seconds(5), false;
    /// How long the connection between two ranks may take to be made.
    connect_timeout, "CONNECT_TIMEOUT_S": Duration = seconds(60), false;
    /// How long one message of the meeting may take.
    step_timeout, "STEP_TIMEOUT_S": Duration = seconds(10), false;
    /// How long a joining rank may take to connect to all others.
    join_timeout, "JOIN_TIMEOUT_S": Duration = seconds(60), false;
    /// How long the machine of another rank may answer nothing over TCP before that rank is lost.
    silence_timeout, "SILENCE_TIMEOUT_S": Duration = seconds(60), false;
    /// How long the process of a rank may be stopped before the rank is lost, and killed if one process has started
    /// all; `none` is for ever.
    stopped_timeout, "STOPPED_TIMEOUT_S": Option<Duration> = Some(seconds(60)), true;
    /// How long it may be unknown whether a rank that can't be reached is done or lost.
    unreachable_wait, "UNREACHABLE_WAIT_S": Duration = seconds(1), false;
    /// How long after an error of MPI the end of a process is waited for that may be its cause.
    failure_wait, "FAILURE_WAIT_S": Duration = seconds(1), false;
    /// How often it is looked under MPI whether a process has ended.
    look_interval, "LOOK_INTERVAL_S": Duration = millis(20), false;
    /// The shortest sleep of a rank under MPI that has nothing to do.
    nap_min, "NAP_MIN_S": Duration = micros(20), false;
    /// The longest sleep of a rank under MPI that has nothing to do: how late an event may be noticed.
    nap_max, "NAP_MAX_S": Duration = millis(1), false;
    /// How long an event may wait, over TCP and MPI, for others that go the same way.
    batch_wait, "BATCH_WAIT_S": Duration = micros(50), false;
    /// How often a rank whose workers are all busy looks for what has arrived.
    drain_interval, "DRAIN_INTERVAL_S": Duration = millis(10), false;
    /// How long a large payload waits for room in shared memory before it goes in pieces.
    place_wait, "PLACE_WAIT_S": Duration = millis(20), false;
    /// The longest pause between two waves that find out how a run stands.
    wave_pause, "WAVE_PAUSE_S": Duration = millis(50), false;
    /// How often a wait of the program looks whether it was interrupted.
    signal_interval, "SIGNAL_INTERVAL_S": Duration = millis(50), false;
    /// How long it takes until somebody who was not to be reached over TCP is tried again.
    retry_interval, "RETRY_INTERVAL_S": Duration = millis(50), false;
    /// How often it is looked whether the run goes on without a lost rank.
    loss_interval, "LOSS_INTERVAL_S": Duration = millis(200), false;
    /// How often conditions of the machine (memory, load) are looked at.
    condition_interval, "CONDITION_INTERVAL_S": Duration = millis(100), false;
    /// The most bytes that an event may carry; `none` is as many as a machine has of memory.
    event_max, "EVENT_MAX": Option<Nbytes> = None, true;
    /// Bytes on their way from one rank to another over MPI, besides one payload of more than 64 KiB.
    window, "WINDOW": Nbytes = Nbytes(4 << 20), true;
    /// Bytes that may wait in a rank to be written to one other rank over TCP.
    send_buffer, "SEND_BUFFER": Nbytes = Nbytes(1 << 20), false;
    /// The memory of the rings of all pairs of ranks of a machine together, of which each has a part.
    rings, "RINGS": Nbytes = Nbytes(64 << 20), true;
    /// How many of those who come over TCP at once are greeted at the same time.
    greeted, "GREETED": usize = 64, false;
    /// How many receives of MPI a rank has posted.
    posted, "POSTED": usize = 16, false;
    /// The largest ring of a pair of ranks: small events that the one may be ahead of the other.
    ring_max, "RING_MAX": Nbytes = Nbytes(256 << 10), true;
    /// For how many days the certificate that rank 0 makes is good.
    certificate_days, "CERTIFICATE_DAYS": usize = 30, false;
}

/// Those that hold now; null before the first time. Kept for ever: others may still look at earlier ones.
static LIMITS: AtomicPtr<Limits> = AtomicPtr::new(null_mut());

/// Those of this process, as its environment said when the last run began; what makes no sense there is as
/// if it were not there, and [`renew`] reports it.
pub fn get() -> &'static Limits {
    // SAFETY: null, or limits that were leaked.
    unsafe { LIMITS.load(Ordering::Acquire).as_ref() }
        .unwrap_or_else(|| publish(Limits::read(variable).unwrap_or_default()))
}

/// Reads the environment anew, for a run that begins: a program may have changed it since the last one.
///
/// # Errors
///
/// If it makes no sense.
pub fn renew() -> Result<(), TransportError> {
    let limits = Limits::read(variable)?;
    if limits != *get() {
        publish(limits);
    }
    Ok(())
}

fn publish(limits: Limits) -> &'static Limits {
    let limits = Box::leak(Box::new(limits));
    // Its partner is the load in `get`.
    LIMITS.store(std::ptr::from_mut(limits), Ordering::Release);
    limits
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// In what two ranks disagree, of what [`Limits::shared`] gives: its name, and what each has.
pub fn disagreement<'a>(own: &'a str, other: &'a str) -> Option<(&'a str, &'a str, &'a str)> {
    let pairs = |text: &'a str| text.split(' ').filter_map(|word| word.split_once('='));
    let theirs =
        |name| pairs(other).find(|(known, _)| *known == name).map_or("unknown", |(_, value)| value);
    pairs(own).map(|(name, value)| (name, value, theirs(name))).find(|(_, own, other)| own != other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_from_the_environment() {
        let variables = [
            ("FREESTONE_EVENTS_CLOSE_TIMEOUT_S", "0.5"),
            ("FREESTONE_EVENTS_WINDOW", "8 MiB"),
            ("FREESTONE_EVENTS_POSTED", "3"),
        ];
        let find = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let limits = Limits::read(find).unwrap();
        assert_eq!(limits.close_timeout, millis(500));
        assert_eq!((limits.window, limits.posted), (Nbytes(8 << 20), 3));
        assert_eq!(limits.connect_timeout, seconds(60));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (name, bad) in [
            ("CLOSE_TIMEOUT_S", "0"),
            ("CLOSE_TIMEOUT_S", "nan"),
            ("WINDOW", "4 MB"),
            ("POSTED", "0"),
        ] {
            let name = format!("FREESTONE_EVENTS_{name}");
            let error = Limits::read(|other| (other == name).then(|| bad.to_owned())).unwrap_err();
            let text = error.to_string();
            assert!(text.starts_with(&format!("{name} is '{bad}': it must be a number")), "{text}");
        }
    }

    #[test]
    fn rows_have_what_people_read() {
        let rows = rows();
        let window = rows.iter().find(|row| row.variable == "FREESTONE_EVENTS_WINDOW").unwrap();
        assert_eq!((window.unit, &window.default[..], window.is_shared), ("bytes", "4MiB", true));
        assert!(rows.iter().all(|row| row.about.trim().ends_with('.') && !row.default.is_empty()));
    }

    #[test]
    fn the_first_difference_is_named_with_both_values() {
        let own = Limits::default().shared();
        assert_eq!(disagreement(&own, &own), None);
        let other = Limits { window: Nbytes(1 << 20), ..Limits::default() }.shared();
        assert_eq!(disagreement(&own, &other), Some(("FREESTONE_EVENTS_WINDOW", "4MiB", "1MiB")));
        assert_eq!(disagreement(&own, "").map(|(name, ..)| name), Some("version"));
    }
}
