use super::transfer::{Between, Transfer};
use crate::blueprint::Blueprint;
use crate::error::{MalleableError, Result};
use crate::mpi::{Command, Handle, Mpi};
use std::collections::BTreeMap;
use std::time::Duration;

/// An MPI whose messages to and from one process are never through.
struct Stopped {
    process: usize,
}

impl Mpi for Stopped {
    fn rank(&self, _: Handle) -> Result<usize> {
        unimplemented!()
    }
    fn size(&self, _: Handle) -> Result<usize> {
        unimplemented!()
    }
    fn parent(&self) -> Result<Option<Handle>> {
        unimplemented!()
    }
    fn is_over(&self) -> bool {
        unimplemented!()
    }
    fn world(&self) -> Handle {
        unimplemented!()
    }
    fn has_guards(&self) -> bool {
        unimplemented!()
    }
    fn duplicate(&self, _: Handle) -> Result<Handle> {
        unimplemented!()
    }
    fn split(&self, _: Handle, _: Option<usize>) -> Result<Option<Handle>> {
        unimplemented!()
    }
    fn free(&self, _: Handle) -> Result<()> {
        unimplemented!()
    }
    fn spawn(&self, _: Handle, _: &Command, _: usize) -> Result<Handle> {
        unimplemented!()
    }
    fn merge(&self, _: Handle, _: bool) -> Result<Handle> {
        unimplemented!()
    }
    unsafe fn send(&self, _: Handle, to: usize, _: i32, _: *const u8, _: usize) -> Result<Handle> {
        Ok(to)
    }
    unsafe fn receive(
        &self,
        _: Handle,
        from: usize,
        _: i32,
        _: *mut u8,
        _: usize,
    ) -> Result<Handle> {
        Ok(from)
    }
    fn has_message(&self, _: Handle, _: Option<usize>, _: i32) -> Result<bool> {
        unimplemented!()
    }
    unsafe fn largest(&self, _: Handle, _: *const i64, _: *mut i64, _: usize) -> Result<Handle> {
        unimplemented!()
    }
    unsafe fn broadcast(&self, _: Handle, _: usize, _: *mut u8, _: usize) -> Result<Handle> {
        unimplemented!()
    }
    fn barrier(&self, _: Handle) -> Result<Handle> {
        unimplemented!()
    }
    fn test(&self, request: &mut Handle) -> Result<bool> {
        Ok(*request != self.process)
    }
}

/// What is said of messages with processes 0, 1 and 2 of two sources, if one of them is stopped.
fn error(process: usize, ends: &[(usize, &str, bool)]) -> String {
    let blueprint = Blueprint {
        step: 7,
        sources: 2,
        joining: 1,
        process_of: vec![0, 1, 2],
        groups: vec![0, 0],
        before: BTreeMap::new(),
        after: BTreeMap::new(),
        data: vec![],
        settings: vec![],
    };
    let mpi = Stopped { process };
    let timeout = Duration::from_millis(1);
    let between =
        Between { mpi: &mpi, bridge: 0, process: 0, blueprint: &blueprint, step: 7, timeout };
    let (mut transfer, mut bytes) = (Transfer::default(), [0; 8]);
    for (other, name, sends) in ends {
        let end = (*other, bytes.as_mut_ptr(), bytes.len());
        // SAFETY: nothing is sent.
        unsafe { transfer.post(between, (100, name), end, *sends).unwrap() };
    }
    match transfer.finish(between) {
        Err(error @ MalleableError::Timeout { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_is_waited_for_is_named_with_its_data_and_the_step() {
    assert_eq!(
        error(1, &[(1, "x", true), (0, "x", true), (1, "y", false)]),
        "moving rows was not done after 0.001 s at step 7: rank 1 has not sent rows of \"y\", and \
         another message is missing (has it ended, or is it stopped?)"
    );
    assert_eq!(
        error(2, &[(1, "x", false), (2, "x", true)]),
        "moving rows was not done after 0.001 s at step 7: joining rank 0 has not taken rows of \"x\" (has it \
         ended, or is it stopped?)"
    );
}
