use std::sync::Mutex;

use tool_runtime::tool;

/// Count.
#[tool]
async fn count(#[state] seen: &Mutex<u32>) -> u32 {
    let mut seen = seen.lock().unwrap();
    std::future::ready(()).await;
    *seen += 1;
    *seen
}

fn main() {}
