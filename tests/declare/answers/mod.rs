//! What crosses the wire: the answers of tools, their schema, and cases that were recorded elsewhere.

mod agree;
mod runner;
