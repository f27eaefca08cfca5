use std::{cell::Cell, future, rc::Rc};

use tool_runtime::tool;

/// Pay somebody.
#[tool(allow(undescribed))]
async fn pay(amount: u32) -> u32 {
    let shared = Rc::new(Cell::new(amount));
    future::ready(()).await;
    shared.get()
}

fn main() {}
