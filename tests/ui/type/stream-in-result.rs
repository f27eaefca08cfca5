use std::fmt;

use futures_util::stream::{self, Stream};
use tool_runtime::tool;

/// Counts down.
#[tool]
fn countdown(from: u32) -> Result<impl Stream<Item = u32>, fmt::Error> {
    Ok(stream::iter((0..from).rev()))
}

fn main() {}
