//! The native half of the Python package: conversions only.

use pyo3::prelude::*;

mod access;
mod blocks;
mod codec;
mod events;
mod executor;
mod figures;
mod future;
mod groups;
mod link;
mod manager;
mod meter;
mod options;
mod watch;
mod worker;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::access::make_identity;
    #[pymodule_export]
    use crate::blocks::{Hold, MappedBuffer, Stored, name_file};
    #[pymodule_export]
    use crate::codec::{encoding_owner, encoding_place, load_input};
    #[pymodule_export]
    use crate::events::{
        Event, EventBuffer, EventMemory, EventRank, current_rank, set_current_rank,
    };
    #[pymodule_export]
    use crate::executor::{fresh_claims, run_executor};
    #[pymodule_export]
    use crate::future::FutureBase;
    #[pymodule_export]
    use crate::groups::Group;
    #[pymodule_export]
    use crate::manager::Manager;
    #[pymodule_export]
    use crate::options::Options;
    #[pymodule_export]
    use crate::watch::Watch;
    #[pymodule_export]
    use crate::worker::run_worker;
}
