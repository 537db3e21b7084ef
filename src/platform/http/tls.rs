//! Trust roots and the TLS side of the client.
//!
//! The machine's own trust store is always used; files and directories that the user names are added to
//! it. pip and curl *replace* the store by such a file, which breaks every second host as soon as a
//! company's file holds the company's own authority alone; adding serves both kinds of file.

mod der;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::error::Error;

/// Where Linux distributions keep their bundle of authorities: Debian, Fedora, `SUSE`, RHEL, Alpine.
const SYSTEM_BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Authorities that the user names in addition to the machine's own.
#[derive(Debug, Clone, Default)]
pub struct Authorities {
    /// PEM files, each with the setting that named it.
    pub files: Vec<(PathBuf, String)>,
    /// Directories of PEM files; those that do not exist are passed over, as OpenSSL does.
    pub directories: Vec<PathBuf>,
}

/// What the last refused certificate said about its issuer.
#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<Option<String>>);

impl Seen {
    pub(super) fn issuer(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, issuer: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = issuer;
    }
}

/// Builds the TLS configuration and the place where a refused issuer is noted.
pub(super) fn client_config(roots: RootCertStore) -> Result<(ClientConfig, Arc<Seen>), Error> {
    let provider = Arc::new(ring::default_provider());
    let seen = Arc::new(Seen::default());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Client { reason: error.to_string() })?;
    // The verifier refuses to be made without a root; the plain client needs a configuration all the same.
    if roots.is_empty() {
        return Ok((builder.with_root_certificates(roots).with_no_client_auth(), seen));
    }
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| Error::Client { reason: error.to_string() })?;
    let verifier = Verifier { inner, seen: seen.clone() };
    let config = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok((config, seen))
}

/// Nobody is trusted.
pub(super) fn no_roots() -> RootCertStore {
    RootCertStore::empty()
}

/// The TLS failure inside a request's error, in words, if that is what failed.
pub(super) fn reason(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(current) = next {
        if let Some(found) = current.downcast_ref::<rustls::Error>() {
            return Some(found.to_string());
        }
        // An `io::Error` hides what it wraps from `source()`, and one may wrap another.
        next = match current.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => current.source(),
        };
    }
    None
}

/// Reads the machine's authorities and the ones that the user names.
pub(super) fn roots(extra: &Authorities) -> Result<RootCertStore, Error> {
    let mut store = RootCertStore::empty();
    let mut read = HashSet::new();
    if let Some(path) = SYSTEM_BUNDLES.iter().map(Path::new).find(|path| path.is_file()) {
        read.insert(canonical(path));
        // A broken certificate in the machine's bundle is the distribution's affair; the others serve.
        let certificates = CertificateDer::pem_file_iter(path).into_iter().flatten();
        store.add_parsable_certificates(certificates.filter_map(Result::ok));
    }
    for (path, via) in &extra.files {
        if !read.insert(canonical(path)) {
            continue;
        }
        let bad = |reason: String| Error::Authority {
            path: path.display().to_string(),
            via: via.clone(),
            reason,
        };
        let found: Result<Vec<_>, _> =
            CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
        let found = found.map_err(|error| bad(pem_reason(&error)))?;
        let (added, _) = store.add_parsable_certificates(found);
        if added == 0 {
            return Err(bad("it holds no certificate".to_owned()));
        }
    }
    for directory in &extra.directories {
        let Ok(entries) = fs_err::read_dir(directory) else { continue };
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            // OpenSSL's directories hold a link with a hash for a name beside each file.
            if path.is_file() && read.insert(canonical(&path)) {
                let certificates = CertificateDer::pem_file_iter(&path).into_iter().flatten();
                store.add_parsable_certificates(certificates.filter_map(Result::ok));
            }
        }
    }
    if store.is_empty() {
        return Err(Error::NoAuthorities { looked: SYSTEM_BUNDLES.join(", ") });
    }
    Ok(store)
}

fn pem_reason(error: &rustls::pki_types::pem::Error) -> String {
    match error {
        rustls::pki_types::pem::Error::Io(error) => error.to_string(),
        rustls::pki_types::pem::Error::NoItemsFound => "it holds no certificate".to_owned(),
        other => format!("{other:?}"),
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The standard verifier, which besides notes who issued a certificate it refused: behind a company's
/// proxy that name is the one fact which tells the user whose certificate is missing.
#[derive(Debug)]
struct Verifier {
    inner: Arc<WebPkiServerVerifier>,
    seen: Arc<Seen>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.inner
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            .inspect_err(|_| {
                let top = intermediates.last().unwrap_or(end_entity);
                self.seen.note(der::issuer_name(top));
            })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
