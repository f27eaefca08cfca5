//! From the text of the arguments straight into the parameters' places.
//!
//! Well-formed arguments are read once, each value by the code of its type. Anything else goes to [`diagnose`], which
//! reads the text again and explains everything that is wrong with it.

use super::{CallError, Context, Def, Failure, diagnose, slots::Slot};
use crate::feedback::Rejection;
use tool_schema::json::text::Object;

/// Why arguments did not become an input.
#[derive(Debug)]
pub enum Refused {
    /// The arguments are wrong.
    Arguments(Rejection),
    /// The application did not provide what the tool needs.
    Failed(Failure),
}

/// Fills `slots`, which belong to the parameters of `def` in order, from `text`.
pub fn decode(def: &'static Def, text: &str, cx: &Context, slots: &mut [Slot<'_>]) -> Result<(), Refused> {
    match read(text, slots) {
        Some(filled) if filled == slots.len() => {}
        Some(_) => complete(def, text, cx, slots)?,
        None => return Err(refuse(def, text, slots)),
    }
    match def.guard() {
        Some(guard) => diagnose::check(guard, text).map_err(Refused::Arguments),
        None => Ok(()),
    }
}

/// How many slots were filled; `None` as soon as anything is not as it should be.
pub fn read(text: &str, slots: &mut [Slot<'_>]) -> Option<usize> {
    let Some(mut object) = Object::enter(text).ok()? else { return Some(0) };
    // Models give arguments in the order of the schema, so the next slot is nearly always the right one.
    let (mut next, mut filled) = (0, 0);
    loop {
        let index = match slots.get(next).map(Slot::param) {
            Some(param) if param.plain && object.skip_key(param.name) => next,
            // By value, so that the cursor stays in registers where the order is the expected one.
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

/// Reads a key that is not the expected one: the slot that it means, and the cursor behind it.
#[inline(never)]
fn find<'a>(mut object: Object<'a>, slots: &[Slot<'_>]) -> Option<(usize, Object<'a>)> {
    let key = object.key().ok()?;
    let index = slots.iter().position(|slot| slot.param().is_called(&key))?;
    Some((index, object))
}

/// Fills the slots that the arguments said nothing about.
#[inline(never)]
fn complete(def: &'static Def, text: &str, cx: &Context, slots: &mut [Slot<'_>]) -> Result<(), Refused> {
    for slot in slots.iter_mut() {
        if !slot.complete(cx).map_err(Refused::Failed)? {
            return Err(refuse(def, text, slots));
        }
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn refuse(def: &'static Def, text: &str, slots: &mut [Slot<'_>]) -> Refused {
    Refused::Arguments(diagnose::diagnose(def, text, slots))
}

impl From<Refused> for CallError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Arguments(rejection) => Self::Rejected(rejection),
            Refused::Failed(failure) => Self::Failed(failure),
        }
    }
}
