//! A trace as columns in Arrow's layout: for many records, a fraction of what dicts take.

use freestone_core::manager::{Fields, Record};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::convert::Infallible;
use std::fmt::{Display, Write as _};

/// One column: null, but for the rows that were put.
#[derive(Default)]
struct Column {
    /// A bit for each row, the lowest first.
    valid: Vec<u8>,
    rows: usize,
    /// Numbers, or text and where that of each row begins.
    data: Vec<u8>,
    offsets: Vec<u8>,
    text: String,
}

impl Column {
    /// Where the next text begins, as Arrow writes it; `MAX_ROWS` keeps it in reach.
    fn end(&self) -> [u8; 4] {
        i32::try_from(self.text.len()).unwrap_or(i32::MAX).to_le_bytes()
    }

    /// Fills up with nulls to `rows`.
    fn pad(&mut self, rows: usize, is_text: bool) {
        self.valid.resize(rows.div_ceil(8), 0);
        if is_text {
            let end = self.end();
            for _ in self.rows..rows {
                self.offsets.extend(end);
            }
        } else {
            self.data.resize(rows * size_of::<i64>(), 0);
        }
        self.rows = rows;
    }

    fn begin(&mut self, row: usize, is_text: bool) {
        self.pad(row, is_text);
        self.rows = row + 1;
        self.valid.resize(self.rows.div_ceil(8), 0);
        self.valid[row / 8] |= 1 << (row % 8);
    }

    fn put(&mut self, row: usize, value: u64) {
        self.begin(row, false);
        self.data.extend(value.cast_signed().to_le_bytes());
    }

    fn write(&mut self, row: usize, value: impl Display) {
        self.begin(row, true);
        self.offsets.extend(self.end());
        // Writing to a string does not fail.
        let _ = write!(self.text, "{value}");
    }
}

/// Columns by field, in the order in which they are first met.
#[derive(Default)]
struct Columns {
    named: Vec<(&'static str, bool, Column)>,
    rows: usize,
}

impl Columns {
    fn column(&mut self, field: &'static str, is_text: bool) -> &mut Column {
        // The same text has the same address, mostly; there are some twenty.
        let found = self.named.iter().position(|(known, ..)| *known == field);
        let index = found.unwrap_or_else(|| {
            self.named.push((field, is_text, Column::default()));
            self.named.len() - 1
        });
        &mut self.named[index].2
    }

    fn add(&mut self, record: &Record) {
        let Ok(()) = record.write_fields(self);
        self.rows += 1;
    }
}

impl Fields for Columns {
    type Error = Infallible;

    fn text(&mut self, field: &'static str, value: impl Display) -> Result<(), Infallible> {
        let row = self.rows;
        self.column(field, true).write(row, value);
        Ok(())
    }

    fn number(&mut self, field: &'static str, value: u64) -> Result<(), Infallible> {
        let row = self.rows;
        self.column(field, false).put(row, value);
        Ok(())
    }
}

/// The most rows of one dict: the text of a column stays below what its offsets reach.
pub const MAX_ROWS: usize = 1 << 16;

/// The columns of a trace by field: the validity bits, the offsets (none for numbers), the data.
pub fn columns<'py>(py: Python<'py>, records: &[Record]) -> PyResult<Bound<'py, PyDict>> {
    let mut columns = Columns::default();
    py.detach(|| records.iter().for_each(|record| columns.add(record)));
    let (rows, dict) = (columns.rows, PyDict::new(py));
    for (field, is_text, mut column) in columns.named {
        column.pad(rows, is_text);
        let valid = PyBytes::new(py, &column.valid);
        if is_text {
            column.offsets.extend(column.end());
            let offsets = PyBytes::new(py, &column.offsets);
            let text = PyBytes::new(py, column.text.as_bytes());
            dict.set_item(field, (valid, offsets, text))?;
        } else {
            dict.set_item(field, (valid, py.None(), PyBytes::new(py, &column.data)))?;
        }
    }
    Ok(dict)
}
