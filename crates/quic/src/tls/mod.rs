//! TLS 1.3 for connections on the wire: rustls, with the cryptography of ring.
//!
//! The server has a self-signed certificate whose key is public, and clients accept any certificate: the peers of an emulation
//! are programs of its user. Nothing here may protect data.

use crate::setup::Crypto;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{ring, verify_tls13_signature, CryptoProvider};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme};
use std::sync::Arc;

/// Protocol of the application that both ends name (RFC 7301): plain data on streams, as interoperability tests of QUIC use.
pub const ALPN: &str = "hq-interop";
/// Certificate of the name `server`, Ed25519, and its key (PKCS #8).
const CERTIFICATE: &[u8] = include_bytes!("certificate.der");
const KEY: &[u8] = include_bytes!("key.der");

/// Bytes of the server's messages after its ServerHello, with one certificate; and of each further one.
const FLIGHT: usize = 610;
const CERTIFICATE_ENTRY: usize = CERTIFICATE.len() + 5;

/// Returns the cryptography of an end. The server's messages after its ServerHello have at least `flight` bytes: its certificate
/// is repeated, in the place of those of a usual chain.
///
/// # Errors
///
/// The cryptography refuses its own settings: never with the library that this version was tested with.
pub(crate) fn crypto(flight: usize) -> Result<Crypto, Error> {
    let provider = Arc::new(ring::default_provider());
    let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(Arc::clone(&provider))))
        .with_no_client_auth();
    client.alpn_protocols = vec![ALPN.into()];
    let more = flight.saturating_sub(FLIGHT).div_ceil(CERTIFICATE_ENTRY);
    let certificates = vec![CertificateDer::from(CERTIFICATE); 1 + more];
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(certificates, PrivatePkcs8KeyDer::from(KEY).into())?;
    server.alpn_protocols = vec![ALPN.into()];
    let refused = |error: quinn_proto::crypto::rustls::NoInitialCipherSuite| Error::General(error.to_string());
    Ok(Crypto {
        client: Arc::new(QuicClientConfig::try_from(client).map_err(refused)?),
        server: Arc::new(QuicServerConfig::try_from(server).map_err(refused)?),
    })
}

/// Accepts any certificate whose owner has its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC has no TLS 1.2".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
