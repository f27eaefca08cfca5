//! MCP both ways: a toolset is a server, and a server is a toolset.

#![expect(
    deprecated,
    reason = "logs, roots and sampling are; clients and servers of revisions up to 2025-11-25 have them"
)]

pub mod client;
pub mod server;

use std::fmt;

use rmcp::model::LoggingLevel;

pub use client::{RemoteServer, RemoteTools};
pub use server::{McpHttp, McpServer};

/// The severity of a log message, after RFC 5424, in ascending order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// For debugging.
    Debug,
    /// Normal operation.
    #[default]
    Info,
    /// Normal, but significant.
    Notice,
    /// May become an error.
    Warning,
    /// A failure.
    Error,
    /// A part that failed as a whole.
    Critical,
    /// Needs action at once.
    Alert,
    /// The system is unusable.
    Emergency,
}

const LEVELS: [(LogLevel, LoggingLevel, &str); 8] = [
    (LogLevel::Debug, LoggingLevel::Debug, "debug"),
    (LogLevel::Info, LoggingLevel::Info, "info"),
    (LogLevel::Notice, LoggingLevel::Notice, "notice"),
    (LogLevel::Warning, LoggingLevel::Warning, "warning"),
    (LogLevel::Error, LoggingLevel::Error, "error"),
    (LogLevel::Critical, LoggingLevel::Critical, "critical"),
    (LogLevel::Alert, LoggingLevel::Alert, "alert"),
    (LogLevel::Emergency, LoggingLevel::Emergency, "emergency"),
];

impl LogLevel {
    fn of(wire: LoggingLevel) -> Self {
        LEVELS.iter().find(|(_, other, _)| *other == wire).map_or(Self::Info, |(level, ..)| *level)
    }

    fn wire(self) -> LoggingLevel {
        LEVELS[self as usize].1
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(LEVELS[*self as usize].2)
    }
}
