//! Why a tool with dynamic parameters cannot be built.

use std::fmt;

use crate::toolset::NameError;
use tool_schema::feedback;

/// Why a tool with dynamic parameters cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DynamicError {
    /// The tool's name cannot be used.
    Name(NameError),
    /// The schema of the arguments cannot be used.
    Schema {
        /// Why.
        reason: String,
    },
    /// The output has fields that the tool's answer has too.
    Output {
        /// Their names.
        keys: Vec<&'static str>,
    },
    /// A parameter was added that the schema of the arguments does not have.
    NoProperty {
        /// The parameter.
        name: String,
        /// The property whose name is nearest to it.
        suggestion: Option<String>,
    },
    /// A parameter was added twice.
    Twice {
        /// The parameter.
        name: String,
    },
    /// A parameter has no validator.
    NoValidator {
        /// The parameter.
        name: String,
    },
    /// A parameter refers to one that there is not.
    Unknown {
        /// The parameter.
        name: String,
        /// What it refers to.
        other: String,
        /// The parameter whose name is nearest to that.
        suggestion: Option<String>,
    },
    /// A parameter refers to a static one: every validator sees those.
    Static {
        /// The parameter.
        name: String,
        /// What it refers to.
        other: String,
    },
    /// A parameter refers to itself.
    Own {
        /// The parameter.
        name: String,
    },
    /// A parameter refers to another one twice.
    Repeated {
        /// The parameter.
        name: String,
        /// What it refers to.
        other: String,
    },
    /// Parameters wait for each other.
    Cycle {
        /// Each cycle, from its first parameter to the last, which waits for the first.
        cycles: Vec<Vec<String>>,
    },
}

impl fmt::Display for DynamicError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |name: &str| feedback::name(name);
        let near = |suggestion: &Option<String>| match suggestion {
            Some(near) => format!("; did you mean {}?", quoted(near)),
            None => String::new(),
        };
        match self {
            Self::Name(error) => error.fmt(out),
            Self::Output { keys } => {
                let keys = feedback::names(keys.iter().copied(), "and");
                write!(out, "the answer of a tool has keys {keys} of its own: rename them in the output")
            }
            Self::Schema { reason } => write!(out, "the schema of the arguments cannot be used: {reason}"),
            Self::NoProperty { name, suggestion } => {
                write!(out, "the schema of the arguments has no property {}{}", quoted(name), near(suggestion))
            }
            Self::Twice { name } => write!(out, "the parameter {} is added twice", quoted(name)),
            Self::NoValidator { name } => {
                let name = quoted(name);
                write!(out, "the parameter {name} has no validator; add one, or leave it static by not adding it")
            }
            Self::Unknown { name, other, suggestion } => {
                write!(out, "{} waits for {}, which is no parameter{}", quoted(name), quoted(other), near(suggestion))
            }
            Self::Static { name, other } => {
                let (name, other) = (quoted(name), quoted(other));
                write!(out, "{name} waits for {other}, which is static: every validator sees it, so leave it out")
            }
            Self::Own { name } => write!(out, "{} waits for itself", quoted(name)),
            Self::Repeated { name, other } => {
                write!(out, "{} names {} twice; once is enough", quoted(name), quoted(other))
            }
            Self::Cycle { cycles } => {
                let written = |cycle: &Vec<String>| {
                    let round = cycle.iter().chain(cycle.first());
                    round.map(|name| quoted(name)).collect::<Vec<_>>().join(" -> ")
                };
                let cycles: Vec<String> = cycles.iter().map(written).collect();
                write!(out, "parameters wait for each other: {}", cycles.join("; "))
            }
        }
    }
}

impl std::error::Error for DynamicError {}

impl From<NameError> for DynamicError {
    fn from(error: NameError) -> Self {
        Self::Name(error)
    }
}
