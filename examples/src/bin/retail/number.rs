//! A JSON number that stays whole or decimal, as it was written.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::{Add, Mul, Sub};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A number of the database: `86` and `86.0` are equal, but each is written back as it came.
///
/// Gift cards hold whole sums until they are first used; prices are decimal. Arithmetic is binary floating point, so a
/// difference of two prices can be `0.04999999999999716`: the store keeps such sums, and rounds only where it says so.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub(crate) enum Number {
    Whole(i64),
    Decimal(f64),
}

impl Number {
    pub(crate) const ZERO: Self = Self::Whole(0);

    #[expect(clippy::cast_precision_loss, reason = "whole sums of money are far below 2^53")]
    pub(crate) fn value(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Decimal(decimal) => decimal,
        }
    }

    /// Rounds to two digits, to the nearest decimal of the exact binary value; an exact half goes to the even digit.
    pub(crate) fn rounded(self) -> Self {
        match self {
            Self::Whole(_) => self,
            Self::Decimal(decimal) => {
                Self::Decimal(format!("{decimal:.2}").parse().expect("a formatted float is a float"))
            }
        }
    }

    pub(crate) fn abs(self) -> Self {
        if self < Self::ZERO { self.negated() } else { self }
    }

    pub(crate) fn negated(self) -> Self {
        match self {
            Self::Whole(whole) => whole.checked_neg().map_or(Self::Decimal(-self.value()), Self::Whole),
            Self::Decimal(decimal) => Self::Decimal(-decimal),
        }
    }

    /// The quotient, which is always decimal; `None` when the divisor is zero.
    pub(crate) fn divided_by(self, divisor: Self) -> Option<Self> {
        (divisor != Self::ZERO).then(|| Self::Decimal(self.value() / divisor.value()))
    }

    /// Applies `whole` while both sides are whole and the result fits, otherwise `decimal`.
    fn combine(self, other: Self, whole: fn(i64, i64) -> Option<i64>, decimal: fn(f64, f64) -> f64) -> Self {
        let exact = match (self, other) {
            (Self::Whole(left), Self::Whole(right)) => whole(left, right),
            _ => None,
        };
        exact.map_or_else(|| Self::Decimal(decimal(self.value(), other.value())), Self::Whole)
    }
}

impl Add for Number {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.combine(other, i64::checked_add, f64::add)
    }
}

impl Sub for Number {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.combine(other, i64::checked_sub, f64::sub)
    }
}

impl Mul for Number {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        self.combine(other, i64::checked_mul, f64::mul)
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value().partial_cmp(&other.value())
    }
}

impl JsonSchema for Number {
    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number" })
    }
}

#[cfg(test)]
mod tests {
    use super::Number::{Decimal, Whole};

    #[test]
    fn stays_as_written() {
        for text in ["86", "86.0", "-16.63"] {
            let number: super::Number = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&number).unwrap(), text);
        }
    }

    #[test]
    fn rounds_exact_halves_to_even_and_others_to_the_nearest() {
        for (given, expected) in [(0.125, 0.12), (0.375, 0.38), (2.675, 2.67), (0.005, 0.01), (-16.630_000_1, -16.63)] {
            assert_eq!(Decimal(given).rounded(), Decimal(expected), "{given}");
        }
    }

    #[test]
    fn whole_sums_become_decimal_only_when_they_must() {
        assert!(matches!(Whole(86) - Whole(6), Whole(80)));
        assert!(matches!(Whole(86) - Decimal(0.0), Decimal(86.0)));
        assert!(matches!(Whole(i64::MAX) + Whole(1), Decimal(_)));
        assert!(matches!(Whole(i64::MIN).negated(), Decimal(_)));
        assert_eq!(Whole(7).divided_by(Whole(2)), Some(Decimal(3.5)));
        assert_eq!(Whole(7).divided_by(Decimal(0.0)), None);
    }
}
