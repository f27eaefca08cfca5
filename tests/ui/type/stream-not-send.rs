use std::rc::Rc;

use futures_util::stream::{self, Stream};
use tool_runtime::tool;

/// Counts down.
#[tool(allow(undescribed))]
fn countdown(from: u32) -> impl Stream<Item = u32> {
    let shared = Rc::new(from);
    stream::repeat_with(move || *shared)
}

fn main() {}
