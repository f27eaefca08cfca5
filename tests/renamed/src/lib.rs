//! Declarations in a crate that has the runtime under another name. The declarations give the name; `toolset!` and `lint_test!`
//! find it.
#![forbid(unsafe_code)]
#![deny(warnings, clippy::all, clippy::pedantic, clippy::nursery, missing_docs)]

use std::convert::Infallible;

use kit::{
    Calls, Context, DynamicInput, Execute, Provide, ToolOutput, Toolset, TypedCall, Validation, tool, tools, toolset,
};

/// A shop.
#[derive(Debug)]
pub struct Shop {
    items: Vec<String>,
}

/// The application.
#[derive(Debug, Provide)]
#[provide(crate = kit)]
pub struct App {
    shop: Shop,
}

/// A search result.
#[derive(Debug, ToolOutput)]
pub struct Found;

/// Look something up.
#[tool(crate = kit, approval = when(is_long))]
fn look(
    /// The words to look for.
    query: String,
    /// The largest number of results.
    #[cfg(not(any()))]
    #[arg(default = 3, range(1..=9))]
    most: usize,
    #[state] shop: &Shop,
    #[context] cx: &Context,
) -> String {
    format!("{query}: {most} of {} for {}", shop.items.len(), cx.call_id())
}

const fn is_long(input: &look) -> bool {
    input.query.len() > 80
}

/// A stop of a journey.
#[derive(Debug, DynamicInput)]
#[dynamic_input(crate = kit)]
pub struct Stop {
    /// The city.
    #[dynamic(validate = city)]
    pub city: String,
}

fn city(value: Option<String>, _: StopCity<'_>) -> Validation<String> {
    value.map_or_else(|| Validation::reject("missing"), Validation::accept)
}

/// Travel.
#[tool(crate = kit)]
struct Travel {
    /// The destination.
    #[dynamic(nested)]
    to: Stop,
}

impl Execute for Travel {
    type Output = String;
    type Error = Infallible;

    async fn execute(self, _: &Context) -> Result<String, Infallible> {
        Ok(self.to.city)
    }
}

#[tools(crate = kit)]
impl Shop {
    /// Count the items.
    #[tool(effect = read_only)]
    const fn count(&self) -> usize {
        self.items.len()
    }
}

/// The calls.
#[derive(Calls)]
#[calls(crate = kit)]
enum AppCall {
    /// See [`look`].
    Look(TypedCall<look>),
}

/// Returns all tools.
#[must_use]
pub fn all() -> Toolset {
    let app = App { shop: Shop { items: Vec::new() } };
    let methods = Shop { items: Vec::new() }.toolset();
    toolset!(app; look, Travel).merge(methods).unwrap_or_default()
}

/// Returns the words of a call of `look`.
#[must_use]
pub fn query(call: &kit::message::ToolCall) -> Option<String> {
    match AppCall::read(call).ok()? {
        AppCall::Look(call) => Some(call.input.query),
    }
}

kit::lint_test!(all());
