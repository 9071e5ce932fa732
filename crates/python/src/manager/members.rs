//! Members of a cluster that come from other machines.

use super::{Manager, Thread, lock};
use crate::access;
use freestone_core::net::manager::ManagerThread;
use pyo3::prelude::*;

/// Trusts the member with this certificate, in PEM, no longer.
#[pyfunction]
pub fn revoke_certificate(manager: &Manager, certificate: String) -> PyResult<()> {
    let certificate = access::own_certificate(certificate)?;
    let thread = lock(&manager.thread);
    if let Some(Thread::Local(ManagerThread { revoked: Some(revoked), .. })) = thread.as_ref() {
        revoked.add([certificate]);
    }
    Ok(())
}
