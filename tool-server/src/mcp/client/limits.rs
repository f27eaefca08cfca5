//! What is taken from a server, and how long it is waited for.

use std::time::Duration;

/// What is taken from a server, and how long it is waited for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// How long connecting and listing the tools may take.
    pub connect: Duration,
    /// How long a call may take.
    pub call: Duration,
    /// How many tools are taken; a server that has more is refused.
    pub tools: usize,
    /// How many bytes the definition of a tool may have; a larger one is left out.
    pub definition_bytes: usize,
    /// How many bytes the result of a call may have; a larger one is a failure.
    pub result_bytes: usize,
    /// How often a call may ask for input before it is given up.
    pub rounds: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            call: Duration::from_mins(1),
            tools: 512,
            definition_bytes: 256 * 1024,
            result_bytes: 1024 * 1024,
            rounds: 8,
        }
    }
}
