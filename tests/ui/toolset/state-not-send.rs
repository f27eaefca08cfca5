use std::rc::Rc;

use tool_runtime::{tool, toolset};

/// Count.
#[tool]
fn count(#[state] count: Rc<u32>) -> u32 {
    *count
}

fn main() {
    let _ = toolset!(Rc::new(3_u32); count);
}
