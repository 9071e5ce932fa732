//! What clients ask for: blocks that they put and map, reductions, and answers about a run.

mod adoption;
mod explain;
mod pins;
mod reduction;
mod statistics;

pub(in crate::manager) use reduction::Row;
