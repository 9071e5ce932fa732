//! Rows behind four gigabytes are found and read: places in a file have 64 bits.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use freestone_io::Source;
use freestone_io::csv::scan::{Summary, scan};
use freestone_io::csv::{CHUNK, Index, dense};
use std::io;

/// A long number, and three rows that begin with its last digit.
struct Late {
    offset: u64,
    text: &'static [u8],
}

impl Source for Late {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut count = 0;
        for (at, byte) in (offset..self.nbytes()?).zip(buffer.iter_mut()) {
            *byte = at.checked_sub(self.offset).map_or(b'0', |at| self.text[at as usize]);
            count += 1;
        }
        Ok(count)
    }

    fn nbytes(&self) -> io::Result<u64> {
        Ok(self.offset + self.text.len() as u64)
    }
}

#[test]
fn rows_behind_four_gigabytes() {
    let source = Late { offset: (5 << 30) + 1000, text: b"1\n2\n3\n" };
    let before = source.offset / CHUNK;
    let mut summaries = vec![Summary::of(&vec![b'0'; CHUNK as usize], b','); before as usize];
    summaries.extend(scan(&source, b',', before, 1, 1).unwrap());
    let index = Index::new(&source, &summaries).unwrap();
    assert_eq!(index.lines, 3);
    assert_eq!(index.offset_of(&source, 1).unwrap(), source.offset + 2);
    assert_eq!(Index::decode(&index.encode()), Some(index.clone()));
    let mut out = [0.0; 2];
    dense::read(&source, &index, b',', 0, 1, &mut out, 1, 2).unwrap();
    assert_eq!(out.map(f64::to_bits), [2.0_f64, 3.0].map(f64::to_bits));
}
