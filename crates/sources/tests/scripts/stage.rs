//! `Stage`: a folder with scripts, the source they make, and somebody to call it.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use serde_json::{Value, json};
use tempfile::TempDir;
use toolscript_catalog::{
    Call, CallContext, CallError, Caller, Catalog, Doorway, Entry, Field, Function, FunctionId,
    FunctionName, Level, Listing, Observer, Reply, Sign, Source, SourceName, Type, function::Body,
    ty::Object,
};
use toolscript_sources::{Context, Kind as _, SettingsError, script::Script, toolkit::Toolkit};

/// A folder with scripts in it, and the source they make.
pub(crate) struct Stage {
    pub(crate) folder: TempDir,
    pub(crate) source: Option<Arc<dyn Source>>,
    pub(crate) observer: Arc<Heard>,
}

impl Stage {
    pub(crate) fn empty() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            source: None,
            observer: Arc::default(),
        }
    }

    /// A stage with one script `t.luau` as the tool `t`.
    pub(crate) fn with(script: &str) -> Self {
        Self::with_settings(script, json!({}))
    }

    pub(crate) fn with_settings(script: &str, settings: Value) -> Self {
        let mut stage = Self::empty();
        stage.write("t.luau", script);
        let mut all = json!({"path": "t.luau"});
        for (key, value) in settings.as_object().unwrap() {
            all[key] = value.clone();
        }
        stage.open(json!({"t": all})).unwrap();
        stage
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    pub(crate) fn context(&self) -> Context {
        Context {
            folder: self.folder.path().to_owned(),
            ..Context::default()
        }
    }

    pub(crate) fn open(&mut self, settings: Value) -> Result<(), SettingsError> {
        let name = SourceName::parse("tools").unwrap();
        self.source = Some(Script.open(&self.context(), name, settings)?);
        Ok(())
    }

    pub(crate) fn open_kit(&mut self, kit: &Value) {
        self.write("kit.json", &kit.to_string());
        let name = SourceName::parse("kit").unwrap();
        let settings = json!({"path": "kit.json", "timeout": 5, "rate_limit": "5/minute"});
        self.source = Some(Toolkit.open(&self.context(), name, settings).unwrap());
    }

    pub(crate) fn source(&self) -> &dyn Source {
        &**self.source.as_ref().unwrap()
    }

    pub(crate) async fn list(&self) -> Listing {
        self.source().list().await.unwrap()
    }

    /// What is said about the one broken script.
    pub(crate) async fn problem(&self) -> String {
        let listing = self.list().await;
        assert_eq!(listing.warnings.len(), 1, "{:?}", listing.warnings);
        listing.warnings[0].place.clone()
    }

    pub(crate) async fn call(&self, function: &str, params: Value) -> Result<Value, CallError> {
        self.call_within(Duration::from_secs(30), function, params)
            .await
    }

    pub(crate) async fn call_within(
        &self,
        time: Duration,
        function: &str,
        params: Value,
    ) -> Result<Value, CallError> {
        let Value::Object(params) = params else {
            panic!("parameters are a table")
        };
        let cx = CallContext {
            owner: "ann".to_owned(),
            deadline: Some(std::time::Instant::now() + time),
            observer: Some(self.observer.clone()),
            doorway: Some(doorway()),
            ..CallContext::default()
        };
        let call = Call {
            function: function.parse().unwrap(),
            params,
            body: None,
        };
        Ok(self.source().call(&cx, call).await?.value)
    }

    /// Lists, then calls `tools.t`.
    pub(crate) async fn run(&self, params: Value) -> Result<Value, CallError> {
        self.list().await;
        self.call("tools.t", params).await
    }
}

/// Remembers what tools logged.
#[derive(Default)]
pub(crate) struct Heard(pub(crate) Mutex<Vec<(Level, String)>>);

impl Observer for Heard {
    fn progress(&self, _function: &FunctionId, _sign: &Sign) {}

    fn log(&self, _function: &FunctionId, level: Level, text: &str) {
        self.0.lock().unwrap().push((level, text.to_owned()));
    }
}

/// A door behind which every function answers with what it was called with.
struct Echo;

#[async_trait]
impl Caller for Echo {
    async fn call(&self, call: Call) -> Result<Reply, CallError> {
        Ok(Reply::value(json!({
            "function": call.function.to_string(), "params": call.params, "body": call.body,
        })))
    }
}

fn doorway() -> Doorway {
    let field = |name: &str| Field {
        name: name.into(),
        ty: Type::Any,
        ..Field::default()
    };
    let function = |name: &str, fields: &[&str], body: Option<Body>| Function {
        name: FunctionName::clean(name),
        params: Object {
            fields: fields.iter().map(|name| field(name)).collect(),
            ..Object::default()
        },
        body,
        ..Function::default()
    };
    let body = Body {
        ty: Type::Object(Object::default()),
        ..Body::default()
    };
    let listing = Listing {
        functions: vec![
            function("get_pet", &["id"], None),
            function("create_pet", &[], Some(body.clone())),
            function("update_pet", &["id"], Some(body)),
        ],
        ..Listing::default()
    };
    let entry = Entry::new(SourceName::parse("petstore").unwrap(), listing);
    Doorway {
        catalog: Arc::new(Catalog::new(vec![Arc::new(entry)])),
        caller: Arc::new(Echo),
    }
}
