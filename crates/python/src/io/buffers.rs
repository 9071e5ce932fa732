//! Arrays of numbers that Python owns, as slices; and bytes of ours that Python uses.

use crate::view::buffer_class;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Bytes made here, as a buffer without a copy.
#[pyclass(frozen, module = "freestone._native.io")]
pub struct OwnedBuffer {
    bytes: Vec<u8>,
}

impl OwnedBuffer {
    /// Gives bytes to Python.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }
}

buffer_class!(
    OwnedBuffer,
    read_only: "these bytes are read-only: copy to change",
    |this| this.bytes
);

/// The values of a contiguous buffer of bytes.
pub fn values<T: Plain>(buffer: &PyBuffer<u8>) -> PyResult<&[T]> {
    check::<T>(buffer)?;
    let count = buffer.len_bytes() / size_of::<T>();
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: contiguous, aligned, and any bits are a `T`; Python keeps the bytes while `buffer`
    // lives, and callers own the array that they pass.
    Ok(unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<T>(), count) })
}

/// The values of a contiguous, writable buffer of bytes, which nobody else uses meanwhile.
#[allow(clippy::mut_from_ref)] // the bytes are Python's, not the buffer object's
pub fn values_mut<T: Plain>(buffer: &PyBuffer<u8>) -> PyResult<&mut [T]> {
    check::<T>(buffer)?;
    if buffer.readonly() {
        return Err(PyValueError::new_err("the array to read into is read-only"));
    }
    let count = buffer.len_bytes() / size_of::<T>();
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: as above, and writable; the array was made for this call alone.
    Ok(unsafe { std::slice::from_raw_parts_mut(buffer.buf_ptr().cast::<T>(), count) })
}

fn check<T>(buffer: &PyBuffer<u8>) -> PyResult<()> {
    let is_aligned = buffer.buf_ptr().cast::<T>().is_aligned();
    if !buffer.is_c_contiguous() || !(is_aligned || buffer.len_bytes() == 0) {
        return Err(PyValueError::new_err("the array is not contiguous, or not aligned"));
    }
    Ok(())
}

/// Types of which any bits are a value.
pub trait Plain: Copy {}

macro_rules! plain {
    ($($type:ty),*) => { $(impl Plain for $type {})* };
}

plain!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

/// Calls a generic function with the type that a code such as `f8` names.
macro_rules! with_type {
    ($code:expr, $type:ident => $body:expr) => {
        with_type!(
            @each $code, $type => $body,
            "f8" f64, "f4" f32,
            "i8" i64, "i4" i32, "i2" i16, "i1" i8,
            "u8" u64, "u4" u32, "u2" u16, "u1" u8
        )
    };
    (@each $code:expr, $type:ident => $body:expr, $($name:literal $named:ty),*) => {
        match $code {
            $($name => {
                type $type = $named;
                $body
            })*
            other => Err(pyo3::exceptions::PyValueError::new_err(format!(
                "no numbers are of the type {other:?}"
            ))),
        }
    };
}
pub(crate) use with_type;
