//! Tools whose dynamic parameters are known at run time, as a user sees them.

mod null;
mod random;
mod tools;
