//! The examples as programs: behind a pipe, in a terminal, with a model over HTTP, and as processes with a common store.

mod approvals;
mod lessons;
mod mcp;
mod middleware;

#[cfg(unix)]
mod alone;
#[cfg(unix)]
mod kit;

#[cfg(unix)]
use alone::program;
