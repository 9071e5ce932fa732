//! What each rank reports at a checkpoint, and what all reports have in common.

/// How many numbers a vote takes.
pub const WORDS: usize = 12;

/// What one rank reports.
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Vote {
    /// The program's step.
    pub step: i64,
    /// What it calls: 0 for a checkpoint, and equal for equal calls of other kinds.
    pub call: i64,
    /// What it has registered, and its settings: equal for equal ones.
    pub fingerprint: i64,
    /// The size that it asks for; 0 for none.
    pub wanted: i64,
    /// Whether it has an error to report.
    pub has_problem: bool,
    /// Whether it has constant data to send or receive yet, or waits for joining ranks.
    pub is_busy: bool,
    /// Whether joining ranks have reported that they can't join, or the plan is wrong.
    pub is_refused: bool,
    /// Whether its loop is over.
    pub has_ended: bool,
}

impl Vote {
    /// The numbers whose largest ones of all ranks are a [`Tally`].
    pub fn words(&self) -> [i64; WORDS] {
        let ended = i64::from(self.has_ended);
        [
            self.step,
            -self.step,
            self.fingerprint,
            -self.fingerprint,
            self.wanted,
            i64::from(self.has_problem),
            i64::from(self.is_busy),
            i64::from(self.is_refused),
            ended,
            -ended,
            self.call,
            -self.call,
        ]
    }
}

/// What all ranks have reported together; the same on all of them.
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Tally {
    /// Whether all are at the same step.
    pub is_same_step: bool,
    /// Whether all make the same call.
    pub is_same_call: bool,
    /// Whether all have registered the same data, with the same settings.
    pub is_same_data: bool,
    /// The largest size that any asks for; 0 for none.
    pub wanted: u64,
    /// Whether any has an error to report.
    pub has_problem: bool,
    /// Whether any has something to wait for.
    pub is_busy: bool,
    /// Whether joining ranks can't join, or the plan is wrong.
    pub is_refused: bool,
    /// Whether the loop is over on all ranks; none if only on some.
    pub has_ended: Option<bool>,
}

impl Tally {
    /// The tally of the largest words of all votes.
    pub fn of(words: &[i64; WORDS]) -> Self {
        Self {
            is_same_step: words[0] == -words[1],
            is_same_call: words[10] == -words[11],
            is_same_data: words[2] == -words[3],
            wanted: words[4].max(0).cast_unsigned(),
            has_problem: words[5] > 0,
            is_busy: words[6] > 0,
            is_refused: words[7] > 0,
            has_ended: (words[8] == -words[9]).then_some(words[8] > 0),
        }
    }
}
