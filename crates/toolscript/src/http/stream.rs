//! A call as server-sent events: `log` and `progress` while it lasts, then `result` or `error`.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

use axum::{
    http::{HeaderMap, header},
    response::{
        IntoResponse as _, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::{FutureExt as _, Stream, future::BoxFuture};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolscript_catalog::{CallError, FunctionId, Level, Observer, Sign};
use toolscript_engine::{Engine, ToolCall};

use super::{failure::Failure, tools};

/// How much may wait for a client that reads slowly; more is counted and left out.
const MOST_WAITING: usize = 1_000;

type Outcome = Result<Value, CallError>;

/// Whether the client would rather have a stream than one answer.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter();
    let accepted = accepted.filter_map(|value| value.to_str().ok());
    let mut types = accepted.flat_map(|value| value.split(','));
    let first = types.find_map(
        |named| match named.split(';').next().unwrap_or_default().trim() {
            "text/event-stream" => Some(true),
            "application/json" | "application/*" | "*/*" => Some(false),
            _ => None,
        },
    );
    first.unwrap_or(false)
}

/// Makes the call and streams it. What is wrong from the start gets its plain answer.
pub(super) async fn answer(engine: Arc<Engine>, call: ToolCall) -> Result<Response, Failure> {
    let (sender, events) = mpsc::channel(MOST_WAITING);
    let listener = Arc::new(Listener {
        events: sender,
        left_out: AtomicU64::new(0),
    });
    let call = ToolCall {
        observer: Some(listener.clone()),
        ..call
    };
    let mut call = async move { engine.call_tool(call).await }.boxed();
    let state = match futures_util::poll!(&mut call) {
        Poll::Ready(Err(error)) => return Err(error.into()),
        Poll::Ready(outcome) => State::Over(outcome),
        Poll::Pending => State::Running(call),
    };
    let told = Told {
        state,
        events,
        listener,
    };
    Ok(Sse::new(told)
        .keep_alive(KeepAlive::default())
        .into_response())
}

/// Everything that is told about a call. Dropping it, as happens when the client hangs up,
/// cancels the call.
struct Told {
    state: State,
    events: mpsc::Receiver<(&'static str, Value)>,
    listener: Arc<Listener>,
}

enum State {
    Running(BoxFuture<'static, Outcome>),
    /// It is over; this is still to be told.
    Over(Outcome),
    Silent,
}

impl Stream for Told {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let State::Running(call) = &mut self.state
            && let Poll::Ready(outcome) = call.as_mut().poll(cx)
        {
            self.state = State::Over(outcome);
        }
        // The listener keeps the channel open, so nothing but an event is ready.
        if let Poll::Ready(Some(event)) = self.events.poll_recv(cx) {
            return Poll::Ready(Some(Ok(write(event))));
        }
        if matches!(self.state, State::Running(_)) {
            return Poll::Pending;
        }
        if let Some(note) = self.listener.note() {
            return Poll::Ready(Some(Ok(write(note))));
        }
        match std::mem::replace(&mut self.state, State::Silent) {
            State::Over(outcome) => Poll::Ready(Some(Ok(write(tools::told(outcome))))),
            State::Running(_) | State::Silent => Poll::Ready(None),
        }
    }
}

fn write((name, data): (&str, Value)) -> Event {
    // Compact JSON has no line breaks, so it is one `data` line.
    Event::default().event(name).data(data.to_string())
}

/// Hears what happens and puts it in line.
struct Listener {
    events: mpsc::Sender<(&'static str, Value)>,
    left_out: AtomicU64,
}

impl Listener {
    fn tell(&self, name: &'static str, data: Value) {
        if self.events.try_send((name, data)).is_err() {
            self.left_out.fetch_add(1, Relaxed);
        }
    }

    /// What to say about events that found no room.
    fn note(&self) -> Option<(&'static str, Value)> {
        let left_out = self.left_out.swap(0, Relaxed);
        let text = format!("{left_out} events were left out: they came faster than they were read");
        (0 < left_out).then(|| ("log", json!({"level": "warn", "text": text})))
    }
}

impl Observer for Listener {
    fn progress(&self, function: &FunctionId, sign: &Sign) {
        let mut data = json!({"function": function.to_string(), "done": sign.done});
        if let Some(total) = sign.total {
            data["total"] = json!(total);
        }
        if let Some(message) = &sign.message {
            data["message"] = json!(message);
        }
        self.tell("progress", data);
    }

    fn log(&self, function: &FunctionId, level: Level, text: &str) {
        self.tell(
            "log",
            json!({"function": function.to_string(), "level": level, "text": text}),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_sent_to_who_asks_for_it_first() {
        for (accept, wanted) in [
            ("text/event-stream", true),
            ("text/event-stream, application/json", true),
            ("application/json, text/event-stream", false),
            ("text/html, text/event-stream;q=0.9", true),
            ("*/*", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            assert_eq!(is_wanted(&headers), wanted, "{accept}");
        }
        assert!(!is_wanted(&HeaderMap::new()));
    }
}
