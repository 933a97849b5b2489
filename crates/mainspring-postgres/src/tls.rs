//! TLS to the database, by rustls.
//!
//! ```text
//!  tokio-postgres ─ "does the server speak TLS?" ─▶ Connector ─▶ tokio-rustls: chain to an authority, name of the host ─▶ stream
//! ```
//!
//! Certificates are always checked, and so is the name of the host: encryption alone keeps no attacker out
//! who can change packets. The authorities are those of a file, or the public ones.
//!
//! Cost: two round trips more for each session, and the cipher for each byte.
//!
//! Does not send a certificate of its own, and does not bind SCRAM to the connection: the server's
//! certificate is checked before a password is sent.

use std::error::Error;
use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mainspring_host::regular::open_regular;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::{TlsConnector, client};

/// The most certificates that a file of authorities may have; the public ones are some hundred and fifty.
const MAX_AUTHORITIES: usize = 10_000;

/// Makes the stream of each session.
#[derive(Clone)]
pub(super) struct Connector {
    config: Arc<ClientConfig>,
}

impl Connector {
    /// One that trusts the authorities of a file in PEM, or the public ones.
    ///
    /// # Errors
    /// When the file cannot be read, or has no certificate: a sentence for people.
    pub(super) fn new(authorities: Option<&Path>) -> Result<Connector, String> {
        let mut roots = RootCertStore::empty();
        match authorities {
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Some(path) => {
                let failed =
                    |error: &dyn std::fmt::Display| format!("sslrootcert {}: {error}", path.display());
                // A user who could have chosen it answers for the database.
                let opened = open_regular(path).and_then(|opened| opened.judge(None).map(|()| opened));
                let file = opened.map_err(|error| failed(&error))?.file;
                for certificate in CertificateDer::pem_reader_iter(file).take(MAX_AUTHORITIES) {
                    let certificate = certificate.map_err(|error| failed(&error))?;
                    roots.add(certificate).map_err(|error| failed(&error))?;
                }
                if roots.is_empty() {
                    return Err(failed(&"it has no certificate"));
                }
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| error.to_string())?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        Ok(Connector { config: Arc::new(config) })
    }
}

/// What people are told of a session that was not made, if it was for the certificate or for TLS at all.
pub(super) fn words(error: &(dyn Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let inner = inner.map(|inner| inner as &(dyn Error + 'static));
        for error in [Some(error), inner].into_iter().flatten() {
            if let Some(error) = error.downcast_ref::<rustls::Error>() {
                return Some(of_certificate(error));
            }
        }
        next = error.source();
    }
    None
}

fn of_certificate(error: &rustls::Error) -> String {
    let rustls::Error::InvalidCertificate(what) = error else { return format!("TLS: {error}") };
    let why = match what {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "it is by no authority that is trusted: sslrootcert=FILE names the file of the right one"
                .to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("it is for another host: {what}")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has run out".to_owned(),
        other => other.to_string(),
    };
    format!("the certificate of the server is refused: {why}")
}

/// For one host.
pub(super) struct ToHost {
    config: Arc<ClientConfig>,
    host: Result<ServerName<'static>, String>,
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Stream;
    type TlsConnect = ToHost;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<ToHost> {
        let name = ServerName::try_from(host.to_owned());
        // A folder with a socket has no name, and no TLS is spoken there.
        let host = name.map_err(|_| format!("{host} is no name that a certificate can have"));
        Ok(ToHost { config: Arc::clone(&self.config), host })
    }
}

impl TlsConnect<Socket> for ToHost {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let host = self.host.map_err(io::Error::other)?;
            Ok(Stream { inner: TlsConnector::from(self.config).connect(host, socket).await? })
        })
    }
}

/// A session's bytes, encrypted.
pub(super) struct Stream {
    inner: client::TlsStream<Socket>,
}

impl tokio_postgres::tls::TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
