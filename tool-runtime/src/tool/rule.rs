//! The limits that a parameter's declaration sets on its value, as data: written into the schema, and checked.

use std::fmt;

use regex::Regex;

use super::compiled::Compiled;
use crate::schema::Validator;

/// A limit on a parameter's value.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Rule {
    /// A number between two bounds.
    Range {
        /// The least number allowed.
        min: Option<Number>,
        /// The largest number allowed, or the first one that is not.
        max: Option<Number>,
        /// Whether `max` itself is out of range.
        exclusive: bool,
    },
    /// A text of so many characters, or a collection of so many items.
    Length {
        /// The least length.
        min: usize,
        /// The largest length.
        max: Option<usize>,
        /// What is counted.
        unit: Unit,
    },
    /// A text in which a regular expression finds a match.
    Pattern(&'static Pattern),
    /// A text in one of JSON Schema's formats, such as `email`.
    Format(&'static Format),
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = |unit: &Unit| match unit {
            Unit::Characters => "characters",
            Unit::Items => "items",
            Unit::Entries => "entries",
        };
        match self {
            Self::Range { min: Some(min), max: Some(max), exclusive: false } => {
                write!(out, "a number from {min} to {max}")
            }
            Self::Range { min: Some(min), max: Some(max), .. } => write!(out, "a number from {min} to below {max}"),
            Self::Range { min: Some(min), max: None, .. } => write!(out, "a number of at least {min}"),
            Self::Range { min: None, max: Some(max), exclusive: false } => write!(out, "a number of at most {max}"),
            Self::Range { min: None, max: Some(max), .. } => write!(out, "a number below {max}"),
            Self::Range { .. } => out.write_str("a number"),
            Self::Length { min, max: Some(max), unit } => write!(out, "{min} to {max} {}", what(unit)),
            Self::Length { min, max: None, unit } => write!(out, "at least {min} {}", what(unit)),
            Self::Pattern(pattern) => write!(out, "a text that matches `{}`", pattern.source()),
            Self::Format(format) => write!(out, "a text in the format `{}`", format.name()),
        }
    }
}

/// A bound of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Int(i128),
    /// A floating-point number.
    Float(f64),
}

impl Number {
    #[allow(clippy::cast_precision_loss, reason = "a bound beyond 2^53 is compared with a float, which is no finer")]
    #[allow(clippy::cast_possible_truncation, clippy::cast_lossless, reason = "compared with what came in")]
    const fn as_f64(self) -> f64 {
        match self {
            // The conversion of the wide type takes ten times as long.
            Self::Int(int) if int as i64 as i128 == int => int as i64 as f64,
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// Whether the number lies within the limits; exact for two integers.
    pub(super) fn within(&self, min: Option<&Self>, max: Option<&Self>, exclusive: bool) -> bool {
        let less = |a: &Self, b: &Self| match (a, b) {
            (Self::Int(a), Self::Int(b)) => a < b,
            (a, b) => a.as_f64() < b.as_f64(),
        };
        min.is_none_or(|min| !less(self, min))
            && max.is_none_or(|max| if exclusive { less(self, max) } else { !less(max, self) })
    }
}

impl Number {
    /// The number in JSON; integers that JSON libraries cannot hold become floats.
    pub(super) fn to_json(self) -> serde_json::Value {
        match self {
            Self::Int(int) => match (i64::try_from(int), u64::try_from(int)) {
                (Ok(int), _) => int.into(),
                (_, Ok(int)) => int.into(),
                _ => self.as_f64().into(),
            },
            Self::Float(float) => float.into(),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(int) => int.fmt(out),
            Self::Float(float) => float.fmt(out),
        }
    }
}

/// What a [`Rule::Length`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Unicode scalar values, as JSON Schema counts them.
    Characters,
    /// Items of a list or set.
    Items,
    /// Entries of a map.
    Entries,
}

/// A regular expression, compiled when it is first used.
pub struct Pattern {
    source: &'static str,
    compiled: Compiled<Regex>,
}

impl Pattern {
    /// The expression `source`; the macro has checked its syntax.
    pub const fn new(source: &'static str) -> Self {
        Self { source, compiled: Compiled::new() }
    }

    /// The expression as it was written.
    pub fn source(&self) -> &'static str {
        self.source
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.compiled.get(|| Regex::new(self.source).ok()).is_some_and(|regex| regex.is_match(text))
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "/{}/", self.source)
    }
}

/// A format of JSON Schema, compiled when it is first used.
pub struct Format {
    name: &'static str,
    compiled: Compiled<Validator>,
}

impl Format {
    /// The format called `name`.
    pub const fn new(name: &'static str) -> Self {
        Self { name, compiled: Compiled::new() }
    }

    /// The format's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let validator = self.compiled.get(|| {
            let schema = serde_json::json!({ "type": "string", "format": self.name });
            Validator::compile(&schema).ok()
        });
        validator.is_none_or(|validator| validator.is_valid(&serde_json::Value::from(text)))
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Number;

    proptest! {
        #[test]
        #[allow(clippy::cast_precision_loss, reason = "that is what is looked at")]
        fn every_integer_has_its_float(wide in any::<i128>(), narrow in any::<i64>()) {
            let edges = [0, i64::MIN.into(), i64::MAX.into(), i128::from(i64::MAX) + 1, i128::from(i64::MIN) - 1, i128::MAX];
            for int in edges.into_iter().chain([wide, narrow.into()]) {
                prop_assert_eq!(Number::Int(int).as_f64().to_bits(), (int as f64).to_bits());
            }
        }
    }
}
