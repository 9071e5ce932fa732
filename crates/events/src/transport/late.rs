//! Sending late, but not too late: events that follow each other closely go together, and a thread
//! sees to it that none waits for long.

use super::sleep::Bell;
use crate::limits;
use crate::sync::lock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;

/// Who has something to send that has waited.
pub trait Flush: Send + Sync + 'static {
    /// Sends it; whether there was something.
    fn flush_late(&self) -> bool;
}

/// The thread that sends what has waited.
#[derive(Debug, Default)]
pub struct Late {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    bell: Bell,
    /// Whether something waits.
    waits: AtomicBool,
    is_over: AtomicBool,
}

impl Late {
    /// Something waits to be sent.
    pub fn note(&self) {
        // Its partner is the swap in `watch`.
        if !self.shared.waits.swap(true, Ordering::AcqRel) {
            self.shared.bell.ring(1);
        }
    }

    /// Starts the thread. It does not keep `sender` alive.
    ///
    /// # Errors
    ///
    /// If the system has no thread.
    pub fn start<S: Flush>(&self, sender: Weak<S>) -> std::io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("events-late".to_owned());
        *lock(&self.thread) = Some(thread.spawn(move || watch(&shared, &sender))?);
        Ok(())
    }

    /// Ends the thread.
    pub fn stop(&self) {
        self.shared.is_over.store(true, Ordering::Release);
        self.shared.bell.ring(1);
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

fn watch<S: Flush>(shared: &Shared, sender: &Weak<S>) {
    let is_over = || shared.is_over.load(Ordering::Acquire);
    while !is_over() {
        shared.bell.sleep(&|| !shared.waits.load(Ordering::Acquire) && !is_over(), None);
        if !shared.waits.load(Ordering::Acquire) {
            continue;
        }
        std::thread::sleep(limits::get().batch_wait);
        shared.waits.store(false, Ordering::Release);
        let Some(sender) = sender.upgrade() else { return };
        if sender.flush_late() {
            // More may follow: it is noticed without a system call of who sends.
            shared.waits.store(true, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    /// Says how often it was asked to send; something waits the first few times.
    struct Counts {
        calls: Sender<u32>,
        made: Mutex<u32>,
    }

    impl Flush for Counts {
        fn flush_late(&self) -> bool {
            let mut made = lock(&self.made);
            *made += 1;
            let _ = self.calls.send(*made);
            !made.is_multiple_of(3)
        }
    }

    #[test]
    fn what_waits_is_sent_without_another_event_and_until_nothing_does() {
        let (calls, made) = channel();
        let counts = Arc::new(Counts { calls, made: Mutex::new(0) });
        let late = Late::default();
        late.start(Arc::downgrade(&counts)).unwrap();
        let next = || made.recv_timeout(Duration::from_secs(60)).unwrap();
        for round in 0..3 {
            late.note();
            // Twice there was something, and it looks again by itself.
            assert_eq!([next(), next(), next()], [1, 2, 3].map(|call| 3 * round + call));
        }
        late.stop();
        assert!(made.try_recv().is_err());
    }
}
