//! Certificates of clusters.

use freestone_core::net::{Access, AccessError, Identity};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Certificates and the private key of the first, in PEM.
type Pem = (String, String);

/// Makes the identity of the only member of an authority that nobody keeps, good for some days.
#[pyfunction]
pub fn make_identity(days: u32) -> PyResult<Pem> {
    made(Identity::make(days))
}

/// Makes an authority, good for some days.
#[pyfunction]
pub fn make_authority(days: u32) -> PyResult<Pem> {
    made(Identity::authority(days))
}

/// Makes the identity of a member of an authority, good for some days.
#[pyfunction]
pub fn make_member(authority: Pem, days: u32) -> PyResult<Pem> {
    let (certificate, private_key) = authority;
    made(Identity { certificate, private_key }.member(days))
}

/// Reads certificates and a private key.
pub fn read((certificate, private_key): Pem) -> PyResult<Access> {
    Access::new(&Identity { certificate, private_key }).map_err(|error| refused(&error))
}

/// The certificate by which others know a member.
pub fn own_certificate(certificate: String) -> PyResult<Vec<u8>> {
    let identity = Identity { certificate, private_key: String::new() };
    identity.own_certificate().map_err(|error| refused(&error))
}

fn made(identity: Result<Identity, AccessError>) -> PyResult<Pem> {
    let identity = identity.map_err(|error| refused(&error))?;
    Ok((identity.certificate, identity.private_key))
}

fn refused(error: &AccessError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
