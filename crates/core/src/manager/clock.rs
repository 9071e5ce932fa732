//! The time that the manager is given with each event.

/// Nanoseconds of a clock that only goes forward.
pub type Now = u64;
