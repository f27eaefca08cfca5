//! Tests of whole expansions.

mod incomplete;
mod snapshots;
