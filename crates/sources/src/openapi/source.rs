//! `OpenApiSource`: an API that lists what its document says and calls what it lists.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use async_trait::async_trait;
use toolscript_catalog::{
    Call, CallContext, CallError, FunctionName, Listing, Reply, Source, SourceName,
};

use super::{
    Settings,
    call::Client,
    load::{Compiled, compile, location::Location},
    operation::Api,
};
use crate::{Context, SettingsError};

/// One API.
pub(super) struct OpenApiSource {
    cx: Context,
    name: SourceName,
    settings: Settings,
    /// What the last listing was made of; calls use it.
    loaded: ArcSwapOption<Loaded>,
    /// The files of this machine the last listing was made from.
    files: ArcSwap<Vec<PathBuf>>,
    /// A listing that was compiled before the source was opened, for the first `list`.
    ready: Mutex<Option<Listing>>,
}

/// What it takes to call what was listed.
struct Loaded {
    client: Client,
    api: Arc<Api>,
    operations: HashMap<FunctionName, usize>,
}

impl OpenApiSource {
    /// A source that reads its document when it is first listed.
    pub(super) fn new(cx: Context, name: SourceName, settings: Settings) -> Self {
        // Before anything was read, the document itself is what to watch.
        let document = settings.spec.as_deref();
        let document = document.map(|spec| Location::parse(spec, &cx.folder));
        let files: Vec<PathBuf> = document.and_then(Location::into_file).into_iter().collect();
        Self {
            cx,
            name,
            settings,
            files: ArcSwap::from_pointee(files),
            loaded: ArcSwapOption::empty(),
            ready: Mutex::default(),
        }
    }

    /// A source whose document has just been read.
    pub(super) fn with(
        cx: Context,
        compiled: Compiled,
        settings: Settings,
    ) -> Result<Self, SettingsError> {
        let source = Self::new(cx, compiled.name.clone(), settings);
        let listing = source.keep(compiled)?;
        *source.ready.lock().unwrap_or_else(PoisonError::into_inner) = Some(listing);
        Ok(source)
    }

    async fn load(&self) -> Result<Listing, CallError> {
        let compiled = compile(&self.cx, Some(self.name.clone()), &self.settings).await;
        let compiled = compiled.map_err(|error| self.unavailable(&error))?;
        self.keep(compiled)
            .map_err(|error| self.unavailable(&error))
    }

    fn unavailable(&self, problem: &dyn std::error::Error) -> CallError {
        CallError::Unavailable {
            source_name: self.name.to_string(),
            problem: problem.to_string(),
        }
    }

    /// Makes calls use what was compiled, and gives the listing.
    fn keep(&self, compiled: Compiled) -> Result<Listing, SettingsError> {
        let Compiled {
            mut listing,
            api,
            files,
            ..
        } = compiled;
        self.files.store(Arc::new(files));
        for function in &mut listing.functions {
            function.rate = self.settings.rate_limit;
        }
        let api = Arc::new(api);
        let names = listing.functions.iter().enumerate();
        let operations = names
            .map(|(at, function)| (function.name.clone(), at))
            .collect();
        let client = Client::new(
            self.name.clone(),
            api.clone(),
            &self.settings,
            self.cx.outbound.clone(),
        )?;
        self.loaded.store(Some(Arc::new(Loaded {
            client,
            api,
            operations,
        })));
        Ok(listing)
    }

    async fn loaded(&self) -> Result<Arc<Loaded>, CallError> {
        if let Some(loaded) = self.loaded.load_full() {
            return Ok(loaded);
        }
        self.load().await?;
        self.loaded
            .load_full()
            .ok_or_else(|| CallError::Unavailable {
                source_name: self.name.to_string(),
                problem: "its document has not been read yet".to_owned(),
            })
    }

    /// Fills in what the settings keep from the script.
    fn freeze(&self, api: &Api, operation: usize, call: &mut Call) {
        let Some(operation) = api.operations.get(operation) else {
            return;
        };
        for (key, value) in &self.settings.frozen_params {
            if operation
                .parameters
                .iter()
                .any(|parameter| parameter.key == *key)
            {
                call.params.insert(key.clone(), value.clone());
            }
        }
    }
}

#[async_trait]
impl Source for OpenApiSource {
    async fn list(&self) -> Result<Listing, CallError> {
        let ready = self
            .ready
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match ready {
            Some(listing) => Ok(listing),
            None => self.load().await,
        }
    }

    async fn call(&self, cx: &CallContext, mut call: Call) -> Result<Reply, CallError> {
        let loaded = self.loaded().await?;
        let at = loaded.operations.get(&call.function.name).copied();
        let Some((at, operation)) = at.and_then(|at| Some((at, loaded.api.operations.get(at)?)))
        else {
            return Err(CallError::NotFound {
                function: call.function.to_string(),
                hint: format!("`{}` does not list it any more", self.name),
            });
        };
        self.freeze(&loaded.api, at, &mut call);
        loaded.client.call(cx, operation, call).await
    }

    fn lacks(&self) -> Option<String> {
        let settings = &self.settings;
        let is_set = settings.auth.is_some()
            || settings.auth_env.is_some()
            || !settings.credentials.is_empty()
            || settings
                .headers
                .keys()
                .any(|name| name.eq_ignore_ascii_case("authorization"));
        let loaded = self.loaded.load_full().filter(|_| !is_set)?;
        let operations = &loaded.api.operations;
        let wanting: Vec<_> = operations
            .iter()
            .filter(|operation| {
                let mut sets = operation.security.iter();
                !operation.security.is_empty() && sets.all(|set| !set.is_empty())
            })
            .collect();
        let schemes: BTreeSet<&str> = wanting
            .iter()
            .flat_map(|operation| operation.security.iter().flat_map(BTreeMap::keys))
            .map(String::as_str)
            .collect();
        let schemes: Vec<String> = schemes.iter().map(|scheme| format!("`{scheme}`")).collect();
        (!wanting.is_empty()).then(|| {
            format!(
                "{} of {} functions want a credential ({}), and none is set",
                wanting.len(),
                operations.len(),
                schemes.join(", ")
            )
        })
    }

    fn files(&self) -> Vec<PathBuf> {
        self.files.load().to_vec()
    }
}
