//! What a delta has changed.

use std::fmt;

use serde_json::Value;

use crate::schema::pointer::segment;

/// What has changed at a place of a value that is still arriving.
///
/// Applied in order to a copy, changes make it what [`Incremental::value`](super::Incremental::value) is. A value that
/// changes within one delta more than once may be told once, as it is then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change<'a> {
    /// The value here is this: a new item or entry, an object or list that begins and is empty, a number with more digits.
    /// What the place held before is gone.
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
    /// The steps, outermost first.
    pub fn segments(self) -> impl DoubleEndedIterator<Item = Segment<'a>> + ExactSizeIterator {
        self.0.iter().map(Level::segment)
    }

    /// Whether this is the outermost value.
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
pub(super) struct Level {
    /// The name of the current entry of an object; a buffer that is kept for the next.
    pub(super) name: String,
    /// The position of the current item of a list; `None` in an object.
    pub(super) item: Option<usize>,
    /// Whether the current entry has taken the place of an earlier one of its name, so that it may not be the last.
    pub(super) again: bool,
}

impl Level {
    fn segment(&self) -> Segment<'_> {
        match self.item {
            Some(index) => Segment::Item(index),
            None => Segment::Name(&self.name),
        }
    }
}

/// Who is told of changes.
pub(super) trait Listener {
    /// Whether there is anybody, so that it is worth finding out what to tell.
    const HEARS: bool;

    fn tell(&mut self, path: &[Level], change: Change<'_>);
}

/// Nobody.
pub(super) struct Nobody;

impl Listener for Nobody {
    const HEARS: bool = false;

    #[inline]
    fn tell(&mut self, _: &[Level], _: Change<'_>) {}
}

/// A closure.
pub(super) struct Told<'a>(pub(super) &'a mut dyn FnMut(Path<'_>, Change<'_>));

impl Listener for Told<'_> {
    const HEARS: bool = true;

    #[inline]
    fn tell(&mut self, path: &[Level], change: Change<'_>) {
        (self.0)(Path(path), change);
    }
}
