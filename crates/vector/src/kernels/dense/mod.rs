//! Kernels of dense cells.

pub mod binary;
pub mod cast;
pub mod divide;
pub mod each;
pub mod power;
pub mod product;
pub mod real;
pub mod reduce;
pub mod rows;
pub mod select;
pub mod side;
pub mod stream;
pub mod unary;
