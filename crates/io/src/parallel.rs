//! Work that threads take from one list.

use crate::{IoError, Result};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// More than any machine has processors for.
const MAX_THREADS: usize = 1024;

/// Calls a function with each item, by so many threads at most; the error of the first item that has one.
///
/// # Errors
/// Of the items that were begun, the first one's that failed.
pub fn for_each<T: Send>(
    items: Vec<T>,
    threads: usize,
    function: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    let count = items.len();
    if threads <= 1 || count <= 1 {
        return items.into_iter().try_for_each(function);
    }
    let queue = Mutex::new(items.into_iter().enumerate());
    let failure: Mutex<Option<(usize, IoError)>> = Mutex::new(None);
    // Pairs with itself: only a hint to begin nothing new.
    let stopped = AtomicBool::new(false);
    let work = || {
        while !stopped.load(Ordering::Relaxed) {
            let next = queue.lock().ok().and_then(|mut queue| queue.next());
            let Some((number, item)) = next else { return };
            if let Err(error) = function(item) {
                stopped.store(true, Ordering::Relaxed);
                if let Ok(mut failure) = failure.lock()
                    && failure.as_ref().is_none_or(|(first, _)| number < *first)
                {
                    *failure = Some((number, error));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(count).min(MAX_THREADS) {
            // A system that gives no more threads gets fewer: whoever runs takes all items.
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    match failure.into_inner() {
        Ok(Some((_, error))) => Err(error),
        _ => Ok(()),
    }
}
