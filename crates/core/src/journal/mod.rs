//! What came to a manager, in order, so that another process can go on where it was killed.
//!
//! A manager and its sessions are state machines: the same inputs at the same times lead to the same
//! state and the same answers. So the inputs are all that is written down. See the `README.md` in this
//! folder for what counts as an input, and what holds when one is lost.

mod entry;
mod records;
mod state;

pub use entry::Entry;
pub use records::{Damage, Records, VERSION, append, header, is_header};
pub use state::{StateParts, write_state};
