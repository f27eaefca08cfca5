#![allow(deprecated)]

use serde::Serialize;
use tool_runtime::tool;

#[derive(Serialize)]
struct Receipt;

/// Pay somebody.
#[tool]
fn pay(amount: u32) -> Vec<Receipt> {
    let _ = amount;
    vec![Receipt]
}

fn main() {}
