//! `Shop`: what is in the shop, and the rules by which it changes.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use super::Problem;

/// How many pets, customers or orders there may be, since anybody may add to them.
const MOST: usize = 1_000;

/// Everything the shop knows.
#[derive(Debug, Default)]
pub(super) struct Shop {
    pub(super) pets: BTreeMap<u64, Pet>,
    pub(super) customers: BTreeMap<u64, Customer>,
    pub(super) orders: BTreeMap<u64, Order>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Pet {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) price: u32,
    pub(super) status: PetStatus,
    pub(super) note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Cat,
    Dog,
    Parrot,
    Rabbit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PetStatus {
    Available,
    Reserved,
    Sold,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewPet {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) price: u32,
    pub(super) note: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PetChanges {
    name: Option<String>,
    price: Option<u32>,
    note: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Customer {
    pub(super) id: u64,
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewCustomer {
    name: String,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Order {
    pub(super) id: u64,
    customer_id: u64,
    pet_ids: Vec<u64>,
    total: u32,
    pub(super) status: OrderStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OrderStatus {
    Placed,
    Paid,
    Cancelled,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewOrder {
    customer_id: u64,
    pet_ids: Vec<u64>,
}

impl Shop {
    /// The shop as it opens.
    pub(super) fn stocked() -> Self {
        let stock = [
            ("Rex", Kind::Dog, 240),
            ("Mia", Kind::Cat, 95),
            ("Polly", Kind::Parrot, 310),
            ("Hops", Kind::Rabbit, 35),
            ("Bello", Kind::Dog, 180),
            ("Tom", Kind::Cat, 60),
            ("Coco", Kind::Parrot, 275),
            ("Ida", Kind::Cat, 120),
            ("Max", Kind::Dog, 150),
            ("Flop", Kind::Rabbit, 30),
            ("Luna", Kind::Cat, 140),
            ("Zazu", Kind::Parrot, 420),
        ];
        let pets = (1..).zip(stock).map(|(id, (name, kind, price))| {
            let status = PetStatus::Available;
            (
                id,
                Pet {
                    id,
                    name: name.to_owned(),
                    kind,
                    price,
                    status,
                    note: None,
                },
            )
        });
        Self {
            pets: pets.collect(),
            ..Self::default()
        }
    }

    pub(super) fn add_pet(&mut self, new: NewPet) -> Result<Pet, Problem> {
        let id = next_id(&self.pets, "pets")?;
        let name = checked_name(new.name)?;
        let status = PetStatus::Available;
        let pet = Pet {
            id,
            name,
            kind: new.kind,
            price: new.price,
            status,
            note: new.note,
        };
        self.pets.insert(id, pet.clone());
        Ok(pet)
    }

    pub(super) fn change_pet(&mut self, id: u64, changes: PetChanges) -> Result<Pet, Problem> {
        let pet = self
            .pets
            .get_mut(&id)
            .ok_or_else(|| Problem::missing("pet", id))?;
        if let Some(name) = changes.name {
            pet.name = checked_name(name)?;
        }
        pet.price = changes.price.unwrap_or(pet.price);
        pet.note = changes.note.or(pet.note.take());
        Ok(pet.clone())
    }

    pub(super) fn remove_pet(&mut self, id: u64) -> Result<(), Problem> {
        let pet = self
            .pets
            .get(&id)
            .ok_or_else(|| Problem::missing("pet", id))?;
        if pet.status != PetStatus::Available {
            return Err(Problem::conflict(format!(
                "{} belongs to an order",
                pet.name
            )));
        }
        self.pets.remove(&id);
        Ok(())
    }

    pub(super) fn add_customer(&mut self, new: NewCustomer) -> Result<Customer, Problem> {
        let id = next_id(&self.customers, "customers")?;
        let customer = Customer {
            id,
            name: checked_name(new.name)?,
        };
        self.customers.insert(id, customer.clone());
        Ok(customer)
    }

    /// Reserves every pet of the order, or none.
    pub(super) fn place(&mut self, new: NewOrder) -> Result<Order, Problem> {
        let NewOrder {
            customer_id,
            mut pet_ids,
        } = new;
        if !self.customers.contains_key(&customer_id) {
            return Err(Problem::missing("customer", customer_id));
        }
        pet_ids.sort_unstable();
        pet_ids.dedup();
        if pet_ids.is_empty() {
            let message = "an order needs at least one pet in `pet_ids`";
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, message));
        }
        let mut total: u32 = 0;
        for id in &pet_ids {
            let pet = self
                .pets
                .get(id)
                .ok_or_else(|| Problem::missing("pet", *id))?;
            if pet.status != PetStatus::Available {
                return Err(Problem::conflict(format!(
                    "{} is not available any more",
                    pet.name
                )));
            }
            total = total.saturating_add(pet.price);
        }
        let id = next_id(&self.orders, "orders")?;
        let order = Order {
            id,
            customer_id,
            pet_ids,
            total,
            status: OrderStatus::Placed,
        };
        self.mark(&order, PetStatus::Reserved);
        self.orders.insert(id, order.clone());
        Ok(order)
    }

    pub(super) fn pay(&mut self, id: u64) -> Result<Order, Problem> {
        self.settle(id, OrderStatus::Paid, PetStatus::Sold)
    }

    pub(super) fn cancel(&mut self, id: u64) -> Result<Order, Problem> {
        self.settle(id, OrderStatus::Cancelled, PetStatus::Available)
    }

    fn settle(&mut self, id: u64, status: OrderStatus, pets: PetStatus) -> Result<Order, Problem> {
        let order = self
            .orders
            .get_mut(&id)
            .ok_or_else(|| Problem::missing("order", id))?;
        if order.status != OrderStatus::Placed {
            return Err(Problem::conflict(format!(
                "order {id} is already paid or cancelled"
            )));
        }
        order.status = status;
        let order = order.clone();
        self.mark(&order, pets);
        Ok(order)
    }

    fn mark(&mut self, order: &Order, status: PetStatus) {
        for id in &order.pet_ids {
            if let Some(pet) = self.pets.get_mut(id) {
                pet.status = status;
            }
        }
    }
}

fn next_id<T>(rows: &BTreeMap<u64, T>, what: &str) -> Result<u64, Problem> {
    if MOST <= rows.len() {
        let message = format!("the sample shop holds {MOST} {what} at most; restart the demo");
        return Err(Problem::new(StatusCode::INSUFFICIENT_STORAGE, message));
    }
    Ok(rows.last_key_value().map_or(1, |(id, _)| id + 1))
}

fn checked_name(name: String) -> Result<String, Problem> {
    if name.trim().is_empty() {
        return Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "`name` must not be empty",
        ));
    }
    Ok(name)
}
