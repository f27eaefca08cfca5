use futures_util::stream::{self, Stream};
use tool_runtime::tool;

/// Spells.
#[tool]
fn spell(word: String) -> impl Stream<Item = &str> {
    stream::iter(word.split(' '))
}

fn main() {}
