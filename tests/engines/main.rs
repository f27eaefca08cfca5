//! Faults on engines: a service or the server dies, a log has entries that nobody can read, a build is replaced. Many runs wait
//! at once. Each engine's module has a server and includes all tests. `scripts/kills` runs more kills, and `scripts/waiting`
//! more runs.
//!
//!     scripts/engine restate cargo test -p tool-engine-tests restate::
//!     scripts/engine temporal cargo test -p tool-engine-tests temporal::

#![allow(clippy::duplicate_mod, reason = "each engine passes the same tests")]

mod restate;
mod temporal;

/// The lock that each test holds: some tests stop the server, and each has a service of its own.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
