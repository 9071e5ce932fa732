//! Members of a cluster that are trusted no longer, though their certificates are good.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// A certificate, in DER.
pub type Certificate = Vec<u8>;

/// The certificates that are trusted no longer; its copies know the same ones.
#[derive(Clone, Debug, Default)]
pub struct Revoked(Arc<RwLock<BTreeSet<Certificate>>>);

impl Revoked {
    /// Trusts these no longer.
    pub fn add(&self, certificates: impl IntoIterator<Item = Certificate>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).extend(certificates);
    }

    /// All of them.
    pub fn all(&self) -> Vec<Certificate> {
        self.read().iter().cloned().collect()
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.read().len()
    }

    /// Whether this one is among them.
    pub fn contains(&self, certificate: &[u8]) -> bool {
        self.read().contains(certificate)
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeSet<Certificate>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, certificate: &[u8]) -> Result<(), Error> {
        if self.contains(certificate) {
            return Err(Error::InvalidCertificate(CertificateError::Revoked));
        }
        Ok(())
    }
}

/// What both sides leave to the verifier within.
macro_rules! signatures_as_inner {
    () => {
        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.inner.verify_tls12_signature(message, certificate, signed)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.inner.verify_tls13_signature(message, certificate, signed)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.inner.supported_verify_schemes()
        }
    };
}

/// Refuses revoked members that connect.
#[derive(Debug)]
pub struct RefusingClient {
    /// Checks everything else.
    pub inner: Arc<dyn ClientCertVerifier>,
    /// Whom to refuse.
    pub revoked: Revoked,
}

impl ClientCertVerifier for RefusingClient {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.revoked.check(own)?;
        self.inner.verify_client_cert(own, others, now)
    }

    signatures_as_inner!();
}

/// Refuses revoked members that are connected to.
#[derive(Debug)]
pub struct RefusingServer {
    /// Checks everything else.
    pub inner: Arc<WebPkiServerVerifier>,
    /// Whom to refuse.
    pub revoked: Revoked,
}

impl ServerCertVerifier for RefusingServer {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.revoked.check(own)?;
        self.inner.verify_server_cert(own, others, name, ocsp, now)
    }

    signatures_as_inner!();
}
