//! Names, texts and numbers, whatever they are cut into, and the cursor over one delta.

use serde_json::Number;

use super::Fault;

/// A delta, and how far it was read.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    text: &'a str,
    /// Always at the start of a character.
    at: usize,
}

impl<'a> Input<'a> {
    #[inline]
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Returns how many bytes were read.
    #[inline]
    pub fn read(&self) -> usize {
        self.at
    }

    /// Returns the next character.
    pub fn character(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Returns the next byte.
    #[inline]
    pub fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Moves behind the next byte, which is ASCII.
    #[inline]
    pub fn bump(&mut self) {
        self.at += 1;
    }

    /// Returns the next byte that is not white space.
    #[inline]
    pub fn significant(&mut self) -> Option<u8> {
        loop {
            let byte = self.byte()?;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Reads bytes, all of them ASCII, as long as `wanted` accepts them.
    #[inline]
    pub fn ascii_while(&mut self, mut wanted: impl FnMut(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.byte().is_some_and(&mut wanted) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    /// Reads up to the next byte that means something in a text: a quote, a backslash, a control character.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call more is a twentieth of what a short piece of a text costs")]
    pub fn plain(&mut self) -> &'a str {
        let start = self.at;
        self.at = plain(self.text.as_bytes(), start);
        &self.text[start..self.at]
    }
}

/// Returns the place, from `at` on, of the first byte that does not mean itself in a text; the end if there is none.
///
/// Eight bytes are looked at at a time, for the last ones together with some that were looked at before.
#[inline]
fn plain(bytes: &[u8], at: usize) -> usize {
    let mut rest = &bytes[at..];
    while let Some((word, behind)) = rest.split_first_chunk() {
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return bytes.len() - rest.len() + first(marks);
        }
        rest = behind;
    }
    let at = bytes.len() - rest.len();
    match bytes.last_chunk() {
        Some(_) if rest.is_empty() => at,
        // What is shifted in is zero, a control character: so the end is found.
        Some(word) => at + first(marks(u64::from_le_bytes(*word) >> (64 - 8 * rest.len()))),
        None => at + rest.iter().position(|&byte| marks(byte.into()) & 0xff != 0).unwrap_or(rest.len()),
    }
}

/// Marks, of eight bytes, the first that means something in a text, by its high bit; some behind it may be marked too.
#[inline]
fn marks(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    // Subtracting sets the high bit of a byte that is smaller than what is subtracted, if it was not set before. It may
    // set those of bytes behind the first of them too. Turning one bit puts the quote behind the control characters, and the
    // space where the quote was.
    let low = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES);
    (low | backslash) & !word & (ONES << 7)
}

/// Returns which of eight bytes is the first that is marked.
#[inline]
fn first(marks: u64) -> usize {
    marks.trailing_zeros() as usize / 8
}

/// How far an escape has come where the text was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// There is none.
    None,
    /// After `\`.
    Begun,
    /// After `\u` and so many digits; after the high half of a surrogate pair, that is `high`, else 0.
    Digits { high: u16, value: u16, count: u8 },
    /// After the high half of a surrogate pair: `\` must follow.
    High(u16),
    /// After that: `u` must follow.
    HighBegun(u16),
}

/// Adds to `text` what `input` has of it. Returns `true` if that is all of it. The closing quote is read too.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a call more is a twentieth of what a short piece of a text costs")]
pub fn read(text: &mut String, escape: &mut Escape, input: &mut Input<'_>) -> Result<bool, Fault> {
    if *escape != Escape::None && !go_on(text, escape, input)? {
        return Ok(false);
    }
    // A copy without an address stays in registers.
    let mut here = *input;
    loop {
        text.push_str(here.plain());
        let letter = match here.byte() {
            Some(b'\\') => {
                here.bump();
                here.byte().and_then(letter)
            }
            end => {
                if end == Some(b'"') {
                    here.bump();
                }
                *input = here;
                return match end {
                    None => Ok(false),
                    Some(b'"') => Ok(true),
                    Some(_) => Err(Fault::Expected("control characters in a text escaped")),
                };
            }
        };
        // Nearly all escapes are of one letter.
        match letter {
            Some(letter) => {
                here.bump();
                text.push(letter);
            }
            None => {
                *escape = Escape::Begun;
                *input = here;
                if !go_on(text, escape, input)? {
                    return Ok(false);
                }
                here = *input;
            }
        }
    }
}

/// Returns the character that a letter behind a backslash stands for.
#[inline]
fn letter(byte: u8) -> Option<char> {
    Some(match byte {
        b'"' | b'\\' | b'/' => char::from(byte),
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        _ => return None,
    })
}

/// Goes on with an escape that has begun. Returns `true` if it is complete.
#[inline(never)]
fn go_on(text: &mut String, escape: &mut Escape, input: &mut Input<'_>) -> Result<bool, Fault> {
    while *escape != Escape::None {
        let Some(byte) = input.byte() else { return Ok(false) };
        *escape = follow(*escape, byte, text)?;
        input.bump();
    }
    Ok(true)
}

/// Returns the next state of an escape. Its character is added to `text` when it is complete.
fn follow(escape: Escape, byte: u8, text: &mut String) -> Result<Escape, Fault> {
    match (escape, byte) {
        (Escape::Begun, b'u') => Ok(Escape::Digits { high: 0, value: 0, count: 0 }),
        (Escape::Begun, _) => {
            text.push(letter(byte).ok_or(Fault::Expected("one of the escapes of JSON"))?);
            Ok(Escape::None)
        }
        (Escape::High(high), b'\\') => Ok(Escape::HighBegun(high)),
        (Escape::HighBegun(high), b'u') => Ok(Escape::Digits { high, value: 0, count: 0 }),
        (Escape::Digits { high, value, count }, _) => {
            let digit = char::from(byte).to_digit(16).and_then(|digit| u16::try_from(digit).ok());
            let value = value << 4 | digit.ok_or(Fault::Expected("four hexadecimal digits after `\\u`"))?;
            if count < 3 {
                return Ok(Escape::Digits { high, value, count: count + 1 });
            }
            if high == 0 && (0xd800..0xdc00).contains(&value) {
                return Ok(Escape::High(value));
            }
            let units = if high == 0 { &[value][..] } else { &[high, value] };
            for unit in char::decode_utf16(units.iter().copied()) {
                text.push(unit.map_err(|_| Fault::Expected("both halves of a surrogate pair"))?);
            }
            Ok(Escape::None)
        }
        _ => Err(Fault::Expected("both halves of a surrogate pair")),
    }
}

/// The most digits of an unfinished number that are shown: so many always fit a float, and reading them again with each
/// delta takes no longer than reading the delta.
const SHOWN: usize = 308;

/// A number whose text is still arriving.
#[derive(Debug)]
pub struct Digits {
    text: String,
    part: Part,
    /// `true` if the last delta has added to what is shown.
    news: bool,
}

/// The part of a number that was read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Begin,
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

impl Part {
    /// Returns the part that `byte` belongs to after this one; `None` if the number cannot go on with it.
    #[inline]
    fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Begin, b'-') => Self::Minus,
            (Self::Begin | Self::Minus, b'0') => Self::Zero,
            (Self::Begin | Self::Minus | Self::Integer, b'0'..=b'9') => Self::Integer,
            (Self::Zero | Self::Integer, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Self::E,
            (Self::E, b'+' | b'-') => Self::Sign,
            (Self::E | Self::Sign | Self::Exponent, b'0'..=b'9') => Self::Exponent,
            _ => return None,
        })
    }

    /// Returns whether a number can end with this part.
    #[inline]
    fn is_end(self) -> bool {
        matches!(self, Self::Zero | Self::Integer | Self::Fraction | Self::Exponent)
    }
}

impl Digits {
    pub const fn new() -> Self {
        Self { text: String::new(), part: Part::Begin, news: false }
    }

    /// Reads what `input` has of the number: its value, if it ends there. With the next number it begins anew.
    #[inline]
    pub fn read(&mut self, input: &mut Input<'_>) -> Result<Option<Number>, Fault> {
        let mut part = self.part;
        let piece = input.ascii_while(|byte| {
            let next = part.next(byte);
            part = next.unwrap_or(part);
            next.is_some()
        });
        self.part = part;
        let Some(next) = input.byte() else {
            self.news = self.text.len() < SHOWN && !piece.is_empty();
            self.text.push_str(piece);
            return Ok(None);
        };
        if part == Part::Zero && next.is_ascii_digit() {
            return Err(Fault::Expected("a number without leading zeros"));
        }
        if self.text.is_empty() {
            return self.value(piece).map(Some);
        }
        self.text.push_str(piece);
        self.end().map(Some)
    }

    /// Returns the value, if the text ends here.
    pub fn end(&mut self) -> Result<Number, Fault> {
        let text = std::mem::take(&mut self.text);
        let value = self.value(&text);
        self.text = text;
        self.text.clear();
        value
    }

    #[inline]
    fn value(&mut self, text: &str) -> Result<Number, Fault> {
        if !self.part.is_end() {
            return Err(Fault::Expected("a digit"));
        }
        self.part = Part::Begin;
        serde_json::from_str(text).map_err(|_| Fault::Range)
    }

    /// Returns the value of as much as can be shown, if that is more now: up to the last digit, and without the digits of an
    /// exponent that make it too large.
    pub fn shown(&self) -> Option<Number> {
        if !self.news {
            return None;
        }
        let mut text = &self.text[..self.text.len().min(SHOWN)];
        loop {
            text = text.trim_end_matches(|c: char| !c.is_ascii_digit());
            if text.is_empty() {
                return None;
            }
            if let Ok(number) = serde_json::from_str(text) {
                return Some(number);
            }
            text = &text[..text.len() - 1];
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::plain;

    proptest! {
        #[test]
        fn plain_stops_where_a_byte_means_something(bytes in any::<Vec<u8>>(), some in r#"[a-z\x80\xff!#\[\]]{0,20}["\\\x00\x1f]?[a-z]{0,9}"#) {
            for bytes in [&bytes[..], some.as_bytes()] {
                let found = bytes.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\');
                for at in 0..=found.unwrap_or(bytes.len()) {
                    prop_assert_eq!(plain(bytes, at), found.unwrap_or(bytes.len()));
                }
            }
        }
    }
}
