//! Certificates of clusters.

use freestone_core::net::{Access, AccessError, Identity};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Makes a certificate and its private key, in PEM, good for some days.
#[pyfunction]
pub fn make_identity(days: u32) -> PyResult<(String, String)> {
    let identity = Identity::make(days).map_err(|error| refused(&error))?;
    Ok((identity.certificate, identity.private_key))
}

/// Reads a certificate and its private key.
pub fn read((certificate, private_key): (String, String)) -> PyResult<Access> {
    Access::new(&Identity { certificate, private_key }).map_err(|error| refused(&error))
}

fn refused(error: &AccessError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
