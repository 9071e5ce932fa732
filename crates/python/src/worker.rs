//! The process of a worker.

use crate::access;
use crate::durations::seconds;
use freestone_base::Resources;
use freestone_core::net::fork_server::ForkServerOptions;
use freestone_core::net::worker::{self, WorkerOptions};
use freestone_core::wire::{Address, AddressError};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::Arc;

/// Runs a worker until its manager ends.
#[pyfunction]
#[pyo3(signature = (*, manager, key, identity, listen, reconnect_s, journaled, folder, memory_dir, disk_dir, cache, executors, ram, memory,
    disk, gpus, resources, spin_us, stopped_s, transfers_in, transfers_out, scrub_nbytes_s, links,
    executor_command, fork_server, interruptible))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // as PyO3 extracts them
pub fn run_worker(
    py: Python<'_>,
    manager: String,
    key: String,
    identity: Option<(String, String)>,
    listen: Option<String>,
    reconnect_s: f64,
    journaled: bool,
    folder: PathBuf,
    memory_dir: PathBuf,
    disk_dir: PathBuf,
    cache: Option<PathBuf>,
    executors: u32,
    ram: u64,
    memory: u64,
    disk: u64,
    gpus: u32,
    resources: BTreeMap<String, u32>,
    spin_us: u64,
    stopped_s: f64,
    transfers_in: u32,
    transfers_out: u32,
    scrub_nbytes_s: u64,
    links: bool,
    executor_command: Vec<String>,
    fork_server: Option<(RawFd, u32, Vec<String>)>,
    interruptible: bool,
) -> PyResult<()> {
    let manager: Address =
        manager.parse().map_err(|error: AddressError| PyValueError::new_err(error.to_string()))?;
    let options = WorkerOptions {
        manager,
        key,
        access: identity.map(access::read).transpose()?,
        listen,
        reconnect: seconds(reconnect_s)?,
        is_journaled: journaled,
        socket: folder.join(format!("worker-{}.sock", std::process::id())),
        resources: Resources {
            cores: executors,
            gpus,
            memory: ram,
            disk,
            custom: resources.into_iter().collect(),
        },
        slots: executors,
        memory_dir,
        disk_dir,
        forever_dir: cache,
        memory_quota: memory,
        disk_quota: disk,
        executor_command,
        fork_server: fork_server.map(|(socket, pid, command)| {
            // SAFETY: Python gave this descriptor away, and nobody else in this process uses it.
            let socket = Arc::new(unsafe { OwnedFd::from_raw_fd(socket) });
            ForkServerOptions { socket, pid, command }
        }),
        environment: Vec::new(),
        spin_us,
        stopped: seconds(stopped_s)?,
        transfers_in,
        transfers_out,
        scrub_nbytes_s,
        links,
        is_interruptible: interruptible,
    };
    py.detach(|| worker::run_worker(&options))
        .map_err(|error| PyOSError::new_err(error.to_string()))
}

/// Starts what will fork a worker's executors; its connection, its number and the command, for `run_worker`.
#[pyfunction]
pub fn start_fork_server(command: Vec<String>) -> PyResult<(RawFd, u32, Vec<String>)> {
    let ForkServerOptions { socket, pid, command } = ForkServerOptions::start(command)?;
    Ok((socket.try_clone()?.into_raw_fd(), pid, command))
}
