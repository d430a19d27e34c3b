//! `/customers` and `/orders`.

use axum::{
    Json, Router,
    extract::{Path, Query, State, rejection::JsonRejection},
    http::StatusCode,
    response::Response,
    routing::{get, post},
};
use serde::Deserialize;

use super::{
    Problem, Shared, lock,
    paging::{Paging, page},
    shop::{Customer, NewCustomer, NewOrder, Order, OrderStatus},
};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/customers", get(list_customers).post(create_customer))
        .route("/orders", get(list).post(create))
        .route("/orders/{id}", get(read))
        .route("/orders/{id}/pay", post(pay))
        .route("/orders/{id}/cancel", post(cancel))
}

async fn list_customers(State(shop): State<Shared>) -> Json<Vec<Customer>> {
    Json(lock(&shop).customers.values().cloned().collect())
}

async fn create_customer(
    State(shop): State<Shared>,
    customer: Result<Json<NewCustomer>, JsonRejection>,
) -> Result<(StatusCode, Json<Customer>), Problem> {
    let Json(customer) = customer?;
    Ok((
        StatusCode::CREATED,
        Json(lock(&shop).add_customer(customer)?),
    ))
}

#[derive(Debug, Deserialize)]
struct OrderFilter {
    status: Option<OrderStatus>,
}

async fn list(
    State(shop): State<Shared>,
    Query(filter): Query<OrderFilter>,
    Query(query): Query<Vec<(String, String)>>,
    Query(paging): Query<Paging>,
) -> Response {
    let wanted = |order: &&Order| filter.status.is_none_or(|status| order.status == status);
    let orders: Vec<Order> = lock(&shop)
        .orders
        .values()
        .filter(wanted)
        .cloned()
        .collect();
    page(&query, &["status"], &paging, &orders)
}

async fn create(
    State(shop): State<Shared>,
    order: Result<Json<NewOrder>, JsonRejection>,
) -> Result<(StatusCode, Json<Order>), Problem> {
    let Json(order) = order?;
    Ok((StatusCode::CREATED, Json(lock(&shop).place(order)?)))
}

async fn read(State(shop): State<Shared>, Path(id): Path<u64>) -> Result<Json<Order>, Problem> {
    let order = lock(&shop).orders.get(&id).cloned();
    order.map(Json).ok_or_else(|| Problem::missing("order", id))
}

async fn pay(State(shop): State<Shared>, Path(id): Path<u64>) -> Result<Json<Order>, Problem> {
    lock(&shop).pay(id).map(Json)
}

async fn cancel(State(shop): State<Shared>, Path(id): Path<u64>) -> Result<Json<Order>, Problem> {
    lock(&shop).cancel(id).map(Json)
}
