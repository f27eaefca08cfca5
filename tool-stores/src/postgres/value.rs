//! The values of statements, with their types.
//!
//! A statement without a name states the types of its values, so that one request reads and executes it. Named statements belong to
//! one connection of the server, and a pooler may give each transaction another one.

use std::borrow::Cow;

use tokio_postgres::types::{ToSql, Type};

/// A value of a statement.
pub trait SqlValue: Sync {
    /// Returns the value with its type.
    fn typed(&self) -> (&(dyn ToSql + Sync), Type);
}

/// The values of a statement, in the order of `$1`, `$2` and so on.
pub type Values<'a> = &'a [&'a dyn SqlValue];

macro_rules! values {
    ($($ty:ty => $sql:ident),* $(,)?) => {$(
        impl SqlValue for $ty {
            fn typed(&self) -> (&(dyn ToSql + Sync), Type) {
                (self, Type::$sql)
            }
        }
    )*};
}

values! {
    bool => BOOL,
    i32 => INT4,
    i64 => INT8,
    Option<i64> => INT8,
    String => TEXT,
    &str => TEXT,
    Cow<'_, str> => TEXT,
    Option<Cow<'_, str>> => TEXT,
    Vec<i32> => INT4_ARRAY,
    Vec<i64> => INT8_ARRAY,
    Vec<String> => TEXT_ARRAY,
}
