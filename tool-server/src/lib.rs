//! Agents and tools of [`tool_runtime`] as services that unmodified frontends and MCP clients use. A [`Server`] speaks the AI
//! SDK's protocol, and AG-UI with the default feature `ag-ui`. The function `typescript` (default feature `typescript`) writes the
//! types of tools. The module `mcp` (feature `mcp`) serves tools over MCP, and turns MCP servers into toolsets.
//!
//! ```no_run
//! use tokio::net::TcpListener;
//! use tool_runtime::{Agent, tool, toolset};
//! use tool_terminal::NegotiatingModel;
//! use tool_server::{BearerToken, Server};
//!
//! /// Add two numbers.
//! #[tool(effect = read_only)]
//! fn add(/** The first. */ a: i64, /** The second. */ b: i64) -> i64 {
//!     a + b
//! }
//!
//! #[tokio::main]
//! async fn main() -> std::io::Result<()> {
//!     tracing_subscriber::fmt::init(); // the log says why a model or a tool failed
//!     let agent = Agent::new(NegotiatingModel::new()).tools(toolset!(add));
//!     let users = BearerToken::of([("s3cret", "anna")]);
//!     let listener = TcpListener::bind("127.0.0.1:3000").await?;
//!     Server::new(agent).authenticate(users).serve(listener, std::future::pending()).await
//! }
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(
    not(feature = "ag-ui"),
    allow(dead_code, unused_imports, reason = "what all protocols share is there, whichever is served")
)]

mod failures;
mod guard;
mod host;
mod http_settings;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod protocol;
mod routes;
mod serve;
mod server;
#[cfg(feature = "typescript")]
mod typescript;

pub use axum;
pub use tower_http::cors::CorsLayer;

pub use axum::Router;
pub use guard::InvalidOrigin;
pub use host::{AllowAnonymous, ApiError, Authenticate, Authenticated, BearerToken, ShutdownHandle};
pub use http_settings::{DEFAULT_GRACE, DEFAULT_MAX_BODY_BYTES, DEFAULT_MAX_REQUESTS};
#[cfg(feature = "ag-ui")]
pub use routes::ag_ui::AgUi;
pub use routes::ai_sdk::{ChunkWriter, respond_with_chunks};
pub use serve::serve;
pub use server::{DEFAULT_MAX_RESPONSES, DEFAULT_MAX_TAKEOVERS, Server};
#[cfg(feature = "typescript")]
pub use typescript::typescript;
