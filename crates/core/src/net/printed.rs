//! What tasks have printed, until the program takes it.

use crate::wire::{PrintedOf, Stream};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What waits for the program at most; what comes first is left out first.
const MAX_NBYTES: usize = 8 << 20;
/// So much is to be taken, though none of it is text that somebody may read as it comes.
const EAGER_NBYTES: usize = 1 << 20;
/// What counts of each piece besides its text.
const PIECE_NBYTES: usize = 128;

/// A queue of what tasks have printed.
#[derive(Debug, Default)]
pub struct PrintedQueue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    pieces: VecDeque<PrintedOf>,
    nbytes: usize,
    left_out: u64,
    /// Whether who waits is to be woken: samples may come often, and are asked for.
    urgent: bool,
    closed: bool,
}

impl PrintedQueue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one.
    pub fn push(&self, piece: PrintedOf) {
        let mut waiting = self.lock();
        waiting.nbytes += nbytes_of(&piece);
        waiting.urgent |= piece.printed.stream != Stream::Profile || waiting.nbytes >= EAGER_NBYTES;
        waiting.pieces.push_back(piece);
        while waiting.nbytes > MAX_NBYTES
            && let Some(first) = waiting.pieces.pop_front()
        {
            waiting.nbytes -= nbytes_of(&first);
            waiting.left_out += first.printed.left_out + first.printed.text.len() as u64;
        }
        if waiting.urgent {
            self.changed.notify_all();
        }
    }

    /// No more will come.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Waits for some that are not only a few samples; false if none came in time, or none will come.
    pub fn wait(&self, timeout: Duration) -> bool {
        let waiting = self.lock();
        let is_idle = |waiting: &mut Waiting| !waiting.urgent && !waiting.closed;
        let waited = self.changed.wait_timeout_while(waiting, timeout, is_idle);
        let (waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        waiting.urgent
    }

    /// Those since the last call, and how many bytes before them were left out.
    pub fn take(&self) -> (Vec<PrintedOf>, u64) {
        let mut waiting = self.lock();
        waiting.nbytes = 0;
        waiting.urgent = false;
        (std::mem::take(&mut waiting.pieces).into(), std::mem::take(&mut waiting.left_out))
    }
}

fn nbytes_of(piece: &PrintedOf) -> usize {
    piece.printed.text.len() + PIECE_NBYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Printed;
    use freestone_base::WorkerId;

    fn piece(text: &[u8]) -> PrintedOf {
        let printed =
            Printed { task: None, stream: Stream::Output, text: text.into(), left_out: 0 };
        PrintedOf { name: None, label: String::new(), worker: WorkerId(0), is_own: true, printed }
    }

    #[test]
    fn what_was_printed_is_taken_once_and_in_order() {
        let queue = PrintedQueue::default();
        queue.push(piece(b"a"));
        queue.push(piece(b"b"));
        assert!(queue.wait(Duration::ZERO));
        assert_eq!(queue.take(), (vec![piece(b"a"), piece(b"b")], 0));
        assert!(!queue.wait(Duration::ZERO));
        assert_eq!(queue.take(), (Vec::new(), 0));
    }

    #[test]
    fn samples_wait_until_there_are_many_or_something_is_printed() {
        let queue = PrintedQueue::default();
        let samples = |nbytes: usize| {
            let mut piece = piece(&vec![0; nbytes]);
            piece.printed.stream = Stream::Profile;
            piece
        };
        queue.push(samples(1000));
        assert!(!queue.wait(Duration::ZERO));
        queue.push(piece(b"a"));
        assert!(queue.wait(Duration::ZERO));
        assert_eq!(queue.take(), (vec![samples(1000), piece(b"a")], 0));
        queue.push(samples(EAGER_NBYTES));
        assert!(queue.wait(Duration::ZERO));
    }

    #[test]
    fn what_nobody_takes_is_bounded_and_counted() {
        let queue = PrintedQueue::default();
        let mebibyte = vec![b'x'; 1 << 20];
        (0..10).for_each(|_| queue.push(piece(&mebibyte)));
        let (pieces, left_out) = queue.take();
        assert_eq!((pieces.len(), left_out), (7, 3 << 20));
    }

    #[test]
    fn nobody_waits_for_a_queue_that_is_closed() {
        let queue = PrintedQueue::default();
        queue.close();
        assert!(!queue.wait(Duration::from_secs(3600)));
    }
}
