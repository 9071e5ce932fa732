//! Numbers at positions: what a row of a CSR matrix needs of a dense row.

use crate::cell::Number;
use crate::widened;

widened! {
    /// Takes `out[k] = row[columns[k]]`.
    pub fn take<T: Number>(row: &[T], columns: &[u32], out: &mut [T]) {
        for (out, column) in out.iter_mut().zip(columns) {
            *out = row[*column as usize];
        }
    }
}
