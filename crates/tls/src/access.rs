//! Access: certificates of a cluster, one of which both sides of a connection must show.
//!
//! A cluster makes an authority, which signs the certificate of each member. Whoever has one and its
//! private key belongs to the cluster until it is revoked; nothing else is trusted, no authority of
//! the system and no name of a host.

use crate::revocation::{Certificate, RefusingClient, RefusingServer, Revoked};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
    SerialNumber,
};
use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::Arc;
use time::{Duration, OffsetDateTime};

/// The name in every certificate: a cluster is told by its key, not by where it is.
const NAME: &str = "freestone";
/// The authority's.
const AUTHORITY: &str = "freestone cluster";
/// Machines whose clocks differ by less than this understand each other.
const CLOCK_SKEW: Duration = Duration::hours(1);

/// Certificates and a private key, all in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// Of an authority, its own; of a member, its own and then that of its authority.
    pub certificate: String,
    /// The private key of the first.
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

/// What a certificate says that is good from an hour ago for `days`; for 0 days it has expired.
fn params(names: Vec<String>, name: &str, days: u32) -> Result<CertificateParams, rcgen::Error> {
    let now = OffsetDateTime::now_utc();
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = now - CLOCK_SKEW;
    params.not_after = match days {
        0 => now - CLOCK_SKEW / 2,
        days => now.saturating_add(Duration::days(i64::from(days))),
    };
    Ok(params)
}

fn authority_params(days: u32) -> Result<CertificateParams, rcgen::Error> {
    let mut params = params(Vec::new(), AUTHORITY, days)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    Ok(params)
}

impl Identity {
    /// Makes an authority, which is good for `days`.
    ///
    /// # Errors
    /// [`AccessError::Make`], for instance if the machine has no randomness.
    pub fn authority(days: u32) -> Result<Self, AccessError> {
        let key = KeyPair::generate()?;
        let certificate = authority_params(days)?.self_signed(&key)?;
        Ok(Self { certificate: certificate.pem(), private_key: key.serialize_pem() })
    }

    /// Makes the identity of a member of this authority, which is good for `days`, and no longer
    /// than the authority.
    ///
    /// # Errors
    /// [`AccessError::Make`], also if this is no authority.
    pub fn member(&self, days: u32) -> Result<Self, AccessError> {
        let issuer = Issuer::new(authority_params(days)?, KeyPair::from_pem(&self.private_key)?);
        let key = KeyPair::generate()?;
        let mut params = params(vec![NAME.to_owned()], NAME, days)?;
        // Two members never have the same certificate: their public keys differ.
        params.serial_number = Some(SerialNumber::from_slice(&key.public_key_raw()[1..17]));
        let certificate = params.signed_by(&key, &issuer)?;
        let certificate = certificate.pem() + &self.certificate;
        Ok(Self { certificate, private_key: key.serialize_pem() })
    }

    /// Makes the identity of the only member of an authority that nobody keeps.
    ///
    /// # Errors
    /// [`AccessError::Make`].
    pub fn make(days: u32) -> Result<Self, AccessError> {
        Self::authority(days)?.member(days)
    }

    /// The certificates: the first is its own, the last its authority's.
    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, AccessError> {
        let pem = |source| AccessError::Pem { what: "certificate", source };
        let found = CertificateDer::pem_slice_iter(self.certificate.as_bytes());
        let found = found.collect::<Result<Vec<_>, _>>().map_err(pem)?;
        if found.is_empty() {
            return Err(pem(rustls::pki_types::pem::Error::NoItemsFound));
        }
        Ok(found)
    }

    /// The certificate by which its owner is known to others.
    ///
    /// # Errors
    /// [`AccessError::Pem`].
    pub fn own_certificate(&self) -> Result<Certificate, AccessError> {
        Ok(self.certificates()?[0].to_vec())
    }
}

/// What it takes to make and to accept connections of a cluster.
#[derive(Clone, Debug)]
pub struct Access {
    /// For connections that are made.
    pub(super) client: Arc<ClientConfig>,
    /// For connections that are accepted.
    pub(super) server: Arc<ServerConfig>,
    /// Members that are trusted no longer.
    pub revoked: Revoked,
}

impl Access {
    /// Reads certificates and a key.
    ///
    /// # Errors
    /// [`AccessError`], if they are damaged or do not belong together.
    pub fn new(identity: &Identity) -> Result<Self, AccessError> {
        let certificates = identity.certificates()?;
        let authority = certificates[certificates.len() - 1].clone();
        let own = vec![certificates[0].clone()];
        let key = || {
            PrivateKeyDer::from_pem_slice(identity.private_key.as_bytes())
                .map_err(|source| AccessError::Pem { what: "private key", source })
        };
        let mut roots = RootCertStore::empty();
        roots.add(authority)?;
        let roots = Arc::new(roots);
        let revoked = Revoked::default();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = &[&rustls::version::TLS13];
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
        let verifier = RefusingServer { inner: verifier.build()?, revoked: revoked.clone() };
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_auth_cert(own.clone(), key()?)?;
        // Every worker has the same name, so a session of one would be offered to another.
        client.resumption = rustls::client::Resumption::disabled();
        let verifier =
            WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider)).build()?;
        let verifier = RefusingClient { inner: verifier, revoked: revoked.clone() };
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)?
            .with_client_cert_verifier(Arc::new(verifier))
            .with_single_cert(own, key()?)?;
        server.send_tls13_tickets = 0;
        Ok(Self { client: Arc::new(client), server: Arc::new(server), revoked })
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
    fn members_have_certificates_of_their_own() {
        let authority = Identity::authority(1).unwrap();
        let [one, other] = [authority.member(1).unwrap(), authority.member(1).unwrap()];
        assert_ne!(one.own_certificate().unwrap(), other.own_certificate().unwrap());
        assert_eq!(one.certificates().unwrap()[1], other.certificates().unwrap()[1]);
    }

    #[test]
    fn what_is_damaged_or_does_not_belong_together_is_refused() {
        let (one, other) = (Identity::make(1).unwrap(), Identity::make(1).unwrap());
        let mixed = Identity { private_key: other.private_key, ..one.clone() };
        assert!(matches!(Access::new(&mixed), Err(AccessError::Use(_))));
        for text in ["no PEM", ""] {
            let damaged = Identity { certificate: text.to_owned(), ..one.clone() };
            let error = Access::new(&damaged).unwrap_err();
            assert!(error.to_string().contains("certificate in the access file"), "{error}");
        }
    }
}
