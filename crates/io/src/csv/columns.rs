//! Rows into columns of their own types, in the layout of Arrow.

use super::infer::ragged;
use super::{Cell, Cells, Part, Rows};
use crate::{IoError, Number, Result, Source};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers of a type.
    F64,
    /// Singles.
    F32,
    /// Integers of 8 to 64 bits.
    I8,
    /// 16 bits.
    I16,
    /// 32 bits.
    I32,
    /// 64 bits.
    I64,
    /// Unsigned ones.
    U8,
    /// 16 bits.
    U16,
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
    /// `true` and `false`, or 1 and 0.
    Bool,
    /// UTF-8.
    Text,
}

/// A column: values, where each text begins, and which are there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Numbers; bits of booleans, lowest first; or bytes of all texts.
    pub data: Vec<u8>,
    /// Of texts: where each begins, and where the last one ends, as 64-bit integers.
    pub offsets: Vec<u8>,
    /// A bit for each value, 1 if it is there; empty when all are.
    pub validity: Vec<u8>,
    /// How many are missing.
    pub missing: usize,
}

/// Makes a column of cells.
trait Builder: Send {
    /// Adds the value of a cell; says what is wanted if it is none.
    fn push(&mut self, cell: &Cell<'_>) -> std::result::Result<(), &'static str>;
    /// The column.
    fn finish(self: Box<Self>) -> Column;
}

/// Bits, lowest first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    count: usize,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        if self.count.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (self.count % 8);
        }
        self.count += 1;
    }
}

/// Which values are there; costs nothing while all are.
#[derive(Default)]
struct Validity {
    bits: Bits,
    count: usize,
    missing: usize,
}

impl Validity {
    fn push(&mut self, is_there: bool) {
        if !is_there && self.missing == 0 {
            (0..self.count).for_each(|_| self.bits.push(true));
        }
        self.count += 1;
        self.missing += usize::from(!is_there);
        if self.missing > 0 {
            self.bits.push(is_there);
        }
    }
}

struct Numbers<T> {
    values: Vec<T>,
    validity: Validity,
    bytes: fn(&[T]) -> Vec<u8>,
}

impl<T: Number> Builder for Numbers<T> {
    fn push(&mut self, cell: &Cell<'_>) -> std::result::Result<(), &'static str> {
        let text = cell.trimmed();
        let is_there = !text.is_empty();
        let value = match T::scan(text) {
            Some((value, used)) if used == text.len() => value,
            _ if is_there => T::parse(text).ok_or(T::WANTED)?,
            _ => T::default(),
        };
        self.values.push(value);
        self.validity.push(is_there);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Column {
        let data = (self.bytes)(&self.values);
        column(data, Vec::new(), self.validity)
    }
}

fn column(data: Vec<u8>, offsets: Vec<u8>, validity: Validity) -> Column {
    Column { data, offsets, validity: validity.bits.bytes, missing: validity.missing }
}

#[derive(Default)]
struct Bools {
    values: Bits,
    validity: Validity,
}

impl Builder for Bools {
    fn push(&mut self, cell: &Cell<'_>) -> std::result::Result<(), &'static str> {
        let text = cell.trimmed();
        let value = match text {
            b"" | b"0" => false,
            b"1" => true,
            _ if text.eq_ignore_ascii_case(b"true") => true,
            _ if text.eq_ignore_ascii_case(b"false") => false,
            _ => return Err("true, false, 1 or 0"),
        };
        self.values.push(value);
        self.validity.push(!text.is_empty());
        Ok(())
    }

    fn finish(self: Box<Self>) -> Column {
        column(self.values.bytes, Vec::new(), self.validity)
    }
}

struct Texts {
    data: Vec<u8>,
    offsets: Vec<u8>,
    validity: Validity,
}

impl Builder for Texts {
    fn push(&mut self, cell: &Cell<'_>) -> std::result::Result<(), &'static str> {
        if std::str::from_utf8(&cell.text).is_err() {
            return Err("UTF-8; say encoding=, such as 'latin-1'");
        }
        self.data.extend_from_slice(&cell.text);
        self.offsets.extend_from_slice(&(self.data.len() as u64).to_le_bytes());
        self.validity.push(cell.quoted || !cell.text.is_empty());
        Ok(())
    }

    fn finish(self: Box<Self>) -> Column {
        column(self.data, self.offsets, self.validity)
    }
}

macro_rules! numbers {
    ($type:ty) => {
        Box::new(Numbers::<$type> {
            values: Vec::new(),
            validity: Validity::default(),
            bytes: |values| values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        })
    };
}

fn builder(kind: Kind) -> Box<dyn Builder> {
    match kind {
        Kind::F64 => numbers!(f64),
        Kind::F32 => numbers!(f32),
        Kind::I8 => numbers!(i8),
        Kind::I16 => numbers!(i16),
        Kind::I32 => numbers!(i32),
        Kind::I64 => numbers!(i64),
        Kind::U8 => numbers!(u8),
        Kind::U16 => numbers!(u16),
        Kind::U32 => numbers!(u32),
        Kind::U64 => numbers!(u64),
        Kind::Bool => Box::new(Bools::default()),
        Kind::Text => Box::new(Texts {
            data: Vec::new(),
            offsets: 0_u64.to_le_bytes().to_vec(),
            validity: Validity::default(),
        }),
    }
}

/// Reads a part of a file into a column for each kind.
///
/// # Errors
/// What is wrong with the file, and at which row and column of it.
pub fn read_part<S: Source + ?Sized>(
    source: &S,
    part: &Part,
    delimiter: u8,
    kinds: &[Kind],
) -> Result<Vec<Column>> {
    let mut builders: Vec<Box<dyn Builder>> = kinds.iter().map(|kind| builder(*kind)).collect();
    let columns = builders.len();
    let mut rows = Rows::new(source, part);
    let mut done = 0;
    while let Some(bytes) = rows.next_rows()? {
        let mut cells = Cells::new(bytes, delimiter);
        let first = part.row + done;
        while !cells.is_done() {
            let (row, column) = (first + cells.row, cells.column);
            let (cell, is_last) = cells.next_cell().map_err(|error| error.below(first))?;
            if column >= columns || is_last != (column + 1 == columns) {
                return Err(ragged(&mut cells, row, column, is_last, columns));
            }
            builders[column]
                .push(&cell)
                .map_err(|wanted| IoError::cell(row, column, &cell.text, wanted))?;
        }
        done += cells.row;
    }
    if done != part.rows {
        let Part { start, stop, rows, .. } = *part;
        return Err(IoError::Rows { wanted: rows, found: done, start, stop });
    }
    Ok(builders.into_iter().map(Builder::finish).collect())
}
