//! The Graph500 benchmark on events: a Kronecker graph, breadth-first searches from 64 roots,
//! every tree checked against the list of edges, the statistics that the specification asks for.
//!
//! [`search`] is the kernel: what a rank does in a level is in a state machine without I/O, what
//! starts it are tasks and events. The rest prepares it ([`kronecker`], [`numbering`],
//! [`building`]), checks it ([`validation`]) and reports it ([`statistics`]).

pub mod benchmark;
pub mod bitmap;
pub mod building;
pub mod edges;
pub mod exchange;
pub mod graph;
pub mod kronecker;
pub mod launch;
pub mod numbering;
pub mod options;
pub mod output;
pub mod random;
pub mod search;
pub mod statistics;
pub mod validation;
pub mod words;
