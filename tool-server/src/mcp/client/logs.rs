//! What a server logs.

#![expect(
    deprecated,
    reason = "logs, roots and sampling are; clients and servers of revisions up to 2025-11-25 have them"
)]

use std::{fmt, sync::Arc};

use rmcp::model::LoggingLevel;
use serde_json::Value;
use tool_runtime::feedback::{escape, one_line};

use crate::mcp::LogLevel;

/// How many characters of a message are taken.
const MOST: usize = 2000;

/// A log message of a server: a text of a stranger, with nothing that fools the eye, and of at most 2,000 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteLog {
    /// The server's name, as the application gave it.
    pub server: String,
    /// How much it matters, by what the server says.
    pub level: LogLevel,
    /// Which part of the server says so, where it names one.
    pub logger: Option<String>,
    /// What it says: its text, or its JSON.
    pub text: String,
}

impl fmt::Display for RemoteLog {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}: {}", self.server, self.level, one_line(&self.text))
    }
}

/// Who hears it, and from which level on.
#[derive(Clone)]
pub(super) struct Hearing {
    pub(super) least: LogLevel,
    pub(super) hear: Arc<dyn Fn(RemoteLog) + Send + Sync>,
}

impl Hearing {
    pub(super) fn tell(&self, server: &str, level: LoggingLevel, logger: Option<&str>, data: &Value) {
        let level = LogLevel::of(level);
        if level < self.least {
            return;
        }
        let text = match data {
            Value::String(text) => text.chars().take(MOST).collect(),
            other => other.to_string().chars().take(MOST).collect::<String>(),
        };
        let logger = logger.map(|logger| one_line(&logger.chars().take(64).collect::<String>()));
        (self.hear)(RemoteLog { server: server.to_owned(), level, logger, text: escape(&text) });
    }
}
