use std::time::Instant;

use tool_runtime::tool;

/// Wait.
#[tool(allow(undescribed))]
async fn wait(until: Instant) -> bool {
    until > Instant::now()
}

fn main() {}
