//! A server of rmcp with the same tool, declared with rmcp's own macro.

use rmcp::{
    Json, ServerHandler,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    schemars::JsonSchema,
    tool, tool_handler, tool_router,
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

/// A server of one tool.
#[derive(Clone)]
pub(super) struct Catalogue {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Catalogue {
    pub(super) fn new() -> Self {
        Self { tool_router: Self::tool_router() }
    }

    #[tool(description = "Search the catalogue.")]
    async fn search(&self, Parameters(search): Parameters<Search>) -> Json<Found> {
        Json(found(&search.query, search.limit))
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Catalogue {}
