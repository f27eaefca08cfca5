//! What a tool may be called.

use std::fmt;

use tool_schema::feedback;

/// A name that cannot be used, or is used already.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// Two tools of one set have the same name.
    Duplicate {
        /// The name.
        name: String,
    },
    /// The name is not `[A-Za-z0-9_-]{1,64}`, which is what every provider accepts.
    Invalid {
        /// The name.
        name: String,
    },
    /// There is no tool of that name.
    Unknown {
        /// The name.
        name: String,
        /// The name that is nearest to it.
        suggestion: Option<String>,
    },
    /// A schema of the tool can only be checked with the feature `jsonschema`.
    Schema {
        /// The tool's name.
        name: String,
        /// The keyword that needs the feature, and its place.
        reason: String,
    },
}

impl fmt::Display for NameError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate { name } => {
                write!(out, "two tools are called `{name}`; rename or prefix one of them before they are put together")
            }
            Self::Invalid { name } => {
                write!(
                    out,
                    "{} is no name for a tool: 1 to 64 of the characters A-Z, a-z, 0-9, _ and -",
                    feedback::name(name)
                )
            }
            Self::Schema { name, reason } => write!(out, "the tool {}: {reason}", feedback::name(name)),
            Self::Unknown { name, suggestion: None } => write!(out, "there is no tool called {}", feedback::name(name)),
            Self::Unknown { name, suggestion: Some(near) } => {
                write!(out, "there is no tool called {}; did you mean `{near}`?", feedback::name(name))
            }
        }
    }
}

impl std::error::Error for NameError {}

/// Fails when `name` is not `[A-Za-z0-9_-]{1,64}`.
pub fn check_name(name: &str) -> Result<(), NameError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !name.is_empty() && name.len() <= 64 && name.bytes().all(fits) {
        return Ok(());
    }
    Err(NameError::Invalid { name: name.to_owned() })
}
