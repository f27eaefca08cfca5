//! Tests of servers: their protocols, routes and guard.

mod ag_ui;
mod ai_sdk;
mod both_protocols;
mod fleet;
mod guard;
mod kit;
mod lost_connections;
#[cfg(feature = "mcp")]
mod mcp;
mod model;
mod reloads;
mod tools;
