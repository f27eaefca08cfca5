//! Names, and the values that are no containers.

use serde_json::Value;

use super::{
    change::{Change, Listener},
    fault::Fault,
    input::Input,
    text,
    walk::{Next, Walk},
};

impl Walk {
    /// Begins a value that is no container.
    pub(super) fn begin<L: Listener>(
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

    /// Reads what there is of the rest of a name; whether that is all.
    #[inline]
    pub(super) fn name(&mut self, level: usize, input: &mut Input<'_>) -> Result<bool, Fault> {
        let whole = text::read(&mut self.levels[level].name, &mut self.escape, input)?;
        if whole {
            self.next = Next::Colon;
        }
        Ok(whole)
    }

    /// Reads what there is of the rest of a text; whether that is all.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call more is a twentieth of what a short piece of a text costs")]
    pub(super) fn text<L: Listener>(
        &mut self,
        at: &mut Value,
        level: usize,
        input: &mut Input<'_>,
        listener: &mut L,
    ) -> Result<bool, Fault> {
        let Value::String(text) = self.levels[level].child(at) else { unreachable!("a text is read into a text") };
        let before = text.len();
        let read = text::read(text, &mut self.escape, input);
        if L::HEARS && text.len() > before {
            listener.tell(&self.levels[1..=level], Change::Append(&text[before..]));
        }
        let whole = read?;
        if whole {
            self.done(level, listener);
        }
        Ok(whole)
    }

    /// Reads what there is of the rest of a number; whether that is all.
    pub(super) fn number<L: Listener>(
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
    pub(super) fn literal<L: Listener>(
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
