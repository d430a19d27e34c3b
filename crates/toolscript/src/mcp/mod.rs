//! MCP: one handler for stdio and Streamable HTTP, for both eras of the protocol.

mod answer;
mod auth;
mod changes;
mod person;
mod progress;
mod running;
mod stdio;
mod tools;

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, InputResponses,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents,
        ResourceTemplate, ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use toolscript_engine::{Engine, Script, discover::Listed, resources::TEMPLATES};

use person::Way;
use running::{Parked, Running};

/// How much documentation one answer holds, in bytes; further types are named and can be asked for.
const MOST_DOCS: usize = 32 * 1024;
/// How many sources or resources one page holds.
const PAGE: usize = 100;
/// How long `instructions` may get: clients cut at 2,048 characters.
const LONGEST_INSTRUCTIONS: usize = 1_900;

/// Everybody who is let in is the same person, to whom every kept result belongs.
pub(crate) const OWNER: &str = "";

/// The MCP server. Cheap to clone: HTTP makes one per request.
#[derive(Debug, Clone)]
pub(crate) struct Handler {
    engine: Arc<Engine>,
    parked: Arc<Parked>,
}

/// Serves one client on standard input and output until it hangs up.
pub(crate) async fn serve_stdio(engine: Arc<Engine>) -> anyhow::Result<()> {
    let (streams, _borrowed) = stdio::streams();
    let service = Handler::new(engine).serve(streams).await?;
    service.waiting().await?;
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListApis {
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListFunctions {
    source: Option<String>,
    tag: Option<String>,
    cursor: Option<String>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchDocs {
    query: String,
    source: Option<String>,
    cursor: Option<String>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GetFunctionDocs {
    names: Names,
}

/// One name or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExecuteScript {
    script: String,
    timeout_ms: Option<u64>,
}

impl Handler {
    /// A server in front of an engine.
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            parked: Arc::default(),
        }
    }

    fn tools(&self) -> &'static [Tool] {
        tools::tools(self.engine.settings().server.surface)
    }

    fn list_apis(&self, asked: &ListApis) -> CallToolResult {
        let rows = self.engine.sources();
        match answer::page_of(rows, asked.cursor.as_deref(), PAGE) {
            Some(page) => answer::sources(&page),
            None => answer::problem("that is not a cursor of this list; start again without one"),
        }
    }

    fn list_functions(&self, asked: &ListFunctions) -> CallToolResult {
        let listed = Listed {
            source: asked.source.as_deref(),
            group: asked.tag.as_deref(),
            cursor: asked.cursor.as_deref(),
            limit: asked.limit,
        };
        match self.engine.functions(&listed) {
            Ok(page) => answer::functions(&page),
            Err(error) => answer::problem(&error.to_string()),
        }
    }

    fn search_docs(&self, asked: &SearchDocs) -> CallToolResult {
        let (source, cursor) = (asked.source.as_deref(), asked.cursor.as_deref());
        match self
            .engine
            .search(&asked.query, source, cursor, asked.limit)
        {
            Ok(found) => answer::found(&found),
            Err(error) => answer::problem(&error.to_string()),
        }
    }

    fn get_function_docs(&self, asked: GetFunctionDocs) -> CallToolResult {
        let names = match asked.names {
            Names::One(name) => vec![name],
            Names::Several(names) => names,
        };
        match self.engine.docs(&names, MOST_DOCS) {
            Ok(docs) => answer::docs(&docs),
            Err(error) => answer::problem(&error.to_string()),
        }
    }

    async fn execute(
        &self,
        asked: ExecuteScript,
        reply: Reply,
        cx: RequestContext<RoleServer>,
    ) -> CallToolResponse {
        let running = match reply.key {
            None => match auth::credentials(&cx.meta) {
                Ok(credentials) => {
                    let script = Script {
                        text: asked.script,
                        timeout_ms: asked.timeout_ms,
                        credentials,
                        owner: OWNER.to_owned(),
                        ..Script::default()
                    };
                    Ok(Running::start(self.engine.clone(), script, Way::of(&cx)))
                }
                Err(error) => Err(error.to_string()),
            },
            Some(key) => {
                let resumed = self.parked.resume(&key, &asked.script, reply.answers);
                resumed.map_err(|error| error.to_string())
            }
        };
        match running {
            Ok(running) => running.follow(&cx, &self.parked).await,
            Err(problem) => answer::problem(&problem).into(),
        }
    }
}

/// What a client brings along when it calls again after a question.
struct Reply {
    key: Option<String>,
    answers: InputResponses,
}

impl Reply {
    fn take(request: &mut CallToolRequestParams) -> Self {
        Self {
            key: request.request_state.take(),
            answers: request.input_responses.take().unwrap_or_default(),
        }
    }
}

/// Reads the arguments of a tool and answers with `then`, or says what does not fit.
fn with<T: DeserializeOwned>(
    request: CallToolRequestParams,
    then: impl FnOnce(T) -> CallToolResult,
) -> CallToolResult {
    match arguments(request) {
        Ok(asked) => then(asked),
        Err(problem) => problem,
    }
}

fn arguments<T: DeserializeOwned>(request: CallToolRequestParams) -> Result<T, CallToolResult> {
    let given = Value::Object(request.arguments.unwrap_or_default());
    serde_json::from_value(given).map_err(|error| {
        answer::problem(&format!(
            "the arguments of `{}` do not fit: {error}",
            request.name
        ))
    })
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        // There are no prompts yet; but `prompts/list` is answered, and what is answered is declared.
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_prompts()
            .build();
        let identity =
            Implementation::new("toolscript", env!("CARGO_PKG_VERSION")).with_title("toolscript");
        ServerConfig::new(capabilities)
            .with_server_info(identity)
            .with_instructions(self.instructions())
    }

    async fn on_initialized(&self, cx: NotificationContext<RoleServer>) {
        changes::tell(&self.engine, cx.peer);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(changes::accepted(requested))
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        changes::listen(&self.engine, &subscription).await;
        Ok(())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().iter().find(|tool| tool.name == name).cloned()
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools().to_vec()))
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.get_tool(&request.name).is_none() {
            let names: Vec<String> = self
                .tools()
                .iter()
                .map(|tool| tool.name.to_string())
                .collect();
            let message = format!(
                "there is no tool `{}`; the tools are {}",
                request.name,
                names.join(", ")
            );
            return Err(ErrorData::invalid_params(message, None));
        }
        let result = match &*request.name {
            "list_apis" => with(request, |asked| self.list_apis(&asked)),
            "list_functions" => with(request, |asked| self.list_functions(&asked)),
            "search_docs" => with(request, |asked| self.search_docs(&asked)),
            "get_function_docs" => with(request, |asked| self.get_function_docs(asked)),
            _ => {
                let reply = Reply::take(&mut request);
                match arguments(request) {
                    Ok(asked) => return Ok(self.execute(asked, reply, cx).await),
                    Err(problem) => problem,
                }
            }
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let page = answer::page_of(self.engine.resources(OWNER), cursor.as_deref(), PAGE)
            .ok_or_else(|| ErrorData::invalid_params("that is not a cursor of this list", None))?;
        let resources = page.items.into_iter().map(answer::resource);
        let mut result = ListResourcesResult::with_all_items(resources.collect());
        result.next_cursor = page.next_cursor;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = TEMPLATES.iter().map(|template| {
            ResourceTemplate::new(template.uri, template.name)
                .with_description(template.description)
                .with_mime_type(template.media_type)
        });
        Ok(ListResourceTemplatesResult::with_all_items(
            templates.collect(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = self
            .engine
            .resource(OWNER, &request.uri)
            .map_err(|error| ErrorData::resource_not_found(error.to_string(), None))?;
        let contents = contents.into_iter().map(|content| {
            ResourceContents::text(content.text, content.uri).with_mime_type(content.media_type)
        });
        Ok(ReadResourceResult::new(contents.collect()).into())
    }
}

impl Handler {
    /// What to do first. Names the sources and holds no other word from outside.
    fn instructions(&self) -> String {
        use toolscript_engine::config::Surface;
        let lead = match self.engine.settings().server.surface {
            Surface::Standard => {
                "Call many API functions in one Luau script instead of one tool call each. \
                 1. search_docs finds functions. 2. get_function_docs shows exact types; read them before calling. \
                 3. execute_script runs a script: local pet = sdk.petstore.get_pet({ petId = 1 }); return pet.name. \
                 Return only what you need; use parallel({f, g}) for independent calls; \
                 a failed call raises an error with the line, status and body, which pcall catches."
            }
            Surface::Single => {
                "One tool, run(script), executes Luau. Inside: help() names the sources, search(\"words\") finds functions, \
                 docs(\"source.function\") shows exact types, sdk.source.function(params, body?) calls. \
                 Return only what you need; use parallel({f, g}) for independent calls."
            }
        };
        let sources = self.engine.overview(LONGEST_INSTRUCTIONS - lead.len());
        format!("{lead}\n{sources}")
    }
}
