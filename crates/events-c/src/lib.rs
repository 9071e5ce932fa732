//! `freestone_events.h`: the calls that C, C++ and Fortran programs make.
//!
//! What each does is said in the header; here are only conversions, and how ranks are started.

mod arrays;
mod callers;
mod calls;
mod config;
mod error;
mod launch;
mod locks;
mod machine;
mod places;
mod recording;
mod ring;
mod runtime;
mod tasks;
mod views;
mod words;
