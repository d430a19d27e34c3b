//! Calls through `Client::call` against real servers.

mod bodies;
mod exchange;
mod guarded;
mod secrets;
mod styles;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolscript_catalog::{Call, CallContext, CallError, Credential, FunctionId, Reply, SourceName};

use super::{
    super::operation::{Api, Location, Operation, Parameter, Server, Style},
    Client,
};
use crate::outbound::Outbound;

/// An API of one operation at a server.
fn api(url: &str, operation: Operation) -> Api {
    let server = Server {
        url: url.to_owned(),
        ..Server::default()
    };
    Api {
        servers: vec![server],
        operations: vec![operation],
        ..Api::default()
    }
}

fn operation(method: &str, path: &str) -> Operation {
    Operation {
        method: method.into(),
        path: path.into(),
        ..Operation::default()
    }
}

fn parameter(name: &str, location: Location) -> Parameter {
    let style = match location {
        Location::Path | Location::Header => Style::Simple,
        _ => Style::Form,
    };
    Parameter {
        key: name.into(),
        name: name.into(),
        explode: style == Style::Form,
        location,
        style,
        ..Parameter::default()
    }
}

fn client(api: Api, settings: Value) -> Client {
    let settings = serde_json::from_value(settings).unwrap();
    let name = SourceName::parse("api").unwrap();
    let mut client = Client::new(name, Arc::new(api), &settings, Outbound::new()).unwrap();
    client.retry.first_pause = std::time::Duration::from_millis(1);
    client
}

fn function() -> FunctionId {
    "api.f".parse().unwrap()
}

/// Calls the first operation of a client.
async fn call(client: &Client, params: Value) -> Result<Reply, CallError> {
    call_with(client, &CallContext::default(), params, None).await
}

async fn call_as(client: &Client, credential: Credential) -> Result<Reply, CallError> {
    let cx = CallContext {
        credential: Some(credential),
        ..CallContext::default()
    };
    call_with(client, &cx, json!({}), None).await
}

async fn call_with(
    client: &Client,
    cx: &CallContext,
    params: Value,
    body: Option<Value>,
) -> Result<Reply, CallError> {
    let params: Map<String, Value> = params.as_object().unwrap().clone();
    client
        .call(
            cx,
            &client.api.operations[0],
            Call {
                function: function(),
                params,
                body,
            },
        )
        .await
}

/// Calls an operation once, with nothing in the settings.
async fn once(url: &str, operation: Operation, params: Value) -> Result<Value, CallError> {
    let client = client(api(url, operation), json!({}));
    call(&client, params).await.map(|reply| reply.value)
}
