//! The way through the containers: where the text stands, and the value that is kept up to date there.

use serde_json::{Map, Value};

use super::{
    change::{Change, Level, Listener},
    fault::Fault,
    input::Input,
    number::Digits,
    text::Escape,
};

/// What comes next in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
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
pub(super) struct Walk {
    /// One for each open container, outermost first: the first is the list that the outermost value is kept in. Those
    /// beyond `open` are kept for their buffers.
    pub(super) levels: Vec<Level>,
    open: usize,
    pub(super) next: Next,
    pub(super) escape: Escape,
    pub(super) digits: Digits,
    most: usize,
}

/// Whether the container at hand is closed; if not, the input is used up.
type Closed = bool;

impl Walk {
    /// At the start of a text, whose containers may be nested less than `most` levels deep.
    pub(super) fn new(most: usize) -> Self {
        let document = Level { item: Some(0), ..Level::default() };
        Self { levels: vec![document], open: 1, next: Next::Value, escape: Escape::None, digits: Digits::new(), most }
    }

    /// Whether the outermost value is complete.
    pub(super) fn is_complete(&self) -> bool {
        self.open == 1 && self.next == Next::Comma
    }

    /// The names and positions that lead to the innermost value that is there and not complete.
    pub(super) fn place(&self) -> &[Level] {
        let in_scalar = matches!(self.next, Next::Text | Next::Number { shown: true } | Next::Literal(_));
        let end = if in_scalar { self.open } else { self.open - 1 };
        &self.levels[1..end.max(1)]
    }

    /// Says that the text has ended: whether it may.
    pub(super) fn end(&mut self, document: &mut Value) -> Result<(), Fault> {
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
    pub(super) fn go_on<L: Listener>(
        &mut self,
        document: &mut Value,
        input: &mut Input<'_>,
        listener: &mut L,
    ) -> Result<(), Fault> {
        // Most pieces lie inside a long text: straight to it.
        if self.next == Next::Text {
            let level = self.open - 1;
            let mut innermost = &mut *document;
            for outer in &self.levels[..level] {
                innermost = outer.child(innermost);
            }
            if !self.text(innermost, level, input, listener)? {
                return Ok(());
            }
        }
        self.inside(document, 0, input, listener).map(drop)
    }

    /// Reads `input`, inside the container `at`, which is at `level`, and in those inside it.
    #[inline(never)]
    fn inside<L: Listener>(
        &mut self,
        at: &mut Value,
        level: usize,
        input: &mut Input<'_>,
        listener: &mut L,
    ) -> Result<Closed, Fault> {
        if level + 1 < self.open && !self.inside(self.levels[level].child(at), level + 1, input, listener)? {
            return Ok(false);
        }
        loop {
            let whole = match self.next {
                Next::Text => self.text(at, level, input, listener)?,
                Next::RestOfName => self.name(level, input)?,
                Next::Number { shown } => self.number(at, level, shown, input, listener)?,
                Next::Literal(rest) => self.literal(rest, level, input, listener)?,
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
                (Next::Comma | Next::FirstName, b'}') if at.is_object() => return Ok(self.close(input, listener)),
                (Next::Comma | Next::FirstItem, b']') if level > 0 && at.is_array() => {
                    return Ok(self.close(input, listener));
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
                    let child = self.open(at, level, byte, input, listener)?;
                    if !self.inside(child, level + 1, input, listener)? {
                        return Ok(false);
                    }
                }
                (Next::Value | Next::FirstItem, _) => self.begin(at, level, byte, input, listener)?,
                _ => return Err(self.expected(at, level)),
            }
        }
    }

    /// What should have come instead.
    #[cold]
    fn expected(&self, at: &Value, level: usize) -> Fault {
        match self.next {
            Next::FirstName => Fault::NameOrEnd,
            Next::Name => Fault::Name,
            Next::Colon => Fault::Colon,
            _ if level == 0 => Fault::Nothing,
            _ if at.is_object() => Fault::CommaOrBrace,
            _ => Fault::CommaOrBracket,
        }
    }

    /// Begins a container and steps inside.
    fn open<'a, L: Listener>(
        &mut self,
        at: &'a mut Value,
        level: usize,
        byte: u8,
        input: &mut Input<'_>,
        listener: &mut L,
    ) -> Result<&'a mut Value, Fault> {
        if self.open >= self.most {
            return Err(Fault::Depth);
        }
        input.bump();
        let (empty, item, next) = if byte == b'{' {
            (Value::Object(Map::new()), None, Next::FirstName)
        } else {
            (Value::Array(Vec::new()), Some(0), Next::FirstItem)
        };
        let child = self.put(at, level, empty, false, listener);
        self.next = next;
        self.open += 1;
        if self.levels.len() < self.open {
            self.levels.push(Level::default());
        }
        self.levels[level + 1].item = item;
        Ok(child)
    }

    /// Steps out of the innermost container.
    fn close<L: Listener>(&mut self, input: &mut Input<'_>, listener: &mut L) -> Closed {
        input.bump();
        self.open -= 1;
        self.done(self.open - 1, listener);
        true
    }

    /// The current child of the container at `level` is complete.
    #[inline]
    pub(super) fn done<L: Listener>(&mut self, level: usize, listener: &mut L) {
        self.next = Next::Comma;
        if L::HEARS {
            listener.tell(&self.levels[1..=level], Change::Closed);
        }
    }

    /// Puts `value` in the container `at`, as its next child or, `instead` of what is there, as its current one.
    #[inline]
    pub(super) fn put<'a, L: Listener>(
        &mut self,
        at: &'a mut Value,
        level: usize,
        value: Value,
        instead: bool,
        listener: &mut L,
    ) -> &'a mut Value {
        let child = self.levels[level].put(at, value, instead);
        if L::HEARS {
            listener.tell(&self.levels[1..=level], Change::Set(child));
        }
        child
    }
}
