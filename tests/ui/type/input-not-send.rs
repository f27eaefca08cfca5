#![allow(deprecated)]

use std::rc::Rc;

use tool_runtime::tool;

/// Pay somebody.
#[tool]
fn pay(amount: Rc<u32>) -> u32 {
    *amount
}

fn main() {}
