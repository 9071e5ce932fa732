//! Replicated data, which has to be the same on all ranks when they come to their first checkpoint.

use super::Job;
use super::faults::{Report, other_registration};
use super::together::{gather, tell};
use crate::data::{Array, Content, Form};
use crate::error::{Fault, MalleableError, Problem, Result};

/// Rank 0's bytes are compared in pieces.
const CHUNK: usize = 32 << 20;
/// What is shown of them, as numbers.
const WORD: usize = 8;

/// The first bytes that differ from those of rank 0: where, and both.
type Differing = (u64, Vec<u8>, Vec<u8>);

impl Job {
    /// Checksums of all replicated data, if this is the first checkpoint of a rank that has it.
    pub(super) fn first_values(&self) -> Vec<u64> {
        if self.checkpoint.is_some() || self.is_joining() {
            return Vec::new();
        }
        let number = |array| bytes_of(array).map_or(0, xxhash_rust::xxh3::xxh3_64);
        self.arrays.iter().map(number).collect()
    }

    /// Which rank has other bytes of an array than rank 0, and where; all ranks call it together.
    pub(super) fn other_bytes(&self, at: usize) -> Result<MalleableError> {
        let (array, step) = (&self.arrays[at], self.machine.step());
        let own = self.unlike_rank_0(bytes_of(array).unwrap_or_default())?;
        let (own, timeout) = (postcard::to_stdvec(&own)?, self.settings.timeout);
        let found = gather(&*self.mpi, self.control()?, &own, timeout, "comparing values")?;
        let mut text = format!("step {step}: {} differs between ranks", array.description);
        for (rank, bytes) in found.iter().enumerate() {
            if let Some(differing) = postcard::from_bytes::<Option<Differing>>(bytes)? {
                let what = &array.description;
                text = format!("rank {rank}, step {step}: {what} {}", shown(&differing));
                break;
            }
        }
        Ok(MalleableError::Reported(Problem { fault: Fault::Disagreement, text }))
    }

    fn unlike_rank_0(&self, own: &[u8]) -> Result<Option<Differing>> {
        let (mpi, control, timeout) = (&*self.mpi, self.control()?, self.settings.timeout);
        let mut first = None;
        for (before, own) in own.chunks(CHUNK).enumerate() {
            let theirs = tell(mpi, control, 0, own.to_vec(), timeout, "comparing values")?;
            let at = own.iter().zip(&theirs).position(|(own, its)| own != its);
            if let (None, Some(at)) = (&first, at) {
                let at = at / WORD * WORD;
                let word = at..own.len().min(at + WORD);
                let (own, theirs) = (own[word.clone()].to_vec(), theirs[word].to_vec());
                first = Some(((before * CHUNK + at) as u64, own, theirs));
            }
        }
        Ok(first)
    }
}

/// The number of the replicated data in which some ranks differ, if that is all in which they do.
pub fn other_value(reports: &[Report]) -> Option<usize> {
    let first = reports.first()?;
    if reports.iter().any(|own| other_registration(own, first).is_some()) {
        return None;
    }
    (0..first.values.len())
        .find(|at| reports.iter().any(|own| own.values.get(*at) != first.values.get(*at)))
}

fn bytes_of(array: &Array) -> Option<&[u8]> {
    match (&array.content, array.description.form) {
        (Content::Replicated(at), Form::Replicated { nbytes }) if nbytes > 0 => {
            // SAFETY: the program has registered so many bytes, and waits.
            Some(unsafe { std::slice::from_raw_parts(*at, nbytes as usize) })
        }
        _ => None,
    }
}

fn shown((first, own, theirs): &Differing) -> String {
    let end = first + own.len() as u64;
    format!(
        "has {} in the bytes {first} to {end}, and rank 0 has {}: replicated data is the same on all \
         ranks at their first checkpoint (the padding of a struct, too: clear it by memset)",
        numbers(own),
        numbers(theirs)
    )
}

/// Bytes as what they most likely are: whole numbers, floating-point numbers, or else bytes.
fn numbers(bytes: &[u8]) -> String {
    let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    match <[u8; WORD]>::try_from(bytes) {
        Ok(word) => {
            let (whole, float) = (i64::from_le_bytes(word), f64::from_le_bytes(word));
            format!("{hex} ({whole} as int64_t, {float:e} as double)")
        }
        Err(_) => hex,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_differ_are_shown_as_numbers() {
        let text = shown(&(16, 3_i64.to_le_bytes().to_vec(), 1.5_f64.to_le_bytes().to_vec()));
        let wanted =
            "has 03 00 00 00 00 00 00 00 (3 as int64_t, 1.5e-323 as double) in the bytes 16 to 24";
        assert!(text.starts_with(wanted), "{text}");
        assert!(text.contains(", 1.5e0 as double): replicated data"), "{text}");
        assert!(
            shown(&(8, vec![1], vec![255])).starts_with("has 01 in the bytes 8 to 9, and rank 0")
        );
    }
}
