//! Runs on a Temporal server: `scripts/engine temporal cargo test -p tool-temporal` starts one.
//!
//! `suite` has the tests of tests/run that hold wherever a run is kept. `runs` has the tests of this engine alone.

#[path = "../../../tests/run/engine_backends.rs"]
mod backends;
mod limits;
mod runs;
mod service;
mod silent;
#[path = "../../../tests/run/suite.rs"]
mod suite;

use suite::{kit, store_hooks};
