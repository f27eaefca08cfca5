//! The shop as a whole, over the extract.

mod refusals;
mod replays;
mod shop;

use std::sync::Arc;

use serde_json::Value;

use crate::store::Store;
use crate::{data, tools};

fn shop() -> Store {
    Store::new(Arc::new(data::embedded().unwrap()))
}

fn call(store: &Store, name: &str, arguments: &Value) -> Result<Value, String> {
    tools::call(store, name, &arguments.to_string())
}
