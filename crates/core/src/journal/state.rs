//! A state in place of all that has led to it: in parts, since it may be larger than a record.

use super::{Entry, append};
use crate::manager::Now;
use postcard::ser_flavors::Flavor;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Write};

/// Bytes of a part; the last one may have fewer, and any one more that ends with large bytes.
const PART: usize = 1 << 20;

/// Writes a state, as of `now`, to the records of a journal from `offset` on; where they end.
///
/// # Errors
/// Those of `sink`.
pub fn write_state(
    state: &impl Serialize,
    now: Now,
    offset: u64,
    sink: impl Write,
) -> io::Result<u64> {
    let mut parts = Parts { sink, offset, now, part: Vec::new(), record: Vec::new(), failed: None };
    let written = postcard::serialize_with_flavor(state, &mut parts);
    if let Some(error) = parts.failed {
        return Err(error);
    }
    written.map_err(|error| io::Error::other(error.to_string()))?;
    parts.end_part(true)?;
    parts.sink.flush()?;
    Ok(parts.offset)
}

/// What a state is written to.
struct Parts<W> {
    sink: W,
    offset: u64,
    now: Now,
    part: Vec<u8>,
    record: Vec<u8>,
    /// Why the sink took no more.
    failed: Option<io::Error>,
}

impl<W: Write> Parts<W> {
    fn end_part(&mut self, is_last: bool) -> io::Result<()> {
        self.record.clear();
        let entry = Entry::State { part: &self.part, is_last };
        append(self.offset, &mut self.record, |out| entry.encode(self.now, out));
        self.sink.write_all(&self.record)?;
        self.offset += self.record.len() as u64;
        self.part.clear();
        Ok(())
    }

    #[inline]
    fn end_full_part(&mut self) -> postcard::Result<()> {
        if self.part.len() < PART {
            return Ok(());
        }
        self.end_part(false).map_err(|error| {
            self.failed = Some(error);
            postcard::Error::SerializeBufferFull
        })
    }
}

impl<W: Write> Flavor for &mut Parts<W> {
    type Output = ();

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.part.push(byte);
        self.end_full_part()
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.part.extend_from_slice(bytes);
        self.end_full_part()
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// The parts of a state, as far as they have been read.
#[derive(Debug, Default)]
pub struct StateParts(Vec<u8>);

impl StateParts {
    /// Takes the next part; the state, if it is the last one.
    ///
    /// # Errors
    /// What the decoder says of other bytes.
    pub fn take<T: DeserializeOwned>(
        &mut self,
        part: &[u8],
        is_last: bool,
    ) -> Result<Option<T>, String> {
        self.0.extend_from_slice(part);
        if !is_last {
            return Ok(None);
        }
        match postcard::take_from_bytes(&std::mem::take(&mut self.0)) {
            Ok((state, [])) => Ok(Some(state)),
            Ok((_, rest)) => Err(format!("{} bytes of a state are left over", rest.len())),
            Err(error) => Err(format!("a state that is none: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Records;

    type State = (Vec<u64>, String);

    fn read(bytes: &[u8]) -> (u32, Option<State>) {
        let (mut records, mut parts, mut count) =
            (Records::new(bytes, 7), StateParts::default(), 0);
        while let Ok(Some(record)) = records.next() {
            let Ok((3, Entry::State { part, is_last })) = Entry::decode(record) else {
                panic!("another entry");
            };
            count += 1;
            if let Some(state) = parts.take(part, is_last).unwrap() {
                return (count, Some(state));
            }
        }
        (count, None)
    }

    #[test]
    fn states_come_back_in_parts_and_what_is_cut_off_does_not() {
        for numbers in [0, 10, 3_000_000] {
            let state: State = ((0..numbers).collect(), "a".repeat(numbers as usize / 2));
            let mut bytes = Vec::new();
            let end = write_state(&state, 3, 7, &mut bytes).unwrap();
            assert_eq!(end, 7 + bytes.len() as u64);
            let (count, found) = read(&bytes);
            assert_eq!(count > 1, numbers > 10);
            assert!(found == Some(state), "{numbers}");
            assert_eq!(read(&bytes[..bytes.len() - 1]).1, None);
        }
    }

    #[test]
    fn other_bytes_are_no_state() {
        let mut parts = StateParts::default();
        assert!(parts.take::<State>(&[1, 2, 3], true).is_err());
        let mut bytes = postcard::to_allocvec(&(vec![1_u64], "a")).unwrap();
        bytes.push(0);
        assert!(parts.take::<State>(&bytes, true).is_err());
    }

    #[test]
    fn a_sink_that_is_full_says_so() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for nbytes in [1, 3 * PART] {
            let written = write_state(&vec![1_u8; nbytes], 0, 0, Full);
            assert_eq!(written.unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
    }
}
