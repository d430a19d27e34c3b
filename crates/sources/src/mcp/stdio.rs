//! `Stdio`: messages as lines over the pipes of a child process.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::{Buf as _, BytesMut};
use futures_util::{FutureExt as _, StreamExt as _};
use rmcp::{
    RoleClient,
    model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage},
    transport::Transport,
};
use serde_json::Value;
use tokio::{
    io::AsyncWriteExt as _,
    process::{ChildStdin, ChildStdout},
    sync::{mpsc, oneshot},
    time::timeout,
};
use tokio_util::{
    codec::{Decoder, FramedRead},
    sync::CancellationToken,
};

use super::{LARGEST_MESSAGE, child::Pipes, delivery::Delivery, text};

/// How long a server may leave its input unread before it counts as stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pipes of a server, as messages.
pub(super) struct Stdio {
    input: FramedRead<ChildStdout, Lines>,
    /// Gone once the server's input is closed.
    output: Option<Output>,
    /// Set when the server has stopped reading.
    is_stuck: CancellationToken,
    noise: Noise,
}

/// The server's input. What it takes at once is written at once; the rest waits its turn with
/// a task of its own.
struct Output {
    pipe: Pipe,
    queue: mpsc::UnboundedSender<Outgoing>,
    /// How many lines are in the queue or with the task.
    unwritten: Arc<AtomicUsize>,
}

/// Only one writes at a time: the task while lines wait, and else whoever has a line.
type Pipe = Arc<tokio::sync::Mutex<ChildStdin>>;

/// One line for the server, or what is left of it, and who waits for it to be written.
struct Outgoing {
    line: Vec<u8>,
    delivery: Option<Delivery>,
    done: oneshot::Sender<io::Result<()>>,
}

/// What a server said that was no message. Clones see the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Noise(Arc<Mutex<Heard>>);

#[derive(Debug, Default)]
struct Heard {
    /// The first line that was no message.
    line: Option<String>,
    /// Why we stopped listening.
    fault: Option<String>,
}

impl Stdio {
    pub(super) fn new(pipes: Pipes) -> Self {
        let is_stuck = CancellationToken::new();
        Self {
            input: FramedRead::new(pipes.output, Lines::default()),
            output: Some(Output::new(pipes.input, is_stuck.clone())),
            is_stuck,
            noise: Noise::default(),
        }
    }

    /// What the server says that is no message.
    pub(super) fn noise(&self) -> Noise {
        self.noise.clone()
    }

    /// The message on a line; `None` where there is none.
    fn read(&self, line: &[u8]) -> Option<ServerJsonRpcMessage> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        serde_json::from_slice(line).ok().or_else(|| {
            let unreadable = unreadable_answer(line);
            if unreadable.is_none() {
                self.noise.hear(&String::from_utf8_lossy(line));
            }
            unreadable
        })
    }
}

impl Transport<RoleClient> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // Begun here and not in the future, so that a cancellation cannot overtake its call.
        let begun = self.begin(&message);
        async move {
            let closed = |_| io::Error::new(io::ErrorKind::BrokenPipe, "the server is gone");
            match begun? {
                Some(written) => written.await.map_err(closed)?,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let line = tokio::select! {
                line = self.input.next() => line?,
                () = self.is_stuck.cancelled() => {
                    self.noise.blame("the server does not read what it is sent");
                    return None;
                }
            };
            match line {
                Err(error) => {
                    self.noise
                        .blame(&format!("the output of the server cannot be read: {error}"));
                    return None;
                }
                Ok(line) => {
                    if let Some(message) = self.read(&line) {
                        return Some(message);
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // The writer ends with its queue, and the server's input closes with the writer.
        self.output = None;
        Ok(())
    }
}

impl Stdio {
    /// Writes a message; where it has to wait, with somebody who says when it is written.
    fn begin(
        &self,
        message: &ClientJsonRpcMessage,
    ) -> io::Result<Option<oneshot::Receiver<io::Result<()>>>> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let output = self.output.as_ref().ok_or_else(closed)?;
        output.write(line, Delivery::of(message))
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the connection is closed")
}

impl Output {
    fn new(pipe: ChildStdin, is_stuck: CancellationToken) -> Self {
        let pipe = Arc::new(tokio::sync::Mutex::new(pipe));
        let unwritten = Arc::new(AtomicUsize::new(0));
        let (queue, lines) = mpsc::unbounded_channel();
        tokio::spawn(write(pipe.clone(), lines, unwritten.clone(), is_stuck));
        Self {
            pipe,
            queue,
            unwritten,
        }
    }

    fn write(
        &self,
        mut line: Vec<u8>,
        delivery: Option<Delivery>,
    ) -> io::Result<Option<oneshot::Receiver<io::Result<()>>>> {
        if self.unwritten.load(Ordering::SeqCst) == 0
            && let Ok(mut pipe) = self.pipe.try_lock()
        {
            if let Some(written) = pipe.write(&line).now_or_never() {
                line.drain(..written?);
                delivery.iter().for_each(Delivery::has_begun_now);
            }
            if line.is_empty() {
                return Ok(None);
            }
        }
        let (done, written) = oneshot::channel();
        self.unwritten.fetch_add(1, Ordering::SeqCst);
        let outgoing = Outgoing {
            line,
            delivery,
            done,
        };
        self.queue.send(outgoing).map_err(|_| closed())?;
        Ok(Some(written))
    }
}

/// Writes lines in order, those that are ready together.
async fn write(
    pipe: Pipe,
    mut queue: mpsc::UnboundedReceiver<Outgoing>,
    unwritten: Arc<AtomicUsize>,
    is_stuck: CancellationToken,
) {
    const TOGETHER: usize = 64;
    let mut ready = Vec::with_capacity(TOGETHER);
    while queue.recv_many(&mut ready, TOGETHER).await != 0 {
        let lines: Vec<u8> = match ready.as_mut_slice() {
            [only] => std::mem::take(&mut only.line),
            several => several
                .iter()
                .flat_map(|outgoing| &outgoing.line)
                .copied()
                .collect(),
        };
        let deliveries = ready
            .iter()
            .filter_map(|outgoing| outgoing.delivery.as_ref());
        deliveries.for_each(Delivery::has_begun_now);
        let writing = async { pipe.lock().await.write_all(&lines).await };
        let writing = timeout(PATIENCE, writing).await;
        let written = writing.unwrap_or_else(|_| {
            is_stuck.cancel();
            Err(io::ErrorKind::TimedOut.into())
        });
        let failure = written.err().map(|error| error.kind());
        unwritten.fetch_sub(ready.len(), Ordering::SeqCst);
        for outgoing in ready.drain(..) {
            // Nobody waits for a call that was cancelled.
            let _heard = outgoing
                .done
                .send(failure.map_or(Ok(()), |kind| Err(kind.into())));
        }
        if failure.is_some() {
            return;
        }
    }
}

/// An answer that makes no sense, as an error for the one who waits for it.
fn unreadable_answer(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    let value: Value = serde_json::from_slice(line).ok()?;
    if value.get("result").is_none() && value.get("error").is_none() {
        return None;
    }
    let id: RequestId = serde_json::from_value(value.get("id")?.clone()).ok()?;
    let shown = text::line(&value.to_string(), 200);
    let problem = format!("the answer is not valid JSON-RPC: {shown}");
    Some(ServerJsonRpcMessage::error(
        ErrorData::internal_error(problem, None),
        Some(id),
    ))
}

impl Noise {
    fn hear(&self, line: &str) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.line.get_or_insert_with(|| text::line(line, 200));
    }

    fn blame(&self, fault: &str) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.fault = Some(fault.to_owned());
    }

    /// Why we stopped listening, if it was us who stopped.
    pub(super) fn fault(&self) -> Option<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .fault
            .clone()
    }

    /// The first thing that was no message, as the end of an error; empty where there was none.
    pub(super) fn describe(&self) -> String {
        let heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match heard.line.as_deref() {
            None | Some("") => String::new(),
            Some(line) => format!("; its stdout holds what is no MCP message: `{line}`"),
        }
    }
}

/// Splits bytes into lines of a bounded length.
#[derive(Debug, Default)]
struct Lines {
    /// How much of the buffer is known to hold no line break.
    searched: usize,
}

impl Decoder for Lines {
    type Item = BytesMut;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<BytesMut>> {
        let found = buffer[self.searched..]
            .iter()
            .position(|byte| *byte == b'\n');
        let Some(found) = found else {
            self.searched = buffer.len();
            if LARGEST_MESSAGE < buffer.len() {
                let problem = format!("a message is larger than {LARGEST_MESSAGE} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
            return Ok(None);
        };
        let line = buffer.split_to(self.searched + found);
        buffer.advance(1);
        self.searched = 0;
        Ok(Some(line))
    }

    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<BytesMut>> {
        let line = self.decode(buffer)?;
        if line.is_none() {
            // Half a line is no message.
            buffer.clear();
            self.searched = 0;
        }
        Ok(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_across_pieces() {
        let mut lines = Lines::default();
        let mut buffer = BytesMut::from(&b"one\ntw"[..]);
        assert_eq!(lines.decode(&mut buffer).unwrap().unwrap(), "one");
        assert!(lines.decode(&mut buffer).unwrap().is_none());
        buffer.extend_from_slice(b"o\n\nrest");
        assert_eq!(lines.decode(&mut buffer).unwrap().unwrap(), "two");
        assert_eq!(lines.decode(&mut buffer).unwrap().unwrap(), "");
        assert!(lines.decode_eof(&mut buffer).unwrap().is_none());
        assert!(buffer.is_empty());
    }

    #[test]
    fn a_line_without_end_is_an_error() {
        let mut buffer = BytesMut::zeroed(LARGEST_MESSAGE + 1);
        assert!(Lines::default().decode(&mut buffer).is_err());
    }

    #[test]
    fn an_answer_that_makes_no_sense_reaches_its_call() {
        let error = unreadable_answer(br#"{"id": 7, "error": "no"}"#).unwrap();
        let ServerJsonRpcMessage::Error(error) = error else {
            panic!("{error:?}")
        };
        assert_eq!(error.id, Some(RequestId::Number(7)));
        assert!(unreadable_answer(br#"{"hello": 1}"#).is_none());
        assert!(unreadable_answer(b"Listening on 8080").is_none());
    }
}
