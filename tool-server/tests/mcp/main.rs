//! MCP, both ways, in one process.

mod beside;
mod hostile;
mod http;
mod kit;
mod nonsense;
mod real;
mod serving;
mod stateless;
