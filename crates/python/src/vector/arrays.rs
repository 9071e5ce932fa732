//! Arrays of Python's as slices: buffers that are looked at before memory is.
//!
//! A kernel reads and writes what a slice says and nothing else. What another thread of Python's
//! writes meanwhile changes results, and never where a kernel reads or writes.

use std::ops::Range;

use freestone_vector::Error;
use freestone_vector::cell::{Cell, Number};
use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::exceptions::{PyMemoryError, PyValueError, PyZeroDivisionError};
use pyo3::prelude::*;

/// More workers than any machine has: each takes memory, and time to start.
const MAX_WORKERS: usize = 1024;

/// An array: any object with the buffer protocol.
pub struct Array(PyUntypedBuffer);

/// Three arrays: offsets or rows, columns, and elements.
pub type Arrays = (Array, Array, Array);

impl FromPyObject<'_, '_> for Array {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        PyUntypedBuffer::get(&object).map(Self)
    }
}

impl Array {
    /// Its elements, which have to be of this type.
    pub fn items<T: Number>(&self) -> PyResult<&[T]> {
        self.check(T::CELL)?;
        Ok(self.slice())
    }

    /// Its elements, to be written. Nobody else may have them: see [`apart`].
    #[allow(clippy::mut_from_ref, reason = "the memory is Python's, not the buffer object's")]
    pub fn items_mut<T: Number>(&self) -> PyResult<&mut [T]> {
        self.check_target(T::CELL)?;
        Ok(self.slice_mut())
    }

    /// Numbers of rows or columns: integers of 32 bits, with a sign or without.
    pub fn positions(&self) -> PyResult<&[u32]> {
        self.check_positions()?;
        Ok(self.slice())
    }

    /// Numbers of rows or columns, to be written; as [`Self::items_mut`].
    #[allow(clippy::mut_from_ref, reason = "the memory is Python's, not the buffer object's")]
    pub fn positions_mut(&self) -> PyResult<&mut [u32]> {
        self.check_positions()?;
        self.check_writable()?;
        Ok(self.slice_mut())
    }

    /// Where its first element is.
    pub fn begin(&self) -> *mut u8 {
        self.0.buf_ptr().cast()
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.0.item_count()
    }

    /// The addresses of its bytes.
    pub fn range(&self) -> Range<usize> {
        let begin = if self.len() == 0 { 0 } else { self.begin().addr() };
        begin..begin + self.0.len_bytes()
    }

    /// The buffer itself, for what is laid out in another way.
    pub fn buffer(&self) -> &PyUntypedBuffer {
        &self.0
    }

    /// Checks that its elements are of a type, without gaps.
    pub fn check(&self, cell: Cell) -> PyResult<()> {
        if self.cell() != Some(cell) {
            return Err(self.refused(&format!("{cell:?}")));
        }
        self.check_layout()
    }

    /// Checks the same, and that they can be written.
    pub fn check_target(&self, cell: Cell) -> PyResult<()> {
        self.check(cell)?;
        self.check_writable()
    }

    fn check_positions(&self) -> PyResult<()> {
        if !matches!(self.cell(), Some(Cell::I32 | Cell::U32)) {
            return Err(self.refused("I32 or U32"));
        }
        self.check_layout()
    }

    /// Checks that it can be written.
    pub fn check_writable(&self) -> PyResult<()> {
        if self.0.readonly() {
            return Err(PyValueError::new_err("an array to write into is read-only"));
        }
        Ok(())
    }

    fn check_layout(&self) -> PyResult<()> {
        let is_aligned = self.begin().addr().is_multiple_of(self.0.item_size());
        if !self.0.is_c_contiguous() || !(is_aligned || self.len() == 0) {
            return Err(PyValueError::new_err("an array is not contiguous, or not aligned"));
        }
        Ok(())
    }

    fn refused(&self, wanted: &str) -> PyErr {
        let (format, nbytes) = (self.0.format().to_string_lossy(), self.0.item_size());
        PyValueError::new_err(format!(
            "an array has elements of {nbytes} bytes and format {format:?}, not {wanted}"
        ))
    }

    fn cell(&self) -> Option<Cell> {
        use ElementType::{Float, SignedInteger, UnsignedInteger};
        let format = self.0.format();
        if matches!(format.to_bytes(), [b'>' | b'!', ..]) {
            return None;
        }
        let cell = match ElementType::from_format(format) {
            SignedInteger { bytes: 1 } => Cell::I8,
            UnsignedInteger { bytes: 1 } => Cell::U8,
            SignedInteger { bytes: 4 } => Cell::I32,
            UnsignedInteger { bytes: 4 } => Cell::U32,
            SignedInteger { bytes: 8 } => Cell::I64,
            UnsignedInteger { bytes: 8 } => Cell::U64,
            Float { bytes: 4 } => Cell::F32,
            Float { bytes: 8 } => Cell::F64,
            _ => return None,
        };
        (self.0.item_size() == cell.size()).then_some(cell)
    }

    fn slice<T>(&self) -> &[T] {
        if self.len() == 0 {
            return &[];
        }
        // SAFETY: checked before: contiguous, aligned, and of this type, of which any bits are a
        // value. Python keeps the memory while the buffer lives.
        unsafe { std::slice::from_raw_parts(self.begin().cast::<T>(), self.len()) }
    }

    #[allow(clippy::mut_from_ref, reason = "the memory is Python's, not the buffer object's")]
    fn slice_mut<T>(&self) -> &mut [T] {
        if self.len() == 0 {
            return &mut [];
        }
        // SAFETY: as above, writable, and apart from all other arrays of the call.
        unsafe { std::slice::from_raw_parts_mut(self.begin().cast::<T>(), self.len()) }
    }
}

/// Checks that arrays that are written share no memory with each other, or with those that are read.
pub fn apart(written: &[&Array], read: &[&Array]) -> PyResult<()> {
    let meet = |one: &Range<usize>, two: &Range<usize>| one.start < two.end && two.start < one.end;
    for (at, one) in written.iter().enumerate() {
        let own = one.range();
        let others = written[..at].iter().chain(read);
        if others.into_iter().any(|other| meet(&own, &other.range())) {
            return Err(PyValueError::new_err(
                "an array to write into shares memory with another array of the call",
            ));
        }
    }
    Ok(())
}

/// How many workers a call may have.
pub fn workers_of(given: usize) -> PyResult<usize> {
    if given > MAX_WORKERS {
        let problem = format!("there are at most {MAX_WORKERS} workers, not {given}");
        return Err(PyValueError::new_err(problem));
    }
    Ok(given)
}

/// The error for a name that nothing has.
pub fn unknown(what: &str, name: &str) -> PyErr {
    PyValueError::new_err(format!("there is no {what} {name:?}"))
}

/// What the engine says, as an exception.
#[allow(clippy::needless_pass_by_value)] // as `map_err` wants it
pub fn refused(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::DivisionByZero => PyZeroDivisionError::new_err(text),
        Error::Memory(_) => PyMemoryError::new_err(text),
        Error::Malformed(_)
        | Error::Length { .. }
        | Error::Uncut { .. }
        | Error::Outside { .. }
        | Error::Offsets { .. }
        | Error::Shape(..)
        | Error::OnlyZeros => PyValueError::new_err(text),
    }
}

/// The type of cells of a code.
pub fn cell_of(code: u8) -> PyResult<Cell> {
    Cell::of_code(code).ok_or_else(|| unknown("cell type", &code.to_string()))
}

/// Runs a kernel with the Rust type of a code's cells, while other threads of Python's go on.
macro_rules! with_code {
    ($py:expr, $code:expr, $type:ident => $body:expr) => {{
        let cell = $crate::vector::arrays::cell_of($code)?;
        $py.detach(|| freestone_vector::with_cell!(cell, $type => $body))
    }};
}
pub(super) use with_code;
