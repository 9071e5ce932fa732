//! Rings, bells and waiting threads of small cases under every interleaving of some interruptions.
//!
//! The sources are those of the crate, compiled once more, with loom's atomics in place of the
//! system's, and with what is below in place of futexes and of the memory that ranks share.

#![allow(clippy::unwrap_used, dead_code, missing_docs)]

mod event {
    /// What a thread waits for has one of each; an event's source and name, in the crate.
    pub type Dependency = u32;
}
mod payload {
    /// What a thread waits for; events, in the crate.
    pub type Events = u32;
}
mod models;
mod rank;

mod sync {
    pub use loom::sync::atomic;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

mod transport {
    pub mod futex;
    pub mod region;
    #[path = "../../../src/transport/ring.rs"]
    pub mod ring;
    #[path = "../../../src/transport/sleep.rs"]
    pub mod sleep;
}
