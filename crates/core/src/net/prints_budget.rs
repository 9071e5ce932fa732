//! How much of what an executor prints is passed on.

use crate::worker::Now;

/// What an executor may print at once,
const BURST_NBYTES: i64 = 256 << 10;
/// and in each second after that.
const RATE_NBYTES_S: i64 = 64 << 10;
/// The last that is kept of what is more.
const TAIL_NBYTES: usize = 16 << 10;
/// The last that is kept of each call of an executor whose calls print far more than they may.
const SHORT_TAIL_NBYTES: usize = 512;

/// What an executor may still print.
#[derive(Debug)]
pub struct Budget {
    nbytes: i64,
    at: Option<Now>,
}

impl Default for Budget {
    fn default() -> Self {
        Self { nbytes: BURST_NBYTES, at: None }
    }
}

impl Budget {
    /// Time has passed.
    pub fn refill(&mut self, now: Now) {
        let Some(at) = self.at else {
            self.at = Some(now);
            return;
        };
        let gained = i128::from(now.saturating_sub(at)) * i128::from(RATE_NBYTES_S) / 1_000_000_000;
        if gained > 0 {
            let gained = i64::try_from(gained).unwrap_or(BURST_NBYTES).min(2 * BURST_NBYTES);
            self.nbytes = (self.nbytes + gained).min(BURST_NBYTES);
            self.at = Some(now);
        }
    }

    fn try_take(&mut self, nbytes: usize) -> bool {
        let is_there = self.nbytes >= nbytes.cast_signed() as i64;
        if is_there {
            self.nbytes -= nbytes.cast_signed() as i64;
        }
        is_there
    }
}

/// What is held back: the last of what a call printed beyond what it may.
#[derive(Debug, Default)]
pub struct Held {
    tail: Vec<u8>,
    left_out: u64,
}

impl Held {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tail.is_empty()
    }

    /// Returns the text if it can be passed on now, and holds it otherwise.
    pub fn pass(&mut self, text: Vec<u8>, budget: &mut Budget) -> Option<Vec<u8>> {
        if self.is_empty() && budget.try_take(text.len()) {
            return Some(text);
        }
        self.tail.extend_from_slice(&text);
        self.cut(TAIL_NBYTES);
        None
    }

    /// What is held, with how many bytes before it were left out, once it can be passed on.
    pub fn release(&mut self, budget: &mut Budget) -> Option<(Vec<u8>, u64)> {
        (!self.is_empty() && budget.try_take(self.tail.len())).then(|| self.emptied())
    }

    /// What is held of a call that has ended.
    pub fn take(&mut self, budget: &mut Budget) -> Option<(Vec<u8>, u64)> {
        if self.is_empty() {
            return None;
        }
        if budget.nbytes < -BURST_NBYTES {
            self.cut(SHORT_TAIL_NBYTES);
        }
        budget.nbytes -= self.tail.len().cast_signed() as i64;
        Some(self.emptied())
    }

    fn cut(&mut self, nbytes: usize) {
        let excess = self.tail.len().saturating_sub(nbytes);
        self.tail.drain(..excess);
        self.left_out += excess as u64;
    }

    fn emptied(&mut self) -> (Vec<u8>, u64) {
        (std::mem::take(&mut self.tail), std::mem::take(&mut self.left_out))
    }
}
