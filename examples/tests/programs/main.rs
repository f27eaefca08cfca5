//! Tests of the examples as programs: behind a pipe, in a terminal, with a model over HTTP in each wire format, and as
//! processes with a common store.

mod approvals;
mod mcp;
mod middleware;
mod printed_output;

#[cfg(unix)]
mod kit;
#[cfg(unix)]
mod single;
#[cfg(unix)]
mod wire_formats;

#[cfg(unix)]
use single::program;
