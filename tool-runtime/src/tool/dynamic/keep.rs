//! The evidence that validators can look at the values of a type.

use std::{any::Any, fmt, marker::PhantomData};

use serde::Serialize;

use super::Kept;
use crate::tool::{Tag, ToolSecret};

/// The code that moves a parameter's value between the place where it was decoded, an `Option` of its type, and a board.
#[derive(Clone, Copy)]
pub struct Keep {
    pub(super) take: fn(&mut dyn Any) -> Option<Kept>,
    pub(super) put: fn(&mut dyn Any, Kept) -> bool,
}

impl Keep {
    /// Code that moves nothing.
    pub const NOTHING: Self = Self { take: |_| None, put: |_, _| false };
}

impl fmt::Debug for Keep {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Keep")
    }
}

/// A type that a dynamic parameter can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of a dynamic parameter",
    label = "cannot be written as JSON, or shared between threads",
    note = "add `#[derive(serde::Serialize)]` to it, because what a validator allows or changes is told as JSON; and hold nothing that is not `Send` and `Sync`, because validators run side by side"
)]
pub trait Judged: Serialize + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + Send + Sync + 'static> Judged for T {}

/// A type that a parameter beside dynamic ones can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of a parameter beside dynamic ones",
    label = "cannot be shared between threads",
    note = "validators run side by side and look at it: hold a `Mutex` or an atomic instead of a `Cell` or `RefCell`"
)]
pub trait Seen: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> Seen for T {}

/// Tells a type that a parameter can have from one that it cannot, which is reported where it is decoded: an inherent
/// constant is found before a trait's.
#[derive(Debug)]
pub struct Keeping<T>(PhantomData<fn() -> T>);

/// A type that a parameter can have.
#[derive(Debug)]
pub struct Keepable<T>(PhantomData<fn() -> T>);

impl<T: ToolSecret> Keeping<T> {
    /// What the type is.
    pub const KIND: Keepable<T> = Keepable(PhantomData);
}

impl<T> Keepable<T> {
    /// The evidence for a dynamic parameter.
    pub const fn dynamic(self) -> Keep
    where
        T: Judged,
    {
        keep::<T>()
    }

    /// The evidence for any other.
    pub const fn fixed(self) -> Keep
    where
        T: Seen,
    {
        keep::<T>()
    }
}

/// Tells a struct that can be an input of its own from one that holds something it cannot, which is reported at its field: an
/// inherent constant is found before a trait's.
#[derive(Debug)]
pub struct Whole<T>(PhantomData<fn() -> T>);

impl<T: Send + Sync + 'static> Whole<T> {
    /// The evidence.
    pub const KEEP: Keep = keep::<T>();
}

impl Tag {
    /// The evidence.
    pub const KEEP: Keep = keep::<Self>();
}

const fn keep<T: Send + Sync + 'static>() -> Keep {
    Keep {
        take: |place| {
            let value = place.downcast_mut::<Option<T>>()?.take()?;
            Some(Box::new(Some(value)))
        },
        put: |place, value| match (place.downcast_mut::<Option<T>>(), value.downcast::<Option<T>>()) {
            (Some(place), Ok(value)) => {
                *place = *value;
                place.is_some()
            }
            _ => false,
        },
    }
}
