//! The file of a value: a header, a table of buffers, the pickle-5 stream, the buffers.
//!
//! ```text
//! 0    magic                  8 bytes
//! 8    version                u32, little-endian like all numbers here
//! 12   number of buffers      u32
//! 16   length of the pickle   u64
//! 24   length of each buffer  u64 each
//!      the pickle
//!      each buffer, at the next multiple of 64
//! ```
//!
//! Lengths alone say where everything lies, so there is one file for each value and no way to
//! describe parts that overlap or lie outside. Gaps are zero.

use super::error::{FormatError, StoreError};
use super::segment::Segment;
use std::io::Read;
use std::ops::Range;

const MAGIC: [u8; 8] = *b"\x93FSBLOCK";
const VERSION: u32 = 1;
const HEADER: u64 = 24;
const ENTRY: u64 = 8;

/// Buffers begin at multiples of this, so that they can be used in place by any vector unit.
pub const ALIGNMENT: u64 = 64;

/// Where the parts of a value lie in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// The pickle-5 stream.
    pub pickle: Range<usize>,
    /// The buffers that the stream refers to, in order.
    pub buffers: Vec<Range<usize>>,
}

/// Bytes of the file of a value with these parts.
///
/// # Panics
/// If they are more than can be addressed.
pub fn nbytes(pickle: usize, buffers: impl ExactSizeIterator<Item = usize>) -> u64 {
    let count = buffers.len() as u64;
    let lengths = buffers.map(|length| length as u64);
    end(count, pickle as u64, lengths).expect("buffers in memory have addressable lengths")
}

/// Where the file ends, or nothing if that can't be said in 64 bits.
fn end(count: u64, pickle: u64, lengths: impl Iterator<Item = u64>) -> Option<u64> {
    let mut end = (HEADER + count * ENTRY).checked_add(pickle)?;
    for length in lengths {
        end = end.checked_next_multiple_of(ALIGNMENT)?.checked_add(length)?;
    }
    Some(end)
}

/// Writes a value into a segment of [`nbytes`] bytes. The checksum is that of the segment.
///
/// # Errors
/// Those of [`Segment::append`].
pub fn write(segment: &mut Segment, pickle: &[u8], buffers: &[&[u8]]) -> Result<(), StoreError> {
    write_head(segment, pickle, buffers.iter().map(|buffer| buffer.len()))?;
    for buffer in buffers {
        align(segment)?;
        segment.append(buffer)?;
    }
    Ok(())
}

/// Writes a value of one buffer, whose `length` bytes a source gives, as [`write`] does.
///
/// # Errors
/// Those of [`Segment::append_alone`].
pub fn write_from(
    segment: &mut Segment,
    pickle: &[u8],
    length: usize,
    source: &mut impl Read,
) -> Result<(), StoreError> {
    write_head(segment, pickle, std::iter::once(length))?;
    align(segment)?;
    segment.append_alone(source)
}

fn write_head(
    segment: &mut Segment,
    pickle: &[u8],
    lengths: impl ExactSizeIterator<Item = usize>,
) -> Result<(), StoreError> {
    segment.append(&MAGIC)?;
    segment.append(&VERSION.to_le_bytes())?;
    segment.append(&(lengths.len() as u32).to_le_bytes())?;
    segment.append(&(pickle.len() as u64).to_le_bytes())?;
    for length in lengths {
        segment.append(&(length as u64).to_le_bytes())?;
    }
    segment.append(pickle)
}

fn align(segment: &mut Segment) -> Result<(), StoreError> {
    let offset = segment.filled();
    let gap = offset.next_multiple_of(ALIGNMENT) - offset;
    segment.append(&[0; ALIGNMENT as usize][..gap as usize])
}

/// Finds the parts of a value in its file.
///
/// # Errors
/// [`FormatError`], for any bytes that [`write`] does not write.
pub fn parse(file: &[u8]) -> Result<Parsed, FormatError> {
    let short = FormatError::NoBlock;
    if file.first_chunk() != Some(&MAGIC) {
        return Err(short);
    }
    let version = number_u32(file, 8).ok_or(short.clone())?;
    if version != VERSION {
        return Err(FormatError::Version { found: version, known: VERSION });
    }
    let count = u64::from(number_u32(file, 12).ok_or(short.clone())?);
    let pickle = number_u64(file, 16).ok_or(short)?;
    let found = file.len() as u64;
    let wrong = |expected| FormatError::Length { expected, found };
    let table = HEADER + count * ENTRY;
    if table > found {
        return Err(wrong(table));
    }
    // Nothing is allocated before it is clear that the file has the length that it claims.
    let lengths = || {
        let entries = file[HEADER as usize..table as usize].chunks_exact(ENTRY as usize);
        entries.filter_map(|entry| entry.first_chunk().copied().map(u64::from_le_bytes))
    };
    let expected = end(count, pickle, lengths()).unwrap_or(u64::MAX);
    if expected != found {
        return Err(wrong(expected));
    }
    let mut at = table + pickle;
    let mut next = |length: u64| {
        let start = at.next_multiple_of(ALIGNMENT);
        at = start + length;
        start as usize..at as usize
    };
    let buffers = lengths().map(&mut next).collect();
    Ok(Parsed { pickle: table as usize..(table + pickle) as usize, buffers })
}

fn number_u32(file: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*file.get(at..)?.first_chunk()?))
}

fn number_u64(file: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*file.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::folder::tests::scratch_folder;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn written(pickle: &[u8], buffers: &[Vec<u8>]) -> Vec<u8> {
        let folder = scratch_folder();
        let slices: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
        let expected = nbytes(pickle.len(), slices.iter().map(|buffer| buffer.len()));
        let mut segment = folder.segment(expected).unwrap();
        write(&mut segment, pickle, &slices).unwrap();
        segment.finish().unwrap();
        let file = std::fs::read(segment.path()).unwrap();
        assert_eq!(file.len() as u64, expected);
        assert_eq!(segment.checksum(), xxhash_rust::xxh3::xxh3_64(&file));
        file
    }

    fn check(file: &[u8]) {
        if let Ok(parsed) = parse(file) {
            assert!(file.get(parsed.pickle.clone()).is_some());
            let mut end = parsed.pickle.end;
            for buffer in parsed.buffers {
                assert!(buffer.start >= end && buffer.start % 64 == 0);
                assert!(file.get(buffer.clone()).is_some());
                end = buffer.end;
            }
            assert_eq!(end, file.len());
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_parsed(pickle in vec(any::<u8>(), 0..300),
                                     buffers in vec(vec(any::<u8>(), 0..300), 0..10)) {
            let file = written(&pickle, &buffers);
            let parsed = parse(&file).unwrap();
            prop_assert_eq!(&file[parsed.pickle], &pickle[..]);
            let read: Vec<&[u8]> = parsed.buffers.into_iter().map(|at| &file[at]).collect();
            prop_assert_eq!(read, buffers.iter().map(Vec::as_slice).collect::<Vec<_>>());
        }

        #[test]
        fn mutations_are_refused_or_well_formed(
            changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
            cut in any::<prop::sample::Index>(),
            truncate: bool,
        ) {
            let mut file = MAGIC.to_vec();
            file.extend(VERSION.to_le_bytes());
            file.extend(2_u32.to_le_bytes());
            for length in [5_u64, 70, 3] {
                file.extend(length.to_le_bytes());
            }
            file.resize(end(2, 5, [70, 3].into_iter()).unwrap() as usize, 1);
            prop_assert!(parse(&file).is_ok());
            for (index, byte) in changes {
                let index = index.index(48);
                file[index] = byte;
            }
            if truncate {
                file.truncate(cut.index(file.len()));
            }
            check(&file);
        }

        #[test]
        fn any_bytes_are_refused_or_well_formed(bytes in vec(any::<u8>(), 0..200)) {
            let mut file = MAGIC.to_vec();
            file.extend(VERSION.to_le_bytes());
            check(&bytes);
            file.extend(bytes);
            check(&file);
        }
    }

    #[test]
    fn a_buffer_may_come_from_a_source() {
        let folder = scratch_folder();
        for length in [1, 100, 300_000] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let expected = nbytes(5, std::iter::once(length));
            let mut segment = folder.segment(expected).unwrap();
            write_from(&mut segment, b"hello", length, &mut bytes.as_slice()).unwrap();
            segment.finish().unwrap();
            assert_eq!(
                std::fs::read(segment.path()).unwrap(),
                written(b"hello", std::slice::from_ref(&bytes))
            );
            let mut short = folder.segment(expected).unwrap();
            let found = write_from(&mut short, b"hello", length, &mut &bytes[1..]);
            assert!(matches!(found, Err(StoreError::Io { .. })));
        }
    }

    #[test]
    fn lengths_that_overflow_are_refused() {
        let mut file = MAGIC.to_vec();
        file.extend(VERSION.to_le_bytes());
        file.extend(1_u32.to_le_bytes());
        file.extend(u64::MAX.to_le_bytes());
        file.extend(u64::MAX.to_le_bytes());
        assert!(matches!(parse(&file), Err(FormatError::Length { .. })));
    }
}
