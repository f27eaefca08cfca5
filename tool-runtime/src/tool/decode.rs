//! The decoder: it reads the text of the arguments straight into the parameters' places.
//!
//! It reads well-formed arguments once, each value with the code of its type. [`diagnose`] gets all others: it reads the text
//! again and explains everything that is wrong with it.

use std::any::Any;

use serde_json::Value;

use super::{
    CallError, Context, Def, Failure, check,
    deserializer::Keys,
    diagnose,
    field::{AnyDefault, Field, Param, Skipped, read_again},
    rule::Rule,
};
use crate::feedback::Rejection;
use tool_schema::json::text::{self, Object};

/// The reason why arguments did not become an input.
#[derive(Debug)]
pub enum DecodeError {
    /// The arguments are wrong.
    Arguments(Rejection),
    /// The application did not provide what the tool needs.
    Failed(Failure),
}

/// Fills `slots`, which belong to the parameters of `def` in order, from `text`.
pub fn decode(def: &'static Def, text: &str, cx: &Context, slots: &mut [Slot<'_>]) -> Result<(), DecodeError> {
    let text = if def.takes_nothing() { text::without_null(text) } else { text };
    match read(def, text, slots) {
        Some(filled) if filled == slots.len() => {}
        Some(_) => complete(def, text, cx, slots)?,
        None => return Err(reject(def, text, slots)),
    }
    match def.guard().map_err(DecodeError::Failed)? {
        Some(guard) => check::check(guard, text).map_err(DecodeError::Arguments),
        None => Ok(()),
    }
}

/// Returns the number of slots that were filled; `None` as soon as anything is wrong. The slots belong to the parameters of `def`.
#[inline]
pub fn read(def: &'static Def, text: &str, slots: &mut [Slot<'_>]) -> Option<usize> {
    read_once(text, slots).or_else(|| read_with_schema(def, text, slots))
}

/// Reads the arguments once more, so that the types may use the schema.
#[cold]
#[inline(never)]
fn read_with_schema(def: &'static Def, text: &str, slots: &mut [Slot<'_>]) -> Option<usize> {
    let schema = def.schema_of_types()?;
    for slot in slots.iter_mut() {
        (slot.schema, slot.filled) = (Some(schema), false);
    }
    read_once(text, slots)
}

fn read_once(text: &str, slots: &mut [Slot<'_>]) -> Option<usize> {
    let Some(mut object) = Object::enter(text).ok()? else { return Some(0) };
    // Models write arguments in the order of the schema, so the next slot is nearly always the right one.
    let (mut next, mut filled) = (0, 0);
    loop {
        let index = match slots.get(next).map(Slot::param) {
            Some(param) if param.plain && object.skip_key(param.name) => next,
            // By value, so that the cursor stays in registers when the order is the expected one.
            _ => {
                let (index, behind) = find(object, slots)?;
                object = behind;
                index
            }
        };
        let rest = object.value().ok()?;
        object.advance(slots[index].accept(rest)?);
        next = index + 1;
        filled += 1;
        if !object.more().ok()? {
            return Some(filled);
        }
    }
}

/// Reads a key that is not the expected one. Returns the slot that it means, and the cursor behind it.
#[inline(never)]
fn find<'a>(mut object: Object<'a>, slots: &[Slot<'_>]) -> Option<(usize, Object<'a>)> {
    let key = object.key().ok()?;
    let index = slots.iter().position(|slot| slot.param().is_called(&key))?;
    Some((index, object))
}

/// Fills the slots that the arguments left out.
#[inline(never)]
fn complete(def: &'static Def, text: &str, cx: &Context, slots: &mut [Slot<'_>]) -> Result<(), DecodeError> {
    for slot in slots.iter_mut() {
        if !slot.complete(cx).map_err(DecodeError::Failed)? {
            return Err(reject(def, text, slots));
        }
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn reject(def: &'static Def, text: &str, slots: &mut [Slot<'_>]) -> DecodeError {
    DecodeError::Arguments(diagnose::diagnose(def, text, slots))
}

impl From<DecodeError> for CallError {
    fn from(rejected: DecodeError) -> Self {
        match rejected {
            DecodeError::Arguments(rejection) => Self::Rejected(rejection),
            DecodeError::Failed(failure) => Self::Failed(failure),
        }
    }
}

/// The place of one parameter's value.
pub struct Slot<'a> {
    field: &'static Field,
    /// An `Option` of the parameter's type.
    place: &'a mut dyn Any,
    filled: bool,
    /// The schema of the arguments, once it is needed.
    schema: Option<&'static Value>,
}

impl<'a> Slot<'a> {
    #[inline]
    pub fn new(field: &'static Field, place: &'a mut dyn Any) -> Self {
        Self { field, place, filled: false, schema: None }
    }

    /// Returns the parameter's data.
    #[inline]
    pub fn param(&self) -> &'static Param {
        &self.field.param
    }

    /// Reads the value at the start of `text` and returns its length. Returns `None` if it cannot be read, breaks a rule, or is
    /// the second one.
    #[inline]
    pub fn accept(&mut self, text: &str) -> Option<usize> {
        if self.filled {
            return None;
        }
        let length = self.read(text).ok()?;
        self.field.limits.iter().all(|limit| (limit.holds)(self.place, &limit.rule)).then_some(length)
    }

    /// Fills a place that the arguments left empty: with the secret of the parameter's name, or with the value for a missing
    /// parameter. Returns `false` if there is no such value.
    pub fn complete(&mut self, cx: &Context) -> Result<bool, Failure> {
        if self.filled {
            return Ok(true);
        }
        match self.field.code.secret {
            Some(read) => self.read_secret(read, cx).map(|()| true),
            None => Ok(self.read_absent()),
        }
    }

    /// Fills in the default, if there is one and the arguments left the parameter out.
    pub fn complete_default(&mut self) {
        if let (false, Some(default)) = (self.filled, self.field.default) {
            self.filled = self.put_default(default);
        }
    }

    /// Puts a default into the place, unless other code reads the value. Returns whether there is a value now, or will be.
    fn put_default(&mut self, default: &dyn AnyDefault) -> bool {
        self.place.is::<Skipped>() || default.put(self.place)
    }

    fn read_secret(&mut self, read: fn(&mut dyn Any, &str) -> bool, cx: &Context) -> Result<(), Failure> {
        let name = self.field.param.name;
        let Some(text) = cx.secret(name) else {
            let is_optional = self.read_absent();
            let comes_later = cx.want_secret(name, is_optional);
            // A call that is only checked needs some value. It never starts with this one.
            self.filled = is_optional || comes_later && read(self.place, "");
            if self.filled {
                return Ok(());
            }
            let cause = if comes_later {
                format!("the secret `{name}` comes when the call starts, and its type accepts no empty text until then")
            } else {
                format!("the context has no secret `{name}`; add it with `Context::with_secret`")
            };
            return Err(Failure::new("the tool is not configured").source(format_args!("{cause}")));
        };
        self.filled = read(self.place, text);
        if self.filled {
            return Ok(());
        }
        Err(Failure::new("the tool is not configured")
            .source(format_args!("the secret `{name}` does not fit its type")))
    }

    /// Reads the value at the start of `text`; returns its length.
    #[inline]
    pub fn read(&mut self, text: &str) -> Result<usize, serde_json::Error> {
        let length = match (self.field.code.read)(self.place, text, Keys::Plain) {
            Ok(length) => length,
            Err(error) => {
                let schema = self.schema.filter(|_| !self.field.is_exact());
                let schema = schema.map(|root| (root, &root["properties"][self.field.param.name]));
                read_again(self.field.code.read, self.place, text, error, schema)?
            }
        };
        self.filled = true;
        Ok(length)
    }

    /// Fills in the value for a missing parameter; returns `false` if there is none.
    pub fn read_absent(&mut self) -> bool {
        self.filled = match self.field.default {
            Some(default) => self.put_default(default),
            None => (self.field.code.absent)(self.place),
        };
        self.filled
    }

    /// Returns the first rule that the value breaks.
    pub fn broken(&self) -> Option<Rule> {
        self.field.limits.iter().find(|limit| !(limit.holds)(self.place, &limit.rule)).map(|limit| limit.rule)
    }
}

/// The values of a tool's parameters: a tuple, a [`Many`] for more than eight, or a whole enum.
pub trait Values: Sized {
    #[doc(hidden)]
    type Places;
    /// Creates places without values.
    #[doc(hidden)]
    fn empty() -> Self::Places;
    /// Appends the places, to be filled.
    #[doc(hidden)]
    fn each<'a>(places: &'a mut Self::Places, into: &mut Vec<&'a mut dyn Any>);
    /// Takes the values out of the places, which are all filled.
    #[doc(hidden)]
    fn take(places: Self::Places) -> Self;
    /// Reads the arguments `text` of the tool `def`, whose parameters these are, in order.
    fn read(def: &'static Def, text: &str, cx: &Context) -> Result<Self, DecodeError>;
}

/// More values than a tuple holds: some, and the rest.
#[derive(Debug)]
pub struct Many<A, B>(pub A, pub B);

impl<A: Values, B: Values> Values for Many<A, B> {
    type Places = (A::Places, B::Places);

    fn empty() -> Self::Places {
        (A::empty(), B::empty())
    }

    fn each<'a>(places: &'a mut Self::Places, into: &mut Vec<&'a mut dyn Any>) {
        A::each(&mut places.0, into);
        B::each(&mut places.1, into);
    }

    fn take(places: Self::Places) -> Self {
        Self(A::take(places.0), B::take(places.1))
    }

    fn read(def: &'static Def, text: &str, cx: &Context) -> Result<Self, DecodeError> {
        let mut places = Self::empty();
        let mut each = Vec::with_capacity(def.fields.len());
        Self::each(&mut places, &mut each);
        let slots = def.fields.iter().zip(each).map(|(field, place)| Slot::new(field, place));
        decode(def, text, cx, &mut slots.collect::<Vec<_>>())?;
        Ok(Self::take(places))
    }
}

#[inline]
fn take<T>(place: Option<T>) -> T {
    place.expect("decoding succeeds only with every place filled")
}

macro_rules! tuples {
    ($(($($T:ident $place:ident $field:ident),*))*) => {$(
        impl<$($T: 'static),*> Values for ($($T,)*) {
            type Places = ($(Option<$T>,)*);

            #[allow(clippy::unused_unit, reason = "the empty tuple")]
            fn empty() -> Self::Places {
                ($(None::<$T>,)*)
            }

            #[allow(unused_variables, reason = "the empty tuple has none")]
            fn each<'a>(($($place,)*): &'a mut Self::Places, into: &mut Vec<&'a mut dyn Any>) {
                $(into.push($place);)*
            }

            #[allow(clippy::unused_unit, reason = "the empty tuple")]
            fn take(($($place,)*): Self::Places) -> Self {
                ($(take($place),)*)
            }

            #[inline]
            fn read(def: &'static Def, text: &str, cx: &Context) -> Result<Self, DecodeError> {
                let [$($field),*] = def.fields else { unreachable!("a tool's values are those of its parameters") };
                $(let mut $place = None::<$T>;)*
                decode(def, text, cx, &mut [$(Slot::new($field, &mut $place)),*])?;
                Ok(($(take($place),)*))
            }
        }
    )*};
}

tuples! {
    ()
    (A a f0)
    (A a f0, B b f1)
    (A a f0, B b f1, C c f2)
    (A a f0, B b f1, C c f2, D d f3)
    (A a f0, B b f1, C c f2, D d f3, E e f4)
    (A a f0, B b f1, C c f2, D d f3, E e f4, F f f5)
    (A a f0, B b f1, C c f2, D d f3, E e f4, F f f5, G g f6)
    (A a f0, B b f1, C c f2, D d f3, E e f4, F f f5, G g f6, H h f7)
}
