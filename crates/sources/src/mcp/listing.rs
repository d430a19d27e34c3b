//! All tools of a server, to the last page.

use std::{collections::HashSet, time::Duration};

use rmcp::model::{
    ClientRequest, ErrorCode, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool,
};
use serde_json::{Value, json};
use toolscript_catalog::Warning;

use super::{
    connection::{Connection, Limit},
    failure::Failure,
    text,
};

/// More tools than this are left out.
const MOST_TOOLS: usize = 10_000;
/// More pages than this are not asked for.
const MOST_PAGES: usize = 1_000;
/// A tool that takes more bytes to describe is left out.
const LARGEST_TOOL: usize = 1 << 20;
/// All descriptions together.
const LARGEST_LISTING: usize = 64 << 20;

/// What a server listed.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    pub(super) tools: Vec<Tool>,
    pub(super) warnings: Vec<Warning>,
    /// For how long the server says this holds.
    pub(super) holds_for: Option<Duration>,
    /// How many changes the server had reported when it was asked.
    pub(super) changes: u64,
}

/// One page of it.
struct Page {
    tools: Vec<Value>,
    next: Option<String>,
    ttl_ms: Option<u64>,
}

/// Asks for all pages.
pub(super) async fn fetch(connection: &Connection, limit: Limit) -> Result<Fetched, Failure> {
    let mut fetched = Collected::new(connection.changes());
    let mut asked = HashSet::new();
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let Some(page) = page(connection, limit, cursor.take()).await? else {
            return Ok(fetched.finish());
        };
        fetched.expire(page.ttl_ms);
        let has_room = page.tools.into_iter().all(|tool| fetched.add(tool));
        let Some(next) = page.next.filter(|_| has_room) else {
            return Ok(fetched.finish());
        };
        if !asked.insert(blake3::hash(next.as_bytes())) {
            fetched.warn(
                "tools/list",
                "the pages go round in a circle; the rest is left out",
            );
            return Ok(fetched.finish());
        }
        cursor = Some(next);
    }
    let problem = format!("there are more than {MOST_PAGES} pages; the rest is left out");
    fetched.warn("tools/list", &problem);
    Ok(fetched.finish())
}

/// Asks for one page; a server that knows no tools has none.
async fn page(
    connection: &Connection,
    limit: Limit,
    cursor: Option<String>,
) -> Result<Option<Page>, Failure> {
    let is_first = cursor.is_none();
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let request = ListToolsRequest {
        params: Some(params),
        ..ListToolsRequest::default()
    };
    let answer = connection
        .request(ClientRequest::ListToolsRequest(request), limit)
        .await;
    match answer {
        Ok(answer) => Page::read(answer).map(Some),
        Err(Failure::Refused(error)) if is_first && error.code == ErrorCode::METHOD_NOT_FOUND => {
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

impl Page {
    fn read(answer: ServerResult) -> Result<Self, Failure> {
        let senseless =
            || Failure::Senseless("the answer to `tools/list` holds no list of tools".to_owned());
        match answer {
            ServerResult::ListToolsResult(page) => Ok(Self {
                tools: page.tools.into_iter().map(|tool| json!(tool)).collect(),
                next: page.next_cursor,
                ttl_ms: page.ttl_ms,
            }),
            // One tool that makes no sense must not take its page with it.
            ServerResult::CustomResult(mut page) => {
                let tools = page.0.get_mut("tools").and_then(Value::as_array_mut);
                Ok(Self {
                    tools: std::mem::take(tools.ok_or_else(senseless)?),
                    next: page
                        .0
                        .get("nextCursor")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                    ttl_ms: page.0.get("ttlMs").and_then(Value::as_u64),
                })
            }
            _ => Err(senseless()),
        }
    }
}

/// A listing as it grows.
struct Collected {
    fetched: Fetched,
    names: HashSet<String>,
    size: usize,
}

impl Collected {
    fn new(changes: u64) -> Self {
        Self {
            fetched: Fetched {
                changes,
                ..Fetched::default()
            },
            names: HashSet::new(),
            size: 0,
        }
    }

    fn finish(self) -> Fetched {
        self.fetched
    }

    /// Adds a tool or says why not; false when there is no room for more.
    fn add(&mut self, tool: Value) -> bool {
        let place = tool.get("name").and_then(Value::as_str);
        let place = text::line(place.unwrap_or("a tool without a name"), 200);
        let size = tool.to_string().len();
        if self.fetched.tools.len() == MOST_TOOLS || LARGEST_LISTING < self.size + size {
            self.warn(
                &place,
                "there are too many tools; this one and the rest are left out",
            );
            return false;
        }
        if LARGEST_TOOL < size {
            self.warn(&place, "its description is too large; the tool is left out");
            return true;
        }
        match read(tool) {
            Err(problem) => self.warn(&place, &format!("{problem}; the tool is left out")),
            Ok(tool) if !self.names.insert(tool.name.to_string()) => {
                self.warn(&place, "is listed twice; the first one is taken");
            }
            Ok(tool) => {
                self.size += size;
                self.fetched.tools.push(tool);
            }
        }
        true
    }

    fn expire(&mut self, ttl_ms: Option<u64>) {
        // Zero means: do not rely on it. Asking all the time would be no answer to that.
        let ttl = ttl_ms.filter(|ttl| 0 < *ttl).map(Duration::from_millis);
        self.fetched.holds_for = match (self.fetched.holds_for, ttl) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    fn warn(&mut self, place: &str, reason: &str) {
        const MOST: usize = 200;
        if self.fetched.warnings.len() < MOST {
            self.fetched.warnings.push(Warning {
                place: place.to_owned(),
                reason: reason.to_owned(),
            });
        }
    }
}

/// Why a tool cannot be used.
#[derive(Debug, thiserror::Error)]
enum BadTool {
    #[error("this is no tool")]
    NoObject,
    #[error("it has no name")]
    NoName,
    #[error("it cannot be read ({0})")]
    Shape(#[from] serde_json::Error),
}

fn read(mut tool: Value) -> Result<Tool, BadTool> {
    let fields = tool.as_object_mut().ok_or(BadTool::NoObject)?;
    // A tool that takes nothing often forgets to say so.
    if fields.get("inputSchema").is_none_or(Value::is_null) {
        fields.insert("inputSchema".to_owned(), json!({"type": "object"}));
    }
    if fields
        .get("outputSchema")
        .is_some_and(|schema| !schema.is_object())
    {
        fields.remove("outputSchema");
    }
    if fields
        .get("name")
        .and_then(Value::as_str)
        .is_none_or(|name| name.trim().is_empty())
    {
        return Err(BadTool::NoName);
    }
    Ok(serde_json::from_value(tool)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::CustomResult;

    fn collect(tools: Vec<Value>) -> Fetched {
        let mut collected = Collected::new(0);
        for tool in tools {
            collected.add(tool);
        }
        collected.finish()
    }

    #[test]
    fn one_bad_tool_does_not_take_the_others_with_it() {
        let page = json!({"nextCursor": "2", "ttlMs": 5, "tools": [
            {"name": "good", "inputSchema": {"type": "object"}},
            {"name": "bare"},
            {"name": 7},
            "nothing",
            {"name": "odd", "inputSchema": []},
            {"name": "good", "inputSchema": {}},
        ]});
        let page = Page::read(ServerResult::CustomResult(CustomResult(page))).unwrap();
        assert_eq!((page.next.as_deref(), page.ttl_ms), (Some("2"), Some(5)));
        let fetched = collect(page.tools);
        let names: Vec<&str> = fetched.tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["good", "bare"]);
        assert_eq!(fetched.warnings.len(), 4, "{:?}", fetched.warnings);
    }

    #[test]
    fn a_listing_has_an_end() {
        let tools = (0..=MOST_TOOLS).map(|number| json!({"name": format!("t{number}")}));
        let fetched = collect(tools.collect());
        assert_eq!(
            (fetched.tools.len(), fetched.warnings.len()),
            (MOST_TOOLS, 1)
        );
        let large = json!({"name": "large", "description": "x".repeat(LARGEST_TOOL)});
        assert!(collect(vec![large]).tools.is_empty());
    }

    #[test]
    fn the_shortest_time_counts() {
        let mut collected = Collected::new(0);
        for ttl in [None, Some(0), Some(9_000), Some(4_000)] {
            collected.expire(ttl);
        }
        assert_eq!(collected.finish().holds_for, Some(Duration::from_secs(4)));
    }
}
