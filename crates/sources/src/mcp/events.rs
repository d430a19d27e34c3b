//! Server-sent events of a bounded size.

use std::io;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream::BoxStream};
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};

use super::LARGEST_MESSAGE;

/// Events one after the other.
pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// Reads events out of bytes; one that is too large ends the stream with an error.
pub(super) fn events<E>(pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static) -> Events
where
    E: std::error::Error + Send + Sync + 'static,
{
    let bounded = pieces.scan(Some(Size::default()), |size, piece| {
        let piece = size
            .as_mut()
            .map(|size| size.check(piece.map_err(io::Error::other)?));
        if matches!(piece, Some(Err(_))) {
            *size = None;
        }
        std::future::ready(piece)
    });
    SseStream::from_bytes_stream(bounded).boxed()
}

/// How large the event is that is being read.
#[derive(Debug, Default)]
struct Size {
    /// Its finished lines.
    lines: usize,
    /// The line that is not finished.
    line: usize,
    after_return: bool,
}

impl Size {
    fn check(&mut self, piece: Bytes) -> io::Result<Bytes> {
        for byte in &piece {
            self.count(*byte);
            if LARGEST_MESSAGE < self.lines + self.line {
                let problem = format!("an event is larger than {LARGEST_MESSAGE} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
        }
        Ok(piece)
    }

    fn count(&mut self, byte: u8) {
        let ends_again = byte == b'\n' && self.after_return;
        self.after_return = byte == b'\r';
        match byte {
            _ if ends_again => {}
            // An empty line ends the event.
            b'\n' | b'\r' if self.line == 0 => self.lines = 0,
            b'\n' | b'\r' => self.lines += std::mem::take(&mut self.line),
            _ => self.line += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(pieces: Vec<String>) -> Vec<Result<String, String>> {
        let pieces = pieces
            .into_iter()
            .map(|piece| Ok::<_, io::Error>(Bytes::from(piece)));
        let events = events(futures_util::stream::iter(pieces));
        let shown = events.map(|event| match event {
            Ok(event) => Ok(event.data.unwrap_or_default()),
            Err(error) => Err(error.to_string()),
        });
        shown.collect().await
    }

    #[tokio::test]
    async fn events_are_read_across_pieces() {
        let pieces = ["data: on", "e\n\ndata: two\r\n\r", "\n: idle\n\n"];
        let read = read(pieces.map(str::to_owned).to_vec()).await;
        let data: Vec<&str> = read.iter().flatten().map(String::as_str).collect();
        assert_eq!(data, ["one", "two"]);
    }

    #[tokio::test]
    async fn many_small_events_may_be_larger_than_one() {
        let piece = format!("data: {}\r\n\r\n", "x".repeat(LARGEST_MESSAGE / 2));
        assert!(read(vec![piece; 4]).await.iter().all(Result::is_ok));
    }

    #[tokio::test]
    async fn an_event_without_end_is_an_error() {
        let line = format!("data: {}\r\n", "x".repeat(LARGEST_MESSAGE / 2));
        let read = read(vec![line; 4]).await;
        assert_eq!(read.len(), 1);
        assert!(
            read[0]
                .as_ref()
                .is_err_and(|error| error.contains("larger"))
        );
    }
}
