//! The bytes of a document, from a file or a URL, under a limit.

use std::{
    io::{ErrorKind, Read as _},
    path::Path,
    time::Duration,
};

use bytes::Bytes;

use super::{LARGEST_DOCUMENT, LoadError, location::Location};
use crate::{Context, outbound::OutboundError};

/// How long fetching one document may take.
const FETCH_TIMEOUT: Duration = Duration::from_mins(1);

/// A document before it is parsed.
#[derive(Debug)]
pub(crate) struct Content {
    /// Where it was found, after redirects.
    pub(crate) location: Location,
    pub(crate) bytes: Bytes,
}

/// Reads a document whole.
pub(crate) async fn read(cx: &Context, location: &Location) -> Result<Content, LoadError> {
    let shown = location.shown(&cx.folder);
    match location {
        Location::Url(url) => match cx
            .outbound
            .fetch(url, LARGEST_DOCUMENT, FETCH_TIMEOUT)
            .await
        {
            Ok(fetched) => Ok(Content {
                location: Location::Url(fetched.url),
                bytes: fetched.body,
            }),
            Err(OutboundError::TooLarge { .. }) => Err(LoadError::TooLarge { location: shown }),
            Err(cause) => Err(LoadError::Fetch {
                location: shown,
                cause,
            }),
        },
        Location::File(path) => {
            let (path, folder, asked) = (path.clone(), cx.folder.clone(), shown.clone());
            let work = tokio::task::spawn_blocking(move || file(&path, &folder, &asked));
            let bytes = work
                .await
                .unwrap_or(Err(LoadError::Fault { location: shown }))?;
            Ok(Content {
                location: location.clone(),
                bytes: bytes.into(),
            })
        }
    }
}

fn file(path: &Path, folder: &Path, shown: &str) -> Result<Vec<u8>, LoadError> {
    let location = || shown.to_owned();
    let failed = |cause: std::io::Error| match cause.kind() {
        ErrorKind::NotFound => LoadError::Missing {
            location: location(),
            folder: folder.to_owned(),
        },
        _ => LoadError::Read {
            location: location(),
            cause,
        },
    };
    // Opening a pipe would wait for a writer, so the kind of file is asked for first.
    let metadata = path.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(LoadError::NotAFile {
            location: location(),
        });
    }
    let limit = LARGEST_DOCUMENT as u64;
    if limit < metadata.len() {
        return Err(LoadError::TooLarge {
            location: location(),
        });
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if LARGEST_DOCUMENT < bytes.len() {
        return Err(LoadError::TooLarge {
            location: location(),
        });
    }
    Ok(bytes)
}
