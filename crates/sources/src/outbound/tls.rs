//! TLS with the roots of trust on board, so that the program needs no files around it.

use std::{path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};

use super::OutboundError;

/// A TLS set-up that trusts the Mozilla roots compiled into the program and, beside them, the
/// certificates of a PEM file: companies sign their inner servers themselves.
pub(super) fn trusting(file: Option<&Path>) -> Result<ClientConfig, OutboundError> {
    let mut roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
    if let Some(file) = file {
        let more = certificates(file).map_err(|error| OutboundError::Setup {
            reason: format!(
                "`{}` (`SSL_CERT_FILE`) cannot be read: {error}",
                file.display()
            ),
        })?;
        roots.add_parsable_certificates(more);
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| OutboundError::Setup {
            reason: error.to_string(),
        })?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    // The HTTP client leaves a ready-made set-up as it is, so HTTP/2 has to be offered here.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn certificates(
    file: &Path,
) -> Result<Vec<CertificateDer<'static>>, rustls::pki_types::pem::Error> {
    CertificateDer::pem_file_iter(file)?.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roots_on_board_are_enough() {
        let config = trusting(None).unwrap();
        assert_eq!(
            config.alpn_protocols,
            [b"h2".to_vec(), b"http/1.1".to_vec()]
        );
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = trusting(Some(Path::new("/no/such.pem")))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("`/no/such.pem` (`SSL_CERT_FILE`)"),
            "{error}"
        );
    }
}
