//! The wire format: the answers of tools, their schema, and cases recorded elsewhere.

mod agree;
mod runner;
