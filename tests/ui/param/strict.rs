use std::collections::{BTreeMap, HashMap};

use tool_runtime::tool;

/// Look something up.
#[tool(strict)]
fn look(tags: Option<HashMap<String, String>>, more: Vec<(u8, serde_json::Value)>, #[arg(secret)] key: BTreeMap<u8, u8>) {
    drop((tags, more, key));
}

fn main() {}
