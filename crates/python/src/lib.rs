//! The native half of the Python package: conversions only.

use pyo3::prelude::*;

mod access;
mod arrays;
mod blocks;
mod columns;
mod decoding;
mod durations;
mod encoding;
mod enumerations;
mod events;
mod executor;
mod figures;
mod filled;
mod folders;
mod forking;
mod future;
mod groups;
mod io;
mod layout;
mod link;
mod manager;
mod mapped;
mod options;
mod pickling;
mod simulation;
mod vector;
mod view;
mod waiting;
mod watch;
mod worker;

#[pymodule(module = "freestone")]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::enumerations::enumerations;

    /// Blocks as calls make and read them, and the names of files.
    #[pymodule]
    mod blocks {
        #[pymodule_export]
        use crate::blocks::{Hold, Stored, checksum, name_file};
        #[pymodule_export]
        use crate::filled::{Filled, fill_block};
        #[pymodule_export]
        use crate::groups::Group;
        #[pymodule_export]
        use crate::mapped::MappedBuffer;
    }

    /// Ranks and the events that they exchange.
    #[pymodule]
    mod events {
        #[pymodule_export]
        use crate::events::{
            Event, EventBridge, EventBuffer, EventInvitation, EventMeeting, EventMemory,
            EventPulses, EventRank, EventWorld, TaskFuture, check_id, current_rank, hold_mpi,
            limit_rows, loss_interval_s, meet_ranks, release_mpi, renew_limits, set_current_rank,
        };
    }

    /// What runs calls in an executor.
    #[pymodule]
    mod executor {
        #[pymodule_export]
        use crate::executor::{
            begin_wait, end_wait, initial_claims, note_printed, priority, report_profile,
            run_executor,
        };
        #[pymodule_export]
        use crate::forking::fork_sibling;
        #[pymodule_export]
        use crate::pickling::{encoding_owner, encoding_place, load_input};
    }

    /// Folders that are removed with the process that made them.
    #[pymodule]
    mod folders {
        #[pymodule_export]
        use crate::folders::{OwnedFolder, is_folder_in_use, sweep_folders};
    }

    /// CSV and Matrix Market: bytes to numbers and back.
    #[pymodule]
    mod io {
        #[pymodule_export]
        use crate::io::{
            CsvIndex, OwnedBuffer, csv_cells, csv_format_columns, csv_format_dense, csv_infer,
            csv_read_columns, csv_read_dense, csv_read_triples, csv_write_columns, csv_write_dense,
            io_count, io_moved, mtx_read,
        };
    }

    /// Which rows a rank or worker holds before and after a resize, and who sends what to whom.
    #[pymodule]
    mod layout {
        #[pymodule_export]
        use crate::layout::{
            Rows, Runs, layout_block_transfers, layout_crossing, layout_even_out,
            layout_move_fewest, layout_moved, layout_reassign, layout_relabel,
            layout_relabel_nodes, layout_transfers,
        };
    }

    /// The manager of a cluster, and the futures of its calls.
    #[pymodule]
    mod manager {
        #[pymodule_export]
        use crate::decoding::readable_arguments;
        #[pymodule_export]
        use crate::future::FutureBase;
        #[pymodule_export]
        use crate::manager::LockHold;
        #[pymodule_export]
        use crate::manager::Manager;
        #[pymodule_export]
        use crate::manager::SharedItem;
        #[pymodule_export]
        use crate::manager::members::revoke_certificate;
        #[pymodule_export]
        use crate::manager::shared::{
            cancel_for_all, cancel_tagged, close_queue, count_queue, delete_queue, delete_variable,
            fail_call, let_go, restart_executors, set_variable,
        };
        #[pymodule_export]
        use crate::options::Options;
        #[pymodule_export]
        use crate::watch::Watch;
    }

    /// Trials of task graphs on a simulated cluster.
    #[pymodule]
    mod simulation {
        #[pymodule_export]
        use crate::simulation::simulate_graph;
    }

    /// Certificates of clusters and runs.
    #[pymodule]
    mod tls {
        #[pymodule_export]
        use crate::access::{make_authority, make_identity, make_member};
    }

    /// Kernels and fused pipelines of arrays.
    #[pymodule]
    mod vector {
        #[pymodule_export]
        use crate::vector::{
            CrashNote, Drawing, VectorMemory, coo_merge, coo_offsets, coo_reduce, coo_transpose,
            copy_rows, copy_triangle, csr_panel, csr_product, csr_product_sizes, csr_transpose,
            map_one, map_two, memory_nodes, run_pipeline, sample,
        };
    }

    /// A worker of a cluster.
    #[pymodule]
    mod worker {
        #[pymodule_export]
        use crate::worker::{run_worker, start_fork_server};
    }

    #[pymodule_init]
    fn complete(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        // Submodules have no files: `import freestone._native.vector` finds them here.
        let modules = module.py().import("sys")?.getattr("modules")?;
        for member in module.dict().values() {
            if let Ok(submodule) = member.cast::<PyModule>() {
                modules.set_item(submodule.name()?, submodule)?;
            }
        }
        Ok(())
    }
}
