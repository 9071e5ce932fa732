//! Lines for people, so many a minute: a machine that knocks for ever does not fill a log, and what
//! comes after it is still seen.

use std::time::{Duration, Instant};

const MAX_LINES: u32 = 20;
const PERIOD: Duration = Duration::from_secs(60);

/// Counts lines.
#[derive(Debug, Default)]
pub(super) struct Rate {
    began: Option<Instant>,
    written: u32,
    left_out: u64,
}

impl Rate {
    /// The line as it is to be written, with how many were left out before it; nothing if there
    /// were too many lately.
    pub fn pass(&mut self, line: String, now: Instant) -> Option<String> {
        let began = *self.began.get_or_insert(now);
        if now.saturating_duration_since(began) >= PERIOD {
            (self.began, self.written) = (Some(now), 0);
        }
        if self.written >= MAX_LINES {
            self.left_out += 1;
            return None;
        }
        self.written += 1;
        match std::mem::take(&mut self.left_out) {
            0 => Some(line),
            more => Some(format!("{line} ({more} more such lines were left out before)")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_lines_a_minute_and_then_how_many_were_left_out() {
        let mut rate = Rate::default();
        let start = Instant::now();
        let mut pass =
            |second: u64| rate.pass("line".to_owned(), start + Duration::from_secs(second));
        for second in 0..50 {
            assert_eq!(pass(second).is_some(), second < 20);
        }
        let late = "line (30 more such lines were left out before)";
        assert_eq!(pass(60).as_deref(), Some(late));
        assert_eq!(pass(60).as_deref(), Some("line"));
    }
}
