//! A CSR matrix times a vector.

use crate::cell::Number;
use crate::widened;

const LANES: usize = 4;

widened! {
    /// Computes `out[r] = sum of cells[k] * vector[columns[k]]` over the cells of each row.
    fn plainly<T: Number>(
        cells: &[T],
        offsets: &[i64],
        columns: &[u32],
        vector: &[T],
        out: &mut [T],
    ) {
        for (out, ends) in out.iter_mut().zip(offsets.windows(2)) {
            let row = (ends[0] - offsets[0]) as usize..(ends[1] - offsets[0]) as usize;
            let (cells, columns) = (&cells[row.clone()], &columns[row]);
            let mut parts = [T::ZERO; LANES];
            let (mut fours, mut places) = (cells.chunks_exact(LANES), columns.chunks_exact(LANES));
            for (cells, columns) in (&mut fours).zip(&mut places) {
                for lane in 0..LANES {
                    let product = cells[lane].times(vector[columns[lane] as usize]);
                    parts[lane] = parts[lane].plus(product);
                }
            }
            let rest = fours.remainder().iter().zip(places.remainder());
            for (part, (cell, column)) in parts.iter_mut().zip(rest) {
                *part = part.plus(cell.times(vector[*column as usize]));
            }
            *out = parts[0].plus(parts[1]).plus(parts[2].plus(parts[3]));
        }
    }
}

/// Computes `out[r] = sum of cells[k] * vector[columns[k]]` over the cells of each row.
///
/// `offsets` tell where the rows begin, and one more where the last ends; `cells` and `columns`
/// begin with those of the first row.
///
/// # Panics
///
/// If a column is not one of the vector's.
pub fn rows<T: Number>(cells: &[T], offsets: &[i64], columns: &[u32], vector: &[T], out: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    if crate::kernels::has_widest_vectors() && i32::try_from(vector.len()).is_ok() {
        use crate::cell::{reals, reals_mut};
        if let (Some(cells), Some(vector)) = (reals(cells), reals(vector))
            && let Some(out) = reals_mut(out)
        {
            // SAFETY: the processor has what the function was compiled for.
            return unsafe { wide::rows(cells, offsets, columns, vector, out) };
        }
    }
    plainly(cells, offsets, columns, vector, out);
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        __cpuid, __m256d, __m256i, _mm_load_sd, _mm_loadh_pd, _mm256_castpd128_pd256,
        _mm256_cmplt_epu32_mask, _mm256_extract_epi64, _mm256_fmadd_pd, _mm256_insertf128_pd,
        _mm256_mask_cmplt_epu32_mask, _mm256_maskz_loadu_epi32, _mm256_maskz_loadu_pd,
        _mm256_maskz_mov_pd, _mm256_set1_epi32, _mm256_setzero_pd, _mm512_castpd256_pd512,
        _mm512_fmadd_pd, _mm512_insertf64x4, _mm512_mask_i32gather_pd, _mm512_maskz_loadu_pd,
        _mm512_reduce_add_pd, _mm512_setzero_pd,
    };
    use std::sync::LazyLock;

    /// Whether a gather takes longer than as many loads, as it does on the processors of this maker.
    static LOADS: LazyLock<bool> = LazyLock::new(|| {
        let found = __cpuid(0);
        [found.ebx, found.edx, found.ecx].map(u32::to_le_bytes).concat() == b"AuthenticAMD"
    });

    /// Eight cells at a time, the last of a row under a mask: most rows are short, and a loop for
    /// what is left of each would be half of the work.
    #[target_feature(enable = "avx512f,avx512vl")]
    pub fn rows(cells: &[f64], offsets: &[i64], columns: &[u32], vector: &[f64], out: &mut [f64]) {
        if *LOADS {
            loaded(cells, offsets, columns, vector, out);
        } else {
            gathered(cells, offsets, columns, vector, out);
        }
    }

    #[target_feature(enable = "avx512f,avx512vl")]
    pub fn gathered(
        cells: &[f64],
        offsets: &[i64],
        columns: &[u32],
        vector: &[f64],
        out: &mut [f64],
    ) {
        let length = _mm256_set1_epi32(vector.len() as i32);
        let mut missed = 0_u8;
        for (out, ends) in out.iter_mut().zip(offsets.windows(2)) {
            let row = (ends[0] - offsets[0]) as usize..(ends[1] - offsets[0]) as usize;
            let (cells, columns) = (&cells[row.clone()], &columns[row]);
            let mut sum = _mm512_setzero_pd();
            for at in (0..cells.len()).step_by(8) {
                let mask = mask(cells.len() - at);
                // SAFETY: the masks keep to the cells that there are, and to columns of the vector.
                unsafe {
                    let places = _mm256_maskz_loadu_epi32(mask, columns.as_ptr().add(at).cast());
                    let inside = _mm256_mask_cmplt_epu32_mask(mask, places, length);
                    missed |= inside ^ mask;
                    let zero = _mm512_setzero_pd();
                    let others =
                        _mm512_mask_i32gather_pd::<8>(zero, inside, places, vector.as_ptr());
                    let own = _mm512_maskz_loadu_pd(mask, cells.as_ptr().add(at));
                    sum = _mm512_fmadd_pd(own, others, sum);
                }
            }
            *out = _mm512_reduce_add_pd(sum);
        }
        check(missed == 0, vector);
    }

    /// The same, in halves of which the second one may have no cells.
    #[target_feature(enable = "avx512f,avx512vl,fma")]
    pub fn loaded(
        cells: &[f64],
        offsets: &[i64],
        columns: &[u32],
        vector: &[f64],
        out: &mut [f64],
    ) {
        let length = _mm256_set1_epi32(vector.len() as i32);
        for (out, ends) in out.iter_mut().zip(offsets.windows(2)) {
            let row = (ends[0] - offsets[0]) as usize..(ends[1] - offsets[0]) as usize;
            let (cells, columns) = (&cells[row.clone()], &columns[row]);
            let (mut low, mut high) = (_mm256_setzero_pd(), _mm256_setzero_pd());
            for at in (0..cells.len()).step_by(8) {
                let mask = mask(cells.len() - at);
                // SAFETY: the masks keep to the cells that there are. All places are of the vector, which
                // has a first one: that is read where there is no cell.
                unsafe {
                    let places = _mm256_maskz_loadu_epi32(mask, columns.as_ptr().add(at).cast());
                    check(_mm256_cmplt_epu32_mask(places, length) == 0xff, vector);
                    let others = _mm256_maskz_mov_pd(mask & 0xf, four::<0, 1>(vector, places));
                    let own = _mm256_maskz_loadu_pd(mask & 0xf, cells.as_ptr().add(at));
                    low = _mm256_fmadd_pd(own, others, low);
                    if mask > 0xf {
                        let others = _mm256_maskz_mov_pd(mask >> 4, four::<2, 3>(vector, places));
                        let own = _mm256_maskz_loadu_pd(mask >> 4, cells.as_ptr().add(at + 4));
                        high = _mm256_fmadd_pd(own, others, high);
                    }
                }
            }
            let sum = _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(low), high);
            *out = _mm512_reduce_add_pd(sum);
        }
    }

    /// One bit for each of the next eight cells that is there, of so many that are left.
    #[inline]
    fn mask(left: usize) -> u8 {
        if left >= 8 { 0xff } else { (1 << left) - 1 }
    }

    #[inline]
    fn check(holds: bool, vector: &[f64]) {
        assert!(holds, "a column of a CSR matrix is not below {}", vector.len());
    }

    /// The cells of a vector at the places in two pairs.
    ///
    /// # Safety
    ///
    /// It has these places.
    #[target_feature(enable = "avx512f,avx512vl")]
    #[inline]
    unsafe fn four<const ONE: i32, const TWO: i32>(vector: &[f64], places: __m256i) -> __m256d {
        let two = |pair: i64| {
            let (low, high) = (pair as u32 as usize, (pair as u64 >> 32) as usize);
            // SAFETY: as the caller says.
            unsafe {
                let first = _mm_load_sd(vector.as_ptr().add(low));
                _mm_loadh_pd(first, vector.as_ptr().add(high))
            }
        };
        let one = two(_mm256_extract_epi64::<ONE>(places));
        let other = two(_mm256_extract_epi64::<TWO>(places));
        _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(one), other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(lengths: &[usize], width: u32) -> (Vec<i64>, Vec<u32>) {
        let mut offsets = vec![5_i64];
        for length in lengths {
            offsets.push(offsets[offsets.len() - 1] + *length as i64);
        }
        let stored = (offsets[offsets.len() - 1] - 5) as u32;
        (offsets, (0..stored).map(|at| at * 7 % width).collect())
    }

    #[test]
    fn all_forms_give_the_same() {
        let (offsets, columns) = matrix(&[0, 1, 7, 8, 9, 3, 0, 40, 16], 13);
        let cells: Vec<f64> = (0..columns.len()).map(|at| (at % 5) as f64 - 1.0).collect();
        let vector: Vec<f64> = (0..13).map(f64::from).collect();
        let (mut one, mut two) = (vec![-1.0; 9], vec![-1.0; 9]);
        rows(&cells, &offsets, &columns, &vector, &mut one);
        plainly(&cells, &offsets, &columns, &vector, &mut two);
        assert_eq!(one, two);
        assert_eq!(one[0], 0.0);
        let whole: Vec<i32> = cells.iter().map(|cell| *cell as i32).collect();
        let mut three = vec![-1; 9];
        rows(&whole, &offsets, &columns, &(0..13).collect::<Vec<i32>>(), &mut three);
        assert!(one.iter().zip(&three).all(|(x, y)| *x == f64::from(*y)));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn both_ways_to_read_the_vector_give_the_same_digits() {
        if !crate::kernels::has_widest_vectors() {
            return;
        }
        let lengths: Vec<usize> = (0..40).chain([0, 100, 3]).collect();
        let (offsets, columns) = matrix(&lengths, 31);
        let cells: Vec<f64> = (0..columns.len()).map(|at| (at as f64 + 0.1).ln()).collect();
        // Where a row has no cell, whatever is read of the vector counts for nothing.
        for first in [0.7, f64::INFINITY, f64::NAN] {
            let mut vector: Vec<f64> = (0..31).map(|at| (f64::from(at) + 0.3).sqrt()).collect();
            vector[0] = first;
            let (mut one, mut two) = (vec![-1.0; lengths.len()], vec![-1.0; lengths.len()]);
            // SAFETY: the processor has what the functions were compiled for.
            unsafe {
                wide::gathered(&cells, &offsets, &columns, &vector, &mut one);
                wide::loaded(&cells, &offsets, &columns, &vector, &mut two);
            }
            let bits = |cells: &[f64]| cells.iter().map(|cell| cell.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&one), bits(&two));
        }
    }

    #[test]
    #[should_panic(expected = "3")]
    fn a_column_beyond_the_vector_is_reported() {
        rows(&[1.0, 1.0], &[0, 2], &[0, 3], &[1.0; 3], &mut [0.0]);
    }
}
