//! Access: the certificate of a cluster, which both sides of a connection must show.
//!
//! A cluster makes one self-signed certificate. Whoever has it and its private key belongs to the
//! cluster; nothing else is trusted, no authority of the system and no name of a host.

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::Arc;
use time::{Duration, OffsetDateTime};

/// The name in every certificate: a cluster is told by its key, not by where it is.
const NAME: &str = "freestone";
/// Machines whose clocks differ by less than this understand each other.
const CLOCK_SKEW: Duration = Duration::hours(1);

/// A certificate and its private key, both in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub private_key: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity")
    }
}

/// Why a certificate can't be made or used.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// It can't be made.
    #[error("no certificate can be made: {0}")]
    Make(#[from] rcgen::Error),
    /// It is not PEM.
    #[error("the {what} in the access file can't be read: {source}")]
    Pem {
        /// Which part.
        what: &'static str,
        /// Why.
        source: rustls::pki_types::pem::Error,
    },
    /// Certificate and key do not serve.
    #[error("the certificate in the access file can't be used: {0}")]
    Use(#[from] rustls::Error),
}

impl From<rustls::server::VerifierBuilderError> for AccessError {
    fn from(error: rustls::server::VerifierBuilderError) -> Self {
        Self::Use(rustls::Error::General(error.to_string()))
    }
}

impl Identity {
    /// Makes a certificate that is good from an hour ago for `days`; 0 days make one that has
    /// expired.
    ///
    /// # Errors
    /// [`AccessError::Make`], for instance if the machine has no randomness.
    pub fn make(days: u32) -> Result<Self, AccessError> {
        let key = KeyPair::generate()?;
        let now = OffsetDateTime::now_utc();
        let mut params = CertificateParams::new(vec![NAME.to_owned()])?;
        let mut subject = DistinguishedName::new();
        subject.push(DnType::CommonName, NAME);
        params.distinguished_name = subject;
        params.not_before = now - CLOCK_SKEW;
        params.not_after = match days {
            0 => now - CLOCK_SKEW / 2,
            days => now.saturating_add(Duration::days(i64::from(days))),
        };
        let certificate = params.self_signed(&key)?;
        Ok(Self { certificate: certificate.pem(), private_key: key.serialize_pem() })
    }
}

/// What it takes to make and to accept connections of a cluster.
#[derive(Clone, Debug)]
pub struct Access {
    /// For connections that are made.
    pub(super) client: Arc<ClientConfig>,
    /// For connections that are accepted.
    pub(super) server: Arc<ServerConfig>,
}

impl Access {
    /// Reads a certificate and its key.
    ///
    /// # Errors
    /// [`AccessError`], if they are damaged or do not belong together.
    pub fn new(identity: &Identity) -> Result<Self, AccessError> {
        let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes())
            .map_err(|source| AccessError::Pem { what: "certificate", source })?;
        let key = || {
            PrivateKeyDer::from_pem_slice(identity.private_key.as_bytes())
                .map_err(|source| AccessError::Pem { what: "private key", source })
        };
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone())?;
        let roots = Arc::new(roots);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = &[&rustls::version::TLS13];
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)?
            .with_root_certificates(Arc::clone(&roots))
            .with_client_auth_cert(vec![certificate.clone()], key()?)?;
        // Every worker has the same name, so a session of one would be offered to another.
        client.resumption = rustls::client::Resumption::disabled();
        let verifier =
            WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider)).build()?;
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate], key()?)?;
        server.send_tls13_tickets = 0;
        Ok(Self { client: Arc::new(client), server: Arc::new(server) })
    }

    /// The name that each side expects of the other.
    pub(super) fn name() -> ServerName<'static> {
        ServerName::try_from(NAME).expect("it is a name")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_was_made_can_be_used() {
        let identity = Identity::make(1).unwrap();
        Access::new(&identity).unwrap();
        assert_eq!(format!("{identity:?}"), "Identity");
    }

    #[test]
    fn what_is_damaged_or_does_not_belong_together_is_refused() {
        let (one, other) = (Identity::make(1).unwrap(), Identity::make(1).unwrap());
        let mixed = Identity { private_key: other.private_key, ..one.clone() };
        assert!(matches!(Access::new(&mixed), Err(AccessError::Use(_))));
        let damaged = Identity { certificate: "no PEM".to_owned(), ..one };
        let error = Access::new(&damaged).unwrap_err();
        assert!(error.to_string().contains("certificate in the access file"), "{error}");
    }
}
