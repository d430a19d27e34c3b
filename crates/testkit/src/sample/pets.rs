//! The shop itself: create, read, replace, delete, list by pages, upload a photo.

use std::sync::Arc;

use axum::{
    Extension, Json, Router,
    extract::{Path, Query, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use std::collections::HashMap;

use super::{Shop, lock, problem};
use crate::Recorded;

pub(super) fn routes() -> Router<Arc<Shop>> {
    Router::new()
        .route("/pets", get(list).post(create))
        .route("/pets/{id}", get(read).put(replace).delete(remove))
        .route("/pets/{id}/photo", post(photo))
        .route("/pets/{id}/friends/{friend}", get(friend))
        .route("/cursor/pets", get(list_by_cursor))
}

/// Pages by number, announced in a `Link` header.
async fn list(
    State(shop): State<Arc<Shop>>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let number = |name: &str, otherwise: usize| {
        query
            .get(name)
            .and_then(|text| text.parse().ok())
            .unwrap_or(otherwise)
            .max(1)
    };
    let (limit, page) = (number("limit", 5), number("page", 1));
    let pets: Vec<Value> = lock(&shop.pets).values().cloned().collect();
    let shown: Vec<&Value> = pets.iter().skip((page - 1) * limit).take(limit).collect();
    let body = Json(json!(shown));
    if pets.len() <= page * limit {
        return body.into_response();
    }
    let last = pets.len().div_ceil(limit);
    let link = |page| format!("<{}/pets?limit={limit}&page={page}>", shop.url);
    let links = format!(
        "{}; rel=\"next\", {}; rel=\"last\"",
        link(page + 1),
        link(last)
    );
    ([(header::LINK, links)], body).into_response()
}

/// Pages by a cursor inside the answer.
async fn list_by_cursor(
    State(shop): State<Arc<Shop>>,
    Query(query): Query<HashMap<String, String>>,
) -> Json<Value> {
    let after = query
        .get("cursor")
        .and_then(|cursor| cursor.strip_prefix("after-"));
    let after: u64 = after.and_then(|id| id.parse().ok()).unwrap_or(0);
    let pets = lock(&shop.pets);
    let mut rest = pets.range(after + 1..);
    let data: Vec<Value> = rest.by_ref().take(5).map(|(_, pet)| pet.clone()).collect();
    let next = rest.next().map(|(id, _)| format!("after-{}", id - 1));
    Json(json!({"data": data, "next_cursor": next}))
}

async fn create(State(shop): State<Arc<Shop>>, Json(mut pet): Json<Value>) -> Response {
    if !pet.get("name").is_some_and(Value::is_string) {
        return problem(StatusCode::UNPROCESSABLE_ENTITY, "a pet needs a name");
    }
    let mut pets = lock(&shop.pets);
    let id = pets.last_key_value().map_or(1, |(id, _)| id + 1);
    pet["id"] = json!(id);
    pets.insert(id, pet.clone());
    (
        StatusCode::CREATED,
        [(header::LOCATION, format!("/pets/{id}"))],
        Json(pet),
    )
        .into_response()
}

async fn read(State(shop): State<Arc<Shop>>, Path(id): Path<String>) -> Response {
    match find(&shop, &id) {
        Some(pet) => Json(pet).into_response(),
        None => problem(StatusCode::NOT_FOUND, &format!("no pet {id}")),
    }
}

async fn replace(
    State(shop): State<Arc<Shop>>,
    Path(id): Path<u64>,
    Json(mut pet): Json<Value>,
) -> Json<Value> {
    pet["id"] = json!(id);
    lock(&shop.pets).insert(id, pet.clone());
    Json(pet)
}

async fn remove(State(shop): State<Arc<Shop>>, Path(id): Path<u64>) -> Response {
    match lock(&shop.pets).remove(&id) {
        Some(_) => StatusCode::NO_CONTENT.into_response(),
        None => problem(StatusCode::NOT_FOUND, &format!("no pet {id}")),
    }
}

/// Says what it got: the names and sizes of the parts.
async fn photo(Path(id): Path<u64>, Extension(request): Extension<Recorded>) -> Response {
    match request.parts().await {
        Some(parts) => Json(json!({"id": id, "parts": parts})).into_response(),
        None => problem(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send multipart/form-data",
        ),
    }
}

async fn friend(
    State(shop): State<Arc<Shop>>,
    Path((id, friend)): Path<(String, String)>,
) -> Response {
    match (find(&shop, &id), find(&shop, &friend)) {
        (Some(pet), Some(friend)) => Json(json!({"pet": pet, "friend": friend})).into_response(),
        _ => problem(StatusCode::NOT_FOUND, "no such friends"),
    }
}

fn find(shop: &Shop, id: &str) -> Option<Value> {
    lock(&shop.pets).get(&id.parse().ok()?).cloned()
}
