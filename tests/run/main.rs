//! Runs that wait, are decided about, break off and go on: what a hostile or careless party must not achieve, and what
//! the driver of an agent promises.

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
