//! What a task does: a closure that is called once, kept in place if it is small, as most are. An allocation for each
//! task would be given back by another thread than the one that made it, which is what allocators are slowest at.

use super::Rank;
use crate::error::Failure;
use crate::payload::Events;
use std::mem::{ManuallyDrop, MaybeUninit, align_of, size_of};

/// Words that a closure may take; a larger one is kept on the heap. Tasks of C take as many.
const WORDS: usize = 8;

type Done = Result<(), Failure>;
type Space = [MaybeUninit<usize>; WORDS];

/// A closure that is called once.
pub(super) struct OnceBody {
    /// Calls the closure in the space, or drops it, if it is given nothing; it is no longer there then.
    act: unsafe fn(*mut Space, Option<(&Rank, Events)>) -> Done,
    space: Space,
}

impl OnceBody {
    /// Keeps a closure.
    pub fn new<F: FnOnce(&Rank, Events) -> Done + Send + 'static>(body: F) -> Self {
        if fits::<F>() {
            // SAFETY: it fits.
            return unsafe { Self::in_place(body) };
        }
        let body = Box::new(body);
        // SAFETY: a pointer fits.
        unsafe { Self::in_place(move |rank: &Rank, events| body(rank, events)) }
    }

    /// # Safety
    /// The closure fits into the space.
    unsafe fn in_place<F: FnOnce(&Rank, Events) -> Done + Send + 'static>(body: F) -> Self {
        debug_assert!(fits::<F>());
        let mut space = [MaybeUninit::uninit(); WORDS];
        // SAFETY: the space is ours, large enough and aligned.
        unsafe { space.as_mut_ptr().cast::<F>().write(body) };
        Self { act: act::<F>, space }
    }

    /// Calls it.
    pub fn call(self, rank: &Rank, events: Events) -> Done {
        let mut body = ManuallyDrop::new(self);
        // SAFETY: `new` has put there what `act` takes out, and nobody looks at it again.
        unsafe { (body.act)(&raw mut body.space, Some((rank, events))) }
    }
}

impl Drop for OnceBody {
    fn drop(&mut self) {
        // SAFETY: as in `call`, which does not come here.
        let _ = unsafe { (self.act)(&raw mut self.space, None) };
    }
}

// SAFETY: the closure is `Send`, as `new` asks for.
unsafe impl Send for OnceBody {}

const fn fits<F>() -> bool {
    size_of::<F>() <= size_of::<Space>() && align_of::<F>() <= align_of::<Space>()
}

/// # Safety
/// There is an `F` in the space, which is not used again.
unsafe fn act<F: FnOnce(&Rank, Events) -> Done>(
    space: *mut Space,
    given: Option<(&Rank, Events)>,
) -> Done {
    let body = space.cast::<F>();
    if let Some((rank, events)) = given {
        // SAFETY: as the caller says.
        let body = unsafe { body.read() };
        return body(rank, events);
    }
    // SAFETY: as the caller says.
    unsafe { body.drop_in_place() };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::Config;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts how often one is dropped.
    struct Counted(Arc<AtomicUsize>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_a_closure_holds_is_dropped_once_whether_it_is_called_or_not() {
        let rank = Rank::start_threads(1, 0, &Config::default()).unwrap().remove(0);
        let drops = Arc::new(AtomicUsize::new(0));
        let small = |counted: Counted| {
            OnceBody::new(move |_, _| {
                let _held = &counted;
                Ok(())
            })
        };
        let large = |counted: Counted| {
            let more = [7_u64; 2 * WORDS];
            OnceBody::new(move |_, _| {
                let _held = &counted;
                if more.iter().sum::<u64>() == 14 * WORDS as u64 {
                    Ok(())
                } else {
                    panic!("{more:?}")
                }
            })
        };
        let counted = || Counted(Arc::clone(&drops));
        small(counted()).call(&rank, Vec::new()).unwrap();
        large(counted()).call(&rank, Vec::new()).unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 2);
        drop((small(counted()), large(counted())));
        assert_eq!(drops.load(Ordering::Relaxed), 4);
        rank.finish().unwrap();
    }

    #[test]
    fn a_closure_that_panics_is_dropped_once() {
        let rank = Rank::start_threads(1, 0, &Config::default()).unwrap().remove(0);
        let drops = Arc::new(AtomicUsize::new(0));
        let counted = Counted(Arc::clone(&drops));
        let body = OnceBody::new(move |_, _| {
            let _held = &counted;
            panic!("no more");
        });
        let call = std::panic::AssertUnwindSafe(|| body.call(&rank, Vec::new()));
        assert!(std::panic::catch_unwind(call).is_err());
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        rank.finish().unwrap();
    }
}
