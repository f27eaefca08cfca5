//! MCP in both directions: a toolset as an MCP server, and an MCP server as a toolset.

#![expect(
    deprecated,
    reason = "logs, roots and sampling are; clients and servers of revisions up to 2025-11-25 have them"
)]

pub mod client;
mod denials;
mod lines;
mod message;
pub mod server;

use std::fmt;

use rmcp::model::LoggingLevel;

pub use client::{RemoteServer, RemoteTools};
pub use server::{McpHttp, McpServer};

/// The severity of a log message, in ascending order, as in RFC 5424.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// For debugging.
    Debug,
    /// Normal operation.
    #[default]
    Info,
    /// Normal, but significant.
    Notice,
    /// A condition that may become an error.
    Warning,
    /// A failure.
    Error,
    /// A part that failed as a whole.
    Critical,
    /// A condition that needs immediate action.
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
