//! The manager: the graph, placement and recovery, as a state machine without I/O.
#![allow(missing_docs)]
pub mod api;
pub use api::*;
pub struct Manager;
impl Manager {
    pub fn new(_c: Config) -> Self {
        Self
    }
    pub fn handle(&mut self, _e: Event, _n: Now, _o: &mut Vec<Action>) {}
}
