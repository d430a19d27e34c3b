//! The spans that tell what the proxy does.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

use serde_json::json;
use toolscript_testkit::mcp::Plan;
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{Layer, layer::Context, prelude::*, registry::LookupSpan};

use crate::{fake, ready};

type Fields = BTreeMap<String, String>;

/// Keeps every span of the proxy with its fields when it closes.
#[derive(Clone, Default)]
struct Closed(Arc<Mutex<Vec<(&'static str, Fields)>>>);

struct Write<'a>(&'a mut Fields);

impl Visit for Write<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        self.0
            .insert(field.name().to_owned(), text.trim_matches('"').to_owned());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Closed {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, cx: Context<'_, S>) {
        let mut fields = Fields::new();
        attributes.record(&mut Write(&mut fields));
        cx.span(id).unwrap().extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, cx: Context<'_, S>) {
        let span = cx.span(id).unwrap();
        let mut extensions = span.extensions_mut();
        values.record(&mut Write(extensions.get_mut::<Fields>().unwrap()));
    }

    fn on_close(&self, id: Id, cx: Context<'_, S>) {
        let span = cx.span(&id).unwrap();
        if span.name().starts_with("proxy.") {
            let fields = span.extensions().get::<Fields>().unwrap().clone();
            self.0.lock().unwrap().push((span.name(), fields));
        }
    }
}

#[tokio::test]
async fn every_connection_and_every_call_leaves_a_span() {
    let closed = Closed::default();
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(closed.clone()));
    let tested = ready(fake(&Plan::default())).await;
    tested.call("echo", json!({"text": "four"})).await.unwrap();
    tested.call("fail", json!({})).await.unwrap_err();
    let spans = closed.0.lock().unwrap().clone();
    let names: Vec<&str> = spans.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names,
        ["proxy.connect", "proxy.tool.call", "proxy.tool.call"]
    );
    let shown = |at: usize| {
        let mut fields = spans[at].1.clone();
        if let Some(duration) = fields.remove("duration") {
            duration.parse::<u64>().unwrap();
        }
        fields
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(shown(0), "server=fake status=ok toolCount=21 type=stdio");
    assert_eq!(shown(1), "resultLength=6 server=fake status=ok tool=echo");
    assert_eq!(
        shown(2),
        "errorMessage=`fake.fail` failed: it went wrong errorType=upstream server=fake status=error tool=fail"
    );
}
