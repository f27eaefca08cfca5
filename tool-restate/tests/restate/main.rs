//! Runs on a server of Restate: `scripts/engine restate cargo test -p tool-restate`.
//!
//! `suite` has the tests of tests/run that hold wherever a run is kept. The other modules have the tests of this engine alone.

#[path = "../../../tests/run/engine_backends.rs"]
mod backends;
mod journal;
mod runs;
mod service;
mod silent;
#[path = "../../../tests/run/suite.rs"]
mod suite;

use suite::{kit, store_hooks};
