//! Formats whose bytes are read and written in Rust: conversions only.

mod buffers;
mod csv;
mod failing;
mod meter;
mod mtx;
mod source;
mod tables;

pub use buffers::{OwnedBuffer, values};
pub use csv::{CsvIndex, csv_format_dense, csv_read_dense, csv_write_dense};
pub use meter::{io_count, io_moved};
pub use mtx::mtx_read;
pub use tables::{
    csv_cells, csv_format_columns, csv_infer, csv_read_columns, csv_read_triples, csv_write_columns,
};
