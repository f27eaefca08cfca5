use futures_util::stream::{self, Stream};
use tool_runtime::tool;

/// Counts down.
#[tool]
fn countdown(from: u32) -> impl Stream<Item = impl ToString> {
    stream::iter((0..from).rev())
}

fn main() {}
