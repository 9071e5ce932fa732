//! Kernels of CSR matrices.

pub mod multiply;
mod order;
pub mod panel;
pub mod product;
pub mod reduce;
pub mod rows;
pub mod take;
pub mod transpose;
