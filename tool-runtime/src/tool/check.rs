//! A rule on values of one type: the evidence that the type has what the rule looks at.

use std::{any::Any, fmt, marker::PhantomData};

use super::{Format, Measured, Number, Pattern, Ranged, Rule, Textual};

/// A rule together with the code that looks at the place of a value, which is an `Option` of its type.
#[derive(Clone, Copy)]
pub struct Limit {
    pub(super) rule: Rule,
    pub(super) holds: fn(&dyn Any, &Rule) -> bool,
}

impl fmt::Debug for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rule.fmt(out)
    }
}

/// The evidence that a rule can look at a `T`.
#[derive(Debug)]
pub struct Check<T>(PhantomData<fn() -> T>);

/// The value in `place`, if it is there.
fn value<T: 'static>(place: &dyn Any) -> Option<&T> {
    place.downcast_ref::<Option<T>>()?.as_ref()
}

impl<T: 'static> Check<T> {
    /// A range.
    ///
    /// # Panics
    ///
    /// At compile time, when a bound does not fit the type.
    #[track_caller]
    pub const fn range(min: Option<Number>, max: Option<Number>, exclusive: bool) -> Limit
    where
        T: Ranged,
    {
        if let Some((least, most)) = T::LIMITS {
            assert!(
                within(min, least, most) && within(max, least, most),
                "a bound of `range` does not fit the parameter's type"
            );
        }
        Limit {
            rule: Rule::Range { min, max, exclusive },
            holds: |place, rule| match (rule, value::<T>(place).and_then(T::number)) {
                (Rule::Range { min, max, exclusive }, Some(number)) => {
                    number.within(min.as_ref(), max.as_ref(), *exclusive)
                }
                _ => true,
            },
        }
    }

    /// A length.
    pub const fn length(min: usize, max: Option<usize>) -> Limit
    where
        T: Measured,
    {
        Limit {
            rule: Rule::Length { min, max, unit: T::UNIT },
            holds: |place, rule| match (rule, value::<T>(place)) {
                (Rule::Length { min, max, .. }, Some(value)) => value.fits(*min, *max),
                _ => true,
            },
        }
    }

    /// A pattern.
    pub const fn pattern(pattern: &'static Pattern) -> Limit
    where
        T: Textual,
    {
        Limit {
            rule: Rule::Pattern(pattern),
            holds: |place, rule| match (rule, value::<T>(place).and_then(T::text)) {
                (Rule::Pattern(pattern), Some(text)) => pattern.matches(text),
                _ => true,
            },
        }
    }

    /// A format.
    pub const fn format(format: &'static Format) -> Limit
    where
        T: Textual,
    {
        Limit {
            rule: Rule::Format(format),
            holds: |place, rule| match (rule, value::<T>(place).and_then(T::text)) {
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
