//! A rule on values of one type: the evidence that the type has what the rule looks at.

use std::fmt;

use super::{Format, Measured, Number, Pattern, Ranged, Rule, Textual};

/// A rule together with the code that looks at a `T`.
pub struct Check<T> {
    pub(super) rule: Rule,
    pub(super) holds: fn(&T, &Rule) -> bool,
}

impl<T> fmt::Debug for Check<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rule.fmt(out)
    }
}

impl<T> Check<T> {
    /// A range.
    ///
    /// # Panics
    ///
    /// At compile time, when a bound does not fit the type.
    #[track_caller]
    pub const fn range(min: Option<Number>, max: Option<Number>, exclusive: bool) -> Self
    where
        T: Ranged,
    {
        if let Some((least, most)) = T::LIMITS {
            assert!(
                within(min, least, most) && within(max, least, most),
                "a bound of `range` does not fit the parameter's type"
            );
        }
        Self {
            rule: Rule::Range { min, max, exclusive },
            holds: |value, rule| match (rule, value.number()) {
                (Rule::Range { min, max, exclusive }, Some(number)) => number.within(*min, *max, *exclusive),
                _ => true,
            },
        }
    }

    /// A length.
    pub const fn length(min: usize, max: Option<usize>) -> Self
    where
        T: Measured,
    {
        Self {
            rule: Rule::Length { min, max, unit: T::UNIT },
            holds: |value, rule| match rule {
                Rule::Length { min, max, .. } => value.fits(*min, *max),
                _ => true,
            },
        }
    }

    /// A pattern.
    pub const fn pattern(pattern: &'static Pattern) -> Self
    where
        T: Textual,
    {
        Self {
            rule: Rule::Pattern(pattern),
            holds: |value, rule| match (rule, value.text()) {
                (Rule::Pattern(pattern), Some(text)) => pattern.matches(text),
                _ => true,
            },
        }
    }

    /// A format.
    pub const fn format(format: &'static Format) -> Self
    where
        T: Textual,
    {
        Self {
            rule: Rule::Format(format),
            holds: |value, rule| match (rule, value.text()) {
                (Rule::Format(format), Some(text)) => format.matches(text),
                _ => true,
            },
        }
    }
}

const fn within(bound: Option<Number>, least: i128, most: i128) -> bool {
    match bound {
        Some(Number::Int(int)) => least <= int && int <= most,
        Some(Number::Float(_)) => false,
        None => true,
    }
}
