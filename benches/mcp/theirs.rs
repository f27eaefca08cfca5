//! Servers of rmcp with the same tool, declared with rmcp's own macro.

use rmcp::{
    Json, ServerHandler,
    handler::server::{
        router::tool::{ToolRoute, ToolRouter},
        wrapper::Parameters,
    },
    model::Tool,
    schemars::JsonSchema,
    tool, tool_handler,
};
use serde::Deserialize;

use super::{Found, found};

/// The parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Search {
    /// The text to find.
    query: String,
    /// The number of results.
    limit: u32,
}

/// A server that stores its router.
#[derive(Clone)]
pub(super) struct Catalogue {
    tool_router: ToolRouter<Self>,
}

impl Catalogue {
    /// Creates a server of this number of tools.
    pub(super) fn new(tools: usize) -> Self {
        Self { tool_router: route_all(Self::search_tool_attr, |tool| ToolRoute::new(tool, Self::search), tools) }
    }

    #[tool(description = "Search the catalogue.")]
    async fn search(&self, Parameters(search): Parameters<Search>) -> Json<Found> {
        Json(found(&search.query, search.limit))
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Catalogue {}

/// A server as rmcp's README shows it. Its handler makes the router of all tools for each call.
#[derive(Clone)]
pub(super) struct Rebuilt<const TOOLS: usize>;

impl<const TOOLS: usize> Rebuilt<TOOLS> {
    /// Does what `#[tool_router]` would write for so many functions.
    fn tool_router() -> ToolRouter<Self> {
        route_all(Self::search_tool_attr, |tool| ToolRoute::new(tool, Self::search), TOOLS)
    }

    #[tool(description = "Search the catalogue.")]
    async fn search(&self, Parameters(search): Parameters<Search>) -> Json<Found> {
        Json(found(&search.query, search.limit))
    }
}

#[tool_handler]
impl<const TOOLS: usize> ServerHandler for Rebuilt<TOOLS> {}

/// Returns the router of this number of tools: the same tool under several names.
fn route_all<S: Send + Sync + 'static>(
    tool: fn() -> Tool,
    route: fn(Tool) -> ToolRoute<S>,
    tools: usize,
) -> ToolRouter<S> {
    let mut router = ToolRouter::new();
    for number in 0..tools {
        let mut tool = tool();
        if number > 0 {
            tool.name = format!("search_{number}").into();
        }
        router.add_route(route(tool));
    }
    router
}
