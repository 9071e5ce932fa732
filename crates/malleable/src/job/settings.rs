//! How a job is resized, and when.

use crate::blueprint::Method;
use std::path::PathBuf;
use std::time::Duration;

/// Where each rank's rows begin, and where the last one's end, for so many rows and ranks; or why
/// there is no such layout.
pub type Layout = Box<dyn Fn(u64, usize) -> Result<Vec<u64>, String> + Send>;

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
    /// Sizes by the step at whose checkpoint they are asked for.
    pub targets: Vec<(i64, u64)>,
    /// A file in which rank 0 finds the size that is asked for.
    pub target_file: Option<PathBuf>,
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
            targets: Vec::new(),
            target_file: None,
            timeout: Duration::from_secs(600),
            spawn_timeout: Duration::from_secs(60),
            step_timeout: Duration::from_secs(3600),
        }
    }
}

impl Settings {
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
