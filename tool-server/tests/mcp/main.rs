//! MCP, both ways, in one process.

mod beside;
#[path = "../../../tests/src/bin/mcp-conformance/declared.rs"]
mod declared;
mod hostile;
mod http;
mod kit;
mod lines;
mod nonsense;
mod pieces;
mod real;
mod serving;
mod stateless;
