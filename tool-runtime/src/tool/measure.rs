//! What the types are that a rule can be declared on.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
};

use super::{Number, Unit};

/// A number, or an optional one: what `range` can be declared on.
#[diagnostic::on_unimplemented(
    message = "`range` is for numbers, and `{Self}` is none",
    label = "not a number",
    note = "`length` limits texts and collections; implement `tool_runtime::Ranged` for a number type of your own"
)]
pub trait Ranged {
    /// The least and the largest value, for integers.
    const LIMITS: Option<(i128, i128)> = None;

    /// The number; `None` where there is none to check.
    fn number(&self) -> Option<Number>;
}

/// A text or collection, or an optional one: what `length` can be declared on.
#[diagnostic::on_unimplemented(
    message = "`length` is for texts and collections, and `{Self}` is neither",
    label = "has no length",
    note = "`range` limits numbers; implement `tool_runtime::Measured` for a type of your own"
)]
pub trait Measured {
    /// What is counted.
    const UNIT: Unit;

    /// The length; `None` where there is nothing to measure.
    fn length(&self) -> Option<usize>;

    /// Whether the length, if there is one, lies between the two, both included.
    #[doc(hidden)]
    fn fits(&self, min: usize, max: Option<usize>) -> bool {
        self.length().is_none_or(|length| is_within(length, min, max))
    }
}

fn is_within(length: usize, min: usize, max: Option<usize>) -> bool {
    length >= min && max.is_none_or(|max| length <= max)
}

/// A text, or an optional one: what `pattern` and `format` can be declared on.
#[diagnostic::on_unimplemented(
    message = "`pattern` and `format` are for texts, and `{Self}` is none",
    label = "not a text",
    note = "implement `tool_runtime::Textual` for a text type of your own"
)]
pub trait Textual {
    /// The text; `None` where there is none to check.
    fn text(&self) -> Option<&str>;
}

macro_rules! integers {
    ($($type:ty)*) => {
        $(#[diagnostic::do_not_recommend]
        impl Ranged for $type {
            #[allow(clippy::cast_lossless, reason = "the widest types are not lossless, and are listed with the others")]
            const LIMITS: Option<(i128, i128)> = Some((<$type>::MIN as i128, <$type>::MAX as i128));

            fn number(&self) -> Option<Number> {
                i128::try_from(*self).ok().map(Number::Int)
            }
        })*
    };
}

integers! { i8 i16 i32 i64 isize u8 u16 u32 u64 usize }

#[diagnostic::do_not_recommend]
impl Ranged for f64 {
    fn number(&self) -> Option<Number> {
        Some(Number::Float(*self))
    }
}

#[diagnostic::do_not_recommend]
impl Ranged for f32 {
    fn number(&self) -> Option<Number> {
        Some(Number::Float(f64::from(*self)))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Ranged> Ranged for Option<T> {
    const LIMITS: Option<(i128, i128)> = T::LIMITS;

    fn number(&self) -> Option<Number> {
        self.as_ref()?.number()
    }
}

macro_rules! texts {
    ($($type:ty)*) => {
        $(
            #[diagnostic::do_not_recommend]
            impl Textual for $type {
                fn text(&self) -> Option<&str> {
                    Some(self)
                }
            }

            #[diagnostic::do_not_recommend]
            impl Measured for $type {
                const UNIT: Unit = Unit::Characters;

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
impl<T: Textual> Textual for Option<T> {
    fn text(&self) -> Option<&str> {
        self.as_ref()?.text()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Measured> Measured for Option<T> {
    const UNIT: Unit = T::UNIT;

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
        impl<$($param),*> Measured for $type<$($param),*> {
            const UNIT: Unit = Unit::$unit;

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
