//! Bytes of a block that Python objects look at where they lie.

use crate::view::buffer_class;
use freestone_core::store::Mapping;
use freestone_executor::block::{Mapped, Opened};
use pyo3::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Some bytes of a mapped block, as a read-only buffer.
#[pyclass(frozen, module = "freestone._native.blocks")]
pub struct MappedBuffer {
    // Dropped in this order: the mapping goes before the file may be used again.
    mapping: Arc<Mapping>,
    range: Range<usize>,
    _mapped: Arc<Mapped>,
}

buffer_class!(
    MappedBuffer,
    read_only: "blocks are immutable: copy to change",
    |this| this.mapping[this.range.clone()]
);

/// A buffer over a part of an opened block.
pub fn view(py: Python<'_>, opened: &Opened, range: Range<usize>) -> PyResult<Py<MappedBuffer>> {
    let (mapping, mapped) = (Arc::clone(opened.mapping()), Arc::clone(opened.mapped()));
    Py::new(py, MappedBuffer { mapping, range, _mapped: mapped })
}
