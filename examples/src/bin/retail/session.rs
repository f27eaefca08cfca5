//! A conversation with the shop's agent.

use std::sync::Arc;

use crate::store::{Database, Store};

/// Starts a conversation over `database`.
pub(crate) fn start(database: Database) {
    let store = Store::new(Arc::new(database));
    println!("a shop with {} product types is open, but nobody is at the counter yet", store.products().count());
    println!("replay recorded tasks with `retail replay FOLDER`");
}
