//! Numbers at positions: what compressed rows need of a dense row, and back.

use crate::cell::Number;
use crate::widened;

widened! {
    /// Takes `out[k] = row[columns[k]]`.
    pub fn take<T: Number>(row: &[T], columns: &[i64], out: &mut [T]) {
        for (out, column) in out.iter_mut().zip(columns) {
            *out = row[*column as usize];
        }
    }
}

widened! {
    /// Sums `cells[k] * vector[columns[k]]`, in four parts that do not wait for one another.
    pub fn dot<T: Number>(cells: &[T], columns: &[i64], vector: &[T]) -> T {
        let mut parts = [T::ZERO; 4];
        let whole = cells.len() / 4 * 4;
        for at in (0..whole).step_by(4) {
            for lane in 0..4 {
                let product = cells[at + lane].times(vector[columns[at + lane] as usize]);
                parts[lane] = parts[lane].plus(product);
            }
        }
        for at in whole..cells.len() {
            parts[0] = parts[0].plus(cells[at].times(vector[columns[at] as usize]));
        }
        parts[0].plus(parts[1]).plus(parts[2].plus(parts[3]))
    }
}
