//! `/pets` and `/inventory`.

use std::collections::BTreeMap;

use axum::{
    Json, Router,
    extract::{Path, Query, State, rejection::JsonRejection},
    http::StatusCode,
    response::Response,
    routing::get,
};
use serde::de::{DeserializeOwned, IntoDeserializer, value::Error as ValueError};

use super::{
    Problem, Shared, lock,
    paging::{Paging, page},
    shop::{Kind, NewPet, Pet, PetChanges, PetStatus},
};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/pets", get(list).post(create))
        .route("/pets/{id}", get(read).patch(update).delete(remove))
        .route("/inventory", get(inventory))
}

/// Which pets to list; `kind` may come several times.
#[derive(Debug, Default)]
struct Filter {
    kinds: Vec<Kind>,
    status: Option<PetStatus>,
    max_price: Option<u32>,
}

impl Filter {
    fn parse(query: &[(String, String)]) -> Result<Self, Problem> {
        let mut filter = Self::default();
        for (name, text) in query {
            match name.as_str() {
                "kind" => filter.kinds.push(word(name, text)?),
                "status" => filter.status = Some(word(name, text)?),
                "max_price" => {
                    let price = text.parse();
                    filter.max_price = Some(price.map_err(|_| unfit(name, "not a whole number"))?);
                }
                _ => {}
            }
        }
        Ok(filter)
    }

    fn lets_through(&self, pet: &Pet) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&pet.kind))
            && self.status.is_none_or(|status| pet.status == status)
            && self.max_price.is_none_or(|price| pet.price <= price)
    }
}

/// One of the words an enum knows.
fn word<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, Problem> {
    T::deserialize(text.into_deserializer())
        .map_err(|error: ValueError| unfit(name, &error.to_string()))
}

fn unfit(name: &str, reason: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, format!("`{name}`: {reason}"))
}

async fn list(
    State(shop): State<Shared>,
    Query(query): Query<Vec<(String, String)>>,
    Query(paging): Query<Paging>,
) -> Result<Response, Problem> {
    let filter = Filter::parse(&query)?;
    let mut pets: Vec<Pet> = lock(&shop)
        .pets
        .values()
        .filter(|pet| filter.lets_through(pet))
        .cloned()
        .collect();
    pets.sort_by_key(|pet| pet.price);
    Ok(page(
        &query,
        &["kind", "status", "max_price"],
        &paging,
        &pets,
    ))
}

async fn create(
    State(shop): State<Shared>,
    pet: Result<Json<NewPet>, JsonRejection>,
) -> Result<(StatusCode, Json<Pet>), Problem> {
    let Json(pet) = pet?;
    Ok((StatusCode::CREATED, Json(lock(&shop).add_pet(pet)?)))
}

async fn read(State(shop): State<Shared>, Path(id): Path<u64>) -> Result<Json<Pet>, Problem> {
    let pet = lock(&shop).pets.get(&id).cloned();
    pet.map(Json).ok_or_else(|| Problem::missing("pet", id))
}

async fn update(
    State(shop): State<Shared>,
    Path(id): Path<u64>,
    changes: Result<Json<PetChanges>, JsonRejection>,
) -> Result<Json<Pet>, Problem> {
    let Json(changes) = changes?;
    lock(&shop).change_pet(id, changes).map(Json)
}

async fn remove(State(shop): State<Shared>, Path(id): Path<u64>) -> Result<StatusCode, Problem> {
    lock(&shop).remove_pet(id)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn inventory(State(shop): State<Shared>) -> Json<BTreeMap<PetStatus, usize>> {
    let mut counts = BTreeMap::new();
    for pet in lock(&shop).pets.values() {
        *counts.entry(pet.status).or_default() += 1;
    }
    Json(counts)
}
