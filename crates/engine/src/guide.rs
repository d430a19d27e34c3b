//! `help()`, `search()`, `docs()` and `proxy` inside a script: discovery without another round trip.

use std::{fmt::Write as _, sync::Arc};

use serde_json::{Value, json};
use toolscript_luau::{Guide, NoServer};

use crate::{discover, dispatcher::Snapshot, servers};

/// How much `docs()` gives at once, in bytes.
const MOST_DOCS: usize = 24 * 1024;

pub(crate) struct SnapshotGuide {
    pub(crate) snapshot: Arc<Snapshot>,
}

impl Guide for SnapshotGuide {
    fn help(&self) -> String {
        let mut text = discover::overview(&self.snapshot.catalog, 1_500);
        text.push_str(
            "\nsearch(\"words\") finds functions, docs(\"source.function\") shows one with its types, \
             sdk.source.function(params) calls it, parallel({f, g}) calls several at once.",
        );
        text
    }

    fn search(&self, text: &str) -> String {
        match discover::search(&self.snapshot.catalog, text, None, None, None) {
            Ok(found) => {
                let mut lines = String::new();
                for row in &found.page.items {
                    let _infallible = writeln!(lines, "{}  -- {}", row.signature, row.summary);
                }
                if found.page.items.is_empty() {
                    lines.push_str("nothing found");
                    if !found.did_you_mean.is_empty() {
                        let _infallible =
                            write!(lines, "; near: {}", found.did_you_mean.join(", "));
                    }
                }
                lines
            }
            Err(error) => error.to_string(),
        }
    }

    fn docs(&self, name: &str) -> String {
        match discover::docs(&self.snapshot.catalog, &[name], MOST_DOCS) {
            Ok(docs) => docs.docs,
            Err(error) => error.to_string(),
        }
    }

    fn servers(&self) -> Value {
        json!(servers::list(&self.snapshot))
    }

    fn tools(&self, server: Option<&str>) -> Result<Value, NoServer> {
        servers::tools(&self.snapshot, server).map(|tools| json!(tools))
    }
}
