//! How a job is resized, and when.

use super::dealing::Layout;
use crate::blueprint::Method;
use std::path::PathBuf;
use std::time::Duration;

/// How a job is resized, and when. The same on all ranks.
pub struct Settings {
    /// Whether processes stay.
    pub method: Method,
    /// Whether the program computes while ranks start and constant data moves.
    pub is_overlapped: bool,
    /// Whether the program moves data of its own in each resize, and commits.
    pub has_user_phase: bool,
    /// How rows are dealt; evenly without it.
    pub layout: Option<Layout>,
    /// Whether a resize moves the fewest rows that it can, by several runs of rows to a rank.
    pub is_minimal: bool,
    /// Sizes by the step at whose checkpoint they are asked for.
    pub targets: Vec<(i64, u64)>,
    /// A file in which rank 0 finds the size that is asked for.
    pub target_file: Option<PathBuf>,
    /// How many ranks there may be; without it more than anyone means are too many.
    pub slots: Option<u64>,
    /// How long what ranks do together may take.
    pub timeout: Duration,
    /// How long joining ranks may take until they are at their loop.
    pub spawn_timeout: Duration,
    /// How long a rank waits for the others to come to a checkpoint.
    pub step_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            method: Method::Merge,
            is_overlapped: false,
            has_user_phase: false,
            layout: None,
            is_minimal: false,
            targets: Vec::new(),
            target_file: None,
            slots: None,
            timeout: Duration::from_secs(600),
            spawn_timeout: Duration::from_secs(60),
            step_timeout: Duration::from_secs(3600),
        }
    }
}

/// Ranks for a processor, and for a rank that there is, where nothing says how many there may be.
const PER_PROCESSOR: u64 = 64;
const TIMES: u64 = 16;

/// Settings by their names, in the order of the header's, as ranks compare them.
pub type Texts = Vec<(String, String)>;

/// In what one rank's settings differ from those that, for example, "rank 0 has".
pub fn other_setting(own: &Texts, other: &Texts, who_has: &str) -> Option<String> {
    let mut pairs = own.iter().zip(other);
    let ((name, own), (_, other)) = pairs.find(|(own, other)| own != other)?;
    Some(format!(
        "has {name} = {own}, where {who_has} {other}: give the same settings on all ranks"
    ))
}

impl Settings {
    /// All settings, as ranks compare them. Whether functions do the same is seen when they are
    /// called.
    pub fn texts(&self) -> Texts {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
        let targets: Vec<_> =
            self.targets.iter().map(|(step, size)| format!("{step}:{size}")).collect();
        let file = self.target_file.as_ref().map(|file| file.display().to_string());
        let seconds = |duration: Duration| duration.as_secs_f64().to_string();
        let number = |is_so: bool| u8::from(is_so).to_string();
        let is_function = |is_so: bool| is_so.then(|| "a function".to_owned());
        [
            ("method", format!("{:?}", self.method).to_lowercase()),
            ("overlap", number(self.is_overlapped)),
            ("user_phase", number(self.has_user_phase)),
            ("targets", or_none(Some(targets.join(",")).filter(|text| !text.is_empty()))),
            ("target_file", or_none(file)),
            ("layout", or_none(is_function(matches!(self.layout, Some(Layout::Offsets(_)))))),
            ("timeout_s", seconds(self.timeout)),
            ("spawn_timeout_s", seconds(self.spawn_timeout)),
            ("step_timeout_s", seconds(self.step_timeout)),
            ("slots", or_none(self.slots.map(|slots| slots.to_string()))),
            ("minimal", number(self.is_minimal)),
            ("owner", or_none(is_function(matches!(self.layout, Some(Layout::Owner(_)))))),
        ]
        .map(|(name, text)| (name.to_owned(), text))
        .to_vec()
    }

    /// How long a vote waits for the other ranks. Rank 0 may have to wait for joining ranks before it
    /// votes, while all stand at one checkpoint.
    pub fn vote_timeout(&self, awaits_joining: bool) -> Duration {
        let spawning = if awaits_joining { self.spawn_timeout } else { Duration::ZERO };
        self.step_timeout.saturating_add(spawning)
    }

    /// Refuses a size for which there is no room, if there are so many ranks and processors.
    ///
    /// # Errors
    ///
    /// How many ranks there is room for.
    pub fn require_room(&self, size: u64, ranks: u64, processors: u64) -> Result<(), String> {
        let slots = self.slots.unwrap_or((PER_PROCESSOR * processors).max(TIMES * ranks));
        if size <= slots {
            return Ok(());
        }
        let how = if self.slots.is_some() {
            String::new()
        } else {
            format!(
                " without the setting slots: {PER_PROCESSOR} for a processor here, or {TIMES} for a \
                 rank"
            )
        };
        Err(format!("{size} ranks were asked for, and there are {slots} slots{how}"))
    }

    /// Reads targets such as `10:4,20:2`: four ranks from step 10 on, then two.
    ///
    /// # Errors
    ///
    /// The part that is none, or a step that has several.
    pub fn parse_targets(text: &str) -> Result<Vec<(i64, u64)>, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let mut targets: Vec<(i64, u64)> = parts
            .map(|part| {
                let (step, size) = part.split_once(':').unwrap_or_default();
                match (step.trim().parse(), size.trim().parse()) {
                    (Ok(step), Ok(size)) if size > 0 && step >= 0 => Ok((step, size)),
                    _ => Err(format!(
                        "{part:?} is no target; write STEP:RANKS, with commas between several, such \
                         as 10:4,20:2"
                    )),
                }
            })
            .collect::<Result<_, _>>()?;
        targets.sort_unstable();
        match targets.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => {
                let ((step, size), (_, other)) = (pair[0], pair[1]);
                Err(format!(
                    "step {step} has the targets {size} and {other}: give one for each step"
                ))
            }
            None => Ok(targets),
        }
    }

    /// The size that is asked for at a step, if the checkpoint before was that of another one.
    pub fn target(&self, before: Option<i64>, step: i64) -> Option<u64> {
        let is_due = |at: i64| at <= step && before.is_none_or(|before| before < at);
        self.targets.iter().rev().find(|(at, _)| is_due(*at)).map(|(_, size)| *size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_ranks_than_slots_are_refused() {
        let settings = Settings::default();
        assert_eq!(settings.require_room(128, 2, 2), Ok(()));
        assert_eq!(settings.require_room(1600, 100, 2), Ok(()));
        let text = settings.require_room(100_000, 2, 2).unwrap_err();
        assert!(text.starts_with("100000 ranks were asked for, and there are 128 slots"), "{text}");
        let settings = Settings { slots: Some(3), ..Settings::default() };
        let text = settings.require_room(4, 2, 2).unwrap_err();
        assert_eq!(text, "4 ranks were asked for, and there are 3 slots");
    }

    #[test]
    fn a_vote_waits_for_rank_0_as_long_as_that_may_wait_for_joining_ranks() {
        let settings = Settings {
            step_timeout: Duration::from_secs(5),
            spawn_timeout: Duration::from_secs(60),
            ..Settings::default()
        };
        assert_eq!(settings.vote_timeout(false), Duration::from_secs(5));
        assert_eq!(settings.vote_timeout(true), Duration::from_secs(65));
    }

    #[test]
    fn the_setting_that_differs_is_named() {
        let own = Settings::default().texts();
        assert_eq!(other_setting(&own, &own, "rank 0 has"), None);
        let targets = vec![(10, 4), (20, 2)];
        let other = Settings { targets, slots: Some(8), ..Settings::default() }.texts();
        let text = other_setting(&other, &own, "rank 0 has").unwrap();
        assert!(text.starts_with("has targets = 10:4,20:2, where rank 0 has none:"), "{text}");
    }

    #[test]
    fn targets_are_checkpoints_and_sizes() {
        assert_eq!(Settings::parse_targets("10:4, 20:2,"), Ok(vec![(10, 4), (20, 2)]));
        let targets = vec![(10, 4), (20, 2)];
        let settings = Settings { targets, ..Settings::default() };
        assert_eq!(settings.target(None, 12), Some(4));
        assert_eq!(settings.target(Some(10), 12), None);
        assert_eq!(settings.target(Some(9), 30), Some(2));
        for wrong in ["10", "10:0", "a:b", "10:4:2", "-1:2"] {
            assert!(Settings::parse_targets(wrong).unwrap_err().contains(wrong));
        }
        assert_eq!(Settings::parse_targets("20:2,10:4"), Ok(vec![(10, 4), (20, 2)]));
        let twice = Settings::parse_targets("5:3,5:4").unwrap_err();
        assert!(twice.starts_with("step 5 has the targets 3 and 4"), "{twice}");
    }
}
