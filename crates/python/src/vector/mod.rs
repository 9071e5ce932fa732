//! The vector engine: pipelines, sparse kernels, memory and random numbers.

mod arrays;
mod crashes;
mod each;
mod memory;
mod pipeline;
mod random;
mod rows;
mod sparse;

pub use crashes::CrashNote;
pub use each::{map_one, map_two};
pub use memory::{VectorMemory, memory_nodes};
pub use pipeline::run_pipeline;
pub use random::{Drawing, sample};
pub use rows::{copy_rows, copy_triangle};
pub use sparse::{
    coo_merge, coo_offsets, coo_reduce, coo_transpose, csr_panel, csr_product, csr_product_sizes,
    csr_transpose,
};
