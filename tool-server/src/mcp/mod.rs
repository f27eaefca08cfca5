//! MCP both ways: a toolset is a server, and a server is a toolset.

pub mod client;
mod log;
pub mod server;

pub use client::{RemoteServer, RemoteTools};
pub use log::LogLevel;
pub use server::{McpHttp, McpServer};
