#![allow(deprecated)]

use std::time::Instant;

use tool_runtime::tool;

/// Wait.
#[tool]
async fn wait(until: Instant) -> bool {
    until > Instant::now()
}

fn main() {}
