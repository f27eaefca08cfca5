//! The way through the containers: where the text stands, and the value that is kept up to date there.

use serde_json::{Map, Value};

use super::{
    change::{Change, Level, Listener},
    fault::Fault,
    input::Input,
    number::Digits,
    text::{self, Escape},
};

/// What comes next in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
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
    levels: Vec<Level>,
    open: usize,
    next: Next,
    escape: Escape,
    digits: Digits,
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

    /// Reads `input`, inside the container `at`, which is at `level`, and in those inside it.
    pub(super) fn inside<L: Listener>(
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
            match self.next {
                Next::Text => {
                    if !self.text(at, level, input, listener)? {
                        return Ok(false);
                    }
                }
                Next::RestOfName => {
                    if !text::read(&mut self.levels[level].name, &mut self.escape, input)? {
                        return Ok(false);
                    }
                    self.next = Next::Colon;
                }
                Next::Number { shown } => {
                    if !self.number(at, level, shown, input, listener)? {
                        return Ok(false);
                    }
                }
                Next::Literal(rest) => {
                    if !self.literal(rest, level, input, listener)? {
                        return Ok(false);
                    }
                }
                _ => {}
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
    fn done<L: Listener>(&mut self, level: usize, listener: &mut L) {
        self.next = Next::Comma;
        listener.tell(&self.levels[1..=level], Change::Closed);
    }

    /// Puts `value` in the container `at`, as its next child or, `instead` of what is there, as its current one.
    #[inline]
    fn put<'a, L: Listener>(
        &mut self,
        at: &'a mut Value,
        level: usize,
        value: Value,
        instead: bool,
        listener: &mut L,
    ) -> &'a mut Value {
        let child = self.levels[level].put(at, value, instead);
        listener.tell(&self.levels[1..=level], Change::Set(child));
        child
    }

    /// Begins a value that is no container.
    fn begin<L: Listener>(
        &mut self,
        at: &mut Value,
        level: usize,
        byte: u8,
        input: &mut Input<'_>,
        listener: &mut L,
    ) -> Result<(), Fault> {
        let (value, rest) = match byte {
            b'"' => {
                input.bump();
                let plain = input.plain();
                let whole = input.byte() == Some(b'"');
                self.put(at, level, Value::String(plain.to_owned()), false, listener);
                if whole {
                    input.bump();
                    self.done(level, listener);
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
            _ => return Err(if self.next == Next::FirstItem { Fault::ItemOrEnd } else { Fault::Value }),
        };
        input.bump();
        self.put(at, level, value, false, listener);
        self.next = Next::Literal(rest);
        Ok(())
    }

    /// Reads what there is of the rest of a text; whether that is all.
    #[inline]
    fn text<L: Listener>(
        &mut self,
        at: &mut Value,
        level: usize,
        input: &mut Input<'_>,
        listener: &mut L,
    ) -> Result<bool, Fault> {
        let Value::String(text) = self.levels[level].child(at) else { unreachable!("a text is read into a text") };
        let before = text.len();
        let read = text::read(text, &mut self.escape, input);
        if text.len() > before {
            listener.tell(&self.levels[1..=level], Change::Append(&text[before..]));
        }
        let whole = read?;
        if whole {
            self.done(level, listener);
        }
        Ok(whole)
    }

    /// Reads what there is of the rest of a number; whether that is all.
    fn number<L: Listener>(
        &mut self,
        at: &mut Value,
        level: usize,
        shown: bool,
        input: &mut Input<'_>,
        listener: &mut L,
    ) -> Result<bool, Fault> {
        let whole = self.digits.read(input)?;
        let is_whole = whole.is_some();
        if let Some(number) = whole.or_else(|| self.digits.shown()) {
            let number = Value::Number(number);
            if !shown || *self.levels[level].child(at) != number {
                self.put(at, level, number, shown, listener);
            }
            self.next = Next::Number { shown: true };
        }
        if is_whole {
            self.done(level, listener);
        }
        Ok(is_whole)
    }

    /// Reads what there is of the rest of `true`, `false` or `null`, whose value is shown already; whether that is all.
    fn literal<L: Listener>(
        &mut self,
        rest: &'static str,
        level: usize,
        input: &mut Input<'_>,
        listener: &mut L,
    ) -> Result<bool, Fault> {
        let mut left = rest.bytes().peekable();
        let same = input.ascii_while(|byte| left.next_if_eq(&byte).is_some()).len();
        if same == rest.len() {
            self.done(level, listener);
            return Ok(true);
        }
        self.next = Next::Literal(&rest[same..]);
        if input.byte().is_some() { Err(Fault::Literal) } else { Ok(false) }
    }
}
