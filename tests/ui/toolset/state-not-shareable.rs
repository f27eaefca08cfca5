use std::cell::Cell;

use tool_runtime::{tool, toolset};

/// Count.
#[tool]
fn count(#[state] count: &Cell<u32>) -> u32 {
    count.get()
}

fn main() {
    let _ = toolset!(Cell::new(3_u32); count);
}
