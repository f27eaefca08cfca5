//! Tools with lifetimes and bounds wherever they are possible: in state, in the context and in return types.

use std::sync::Arc;

use futures_core::Stream;
use futures_util::stream;
use tool_runtime::{Context, ExecuteWith, Provide, Toolset, tool, tools, toolset};

/// A generic type.
#[derive(Debug)]
pub struct Store<T> {
    items: Vec<T>,
}

/// The application.
#[derive(Debug, Provide)]
pub struct App<T: Send + Sync> {
    store: Store<T>,
    name: Arc<str>,
}

/// Counts the stored items.
#[tool]
fn count<'a>(
    #[state] store: &'a Store<String>,
    #[state] name: Arc<str>,
    #[context] cx: &'a Context,
    #[context] again: Context,
) -> String
where
    String: Clone,
{
    let first: &'a str = cx.call_id();
    format!("{first}{name}{}{}", again.call_id(), store.items.len())
}

/// Counts on.
#[tool]
fn count_on(
    /// The largest distance.
    most: u8,
) -> impl Stream<Item = u8> + Send {
    stream::iter(0..most)
}

/// Counts on, and can fail.
#[tool]
async fn count_on_or_fail(
    /// The largest distance.
    most: u8,
) -> impl Stream<Item = Result<u8, String>> + Send + use<> {
    stream::iter(0..most).map_ok()
}

trait MapOk: Stream<Item = u8> + Sized {
    fn map_ok(self) -> impl Stream<Item = Result<u8, String>> + Send;
}

impl<S: Stream<Item = u8> + Send> MapOk for S {
    fn map_ok(self) -> impl Stream<Item = Result<u8, String>> + Send {
        futures_util::StreamExt::map(self, Ok)
    }
}

/// Has a generic state.
#[tool(state = Store<String>)]
struct Find {
    /// The item.
    what: String,
}

impl ExecuteWith<Store<String>> for Find {
    type Output = Option<usize>;
    type Error = std::convert::Infallible;

    async fn execute(self, store: &Store<String>, _: &Context) -> Result<Option<usize>, Self::Error> {
        Ok(store.items.iter().position(|item| *item == self.what))
    }
}

#[tools]
impl Store<u8> {
    /// The sum of a few.
    #[tool]
    fn sum<'a>(
        &'a self,
        /// The largest number of results.
        #[arg(default = Self::MOST)]
        most: usize,
        #[context] cx: &'a Context,
    ) -> usize {
        debug_assert!(!cx.call_id().is_empty());
        self.items.iter().take(most).map(|item| usize::from(*item)).sum()
    }

    const MOST: usize = 3;
}

/// Text that lives for ever.
#[tool]
const fn forever() -> &'static str {
    "for ever"
}

/// Returns all tools.
#[must_use]
pub fn all() -> Toolset {
    let app = App { store: Store { items: vec!["a".to_owned()] }, name: "b".into() };
    let methods = Store { items: vec![1, 2] }.toolset();
    toolset!(app; count, count_on, count_on_or_fail, Find, forever).merge(methods).unwrap_or_default()
}

tool_runtime::lint_test!(all());
