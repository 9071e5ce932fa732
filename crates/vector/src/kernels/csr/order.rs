//! Sorting the columns of one row.

/// From more columns on, a sort that compares fewer of them takes less time.
pub const RANKED: usize = 128;

/// Sorts columns of which no two are the same into another place, which is as long.
///
/// The place of each of a few is the number of lower ones: all are compared with all, in vectors and
/// without a branch, as a sort of random columns waits for a branch at nearly every one.
///
/// # Complexity
///
/// Quadratic up to [`RANKED`] columns, and as the standard library's sort above.
pub fn sort(columns: &[u32], out: &mut [u32]) {
    match columns.len() {
        0 => {}
        1..=16 => widened::<16>(columns, out),
        17..=32 => widened::<32>(columns, out),
        33..=64 => widened::<64>(columns, out),
        65..=RANKED => widened::<RANKED>(columns, out),
        _ => {
            out.copy_from_slice(columns);
            out.sort_unstable();
        }
    }
}

/// Chooses between compilations for vectors. More than 256 bits took as long.
fn widened<const ROOM: usize>(columns: &[u32], out: &mut [u32]) {
    #[cfg(target_arch = "x86_64")]
    if crate::kernels::has_wide_vectors() {
        // SAFETY: the processor has what the function was compiled for.
        return unsafe { ranked_wide::<ROOM>(columns, out) };
    }
    ranked::<ROOM>(columns, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn ranked_wide<const ROOM: usize>(columns: &[u32], out: &mut [u32]) {
    ranked::<ROOM>(columns, out);
}

#[inline(always)]
fn ranked<const ROOM: usize>(columns: &[u32], out: &mut [u32]) {
    // Signed, as AVX2 compares: flipping the first bit keeps the order.
    let signed = |column: u32| (column ^ 1 << 31) as i32;
    let (mut values, mut ranks) = ([i32::MAX; ROOM], [0_u32; ROOM]);
    for (value, column) in values.iter_mut().zip(columns) {
        *value = signed(*column);
    }
    for column in columns {
        let lower = signed(*column);
        for (rank, value) in ranks.iter_mut().zip(&values) {
            *rank += u32::from(lower < *value);
        }
    }
    for (rank, column) in ranks.iter().zip(columns) {
        out[*rank as usize] = *column;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_sorted_at_every_count() {
        for count in 0..300_u32 {
            // An odd factor: all are different, over the whole range.
            let columns: Vec<u32> = (0..count).map(|at| at.wrapping_mul(2_654_435_769)).collect();
            let (mut expected, mut found) = (columns.clone(), columns.clone());
            expected.sort_unstable();
            sort(&columns, &mut found);
            assert_eq!(found, expected);
            if columns.len() <= RANKED {
                // As a processor without AVX2 does.
                found.fill(0);
                ranked::<RANKED>(&columns, &mut found);
                assert_eq!(found, expected);
            }
        }
    }
}
