use std::{future::Future, pin::Pin};

use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(query: String) -> impl Future<Output = String> {
    async move { query }
}

/// Look something up.
#[tool]
fn boxed(query: String) -> Pin<Box<dyn Future<Output = String> + Send>> {
    Box::pin(async move { query })
}

fn main() {}
