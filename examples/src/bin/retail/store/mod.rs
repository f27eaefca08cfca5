//! The shop's records, and what the tools have changed in them.

mod address;
mod order;
mod product;
mod user;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

pub(crate) use self::address::Address;
pub(crate) use self::order::{CancelReason, Item, Order, Status, Transaction};
pub(crate) use self::product::{Product, Variant};
pub(crate) use self::user::User;
use crate::error::RetailError;

/// The tables, by id, in the order of the file.
#[derive(Debug, Deserialize)]
pub(crate) struct Database {
    orders: IndexMap<String, Order>,
    products: IndexMap<String, Product>,
    users: IndexMap<String, User>,
}

/// Records that differ from the database, by id.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Changes {
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    orders: IndexMap<String, Order>,
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    users: IndexMap<String, User>,
}

/// State that all tools share: a database that many stores can read, and this store's changes.
#[derive(Debug)]
pub(crate) struct Store {
    database: Arc<Database>,
    changes: Mutex<Changes>,
}

impl Store {
    pub(crate) fn new(database: Arc<Database>) -> Self {
        Self { database, changes: Mutex::default() }
    }

    pub(crate) fn order(&self, id: &str) -> Result<Order, RetailError> {
        self.changes().order(&self.database, id).cloned()
    }

    pub(crate) fn user(&self, id: &str) -> Result<User, RetailError> {
        self.changes().user(&self.database, id).cloned()
    }

    /// The id of the first user, in the order of the database, for whom `wanted` holds.
    pub(crate) fn find_user(&self, wanted: impl Fn(&User) -> bool) -> Result<String, RetailError> {
        let changes = self.changes();
        let found = self.database.users.iter().find(|(id, user)| wanted(changes.users.get(*id).unwrap_or(user)));
        found.map(|(id, _)| id.clone()).ok_or(RetailError::UserNotFound)
    }

    pub(crate) fn product(&self, id: &str) -> Result<&Product, RetailError> {
        self.database.products.get(id).ok_or(RetailError::ProductNotFound)
    }

    pub(crate) fn products(&self) -> impl Iterator<Item = &Product> {
        self.database.products.values()
    }

    /// Changes an order and, where money moves, its user's gift cards: both, or neither when `change` refuses.
    pub(crate) fn change_order(
        &self,
        id: &str,
        change: impl FnOnce(&mut Order, &mut User) -> Result<(), RetailError>,
    ) -> Result<Order, RetailError> {
        let mut changes = self.changes();
        let mut order = changes.order(&self.database, id)?.clone();
        let mut user = changes.user(&self.database, &order.user_id)?.clone();
        change(&mut order, &mut user)?;
        changes.users.insert(order.user_id.clone(), user);
        changes.orders.insert(id.to_owned(), order.clone());
        Ok(order)
    }

    pub(crate) fn change_user(&self, id: &str, change: impl FnOnce(&mut User)) -> Result<User, RetailError> {
        let mut changes = self.changes();
        let mut user = changes.user(&self.database, id)?.clone();
        change(&mut user);
        changes.users.insert(id.to_owned(), user.clone());
        Ok(user)
    }

    /// The records that now differ from the database; `86` and `86.0` do not.
    pub(crate) fn changed(&self) -> Changes {
        let mut changes = self.changes().clone();
        changes.orders.retain(|id, order| self.database.orders.get(id) != Some(order));
        changes.users.retain(|id, user| self.database.users.get(id) != Some(user));
        changes
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        // Records are put in whole, so a panic elsewhere leaves nothing half changed.
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Changes {
    fn order<'a>(&'a self, database: &'a Database, id: &str) -> Result<&'a Order, RetailError> {
        self.orders.get(id).or_else(|| database.orders.get(id)).ok_or(RetailError::OrderNotFound)
    }

    fn user<'a>(&'a self, database: &'a Database, id: &str) -> Result<&'a User, RetailError> {
        self.users.get(id).or_else(|| database.users.get(id)).ok_or(RetailError::UserNotFound)
    }
}
