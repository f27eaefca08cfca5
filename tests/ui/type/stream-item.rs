use futures_util::stream::{self, Stream};
use tool_runtime::tool;

struct Count(#[allow(dead_code)] u32);

/// Counts down.
#[tool(allow(undescribed))]
fn countdown(from: u32) -> impl Stream<Item = Count> {
    stream::iter((0..from).rev().map(Count))
}

fn main() {}
