//! The index at the end of a file of a job's state, in lines of text. Python reads and writes the
//! same: see `python/freestone/malleable/index.py`, which describes them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

const FIRST: &str = "freestone-state 2";

/// What was written at once.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct Chunk {
    /// Its first byte among those of its part.
    pub first: u64,
    /// The one behind its last.
    pub end: u64,
    /// The CRC-32 of what is between.
    pub checksum: u32,
}

/// Bytes of one part of data.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Piece {
    /// Those of each row, if all have the same number.
    pub row_nbytes: Option<u64>,
    /// All.
    pub nbytes: u64,
    /// Where they begin in the file.
    pub offset: u64,
    /// In the order of their bytes.
    pub chunks: Vec<Chunk>,
}

/// Data of one name.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// `constant`, `variable` or `replicated`.
    pub kind: String,
    /// Of all ranks; 1 of replicated data.
    pub rows: u64,
    /// `rows`, `packed`, or what Python alone reads.
    pub form: String,
    /// What data has in common whose rows were replaced together.
    pub tag: String,
    /// Of which it is made.
    pub pieces: Vec<Piece>,
    /// The bytes before some rows, of packed data.
    pub edges: BTreeMap<u64, u64>,
}

/// What is in a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Index {
    /// Steps done.
    pub step: i64,
    /// How many ranks have written it.
    pub ranks: u64,
    /// When, in seconds since 1970.
    pub saved_s: f64,
    /// The data.
    pub entries: Vec<Entry>,
}

impl Index {
    /// The lines.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{FIRST}\nstep {}\nranks {}\nsaved {:?}\n",
            self.step, self.ranks, self.saved_s
        );
        for entry in &self.entries {
            let Entry { name, kind, rows, form, tag, pieces, edges } = entry;
            let (name, tag) = (hex(name), hex(tag));
            put(&mut text, format_args!("data {name} {kind} {rows} {form} {tag}"));
            for piece in pieces {
                let each = piece.row_nbytes.map_or_else(|| "-".to_owned(), |each| each.to_string());
                put(&mut text, format_args!("part {each} {} {}", piece.nbytes, piece.offset));
                for Chunk { first, end, checksum } in &piece.chunks {
                    put(&mut text, format_args!("chunk {first} {end} {checksum}"));
                }
            }
            for (row, before) in edges {
                put(&mut text, format_args!("edge {row} {before}"));
            }
        }
        text
    }

    /// What lines say.
    ///
    /// # Errors
    ///
    /// The line that is none of an index.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut index = Self::default();
        for (number, line) in text.lines().enumerate() {
            let is_read = match number {
                0 => (line == FIRST).then_some(()),
                _ => index.read(line),
            };
            is_read.ok_or_else(|| format!("line {} of its index is {line:?}", number + 1))?;
        }
        if index.ranks == 0 { Err("its index is empty".to_owned()) } else { Ok(index) }
    }

    fn read(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split(' ').collect();
        match *words {
            ["step", step] => self.step = step.parse().ok()?,
            ["ranks", ranks] => self.ranks = ranks.parse().ok()?,
            ["saved", saved_s] => self.saved_s = saved_s.parse().ok()?,
            ["data", name, kind, rows, form, tag] => self.entries.push(Entry {
                name: unhex(name)?,
                kind: kind.to_owned(),
                rows: number(rows)?,
                form: form.to_owned(),
                tag: unhex(tag)?,
                ..Entry::default()
            }),
            ["part", each, nbytes, offset] => self.entries.last_mut()?.pieces.push(Piece {
                row_nbytes: if each == "-" { None } else { Some(number(each)?) },
                nbytes: number(nbytes)?,
                offset: number(offset)?,
                chunks: Vec::new(),
            }),
            ["chunk", first, end, checksum] => {
                let chunk = Chunk {
                    first: number(first)?,
                    end: number(end)?,
                    checksum: checksum.parse().ok()?,
                };
                self.entries.last_mut()?.pieces.last_mut()?.chunks.push(chunk);
            }
            ["edge", row, before] => {
                self.entries.last_mut()?.edges.insert(number(row)?, number(before)?);
            }
            _ => return None,
        }
        Some(())
    }
}

fn put(text: &mut String, line: std::fmt::Arguments<'_>) {
    // A string takes all.
    let _ = writeln!(text, "{line}");
}

fn number(word: &str) -> Option<u64> {
    word.parse().ok().filter(|number| i64::try_from(*number).is_ok())
}

fn hex(text: &str) -> String {
    if text.is_empty() {
        return "-".to_owned();
    }
    text.bytes().fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"))
}

fn unhex(digits: &str) -> Option<String> {
    if digits == "-" {
        return Some(String::new());
    }
    let pairs = digits.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> =
        pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
    String::from_utf8(bytes?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Index {
        let chunks = vec![Chunk { first: 0, end: 80, checksum: u32::MAX }];
        let piece = Piece { row_nbytes: Some(8), nbytes: 80, offset: 4096, chunks };
        let lists = Piece { row_nbytes: None, ..piece.clone() };
        let rows = Entry {
            name: "höhe x".to_owned(),
            kind: "variable".to_owned(),
            rows: 10,
            form: "rows".to_owned(),
            tag: "a+b".to_owned(),
            pieces: vec![piece.clone()],
            edges: BTreeMap::new(),
        };
        let packed = Entry {
            form: "packed".to_owned(),
            tag: String::new(),
            pieces: vec![piece, lists],
            edges: BTreeMap::from([(0, 0), (10, 80)]),
            ..rows.clone()
        };
        Index { step: -3, ranks: 2, saved_s: 1.5e9, entries: vec![rows, packed] }
    }

    #[test]
    fn an_index_is_read_as_it_was_written() {
        let text = example().text();
        assert_eq!(Index::parse(&text), Ok(example()));
        assert!(text.contains("\ndata 68c3b6686520 ") || text.contains("\ndata 68c3b66865"));
    }

    #[test]
    fn damaged_lines_are_errors_or_another_index() {
        let text = example().text();
        for at in 0..text.len() {
            for byte in [0, b'-', b'9', b' ', b'\n', b'z', 0xff] {
                let mut damaged = text.clone().into_bytes();
                damaged[at] = byte;
                let _ = Index::parse(&String::from_utf8_lossy(&damaged));
                let _ = Index::parse(&String::from_utf8_lossy(&damaged[..at]));
            }
        }
        assert!(Index::parse("").is_err());
        assert!(Index::parse("freestone-state 2\nchunk 0 1 2").unwrap_err().starts_with("line 2"));
    }
}
