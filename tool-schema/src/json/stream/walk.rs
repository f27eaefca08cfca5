//! The walk through the text and the value: the position in the text, the path to the current value, and its changes.

use std::fmt;

use serde_json::{Map, Value, map::Entry};

use super::{
    Fault, MAX_DEPTH,
    scalar::{self, Escape, Input, PartialNumber},
};
use crate::schema::pointer::escape_token;

/// A change of an incomplete value.
///
/// Applied in order, changes turn a copy into [`IncrementalJson::value`](super::IncrementalJson::value). A value that changes
/// several times within a piece may be reported only once, in its last state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueChange<'a> {
    /// A value is new, or replaces the value at its place: an item or entry has begun, or a number has more digits. A new
    /// object or list is still empty.
    Set(&'a Value),
    /// Characters were added to a text.
    Append(&'a str),
    /// The value is complete.
    Closed,
}

/// The place of a change: the names and positions that lead from the outermost value to the changed value.
///
/// `Display` writes a JSON Pointer (RFC 6901), such as `/stops/2/city`. The pointer is empty for the outermost value.
#[derive(Clone, Copy)]
pub struct Path<'a>(pub(super) &'a [Level]);

/// One step of a [`Path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Segment<'a> {
    /// The name of an entry of an object.
    Name(&'a str),
    /// The position of an item of a list, from 0.
    Item(usize),
}

impl<'a> Path<'a> {
    /// Returns the steps, outermost first.
    pub fn segments(self) -> impl DoubleEndedIterator<Item = Segment<'a>> + ExactSizeIterator {
        self.0.iter().map(Level::segment)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.segments().try_for_each(|step| match step {
            Segment::Name(name) => write!(out, "/{}", escape_token(name)),
            Segment::Item(index) => write!(out, "/{index}"),
        })
    }
}

impl fmt::Debug for Path<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Path(\"{self}\")")
    }
}

/// An open container, and its current or next child.
#[derive(Debug, Default)]
pub struct Level {
    /// The name of the current entry of an object. Later entries reuse its buffer.
    pub name: String,
    /// The position of the current item of a list; `None` in an object.
    pub item: Option<usize>,
    /// Set if the current entry replaces an earlier one with its name, so that it may not be the last in the object.
    pub replaces: bool,
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
                if self.replaces {
                    map.get_mut(&self.name)
                } else {
                    // A new entry is the last one, and looking there needs no hash of its name.
                    map.values_mut().next_back()
                }
            }
            _ => None,
        };
        child.expect("an open container has a current child once a value was begun in it")
    }

    /// Puts `value` into the container `at`: as its next child, or `instead` of its current one.
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
                    self.replaces = false;
                    entry.insert(value)
                }
                Entry::Occupied(entry) => {
                    self.replaces = true;
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

/// The closure that receives each change, if there is one.
pub type Notify<'a> = Option<&'a mut dyn FnMut(Path<'_>, ValueChange<'_>)>;

/// The next part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A value.
    Value,
    /// The first item of a list, or its end.
    FirstItem,
    /// The first name of an object, or its end.
    FirstName,
    /// A name.
    Name,
    /// The rest of a name.
    RestOfName,
    /// The colon after a name.
    Colon,
    /// The rest of a text.
    Text,
    /// The rest of a number. `shown` is set if the value has some of its digits already.
    Number { shown: bool },
    /// The rest of `true`, `false` or `null`.
    Literal(&'static str),
    /// A comma, or the end of the container.
    Comma,
}

/// The position in the text.
#[derive(Debug)]
pub struct Walk {
    /// The open containers, outermost first. The first is the list around the outermost value. Levels from `open` on are kept for
    /// their buffers.
    pub levels: Vec<Level>,
    open: usize,
    pub next: Next,
    pub escape: Escape,
    pub digits: PartialNumber,
}

/// Set if the current container is closed. Otherwise, the piece has ended.
type Closed = bool;

impl Walk {
    pub fn new() -> Self {
        let document = Level { item: Some(0), ..Level::default() };
        Self { levels: vec![document], open: 1, next: Next::Value, escape: Escape::None, digits: PartialNumber::new() }
    }

    /// Returns whether the outermost value is complete.
    pub fn is_complete(&self) -> bool {
        self.open == 1 && self.next == Next::Comma
    }

    /// Returns the path to the innermost incomplete value.
    pub fn place(&self) -> &[Level] {
        let in_scalar = matches!(self.next, Next::Text | Next::Number { shown: true } | Next::Literal(_));
        let end = if in_scalar { self.open } else { self.open - 1 };
        &self.levels[1..end.max(1)]
    }

    /// Ends the text. Fails if the text may not end here.
    pub fn end(&mut self, document: &mut Value) -> Result<(), Fault> {
        if self.open == 1
            && let Next::Number { shown } = self.next
        {
            let number =
                self.digits.finish().map_err(|fault| if fault == Fault::Range { fault } else { Fault::End })?;
            self.levels[0].put(document, Value::Number(number), shown);
            self.next = Next::Comma;
        }
        if self.is_complete() { Ok(()) } else { Err(Fault::End) }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call more is a tenth of what a short piece of a text costs")]
    pub fn read(&mut self, document: &mut Value, input: &mut Input<'_>, notify: &mut Notify<'_>) -> Result<(), Fault> {
        // Most pieces are inside a long text: take the short path.
        if self.next == Next::Text {
            let level = self.open - 1;
            let mut innermost = &mut *document;
            for outer in &self.levels[..level] {
                innermost = outer.child(innermost);
            }
            if !self.read_text(innermost, level, input, notify)? {
                return Ok(());
            }
        }
        self.read_inside(document, 0, input, notify).map(drop)
    }

    /// Reads `input` inside the container `at`, which is at `level`, and inside its children.
    #[inline(never)]
    fn read_inside(
        &mut self,
        at: &mut Value,
        level: usize,
        input: &mut Input<'_>,
        notify: &mut Notify<'_>,
    ) -> Result<Closed, Fault> {
        if level + 1 < self.open && !self.read_inside(self.levels[level].child(at), level + 1, input, notify)? {
            return Ok(false);
        }
        loop {
            let whole = match self.next {
                Next::Text => self.read_text(at, level, input, notify)?,
                Next::RestOfName => self.read_name(level, input)?,
                Next::Number { shown } => self.read_number(at, level, shown, input, notify)?,
                Next::Literal(rest) => self.read_literal(rest, level, input, notify)?,
                _ => true,
            };
            if !whole {
                return Ok(false);
            }
            let Some(byte) = input.skip_space() else { return Ok(false) };
            match (self.next, byte) {
                (Next::Comma, b',') if level > 0 => {
                    input.bump();
                    self.next = if at.is_array() { Next::Value } else { Next::Name };
                }
                (Next::Comma | Next::FirstName, b'}') if at.is_object() => {
                    return Ok(self.end_container(input, notify));
                }
                (Next::Comma | Next::FirstItem, b']') if level > 0 && at.is_array() => {
                    return Ok(self.end_container(input, notify));
                }
                (Next::Name | Next::FirstName, b'"') => {
                    input.bump();
                    self.levels[level].name.clear();
                    self.next = Next::RestOfName;
                }
                (Next::Colon, b':') => {
                    input.bump();
                    self.next = Next::Value;
                }
                (Next::Value | Next::FirstItem, b'{' | b'[') => {
                    let child = self.begin_container(at, level, byte, input, notify)?;
                    if !self.read_inside(child, level + 1, input, notify)? {
                        return Ok(false);
                    }
                }
                (Next::Value | Next::FirstItem, _) => self.begin_scalar(at, level, byte, input, notify)?,
                _ => return Err(self.expected(at, level)),
            }
        }
    }

    /// Returns the fault of a byte that may not be here.
    #[cold]
    fn expected(&self, at: &Value, level: usize) -> Fault {
        match self.next {
            Next::FirstName => Fault::Expected("a key in double quotes or `}`"),
            Next::Name => Fault::Expected("a key in double quotes"),
            Next::Colon => Fault::Expected("a colon between key and value"),
            _ if level == 0 => Fault::Expected("nothing after the JSON"),
            _ if at.is_object() => Fault::Expected("a comma or `}`"),
            _ => Fault::Expected("a comma or `]`"),
        }
    }

    /// Begins a container and enters it.
    fn begin_container<'a>(
        &mut self,
        at: &'a mut Value,
        level: usize,
        byte: u8,
        input: &mut Input<'_>,
        notify: &mut Notify<'_>,
    ) -> Result<&'a mut Value, Fault> {
        if self.open >= MAX_DEPTH {
            return Err(Fault::Depth);
        }
        input.bump();
        let (empty, item, next) = if byte == b'{' {
            (Value::Object(Map::new()), None, Next::FirstName)
        } else {
            (Value::Array(Vec::new()), Some(0), Next::FirstItem)
        };
        let child = self.put(at, level, empty, false, notify);
        self.next = next;
        self.open += 1;
        if self.levels.len() < self.open {
            self.levels.push(Level::default());
        }
        self.levels[level + 1].item = item;
        Ok(child)
    }

    /// Leaves the innermost container.
    fn end_container(&mut self, input: &mut Input<'_>, notify: &mut Notify<'_>) -> Closed {
        input.bump();
        self.open -= 1;
        self.end_value(self.open - 1, notify);
        true
    }

    /// Reports that the current child of the container at `level` is complete.
    #[inline]
    pub fn end_value(&mut self, level: usize, notify: &mut Notify<'_>) {
        self.next = Next::Comma;
        if let Some(notify) = notify {
            notify(Path(&self.levels[1..=level]), ValueChange::Closed);
        }
    }

    /// Puts `value` into the container `at`: as its next child, or `instead` of its current one. Reports the change.
    #[inline]
    pub fn put<'a>(
        &mut self,
        at: &'a mut Value,
        level: usize,
        value: Value,
        instead: bool,
        notify: &mut Notify<'_>,
    ) -> &'a mut Value {
        let child = self.levels[level].put(at, value, instead);
        if let Some(notify) = notify {
            notify(Path(&self.levels[1..=level]), ValueChange::Set(child));
        }
        child
    }

    /// Begins a text, number or literal.
    fn begin_scalar(
        &mut self,
        at: &mut Value,
        level: usize,
        byte: u8,
        input: &mut Input<'_>,
        notify: &mut Notify<'_>,
    ) -> Result<(), Fault> {
        let (value, rest) = match byte {
            b'"' => {
                input.bump();
                let plain = input.read_plain();
                let whole = input.byte() == Some(b'"');
                self.put(at, level, Value::String(plain.to_owned()), false, notify);
                if whole {
                    input.bump();
                    self.end_value(level, notify);
                } else {
                    self.next = Next::Text;
                }
                return Ok(());
            }
            b'-' | b'0'..=b'9' => {
                self.next = Next::Number { shown: false };
                return Ok(());
            }
            b't' => (Value::Bool(true), "rue"),
            b'f' => (Value::Bool(false), "alse"),
            b'n' => (Value::Null, "ull"),
            _ if self.next == Next::FirstItem => return Err(Fault::Expected("a value or `]`")),
            _ => return Err(Fault::Expected("a value")),
        };
        input.bump();
        self.put(at, level, value, false, notify);
        self.next = Next::Literal(rest);
        Ok(())
    }

    /// Reads the rest of a name. Returns `true` if the name is complete.
    #[inline]
    fn read_name(&mut self, level: usize, input: &mut Input<'_>) -> Result<bool, Fault> {
        let whole = scalar::read(&mut self.levels[level].name, &mut self.escape, input)?;
        if whole {
            self.next = Next::Colon;
        }
        Ok(whole)
    }

    /// Reads the rest of a text. Returns `true` if the text is complete.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call more is a twentieth of what a short piece of a text costs")]
    fn read_text(
        &mut self,
        at: &mut Value,
        level: usize,
        input: &mut Input<'_>,
        notify: &mut Notify<'_>,
    ) -> Result<bool, Fault> {
        let Value::String(text) = self.levels[level].child(at) else { unreachable!("a text is read into a text") };
        let before = text.len();
        let read = scalar::read(text, &mut self.escape, input);
        if let Some(notify) = notify
            && text.len() > before
        {
            notify(Path(&self.levels[1..=level]), ValueChange::Append(&text[before..]));
        }
        let whole = read?;
        if whole {
            self.end_value(level, notify);
        }
        Ok(whole)
    }

    /// Reads the rest of a number. Returns `true` if the number is complete.
    fn read_number(
        &mut self,
        at: &mut Value,
        level: usize,
        shown: bool,
        input: &mut Input<'_>,
        notify: &mut Notify<'_>,
    ) -> Result<bool, Fault> {
        let whole = self.digits.read(input)?;
        let is_whole = whole.is_some();
        if let Some(number) = whole.or_else(|| self.digits.shown()) {
            let number = Value::Number(number);
            if !shown || *self.levels[level].child(at) != number {
                self.put(at, level, number, shown, notify);
            }
            self.next = Next::Number { shown: true };
        }
        if is_whole {
            self.end_value(level, notify);
        }
        Ok(is_whole)
    }

    /// Reads the rest of `true`, `false` or `null`, whose value is already shown. Returns `true` if the word is complete.
    fn read_literal(
        &mut self,
        rest: &'static str,
        level: usize,
        input: &mut Input<'_>,
        notify: &mut Notify<'_>,
    ) -> Result<bool, Fault> {
        let mut left = rest.bytes().peekable();
        let same = input.read_ascii_while(|byte| left.next_if_eq(&byte).is_some()).len();
        if same == rest.len() {
            self.end_value(level, notify);
            return Ok(true);
        }
        self.next = Next::Literal(&rest[same..]);
        if input.byte().is_some() { Err(Fault::Expected("one of the words true, false and null")) } else { Ok(false) }
    }
}
