//! What every other crate of freestone needs and that does no I/O:
//! names, ids, resources, layouts of rows, texts for C and the rules by which calls are batched.

pub mod hash;
pub mod ids;
pub mod layout;
pub mod names;
mod prefetch;
pub mod resources;
pub mod sizing;
pub mod task_sizes;
pub mod texts;

pub use ids::{FunctionId, TaskId, Tenant, Ticket, WorkerId};
pub use names::{Name, NameError, NameHasher};
pub use prefetch::prefetch;
pub use resources::{Custom, Resources};
pub use texts::Texts;
