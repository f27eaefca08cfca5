//! The changes of a delta, and the containers that are open.

use std::fmt;

use serde_json::{Value, map::Entry};

use crate::schema::pointer::segment;

/// A change at a place of a value that is still arriving.
///
/// Applied in order to a copy, changes make it what [`Incremental::value`](super::Incremental::value) is. A value that
/// changes within one delta more than once may be reported once, as it is then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change<'a> {
    /// The value here is this: a new item or entry, an object or list that begins and is empty, a number with more digits.
    /// The former value of the place is gone.
    Set(&'a Value),
    /// The text here goes on with this.
    Append(&'a str),
    /// The value here is complete.
    Closed,
}

/// Where something has changed: the names and positions that lead there from the outermost value.
///
/// Its `Display` is a JSON Pointer (RFC 6901), such as `/stops/2/city`; empty for the outermost value.
#[derive(Clone, Copy)]
pub struct Path<'a>(pub(super) &'a [Level]);

/// One step of a [`Path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Segment<'a> {
    /// Into an object: the entry of this name.
    Name(&'a str),
    /// Into a list: the item at this position, counted from 0.
    Item(usize),
}

impl<'a> Path<'a> {
    /// Returns the steps, outermost first.
    pub fn segments(self) -> impl DoubleEndedIterator<Item = Segment<'a>> + ExactSizeIterator {
        self.0.iter().map(Level::segment)
    }

    /// Returns whether this is the outermost value.
    pub fn is_root(self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.segments().try_for_each(|step| match step {
            Segment::Name(name) => write!(out, "/{}", segment(name)),
            Segment::Item(index) => write!(out, "/{index}"),
        })
    }
}

impl fmt::Debug for Path<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Path(\"{self}\")")
    }
}

/// An open container: which of its children is, or will be, the current one.
#[derive(Debug, Default)]
pub struct Level {
    /// The name of the current entry of an object; a buffer that is kept for the next.
    pub name: String,
    /// The position of the current item of a list; `None` in an object.
    pub item: Option<usize>,
    /// `true` if the current entry replaces an earlier one of its name, so that it may not be the last.
    pub again: bool,
}

impl Level {
    fn segment(&self) -> Segment<'_> {
        match self.item {
            Some(index) => Segment::Item(index),
            None => Segment::Name(&self.name),
        }
    }

    /// Returns the current child of the container `at`.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "two calls more are a sixth of what a short piece of a text costs")]
    pub fn child<'a>(&self, at: &'a mut Value) -> &'a mut Value {
        let child = match at {
            Value::Array(list) => list.last_mut(),
            Value::Object(map) => {
                if self.again {
                    map.get_mut(&self.name)
                } else {
                    // What was put in last stands last, and finding it there takes no hash of its name.
                    map.values_mut().next_back()
                }
            }
            _ => None,
        };
        child.expect("an open container has a current child once a value was begun in it")
    }

    /// Puts `value` in the container `at`: as its next child or, `instead` of what is there, as its current one.
    #[inline]
    pub fn put<'a>(&mut self, at: &'a mut Value, value: Value, instead: bool) -> &'a mut Value {
        if instead {
            let child = self.child(at);
            *child = value;
            return child;
        }
        match at {
            Value::Object(map) => match map.entry(self.name.as_str()) {
                Entry::Vacant(entry) => {
                    self.again = false;
                    entry.insert(value)
                }
                Entry::Occupied(entry) => {
                    self.again = true;
                    let child = entry.into_mut();
                    *child = value;
                    child
                }
            },
            _ => {
                let Value::Array(list) = &mut *at else { unreachable!("only containers are open") };
                self.item = Some(list.len());
                list.push(value);
                self.child(at)
            }
        }
    }
}

/// A closure that receives each change; `None` where nobody asks for them.
pub type Tell<'a> = Option<&'a mut dyn FnMut(Path<'_>, Change<'_>)>;
