//! `freestone_malleable.h`: the calls that C, C++ and Fortran programs make.
//!
//! What each does is said in the header; here are only conversions.

mod calls;
mod config;
mod error;
mod functions;
mod rows;
