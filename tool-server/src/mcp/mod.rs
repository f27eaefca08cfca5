//! MCP both ways: a toolset is a server, and a server is a toolset.

pub mod client;
pub mod server;

pub use client::{RemoteServer, RemoteTools};
pub use server::{McpHttp, McpServer};
