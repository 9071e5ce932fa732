//! No bytes make a reader panic; and how a file is cut never changes what is read.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use freestone_io::csv::{Cells, Index, Part, columns, dense, infer, scan, triples};
use freestone_io::{Source, mtx};
use proptest::prelude::*;
use std::fmt::Write;

/// Mutations in a plain run; a million of each reader are one run with `--ignored`.
const ROUNDS: u64 = 20_000;
const MILLION: u64 = 1_000_000;

/// Numbers from a seed (`SplitMix64`).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }
}

/// Bytes that mean something to a reader, and some that mean nothing.
const TOKENS: &[&[u8]] = &[
    b"\"",
    b"\n",
    b"\r\n",
    b",",
    b"\"\"",
    b"nan",
    b"-",
    b"1e309",
    b".",
    b"\xef\xbb\xbf",
    b"\xff",
    b"%",
    b" ",
    b"99999999999999999999999",
    b"0",
    b"e",
    b"true",
    b"\0",
    b"18446744073709551615",
];

fn mutate(sample: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = sample.to_vec();
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len() + 1);
        match dice.below(4) {
            0 if at < bytes.len() => bytes[at] = dice.next() as u8,
            1 => bytes.truncate(at),
            2 => {
                let token = TOKENS[dice.below(TOKENS.len())];
                bytes.splice(at..at, token.iter().copied());
            }
            _ => {
                let end = (at + dice.below(8)).min(bytes.len());
                bytes.drain(at.min(end)..end);
            }
        }
    }
    bytes
}

/// The rounds of every build; `FREESTONE_SEED=7` takes as many others.
fn fuzz(rounds: u64, samples: &[&[u8]], read: impl Fn(&[u8], &mut Dice)) {
    let seed = std::env::var("FREESTONE_SEED").map_or(0, |text| text.parse::<u64>().unwrap());
    let first = seed.wrapping_mul(rounds);
    for seed in (0..rounds).map(|round| first.wrapping_add(round)) {
        let mut dice = Dice(seed);
        let sample = samples[dice.below(samples.len())];
        let bytes = mutate(sample, &mut dice);
        read(&bytes, &mut dice);
    }
}

const CSV: &[&[u8]] = &[
    b"1,2,3\n4,5,6\n",
    b"0.1,-2.5e-3,nan\ninf,7,8.25\n",
    b"a,\"b\",1\n\"c,\nd\",\"\"\"\",2\n",
    b"0,1,2.5\n3,4,1\n",
    b"",
];

fn index_of(bytes: &[u8]) -> freestone_io::Result<Index> {
    let count = (bytes.len() as u64).div_ceil(freestone_io::csv::CHUNK);
    Index::new(bytes, &scan::scan(bytes, b',', 0, count, 1)?)
}

fn read_csv(bytes: &[u8], dice: &mut Dice) {
    let Ok(index) = index_of(bytes) else { return };
    assert_eq!(Index::decode(&index.encode()).as_ref(), Some(&index));
    let lines = index.lines;
    let start = dice.below(lines as usize + 1) as u64;
    let part = Part {
        start: index.offset_of(bytes, start).unwrap(),
        stop: index.offset_of(bytes, lines).unwrap(),
        row: start,
        rows: lines - start,
        quoted: index.is_quoted(),
    };
    let mut out = vec![0.0_f64; (lines - start) as usize * 3];
    let _ = dense::read(bytes, &index, b',', 0, start, &mut out, 3, 1);
    let mut whole = vec![0_i64; (lines - start) as usize * 3];
    let _ = dense::read(bytes, &index, b',', 0, start, &mut whole, 3, 1);
    let kinds = infer::infer(bytes, &part, b',', 3);
    let text = columns::read_part(bytes, &part, b',', &[columns::Kind::Text; 3]);
    // What has a kind has columns of text, unless it is no UTF-8.
    if let (Ok(_), Err(error)) = (&kinds, &text) {
        assert!(error.to_string().contains("UTF-8"), "{error}");
    }
    let _ = columns::read_part(bytes, &part, b',', &[columns::Kind::F64, columns::Kind::Bool]);
    let _ = triples::read_part::<f64, _>(bytes, &part, b',', 3, (9, 9));
}

fn read_mtx(bytes: &[u8], dice: &mut Dice) {
    let stop = bytes.len() as u64;
    let start = mtx::line_from(bytes, dice.below(bytes.len() + 1) as u64, stop).unwrap();
    let entry = mtx::Entry { positions: dice.below(2) == 0, values: dice.below(3), shape: (5, 5) };
    if let Ok(found) = mtx::read_part::<f64, _>(bytes, (start, stop), &entry) {
        assert_eq!(found.rows.len(), found.columns.len());
        assert!(found.rows.iter().chain(&found.columns).all(|at| (0..5).contains(at)));
    }
    let _ = mtx::read_part::<i64, _>(bytes, (start, stop), &entry);
}

fn read_index(bytes: &[u8], dice: &mut Dice) {
    let Some(index) = Index::decode(bytes) else { return };
    let file = b"1,2\n3,4\n5,6\n";
    let line = dice.next() % (index.lines.saturating_add(2));
    let _ = index.offset_of(file.as_slice(), line);
    let mut out = [0.0_f64; 4];
    let _ = dense::read(file.as_slice(), &index, b',', 0, line, &mut out, 2, 1);
}

const MTX: &[&[u8]] =
    &[b"1 2 3.5\n5 5 -1e3\n", b"1 1\n2 2\n", b"1.0\n2.0\n% x\n\n3.0\n", b"1 1 2 3\n"];

#[test]
fn mutated_csv() {
    fuzz(ROUNDS, CSV, read_csv);
}

#[test]
fn mutated_matrix_market() {
    fuzz(ROUNDS, MTX, read_mtx);
}

#[test]
fn mutated_index() {
    let sample = index_of(b"1,2\n3,4\n5,6\n").unwrap().encode();
    fuzz(ROUNDS, &[sample.as_slice()], read_index);
}

#[test]
#[ignore = "a million rounds of each reader"]
fn a_million_of_each() {
    fuzz(MILLION, CSV, read_csv);
    fuzz(MILLION, MTX, read_mtx);
    let sample = index_of(b"1,2\n3,4\n5,6\n").unwrap().encode();
    fuzz(MILLION, &[sample.as_slice()], read_index);
}

/// A source that gives few bytes at a time.
struct Slow<'a>(&'a [u8]);

impl Source for Slow<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let count = buffer.len().min(7);
        self.0.read_at(&mut buffer[..count], offset)
    }

    fn nbytes(&self) -> std::io::Result<u64> {
        self.0.nbytes()
    }
}

fn quoted() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z,]{0,4}", "[\n\",]{0,4}", Just(String::from("\"")), "[0-9]{1,3}"]
}

fn line_of(cells: &[String]) -> String {
    let quoted: Vec<String> =
        cells.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
    quoted.join(",") + "\n"
}

proptest! {
    #[test]
    fn any_cut_of_quoted_rows_gives_the_same_rows(
        rows in prop::collection::vec(prop::collection::vec(quoted(), 3), 1..40),
        cut in 0_usize..41,
    ) {
        let text: String = rows.iter().map(|row| line_of(row)).collect();
        let bytes = text.as_bytes();
        let index = index_of(bytes).unwrap();
        prop_assert_eq!(index.lines, rows.len() as u64);
        let cut = cut.min(rows.len()) as u64;
        let mut found = Vec::new();
        for (start, stop) in [(0, cut), (cut, index.lines)] {
            let from = index.offset_of(&Slow(bytes), start).unwrap() as usize;
            let to = index.offset_of(&Slow(bytes), stop).unwrap() as usize;
            let mut cells = Cells::new(&bytes[from..to], b',');
            while !cells.is_done() {
                found.push(String::from_utf8(cells.next_cell().unwrap().0.text.into_owned()).unwrap());
            }
        }
        prop_assert_eq!(found, rows.concat());
    }

    #[test]
    fn summaries_of_any_chunks_add_up(text in "[a\",\n]{0,80}", cut in 0_usize..80) {
        let bytes = text.as_bytes();
        let (one, two) = bytes.split_at(cut.min(bytes.len()));
        let whole = scan::Summary::of(bytes, b',');
        let (first, second) = (scan::Summary::of(one, b','), scan::Summary::of(two, b','));
        let behind = if first.turns { second.inside } else { second.outside };
        prop_assert_eq!(whole.outside, first.outside + behind);
        let behind = if first.turns { second.outside } else { second.inside };
        prop_assert_eq!(whole.inside, first.inside + behind);
        prop_assert_eq!(whole.turns, first.turns ^ second.turns);
    }
}

#[test]
fn rows_of_no_columns_are_ragged() {
    let bytes = &b"1,2\n3,4\n"[..];
    let part = Part { start: 0, stop: 8, row: 0, rows: 2, quoted: false };
    let error = columns::read_part(bytes, &part, b',', &[]).unwrap_err().to_string();
    assert_eq!(error, "row 1 has 2 cells, and 0 are wanted");
    assert_eq!(infer::infer(bytes, &part, b',', 0).unwrap_err().to_string(), error);
}

#[test]
fn blanks_in_front_of_numbers_are_part_of_them() {
    let kinds = |text: &str| index_of(text.as_bytes()).unwrap().kinds & scan::OTHER;
    for padded in ["  1,  2\n 30,  4\n", " -1\n", "1, 2\r\n3, 4\r\n", "   1.5e3,2"] {
        assert_eq!(kinds(padded), 0, "{padded:?}");
    }
    for other in ["1 ,2\n", "1 2\n", "  ,2\n", "1,  \n", "1,  \r\n", "1,2\n ", " a\n", "1, \"2\"\n"]
    {
        assert_eq!(kinds(other), scan::OTHER, "{other:?}");
    }
}

#[test]
fn lines_of_no_bytes_are_counted() {
    for (text, wanted) in [
        ("1\n2\n", 0),
        ("1\n\n2\n", 1),
        ("\n\n1\n\n\n\n", 5),
        ("1\r\n\r\n2\r\n\r\n\r\n", 3),
        ("1\n\r\n\n2\n", 2),
        ("\r\n1", 1),
        ("\n", 1),
    ] {
        assert_eq!(index_of(text.as_bytes()).unwrap().blanks, wanted, "{text:?}");
    }
    let chunk = freestone_io::csv::CHUNK as usize;
    for end in ["\n\n", "\n\r\n"] {
        // The line end lies before, on and behind the border of two chunks.
        for before in chunk - 4..chunk + 2 {
            let text = ["1".repeat(before).as_str(), end, "2\n"].concat();
            assert_eq!(index_of(text.as_bytes()).unwrap().blanks, 1, "{before} {end:?}");
        }
    }
}

#[test]
fn blanks_where_chunks_meet_are_seen() {
    let chunk = freestone_io::csv::CHUNK as usize;
    // What stands in the last byte of the first chunk, and behind it.
    for (last, behind, wanted) in [
        (b' ', b"1\n".as_slice(), 0),
        (b' ', b"\n1\n".as_slice(), scan::OTHER),
        (b'1', b" 1\n".as_slice(), scan::OTHER),
        (b'\n', b" 1\n".as_slice(), 0),
        (b',', b" 1\n".as_slice(), 0),
    ] {
        let mut bytes = b"1,2\n".repeat(chunk / 4);
        bytes[chunk - 2..].copy_from_slice(&[b',', last]);
        bytes[..4].copy_from_slice(b"   1");
        bytes.extend_from_slice(behind);
        assert_eq!(index_of(&bytes).unwrap().kinds & scan::OTHER, wanted, "{last} {behind:?}");
    }
}

#[test]
fn many_chunks_and_threads_give_the_same_matrix() {
    let rows = 60_000_usize;
    let mut text = String::new();
    for row in 0..rows {
        write!(text, "{row},{}.5,\"{}\"\r\n", row * 3, row % 7).unwrap();
    }
    let bytes = text.as_bytes();
    let count = (bytes.len() as u64).div_ceil(freestone_io::csv::CHUNK);
    assert!(count > 1);
    let index = Index::new(bytes, &scan::scan(bytes, b',', 0, count, 3).unwrap()).unwrap();
    assert_eq!(index.lines, rows as u64);
    for (start, stop) in [(0, rows), (1, rows), (59_999, rows), (31_000, 45_000)] {
        let mut out = vec![0.0_f64; (stop - start) * 3];
        dense::read(&Slow(bytes), &index, b',', 0, start as u64, &mut out, 3, 2).unwrap();
        for (number, row) in out.chunks(3).enumerate() {
            let found: Vec<usize> = row.iter().map(|value| (value * 2.0) as usize).collect();
            let wanted = start + number;
            assert_eq!(found, [wanted * 2, wanted * 6 + 1, wanted % 7 * 2]);
        }
    }
}
