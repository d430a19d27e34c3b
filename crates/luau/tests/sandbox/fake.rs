//! A small API in memory, for scripts to call.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use toolscript_catalog::{
    Body, Call, CallError, Caller, Catalog, Entry, Field, Function, FunctionName, Listing, Reply,
    SourceName, Type,
    validate::{Invalid, Problem},
};

/// What no script may ever see.
pub(crate) const SECRET: &str = "hunter2-the-secret";

/// The caller behind the fake API. It counts what is under way.
#[derive(Debug, Default)]
pub(crate) struct Zoo {
    under_way: AtomicUsize,
    most_at_once: AtomicUsize,
    dropped: AtomicUsize,
    /// Kept here as a real caller keeps credentials.
    _secret: &'static str,
}

impl Zoo {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            _secret: SECRET,
            ..Self::default()
        })
    }

    /// How many calls were under way at once at the busiest moment.
    pub(crate) fn most_at_once(&self) -> usize {
        self.most_at_once.load(SeqCst)
    }

    /// How many calls were given up before they ended.
    pub(crate) fn dropped(&self) -> usize {
        self.dropped.load(SeqCst)
    }

    /// How many calls are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way.load(SeqCst)
    }
}

/// Counts a call from its start to its end, and notices when it is dropped in between.
struct UnderWay<'a> {
    zoo: &'a Zoo,
    ended: bool,
}

impl<'a> UnderWay<'a> {
    fn new(zoo: &'a Zoo) -> Self {
        let now = zoo.under_way.fetch_add(1, SeqCst) + 1;
        zoo.most_at_once.fetch_max(now, SeqCst);
        Self { zoo, ended: false }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.zoo.under_way.fetch_sub(1, SeqCst);
        if !self.ended {
            self.zoo.dropped.fetch_add(1, SeqCst);
        }
    }
}

#[async_trait]
impl Caller for Zoo {
    async fn call(&self, call: Call) -> Result<Reply, CallError> {
        let mut under_way = UnderWay::new(self);
        let answer = answer(call).await;
        under_way.ended = true;
        answer
    }
}

async fn answer(call: Call) -> Result<Reply, CallError> {
    let param = |key: &str| call.params.get(key).cloned().unwrap_or(Value::Null);
    let value = match call.function.name.as_str() {
        "get_pet" if param("id").is_null() => return Err(missing_id(&call)),
        "get_pet" => {
            json!({"id": param("id"), "name": format!("pet {}", param("id")), "owner": null})
        }
        "list_pets" => return Ok(page(&call)),
        "create_pet" | "echo" | "raw" => call.body.clone().unwrap_or(Value::Null),
        "update_pet" => json!({"params": call.params, "body": call.body}),
        "find_by_status" => json!({"found": param("status")}),
        "tagged" => json!({"tags": param("tags"), "filter": param("filter")}),
        "ping" => json!("pong"),
        "nothing" => Value::Null,
        "slow" => {
            let time = param("ms").as_u64().unwrap_or(0);
            tokio::time::sleep(Duration::from_millis(time)).await;
            param("ms")
        }
        "rows" => rows(param("count").as_u64().unwrap_or(0)),
        "big" => json!("x".repeat(usize::try_from(param("bytes").as_u64().unwrap_or(0)).unwrap())),
        "fail" => return Err(failure(&call)),
        other => unreachable!("no function {other}"),
    };
    Ok(Reply::value(value))
}

fn missing_id(call: &Call) -> CallError {
    let (function, path) = (call.function.to_string(), "params.id".to_owned());
    let problem = Problem::Missing {
        expected: "number".to_owned(),
    };
    CallError::Invalid(Invalid {
        function,
        path,
        problem,
    })
}

fn page(call: &Call) -> Reply {
    let cursor = call
        .params
        .get("cursor")
        .and_then(Value::as_u64)
        .unwrap_or(0);
    let value = json!({"cursor": cursor, "limit": call.params.get("limit")});
    let next = (cursor < 2).then(|| Map::from_iter([("cursor".to_owned(), json!(cursor + 1))]));
    Reply { value, next }
}

fn rows(count: u64) -> Value {
    (0..count)
        .map(|id| json!({"id": id, "name": format!("row {id}"), "tags": ["a", "b"]}))
        .collect()
}

fn failure(call: &Call) -> CallError {
    let function = call.function.clone();
    match call
        .params
        .get("how")
        .and_then(Value::as_str)
        .unwrap_or_default()
    {
        "denied" => CallError::Denied {
            function,
            rule: "writes are off".to_owned(),
        },
        "limit" => CallError::Limit {
            limit: "rate",
            allowed: 3,
        },
        "timeout" => CallError::Timeout {
            function,
            after_ms: 5,
        },
        "upstream" => CallError::Upstream {
            function,
            problem: "connection refused".to_owned(),
            body: None,
        },
        "unavailable" => CallError::Unavailable {
            source_name: "pets".to_owned(),
            problem: "not started".to_owned(),
        },
        _ => CallError::Status {
            function,
            status: 404,
            headers: BTreeMap::from([("x-request-id".to_owned(), "abc".to_owned())]),
            body: json!({"message": "no such pet", "code": 17}),
        },
    }
}

/// The functions of the fake API.
pub(crate) fn catalog() -> Arc<Catalog> {
    let named = |name: &str| Function {
        name: FunctionName::clean(name),
        ..Function::default()
    };
    let with = |name: &str, fields: Vec<Field>| {
        let mut function = named(name);
        function.params.fields = fields;
        function
    };
    let any_body = || {
        Some(Body {
            required: true,
            ..Body::default()
        })
    };
    let id = || Field::required("id", Type::integer());
    let functions = vec![
        with("get_pet", vec![id()]),
        Function {
            pages: true,
            ..with("list_pets", vec![Field::optional("limit", Type::integer())])
        },
        Function {
            body: any_body(),
            ..named("create_pet")
        },
        Function {
            body: any_body(),
            ..named("echo")
        },
        Function {
            body: any_body(),
            ..with("update_pet", vec![id()])
        },
        Function {
            original: "find-by status".to_owned(),
            ..with(
                "find_by_status",
                vec![Field::optional("status", Type::string())],
            )
        },
        with(
            "tagged",
            vec![
                Field::optional("tags", Type::array(Type::string())),
                Field::optional("filter", Type::object(vec![])),
            ],
        ),
        named("ping"),
        named("nothing"),
        with("slow", vec![Field::required("ms", Type::integer())]),
        with("rows", vec![Field::required("count", Type::integer())]),
        with("big", vec![Field::required("bytes", Type::integer())]),
        with("fail", vec![Field::optional("how", Type::string())]),
    ];
    let listing = Listing {
        functions,
        ..Listing::default()
    };
    let name = SourceName::parse("pets").unwrap();
    let luau = Entry::new(SourceName::luau(), toolscript_luau::library::listing());
    Arc::new(Catalog::new([
        Arc::new(Entry::new(name, listing)),
        Arc::new(luau),
    ]))
}
