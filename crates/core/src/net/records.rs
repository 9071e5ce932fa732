//! The records of a run, in memory.

use crate::manager::Record;
use std::collections::HashMap;

/// Unless all are wanted, so many wait for whoever looks; older ones are of no use to a person.
const MAX_WAITING: usize = 1 << 17;

/// What happened in a run, until somebody takes it.
#[derive(Debug)]
pub struct Records {
    waiting: Vec<Record>,
    /// Of each function the highest peak: most calls of a run may raise it.
    peaks: HashMap<String, (u64, u64)>,
    is_bounded: bool,
}

impl Records {
    /// None so far; of those that nobody takes, all are kept or the last.
    pub fn new(is_bounded: bool) -> Self {
        Self { waiting: Vec::new(), peaks: HashMap::new(), is_bounded }
    }

    /// From now on, keeps all that nobody takes, or the last.
    pub fn set_bounded(&mut self, is_bounded: bool) {
        self.is_bounded = is_bounded;
    }

    /// Adds one.
    pub fn push(&mut self, record: Record) {
        if let Record::Peak { label, at_ns, nbytes } = record {
            let highest = self.peaks.entry(label).or_default();
            *highest = (*highest).max((nbytes, at_ns));
            return;
        }
        if self.is_bounded && self.waiting.len() >= MAX_WAITING {
            self.waiting.clear();
        }
        self.waiting.push(record);
    }

    /// Those since the last call, the peaks of functions last.
    pub fn take(&mut self) -> Vec<Record> {
        let mut taken = std::mem::take(&mut self.waiting);
        let peaks = self.peaks.drain();
        taken.extend(peaks.map(|(label, (nbytes, at_ns))| Record::Peak { label, at_ns, nbytes }));
        taken
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
    fn records_are_taken_once() {
        let mut records = Records::new(false);
        records.push(left(1));
        assert_eq!(records.take(), [left(1)]);
        assert_eq!(records.take(), []);
        records.push(left(2));
        assert_eq!(records.take(), [left(2)]);
    }

    #[test]
    fn of_the_peaks_of_a_function_the_highest_is_kept() {
        let peak =
            |label: &str, nbytes| Record::Peak { label: label.into(), at_ns: nbytes, nbytes };
        let mut records = Records::new(false);
        for record in [peak("mass", 1), peak("mass", 3), peak("mass", 2), left(1)] {
            records.push(record);
        }
        assert_eq!(records.take(), [left(1), peak("mass", 3)]);
        assert_eq!(records.take(), []);
    }

    #[test]
    fn what_nobody_takes_is_bounded_unless_all_are_wanted() {
        let mut records = Records::new(true);
        for at_ns in 0..=MAX_WAITING as u64 {
            records.push(left(at_ns));
        }
        assert_eq!(records.take(), [left(MAX_WAITING as u64)]);
        records.set_bounded(false);
        for at_ns in 0..=MAX_WAITING as u64 {
            records.push(left(at_ns));
        }
        assert_eq!(records.take().len(), MAX_WAITING + 1);
    }
}
