//! The records of a run, in memory.

use crate::manager::Record;

/// Without a trace, so many wait for whoever looks; older ones are of no use to a person.
const MAX_WAITING: usize = 1 << 17;

/// What happened in a run: all of it for the trace, if there is one, and what is new for whoever
/// looks at the run meanwhile.
#[derive(Debug)]
pub struct Records {
    waiting: Vec<Record>,
    is_kept: bool,
    /// How many have been shown.
    shown: usize,
}

impl Records {
    /// None so far; all are kept for [`Records::take`] if there is a trace.
    pub fn new(is_kept: bool) -> Self {
        Self { waiting: Vec::new(), is_kept, shown: 0 }
    }

    /// Adds one.
    pub fn push(&mut self, record: Record) {
        if !self.is_kept && self.waiting.len() == MAX_WAITING {
            self.waiting.clear();
        }
        self.waiting.push(record);
    }

    /// All that were kept; none are from now on.
    pub fn take(&mut self) -> Vec<Record> {
        self.shown = 0;
        std::mem::take(&mut self.waiting)
    }

    /// Those since the last call, of which the last 131,072.
    pub fn recent(&mut self) -> Vec<Record> {
        if !self.is_kept {
            return std::mem::take(&mut self.waiting);
        }
        let count = self.waiting.len();
        let first = self.shown.max(count.saturating_sub(MAX_WAITING));
        self.shown = count;
        self.waiting[first..].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use freestone_base::WorkerId;

    fn left(at_ns: u64) -> Record {
        Record::Left { worker: WorkerId(0), at_ns }
    }

    #[test]
    fn a_trace_keeps_what_was_shown() {
        let mut records = Records::new(true);
        records.push(left(1));
        assert_eq!(records.recent(), [left(1)]);
        records.push(left(2));
        assert_eq!(records.recent(), [left(2)]);
        assert_eq!(records.recent(), []);
        assert_eq!(records.take(), [left(1), left(2)]);
        records.push(left(3));
        assert_eq!(records.recent(), [left(3)]);
    }

    #[test]
    fn without_a_trace_what_nobody_takes_is_bounded() {
        let mut records = Records::new(false);
        for at_ns in 0..=MAX_WAITING as u64 {
            records.push(left(at_ns));
        }
        assert_eq!(records.recent(), [left(MAX_WAITING as u64)]);
        assert_eq!(records.take(), []);
    }
}
