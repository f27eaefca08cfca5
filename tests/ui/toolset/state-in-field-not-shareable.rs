use std::cell::Cell;

use tool_runtime::{Provide, tool, toolset};

#[derive(Provide)]
struct App {
    count: Cell<u32>,
}

/// Count.
#[tool]
async fn count(#[state] count: &Cell<u32>) -> u32 {
    count.get()
}

fn main() {
    let app = App { count: Cell::new(3) };
    let _ = toolset!(app; count);
}
