//! The way through the containers: where the text stands, the value that is kept up to date there, and its changes.

use std::fmt;

use serde_json::{Map, Value, map::Entry};

use super::{
    DEPTH, Fault,
    scalar::{self, Digits, Escape, Input},
};
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
    /// The colon behind a name.
    Colon,
    /// The rest of a text.
    Text,
    /// The rest of a number, and whether its value is shown already.
    Number { shown: bool },
    /// The rest of `true`, `false` or `null`.
    Literal(&'static str),
    /// A comma, or the end of the container.
    Comma,
}

/// Everything about the place where the text stands.
#[derive(Debug)]
pub struct Walk {
    /// One for each open container, outermost first: the first is the list that the outermost value is kept in. Those
    /// beyond `open` are kept for their buffers.
    pub levels: Vec<Level>,
    open: usize,
    pub next: Next,
    pub escape: Escape,
    pub digits: Digits,
}

/// `true` if the current container is closed. If not, the input is used up.
type Closed = bool;

impl Walk {
    /// Returns the start of a text.
    pub fn new() -> Self {
        let document = Level { item: Some(0), ..Level::default() };
        Self { levels: vec![document], open: 1, next: Next::Value, escape: Escape::None, digits: Digits::new() }
    }

    /// Returns whether the outermost value is complete.
    pub fn is_complete(&self) -> bool {
        self.open == 1 && self.next == Next::Comma
    }

    /// Returns the names and positions that lead to the innermost value that is there and not complete.
    pub fn place(&self) -> &[Level] {
        let in_scalar = matches!(self.next, Next::Text | Next::Number { shown: true } | Next::Literal(_));
        let end = if in_scalar { self.open } else { self.open - 1 };
        &self.levels[1..end.max(1)]
    }

    /// Ends the text. Fails where it cannot end.
    pub fn end(&mut self, document: &mut Value) -> Result<(), Fault> {
        if self.open == 1
            && let Next::Number { shown } = self.next
        {
            let number = self.digits.end().map_err(|fault| if fault == Fault::Range { fault } else { Fault::End })?;
            self.levels[0].put(document, Value::Number(number), shown);
            self.next = Next::Comma;
        }
        if self.is_complete() { Ok(()) } else { Err(Fault::End) }
    }

    /// Reads `input`.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call more is a tenth of what a short piece of a text costs")]
    pub fn go_on(&mut self, document: &mut Value, input: &mut Input<'_>, tell: &mut Tell<'_>) -> Result<(), Fault> {
        // Most pieces lie inside a long text: straight to it.
        if self.next == Next::Text {
            let level = self.open - 1;
            let mut innermost = &mut *document;
            for outer in &self.levels[..level] {
                innermost = outer.child(innermost);
            }
            if !self.text(innermost, level, input, tell)? {
                return Ok(());
            }
        }
        self.inside(document, 0, input, tell).map(drop)
    }

    /// Reads `input`, inside the container `at`, which is at `level`, and in those inside it.
    #[inline(never)]
    fn inside(
        &mut self,
        at: &mut Value,
        level: usize,
        input: &mut Input<'_>,
        tell: &mut Tell<'_>,
    ) -> Result<Closed, Fault> {
        if level + 1 < self.open && !self.inside(self.levels[level].child(at), level + 1, input, tell)? {
            return Ok(false);
        }
        loop {
            let whole = match self.next {
                Next::Text => self.text(at, level, input, tell)?,
                Next::RestOfName => self.name(level, input)?,
                Next::Number { shown } => self.number(at, level, shown, input, tell)?,
                Next::Literal(rest) => self.literal(rest, level, input, tell)?,
                _ => true,
            };
            if !whole {
                return Ok(false);
            }
            let Some(byte) = input.significant() else { return Ok(false) };
            match (self.next, byte) {
                (Next::Comma, b',') if level > 0 => {
                    input.bump();
                    self.next = if at.is_array() { Next::Value } else { Next::Name };
                }
                (Next::Comma | Next::FirstName, b'}') if at.is_object() => return Ok(self.close(input, tell)),
                (Next::Comma | Next::FirstItem, b']') if level > 0 && at.is_array() => {
                    return Ok(self.close(input, tell));
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
                    let child = self.open(at, level, byte, input, tell)?;
                    if !self.inside(child, level + 1, input, tell)? {
                        return Ok(false);
                    }
                }
                (Next::Value | Next::FirstItem, _) => self.begin(at, level, byte, input, tell)?,
                _ => return Err(self.expected(at, level)),
            }
        }
    }

    /// Returns the fault for what should stand here.
    #[cold]
    fn expected(&self, at: &Value, level: usize) -> Fault {
        match self.next {
            Next::FirstName => Fault::Expected("a name in double quotes or `}`"),
            Next::Name => Fault::Expected("a name in double quotes"),
            Next::Colon => Fault::Expected("a colon between name and value"),
            _ if level == 0 => Fault::Expected("nothing after the JSON"),
            _ if at.is_object() => Fault::Expected("a comma or `}`"),
            _ => Fault::Expected("a comma or `]`"),
        }
    }

    /// Begins a container and steps inside.
    fn open<'a>(
        &mut self,
        at: &'a mut Value,
        level: usize,
        byte: u8,
        input: &mut Input<'_>,
        tell: &mut Tell<'_>,
    ) -> Result<&'a mut Value, Fault> {
        if self.open >= DEPTH {
            return Err(Fault::Depth);
        }
        input.bump();
        let (empty, item, next) = if byte == b'{' {
            (Value::Object(Map::new()), None, Next::FirstName)
        } else {
            (Value::Array(Vec::new()), Some(0), Next::FirstItem)
        };
        let child = self.put(at, level, empty, false, tell);
        self.next = next;
        self.open += 1;
        if self.levels.len() < self.open {
            self.levels.push(Level::default());
        }
        self.levels[level + 1].item = item;
        Ok(child)
    }

    /// Steps out of the innermost container.
    fn close(&mut self, input: &mut Input<'_>, tell: &mut Tell<'_>) -> Closed {
        input.bump();
        self.open -= 1;
        self.done(self.open - 1, tell);
        true
    }

    /// The current child of the container at `level` is complete.
    #[inline]
    pub fn done(&mut self, level: usize, tell: &mut Tell<'_>) {
        self.next = Next::Comma;
        if let Some(tell) = tell {
            tell(Path(&self.levels[1..=level]), Change::Closed);
        }
    }

    /// Puts `value` in the container `at`, as its next child or, `instead` of what is there, as its current one.
    #[inline]
    pub fn put<'a>(
        &mut self,
        at: &'a mut Value,
        level: usize,
        value: Value,
        instead: bool,
        tell: &mut Tell<'_>,
    ) -> &'a mut Value {
        let child = self.levels[level].put(at, value, instead);
        if let Some(tell) = tell {
            tell(Path(&self.levels[1..=level]), Change::Set(child));
        }
        child
    }

    /// Begins a value that is no container.
    fn begin(
        &mut self,
        at: &mut Value,
        level: usize,
        byte: u8,
        input: &mut Input<'_>,
        tell: &mut Tell<'_>,
    ) -> Result<(), Fault> {
        let (value, rest) = match byte {
            b'"' => {
                input.bump();
                let plain = input.plain();
                let whole = input.byte() == Some(b'"');
                self.put(at, level, Value::String(plain.to_owned()), false, tell);
                if whole {
                    input.bump();
                    self.done(level, tell);
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
        self.put(at, level, value, false, tell);
        self.next = Next::Literal(rest);
        Ok(())
    }

    /// Reads what there is of the rest of a name. Returns `true` if that is all.
    #[inline]
    fn name(&mut self, level: usize, input: &mut Input<'_>) -> Result<bool, Fault> {
        let whole = scalar::read(&mut self.levels[level].name, &mut self.escape, input)?;
        if whole {
            self.next = Next::Colon;
        }
        Ok(whole)
    }

    /// Reads what there is of the rest of a text. Returns `true` if that is all.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call more is a twentieth of what a short piece of a text costs")]
    fn text(
        &mut self,
        at: &mut Value,
        level: usize,
        input: &mut Input<'_>,
        tell: &mut Tell<'_>,
    ) -> Result<bool, Fault> {
        let Value::String(text) = self.levels[level].child(at) else { unreachable!("a text is read into a text") };
        let before = text.len();
        let read = scalar::read(text, &mut self.escape, input);
        if let Some(tell) = tell
            && text.len() > before
        {
            tell(Path(&self.levels[1..=level]), Change::Append(&text[before..]));
        }
        let whole = read?;
        if whole {
            self.done(level, tell);
        }
        Ok(whole)
    }

    /// Reads what there is of the rest of a number. Returns `true` if that is all.
    fn number(
        &mut self,
        at: &mut Value,
        level: usize,
        shown: bool,
        input: &mut Input<'_>,
        tell: &mut Tell<'_>,
    ) -> Result<bool, Fault> {
        let whole = self.digits.read(input)?;
        let is_whole = whole.is_some();
        if let Some(number) = whole.or_else(|| self.digits.shown()) {
            let number = Value::Number(number);
            if !shown || *self.levels[level].child(at) != number {
                self.put(at, level, number, shown, tell);
            }
            self.next = Next::Number { shown: true };
        }
        if is_whole {
            self.done(level, tell);
        }
        Ok(is_whole)
    }

    /// Reads what there is of the rest of `true`, `false` or `null`, whose value is shown already. Returns `true` if that is
    /// all.
    fn literal(
        &mut self,
        rest: &'static str,
        level: usize,
        input: &mut Input<'_>,
        tell: &mut Tell<'_>,
    ) -> Result<bool, Fault> {
        let mut left = rest.bytes().peekable();
        let same = input.ascii_while(|byte| left.next_if_eq(&byte).is_some()).len();
        if same == rest.len() {
            self.done(level, tell);
            return Ok(true);
        }
        self.next = Next::Literal(&rest[same..]);
        if input.byte().is_some() { Err(Fault::Expected("one of the words true, false and null")) } else { Ok(false) }
    }
}
