use std::rc::Rc;

use tool_runtime::tool;

/// Pay somebody.
#[tool(allow(undescribed))]
fn pay(amount: Rc<u32>) -> u32 {
    *amount
}

fn main() {}
