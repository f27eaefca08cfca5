//! Runs that wait, get decisions, break off and continue: what a hostile party must not achieve, and what an agent's driver
//! guarantees.

mod breaks;
mod decisions;
mod digits;
mod dynamic;
mod expiry;
mod granted;
mod hooks;
mod kit;
mod leases;
mod leaves;
mod limits;
mod questions;
mod random;
mod repaired;
mod single;
mod steps;
mod stops;
mod subagents;
mod touches;
mod turns;
mod waits;
mod workers;
mod wrapped;
