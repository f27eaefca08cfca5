//! The limits that a declaration sets on a parameter's value. The module has data for the schema, code that checks a value, and
//! traits of the types that can have limits.

use std::{
    any::Any,
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    fmt,
    marker::PhantomData,
    num::NonZero,
};

use super::compiled::Compiled;
use crate::schema::CompiledSchema;
use tool_schema::schema;

/// The maximum size of a compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 10 << 20;

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
        /// Set if `max` itself is out of range.
        exclusive: bool,
    },
    /// A text or a collection with a length between two bounds.
    Length {
        /// The least length.
        min: usize,
        /// The largest length.
        max: Option<usize>,
        unit: LengthUnit,
    },
    /// A text in which a regular expression finds a match.
    Pattern(&'static Pattern),
    /// A text in one of JSON Schema's formats, such as `email`.
    Format(&'static Format),
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = |unit: &LengthUnit| match unit {
            LengthUnit::Characters => "characters",
            LengthUnit::Items => "items",
            LengthUnit::Entries => "entries",
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
            Self::Pattern(pattern) => write!(out, "a string that matches `{}`", pattern.source()),
            Self::Format(format) => write!(out, "a string in the format `{}`", format.name()),
        }
    }
}

/// A number that `range` checks, or a bound.
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

    /// Returns whether the number lies within the limits; exact for two integers.
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
    /// Returns the number in JSON; integers that JSON libraries cannot hold become floats.
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

/// The unit of a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthUnit {
    /// Unicode scalar values of a text, as JSON Schema counts them.
    Characters,
    /// Items of a list.
    Items,
    /// Entries of a map.
    Entries,
}

/// A regular expression, compiled when it is first used.
pub struct Pattern {
    source: &'static str,
    /// The expression as the schema has it.
    published: &'static str,
    compiled: Compiled<schema::Pattern>,
}

impl Pattern {
    /// Creates the expression `source`; the macro has checked its syntax.
    pub const fn new(source: &'static str) -> Self {
        Self::translated(source, source)
    }

    /// Creates the expression `source`, which is `published` in the notation of JSON Schema.
    pub const fn translated(source: &'static str, published: &'static str) -> Self {
        Self { source, published, compiled: Compiled::new() }
    }

    /// Returns the expression as it was written.
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// Returns the expression as the schema has it.
    pub fn published(&self) -> &'static str {
        self.published
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        // The published expression is checked, so that a call fits its schema: there, `\d` is an ASCII digit.
        let compile = || schema::Pattern::compile(self.published, MAX_PATTERN_BYTES);
        self.compiled.get(compile).is_some_and(|pattern| pattern.is_match(text))
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
    compiled: Compiled<CompiledSchema>,
}

impl Format {
    /// Creates the format called `name`.
    pub const fn new(name: &'static str) -> Self {
        Self { name, compiled: Compiled::new() }
    }

    /// Returns the format's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let schema = self.compiled.get(|| {
            let schema = serde_json::json!({ "type": "string", "format": self.name });
            CompiledSchema::compile(&schema).ok()
        });
        schema.is_none_or(|schema| schema.is_valid(&serde_json::Value::from(text)))
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

/// A rule together with the code that checks the place of a value, which is an `Option` of its type.
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

/// The witness that a rule can check a `T`.
#[derive(Debug)]
pub struct Check<T>(PhantomData<fn() -> T>);

fn value<T: 'static>(place: &dyn Any) -> Option<&T> {
    place.downcast_ref::<Option<T>>()?.as_ref()
}

impl<T: 'static> Check<T> {
    /// Creates a range.
    ///
    /// # Panics
    ///
    /// At compile time, if a bound does not fit the type.
    #[track_caller]
    pub const fn range(min: Option<Number>, max: Option<Number>, exclusive: bool) -> Limit
    where
        T: HasNumber,
    {
        if let Some((least, most)) = T::LIMITS {
            assert!(
                within(min, least, most) && within(max, least, most),
                "a bound of `range` is outside the parameter's type: use a bound that the type can hold"
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

    /// Creates a limit on the length.
    pub const fn length(min: usize, max: Option<usize>) -> Limit
    where
        T: HasLength,
    {
        Limit {
            rule: Rule::Length { min, max, unit: T::UNIT },
            holds: |place, rule| match (rule, value::<T>(place)) {
                (Rule::Length { min, max, .. }, Some(value)) => value.fits(*min, *max),
                _ => true,
            },
        }
    }

    /// Creates a limit by a pattern.
    pub const fn pattern(pattern: &'static Pattern) -> Limit
    where
        T: HasText,
    {
        Limit {
            rule: Rule::Pattern(pattern),
            holds: |place, rule| match (rule, value::<T>(place).and_then(T::text)) {
                (Rule::Pattern(pattern), Some(text)) => pattern.matches(text),
                _ => true,
            },
        }
    }

    /// Creates a limit by a format.
    pub const fn format(format: &'static Format) -> Limit
    where
        T: HasText,
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

/// A number, or an optional one: a type on which `range` can be declared.
///
/// ```
/// use tool_runtime::{Context, HasNumber, tool, tool::Number, toolset};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Euros(u32);
///
/// impl HasNumber for Euros {
///     const LIMITS: Option<(i128, i128)> = u32::LIMITS;
///
///     fn number(&self) -> Option<Number> {
///         self.0.number()
///     }
/// }
///
/// /// Pay.
/// #[tool]
/// fn pay(/** The amount. */ #[arg(range(1..=500))] amount: Euros) -> u32 {
///     amount.0
/// }
///
/// # fn main() {
/// let cx = Context::new("call_1");
/// assert!(toolset!(pay).prepare("pay", r#"{"amount": 501}"#, &cx).now().unwrap().is_err());
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`range` is for numbers, and `{Self}` is none",
    label = "not a number",
    note = "`length` limits strings and collections; implement `tool_runtime::HasNumber` for a number type of your own"
)]
pub trait HasNumber {
    /// The least and the largest value, for integers.
    const LIMITS: Option<(i128, i128)> = None;

    /// Returns the number; `None` if there is none to check.
    fn number(&self) -> Option<Number>;
}

/// A text or collection, or an optional one: a type on which `length` can be declared.
///
/// A type of your own has the length of the text or collection inside: `const UNIT: LengthUnit = LengthUnit::Entries`, and `length`
/// returns `self.0.length()`. [`LengthUnit`] states what its schema counts.
#[diagnostic::on_unimplemented(
    message = "`length` is for strings and collections, and `{Self}` is neither",
    label = "has no length",
    note = "`range` limits numbers; implement `tool_runtime::HasLength` for a type of your own"
)]
pub trait HasLength {
    /// The unit of the length.
    const UNIT: LengthUnit;

    /// Returns the length; `None` if there is nothing to measure.
    fn length(&self) -> Option<usize>;

    /// Returns whether the length lies between the two, both included; `true` if there is no length.
    #[doc(hidden)]
    fn fits(&self, min: usize, max: Option<usize>) -> bool {
        self.length().is_none_or(|length| is_within(length, min, max))
    }
}

fn is_within(length: usize, min: usize, max: Option<usize>) -> bool {
    length >= min && max.is_none_or(|max| length <= max)
}

/// A text, or an optional one: a type on which `pattern` and `format` can be declared.
#[diagnostic::on_unimplemented(
    message = "`pattern` and `format` are for strings, and `{Self}` is none",
    label = "not a string",
    note = "implement `tool_runtime::HasText` for a string type of your own"
)]
pub trait HasText {
    /// Returns the text; `None` if there is none to check.
    fn text(&self) -> Option<&str>;
}

macro_rules! integers {
    ($($type:ty)*) => {
        $(#[diagnostic::do_not_recommend]
        impl HasNumber for $type {
            #[allow(clippy::cast_lossless, reason = "the widest types are not lossless, and are listed with the others")]
            const LIMITS: Option<(i128, i128)> = Some((<$type>::MIN as i128, <$type>::MAX as i128));

            fn number(&self) -> Option<Number> {
                i128::try_from(*self).ok().map(Number::Int)
            }
        }

        #[diagnostic::do_not_recommend]
        impl HasNumber for NonZero<$type> {
            const LIMITS: Option<(i128, i128)> = <$type>::LIMITS;

            fn number(&self) -> Option<Number> {
                self.get().number()
            }
        })*
    };
}

integers! { i8 i16 i32 i64 i128 isize u8 u16 u32 u64 usize }

// A bound is at most `i128::MAX`, so that all larger numbers compare like that one.
#[diagnostic::do_not_recommend]
impl HasNumber for u128 {
    const LIMITS: Option<(i128, i128)> = Some((0, i128::MAX));

    fn number(&self) -> Option<Number> {
        Some(Number::Int(i128::try_from(*self).unwrap_or(i128::MAX)))
    }
}

#[diagnostic::do_not_recommend]
impl HasNumber for NonZero<u128> {
    const LIMITS: Option<(i128, i128)> = u128::LIMITS;

    fn number(&self) -> Option<Number> {
        self.get().number()
    }
}

#[diagnostic::do_not_recommend]
impl HasNumber for f64 {
    fn number(&self) -> Option<Number> {
        Some(Number::Float(*self))
    }
}

#[diagnostic::do_not_recommend]
impl HasNumber for f32 {
    // The shortest digits that give this `f32`: the ones that were written, also in a limit. `f64::from(0.7_f32)` is below 0.7.
    fn number(&self) -> Option<Number> {
        self.to_string().parse().ok().map(Number::Float)
    }
}

#[diagnostic::do_not_recommend]
impl<T: HasNumber> HasNumber for Option<T> {
    const LIMITS: Option<(i128, i128)> = T::LIMITS;

    fn number(&self) -> Option<Number> {
        self.as_ref()?.number()
    }
}

macro_rules! texts {
    ($($type:ty)*) => {
        $(
            #[diagnostic::do_not_recommend]
            impl HasText for $type {
                fn text(&self) -> Option<&str> {
                    Some(self)
                }
            }

            #[diagnostic::do_not_recommend]
            impl HasLength for $type {
                const UNIT: LengthUnit = LengthUnit::Characters;

                fn length(&self) -> Option<usize> {
                    Some(self.chars().count())
                }

                // A character has one to four bytes, so most texts need no counting.
                fn fits(&self, min: usize, max: Option<usize>) -> bool {
                    let (least, most) = (self.len().div_ceil(4), self.len());
                    least >= min && max.is_none_or(|max| most <= max) || is_within(self.chars().count(), min, max)
                }
            }
        )*
    };
}

texts! { String Box<str> Cow<'_, str> }

#[diagnostic::do_not_recommend]
impl<T: HasText> HasText for Option<T> {
    fn text(&self) -> Option<&str> {
        self.as_ref()?.text()
    }
}

#[diagnostic::do_not_recommend]
impl<T: HasLength> HasLength for Option<T> {
    const UNIT: LengthUnit = T::UNIT;

    fn length(&self) -> Option<usize> {
        self.as_ref()?.length()
    }

    fn fits(&self, min: usize, max: Option<usize>) -> bool {
        self.as_ref().is_none_or(|value| value.fits(min, max))
    }
}

macro_rules! collections {
    ($($unit:ident: $type:ident<$($param:ident),*>;)*) => {
        $(#[diagnostic::do_not_recommend]
        impl<$($param),*> HasLength for $type<$($param),*> {
            const UNIT: LengthUnit = LengthUnit::$unit;

            fn length(&self) -> Option<usize> {
                Some(self.len())
            }
        })*
    };
}

collections! {
    Items: Vec<T>;
    Items: VecDeque<T>;
    Items: BTreeSet<T>;
    Items: HashSet<T, S>;
    Entries: BTreeMap<K, V>;
    Entries: HashMap<K, V, S>;
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
