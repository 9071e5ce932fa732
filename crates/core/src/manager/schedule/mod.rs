//! Which worker runs what, and when it is sent there.

mod categories;
mod dispatch;
#[cfg(test)]
mod near_tests;
mod placement;
mod speculation;
mod stealing;

pub(in crate::manager) use categories::Category;
pub(in crate::manager) use dispatch::is_ahead;
pub(in crate::manager) use speculation::First;
