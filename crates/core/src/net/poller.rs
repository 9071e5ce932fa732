//! Waiting for sockets, first by asking again and again, then by sleeping.
//!
//! To be woken on another processor costs 20 to 30 µs on a virtual machine; a thread that yields
//! its processor between two looks sees a message after less than 2 µs, and disturbs nobody that
//! has work to do. So each wait looks for `spin` after the last activity and only then sleeps.

use mio::{Events, Poll, Registry, Token};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::time::{Duration, Instant};

/// The token of the poller's own [`Waker`]; never given to a source by anyone else.
pub const WAKER: Token = Token(usize::MAX);

/// The most that one wait tells. All that is ready is handled before anything is written, so the more there
/// is to do, the more goes out together: a manager of many workers that is late writes less often.
const EVENTS: usize = 1024;

/// Waits for events of sockets, for work from other threads, and for time to pass.
#[derive(Debug)]
pub struct Poller {
    poll: Poll,
    events: Events,
    spin: Duration,
    /// Whether the last wait ended with work, so that more is likely soon.
    active: bool,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    waker: mio::Waker,
    /// Whether the poller sleeps or is about to; pairs with the load in [`Waker::wake`].
    asleep: AtomicBool,
}

/// Wakes a [`Poller`] from another thread.
#[derive(Clone, Debug)]
pub struct Waker(Arc<Shared>);

impl Poller {
    /// A poller that spins for `spin_us` microseconds after the last activity; 0 never spins.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn new(spin_us: u64) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = mio::Waker::new(poll.registry(), WAKER)?;
        Ok(Self {
            poll,
            events: Events::with_capacity(EVENTS),
            spin: Duration::from_micros(spin_us),
            active: false,
            shared: Arc::new(Shared { waker, asleep: AtomicBool::new(false) }),
        })
    }

    /// Where sources are registered. Events are edge-triggered: each must be drained.
    pub fn registry(&self) -> &Registry {
        self.poll.registry()
    }

    /// A handle with which other threads end a wait.
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.shared))
    }

    /// Waits until there are events, `ready` says that there is other work, or `timeout` is over
    /// (`None`: never).
    ///
    /// `ready` is asked once per look: it must be cheap, such as whether a queue is empty. Work
    /// that another thread makes ready while this one sleeps is seen if it calls
    /// [`Waker::wake`] afterwards. Events of the waker itself are among the events.
    ///
    /// # Errors
    /// Those of the operating system, except for interruption by a signal, which counts as
    /// nothing having happened.
    pub fn wait(
        &mut self,
        timeout: Option<Duration>,
        mut ready: impl FnMut() -> bool,
    ) -> io::Result<&Events> {
        if self.look(&mut ready)? || timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Ok(&self.events);
        }
        let start = Instant::now();
        let spin = if self.active { self.spin } else { Duration::ZERO };
        let spin = timeout.map_or(spin, |timeout| spin.min(timeout));
        while start.elapsed() < spin {
            std::thread::yield_now();
            if self.look(&mut ready)? {
                return Ok(&self.events);
            }
        }
        self.active = false;
        let left = timeout.map(|timeout| timeout.saturating_sub(start.elapsed()));
        self.sleep(left, &mut ready)?;
        Ok(&self.events)
    }

    /// The events of the last wait, once more.
    pub fn events(&self) -> &Events {
        &self.events
    }

    fn look(&mut self, ready: &mut impl FnMut() -> bool) -> io::Result<bool> {
        self.poll_for(Some(Duration::ZERO))?;
        let found = !self.events.is_empty() || ready();
        self.active |= found;
        Ok(found)
    }

    fn sleep(
        &mut self,
        timeout: Option<Duration>,
        ready: &mut impl FnMut() -> bool,
    ) -> io::Result<()> {
        // Pairs with the fence in `Waker::wake`: either we see its work, or it sees us asleep.
        self.shared.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let timeout = if ready() { Some(Duration::ZERO) } else { timeout };
        let polled = self.poll_for(timeout);
        self.shared.asleep.store(false, Ordering::Relaxed);
        self.active = !self.events.is_empty() || ready();
        polled
    }

    fn poll_for(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        match self.poll.poll(&mut self.events, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                self.events.clear();
                Ok(())
            }
            other => other,
        }
    }
}

impl Waker {
    /// Ends the poller's sleep, if it sleeps: to be called after work was made ready for it.
    /// Costs a few nanoseconds while the poller is awake.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn wake(&self) -> io::Result<()> {
        // Pairs with the fence in `Poller::sleep`.
        fence(Ordering::SeqCst);
        if self.0.asleep.swap(false, Ordering::Relaxed) { self.0.waker.wake() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn work_of_another_thread_is_never_overlooked() {
        for spin_us in [0, 50] {
            let mut poller = Poller::new(spin_us).unwrap();
            let waker = poller.waker();
            let made = Arc::new(AtomicU64::new(0));
            let seen = Arc::new(AtomicU64::new(0));
            let (made_there, seen_there) = (Arc::clone(&made), Arc::clone(&seen));
            let thread = std::thread::spawn(move || {
                for number in 1..=2000 {
                    made_there.store(number, Ordering::Release);
                    waker.wake().unwrap();
                    while seen_there.load(Ordering::Acquire) < number {
                        std::thread::yield_now();
                    }
                }
            });
            let mut taken = 0;
            while taken < 2000 {
                let ready = || made.load(Ordering::Acquire) > taken;
                poller.wait(None, ready).unwrap();
                taken = made.load(Ordering::Acquire);
                seen.store(taken, Ordering::Release);
            }
            thread.join().unwrap();
        }
    }

    #[test]
    fn a_wait_ends_with_its_timeout() {
        let mut poller = Poller::new(100).unwrap();
        assert!(poller.wait(Some(Duration::ZERO), || false).unwrap().is_empty());
        assert!(poller.wait(Some(Duration::from_millis(1)), || false).unwrap().is_empty());
    }
}
