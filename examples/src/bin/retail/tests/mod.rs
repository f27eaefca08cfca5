//! The shop as a whole, over the extract.

mod declarations;
mod refusals;
mod replays;
mod shop;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tool_runtime::{CallError, Context, Output};

use crate::store::Store;
use crate::{data, tools};

fn shop() -> Arc<Store> {
    Arc::new(Store::new(Arc::new(data::embedded().unwrap())))
}

/// A call through the toolset, as the runtime gives it back.
fn output(store: &Arc<Store>, name: &str, arguments: &Value) -> Result<Output, CallError> {
    let tools = tools::of(Arc::clone(store));
    wait(tools.call(name, &arguments.to_string(), &Context::new("call_1")))
}

/// Returns a call's value, or the text that the model receives in its place.
fn call(store: &Arc<Store>, name: &str, arguments: &Value) -> Result<Value, String> {
    match output(store, name, arguments) {
        Ok(output) => Ok(output.decode().unwrap()),
        Err(error) => Err(error.to_string()),
    }
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

fn package(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
