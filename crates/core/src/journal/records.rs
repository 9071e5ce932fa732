//! Records: a little-endian `u32` length, a `u32` checksum, then that many bytes.

use crate::wire::PROTOCOL;
use std::io::{ErrorKind, Read};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What a journal begins with, before the version of freestone that wrote it.
const MAGIC: &[u8; 16] = b"freestone.jrnl.1";
/// The version of freestone: another one may come to another state by the same inputs.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
const HEAD: usize = 8;
/// The largest record: a whole frame, and what says whose it is.
const MAX_RECORD: usize = (64 << 20) + 1024;
/// Room for a record is made in steps of so many bytes, so that a length alone claims no memory.
const STEP: usize = 1 << 20;

/// The first bytes of a journal: what it is, and whose.
pub fn header() -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend(PROTOCOL.to_le_bytes());
    header.extend([VERSION.len() as u8]);
    header.extend(VERSION.as_bytes());
    header
}

/// Whether a journal begins as those of this version do.
pub fn is_header(bytes: &[u8]) -> bool {
    bytes == header()
}

/// Appends a record that begins at `offset` of the journal to `out`. `write` appends its bytes.
pub fn append(offset: u64, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD]);
    write(out);
    let nbytes = (out.len() - start - HEAD) as u32;
    let checksum = checksum(offset, &out[start + HEAD..]);
    out[start..start + 4].copy_from_slice(&nbytes.to_le_bytes());
    out[start + 4..start + HEAD].copy_from_slice(&checksum.to_le_bytes());
}

/// Covers where the record is, so that an old one in its place is no good.
fn checksum(offset: u64, bytes: &[u8]) -> u32 {
    xxh3_64_with_seed(bytes, offset ^ (bytes.len() as u64) << 40) as u32
}

/// From where on a journal is of no use, and why.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("from byte {offset} on it can't be read: {reason}")]
pub struct Damage {
    /// The end of the last good record.
    pub offset: u64,
    /// What is wrong there.
    pub reason: String,
}

/// The records of a journal, in order, up to its end or the first damage.
#[derive(Debug)]
pub struct Records<R> {
    source: R,
    /// Where the next record begins.
    offset: u64,
    record: Vec<u8>,
}

impl<R: Read> Records<R> {
    /// Those of `source`, which is at `offset` of the journal.
    pub fn new(source: R, offset: u64) -> Self {
        Self { source, offset, record: Vec::new() }
    }

    /// Where the next record begins: the end of those that were read.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next record; none at the end.
    ///
    /// # Errors
    /// [`Damage`]: nothing after it can be used.
    // Not an `Iterator`: the record is borrowed.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<&[u8]>, Damage> {
        let head = match self.read(HEAD)? {
            0 => return Ok(None),
            HEAD => [self.number(0), self.number(4)],
            nbytes => return Err(self.damage(format!("{nbytes} bytes are no record"))),
        };
        let (nbytes, wanted) = (head[0] as usize, head[1]);
        if nbytes > MAX_RECORD {
            return Err(self.damage(format!("a record of {nbytes} bytes is none")));
        }
        let read = self.read(nbytes)?;
        if read < nbytes {
            return Err(self.damage(format!("{} bytes of a record are missing", nbytes - read)));
        }
        if checksum(self.offset, &self.record) != wanted {
            return Err(self.damage("the checksum of a record differs".to_owned()));
        }
        self.offset += (HEAD + nbytes) as u64;
        Ok(Some(&self.record))
    }

    /// Reads so many bytes, or all that there are; how many.
    fn read(&mut self, nbytes: usize) -> Result<usize, Damage> {
        self.record.clear();
        while self.record.len() < nbytes {
            let start = self.record.len();
            self.record.resize(nbytes.min(start + STEP), 0);
            let read = self.source.read(&mut self.record[start..]);
            let came = read.as_ref().map_or(0, |came| *came);
            self.record.truncate(start + came);
            match read {
                Ok(0) => break,
                Err(error) if error.kind() != ErrorKind::Interrupted => {
                    return Err(self.damage(error.to_string()));
                }
                _ => {}
            }
        }
        Ok(self.record.len())
    }

    fn number(&self, at: usize) -> u32 {
        self.record[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    fn damage(&self, reason: String) -> Damage {
        Damage { offset: self.offset, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn journal(records: &[Vec<u8>]) -> Vec<u8> {
        let mut journal = Vec::new();
        for record in records {
            append(journal.len() as u64, &mut journal, |out| out.extend(record));
        }
        journal
    }

    fn read(bytes: &[u8]) -> (Vec<Vec<u8>>, u64, Option<Damage>) {
        let (mut records, mut found) = (Records::new(bytes, 0), Vec::new());
        loop {
            match records.next() {
                Ok(Some(record)) => found.push(record.to_vec()),
                Ok(None) => return (found, records.offset(), None),
                Err(damage) => return (found, records.offset(), Some(damage)),
            }
        }
    }

    fn records() -> impl Strategy<Value = Vec<Vec<u8>>> {
        proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 1..20)
    }

    proptest! {
        #[test]
        fn records_come_back(records in records()) {
            let bytes = journal(&records);
            prop_assert_eq!(read(&bytes), (records, bytes.len() as u64, None));
        }

        #[test]
        fn a_cut_journal_is_read_up_to_its_last_whole_record(
            records in records(), cut in any::<prop::sample::Index>(),
        ) {
            let bytes = journal(&records);
            let cut = cut.index(bytes.len());
            let (found, end, damage) = read(&bytes[..cut]);
            prop_assert_eq!(&found[..], &records[..found.len()]);
            prop_assert_eq!(end as usize, journal(&found).len());
            prop_assert_eq!(damage.is_some(), end as usize != cut);
        }

        #[test]
        fn a_changed_bit_ends_it_there(records in records(), at in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let mut bytes = journal(&records);
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            let (found, end, damage) = read(&bytes);
            prop_assert!(damage.is_some() && end as usize <= at);
            prop_assert_eq!(&found[..], &records[..found.len()]);
        }

        #[test]
        fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }
    }
}
