//! Plain values as bytes, without pickle: what most arguments and results of calls are.
//!
//! To pickle and unpickle a small array takes ten times as long as to write and read it like this.
//! Each value is a tag and what belongs to it. Lengths and integers take a byte for each seven of their
//! bits, the lowest first, so that a call with a small number is small where it waits and where it
//! travels; floating-point numbers are little-endian.
//! Whoever writes walks over the values of its language, and stops where one has no form here or
//! the limit is exceeded: then all of it is left to pickle.

use super::{BITS, CodecError, Cursor, MORE};
use smallvec::SmallVec;

const NONE: u8 = b'N';
const FALSE: u8 = b'f';
const TRUE: u8 = b't';
const INT: u8 = b'i';
const FLOAT: u8 = b'd';
const TEXT: u8 = b's';
const BYTES: u8 = b'b';
const TUPLE: u8 = b'(';
const NAMED_TUPLE: u8 = b'{';
const ARRAY: u8 = b'a';
const SCALAR: u8 = b'0';
const INPUT: u8 = b'I';

/// Tuples in tuples that are written; deeper ones are left to pickle.
pub const MAX_DEPTH: usize = 16;

/// The dtypes that are written: `NumPy`'s own, in this machine's order, and bytes of a value.
pub const DTYPES: [(&str, usize); 14] = [
    ("|b1", 1),
    ("|i1", 1),
    ("<i2", 2),
    ("<i4", 4),
    ("<i8", 8),
    ("|u1", 1),
    ("<u2", 2),
    ("<u4", 4),
    ("<u8", 8),
    ("<f2", 2),
    ("<f4", 4),
    ("<f8", 8),
    ("<c8", 8),
    ("<c16", 16),
];

/// The lengths of an array's dimensions.
pub type Shape = SmallVec<[usize; 4]>;

/// Bytes of an array of a dtype and a shape; nothing if they are more than can be addressed.
#[inline]
pub fn array_nbytes(dtype: usize, shape: &[usize]) -> Option<usize> {
    let of_one = DTYPES.get(dtype)?.1;
    shape.iter().try_fold(of_one, |product, length| product.checked_mul(*length))
}

/// Writes values behind a tag. A method gives nothing if its value is for pickle: the limit is
/// exceeded, or a length does not fit.
#[derive(Debug)]
pub struct Writer {
    bytes: Vec<u8>,
    limit: usize,
}

impl Writer {
    /// Writes `limit` bytes at most, the first of which is `tag`.
    pub fn new(tag: u8, limit: usize) -> Self {
        let mut bytes = Vec::with_capacity(128);
        bytes.push(tag);
        Self { bytes, limit }
    }

    /// What was written.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    /// Nothing at all.
    #[inline]
    pub fn none(&mut self) -> Option<()> {
        self.fixed(NONE, &[])
    }

    /// A boolean.
    #[inline]
    pub fn boolean(&mut self, value: bool) -> Option<()> {
        self.fixed(if value { TRUE } else { FALSE }, &[])
    }

    /// An integer.
    #[inline]
    pub fn integer(&mut self, value: i64) -> Option<()> {
        self.bytes.push(INT);
        // The sign goes last, so that a negative number that is near zero is short, too.
        self.varint((value << 1 ^ value >> 63) as u64);
        self.within_limit()
    }

    /// A floating-point number.
    #[inline]
    pub fn float(&mut self, value: f64) -> Option<()> {
        self.fixed(FLOAT, &value.to_le_bytes())
    }

    /// A text.
    #[inline]
    pub fn text(&mut self, value: &str) -> Option<()> {
        self.sized(TEXT, value.as_bytes())
    }

    /// Bytes.
    #[inline]
    pub fn bytes(&mut self, value: &[u8]) -> Option<()> {
        self.sized(BYTES, value)
    }

    /// The input of the call at a position.
    #[inline]
    pub fn input(&mut self, position: usize) -> Option<()> {
        self.bytes.push(INPUT);
        self.length(position)?;
        self.within_limit()
    }

    /// A tuple of the next `length` values.
    #[inline]
    pub fn tuple(&mut self, length: usize) -> Option<()> {
        self.bytes.push(TUPLE);
        self.length(length)?;
        self.within_limit()
    }

    /// A tuple of a class of its own, given by its pickle, of the next `length` values.
    #[inline]
    pub fn named_tuple(&mut self, class: &[u8], length: usize) -> Option<()> {
        self.sized(NAMED_TUPLE, class)?;
        self.length(length)?;
        self.within_limit()
    }

    /// The number of values that follow, where no tag says what they are.
    ///
    /// # Returns
    /// Nothing if it does not fit.
    #[inline]
    pub fn length(&mut self, length: usize) -> Option<()> {
        self.varint(u32::try_from(length).ok()?.into());
        Some(())
    }

    #[inline]
    fn varint(&mut self, mut value: u64) {
        while value >= MORE.into() {
            self.bytes.push(value as u8 | MORE);
            value >>= BITS;
        }
        self.bytes.push(value as u8);
    }

    /// An array, whose bytes in C order `raw` appends; it is not asked where they do not fit.
    pub fn array(
        &mut self,
        dtype: usize,
        is_writeable: bool,
        shape: &[usize],
        raw: impl FnOnce(&mut Vec<u8>) -> Option<()>,
    ) -> Option<()> {
        let nbytes = array_nbytes(dtype, shape)?;
        if self.bytes.len().checked_add(nbytes)? > self.limit {
            return None;
        }
        let dimensions = u8::try_from(shape.len()).ok()?;
        self.bytes.extend([ARRAY, dtype as u8, u8::from(is_writeable), dimensions]);
        for length in shape {
            self.length(*length)?;
        }
        self.raw(nbytes, raw)
    }

    /// One value of a dtype, whose bytes `raw` appends.
    pub fn scalar(
        &mut self,
        dtype: usize,
        raw: impl FnOnce(&mut Vec<u8>) -> Option<()>,
    ) -> Option<()> {
        let nbytes = array_nbytes(dtype, &[])?;
        self.bytes.extend([SCALAR, dtype as u8]);
        self.raw(nbytes, raw)
    }

    fn raw(&mut self, nbytes: usize, raw: impl FnOnce(&mut Vec<u8>) -> Option<()>) -> Option<()> {
        let end = self.bytes.len() + nbytes;
        raw(&mut self.bytes)?;
        // Fewer or more would shift all that follows.
        if self.bytes.len() == end { self.within_limit() } else { None }
    }

    #[inline]
    fn fixed(&mut self, tag: u8, bytes: &[u8]) -> Option<()> {
        self.bytes.push(tag);
        self.bytes.extend_from_slice(bytes);
        self.within_limit()
    }

    #[inline]
    fn sized(&mut self, tag: u8, bytes: &[u8]) -> Option<()> {
        self.bytes.push(tag);
        self.length(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        self.within_limit()
    }

    #[inline]
    fn within_limit(&self) -> Option<()> {
        (self.bytes.len() <= self.limit).then_some(())
    }
}

/// The arguments of a call that are its first `count` inputs, and no keywords.
pub fn write_inputs(tag: u8, count: usize) -> Option<Vec<u8>> {
    let mut writer = Writer::new(tag, usize::MAX);
    writer.length(count)?;
    (0..count).try_for_each(|position| writer.input(position))?;
    writer.length(0)?;
    Some(writer.finish())
}

/// A value, or the head of one that is made of the next values.
#[derive(Debug, Clone, PartialEq)]
pub enum Element<'a> {
    /// Nothing at all.
    None,
    /// A boolean.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Float(f64),
    /// A text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A tuple of so many of the next values.
    Tuple(usize),
    /// A tuple of a class of its own.
    NamedTuple {
        /// The pickled class.
        class: &'a [u8],
        /// How many of the next values it has.
        length: usize,
    },
    /// An array.
    Array {
        /// Its place in [`DTYPES`].
        dtype: usize,
        /// Whether it could be written to.
        is_writeable: bool,
        /// Its shape.
        shape: Shape,
        /// Its values, in C order.
        bytes: &'a [u8],
    },
    /// One value of a dtype.
    Scalar {
        /// Its place in [`DTYPES`].
        dtype: usize,
        /// The value.
        bytes: &'a [u8],
    },
    /// The input of the call at a position.
    Input(usize),
}

/// Reads what [`Writer`] wrote, behind the tag.
#[derive(Debug)]
pub struct Reader<'a>(Cursor<'a>);

impl<'a> Reader<'a> {
    /// Reads from the first value on.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(Cursor(bytes))
    }

    /// How many values follow, as [`Writer::length`] wrote it.
    ///
    /// # Errors
    /// [`CodecError::CutShort`].
    #[inline]
    pub fn length(&mut self) -> Result<usize, CodecError> {
        self.0.number()
    }

    /// The next value, which is in so many tuples.
    ///
    /// # Errors
    /// [`CodecError`], for any bytes that [`Writer`] does not write.
    #[inline]
    pub fn element(&mut self, depth: usize) -> Result<Element<'a>, CodecError> {
        let bytes = &mut self.0;
        let element = match bytes.byte()? {
            NONE => Element::None,
            FALSE => Element::Boolean(false),
            TRUE => Element::Boolean(true),
            INT => {
                let value = bytes.varint()?;
                Element::Integer((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
            }
            FLOAT => Element::Float(f64::from_le_bytes(bytes.fixed()?)),
            TEXT => {
                let text = std::str::from_utf8(bytes.sized()?);
                Element::Text(text.map_err(|_| CodecError::NoText)?)
            }
            BYTES => Element::Bytes(bytes.sized()?),
            TUPLE | NAMED_TUPLE if depth > MAX_DEPTH => return Err(CodecError::TooDeep),
            TUPLE => Element::Tuple(bytes.number()?),
            NAMED_TUPLE => Element::NamedTuple { class: bytes.sized()?, length: bytes.number()? },
            ARRAY => return self.array(),
            SCALAR => {
                let dtype = self.dtype()?;
                Element::Scalar { dtype, bytes: self.0.take(DTYPES[dtype].1)? }
            }
            INPUT => Element::Input(bytes.number()?),
            tag => return Err(CodecError::UnknownTag(tag)),
        };
        Ok(element)
    }

    fn array(&mut self) -> Result<Element<'a>, CodecError> {
        let dtype = self.dtype()?;
        let is_writeable = self.0.byte()? != 0;
        let dimensions = self.0.byte()?;
        let shape = (0..dimensions).map(|_| self.0.number()).collect::<Result<Shape, _>>()?;
        let nbytes = array_nbytes(dtype, &shape).ok_or(CodecError::CutShort)?;
        let bytes = self.0.take(nbytes)?;
        Ok(Element::Array { dtype, is_writeable, shape, bytes })
    }

    fn dtype(&mut self) -> Result<usize, CodecError> {
        let number = self.0.byte()?;
        let known = usize::from(number) < DTYPES.len();
        if known { Ok(usize::from(number)) } else { Err(CodecError::UnknownDtype(number)) }
    }
}
