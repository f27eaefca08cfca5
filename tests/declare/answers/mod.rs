//! Tests of the wire format: the answers of tools, their schema, and recorded cases.

mod agree;
mod runner;
