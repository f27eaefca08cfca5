//! Names, texts and numbers that are cut anywhere, and the cursor over one piece of the text.

use serde_json::Number;

use super::Fault;

/// A piece of the text, and the part of it that was not read yet.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Input<'a> {
    #[inline]
    pub fn new(text: &'a str) -> Self {
        Self { text, rest: text }
    }

    /// Returns the number of bytes that were read.
    #[inline]
    pub fn offset(&self) -> usize {
        self.text.len() - self.rest.len()
    }

    /// Returns the next character.
    pub fn character(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Returns the next byte.
    #[inline]
    pub fn byte(&self) -> Option<u8> {
        self.rest.as_bytes().first().copied()
    }

    /// Moves past the next byte, which is ASCII.
    #[inline]
    pub fn bump(&mut self) {
        self.rest = &self.rest[1..];
    }

    /// Moves past white space, and returns the next byte.
    #[inline]
    pub fn skip_space(&mut self) -> Option<u8> {
        self.read_ascii_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
        self.byte()
    }

    /// Reads ASCII bytes while `wanted` accepts them.
    #[inline]
    pub fn read_ascii_while(&mut self, mut wanted: impl FnMut(u8) -> bool) -> &'a str {
        let end = self.rest.bytes().position(|byte| !wanted(byte));
        self.read_up_to(end.unwrap_or(self.rest.len()))
    }

    /// Reads up to the next byte that is special in a text: a quote, a backslash or a control character.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call more is a twentieth of what a short piece of a text costs")]
    pub fn read_plain(&mut self) -> &'a str {
        self.read_up_to(find_special(self.text.as_bytes(), self.rest.as_bytes()))
    }

    /// Reads a backslash and, if an escape of one letter follows, its letter. Returns the escape's character, or `None` for other
    /// escapes, of which only the backslash was read.
    #[inline]
    fn read_short_escape(&mut self) -> Option<char> {
        if let Some((escape, rest)) = self.rest.split_at_checked(2)
            && let Some(letter) = unescape(escape.as_bytes()[1])
        {
            self.rest = rest;
            return Some(letter);
        }
        self.bump();
        None
    }

    #[inline]
    fn read_up_to(&mut self, end: usize) -> &'a str {
        let (read, rest) = self.rest.split_at(end);
        self.rest = rest;
        read
    }
}

/// Returns the number of bytes before the first special byte of `bytes`, which end `piece`.
///
/// The function compares eight bytes at a time. The last eight bytes of the piece may overlap with earlier bytes.
#[inline]
fn find_special(piece: &[u8], bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let Some((word, behind)) = rest.split_first_chunk() {
        let marks = mark_special(u64::from_le_bytes(*word));
        if marks != 0 {
            return bytes.len() - rest.len() + first_mark(marks);
        }
        rest = behind;
    }
    let at = bytes.len() - rest.len();
    match piece.last_chunk() {
        Some(_) if rest.is_empty() => at,
        // The shift fills with zeros, which are control characters, so the end counts as special.
        Some(word) => at + first_mark(mark_special(u64::from_le_bytes(*word) >> (64 - 8 * rest.len()))),
        None => at + rest.iter().position(|&byte| mark_special(byte.into()) & 0xff != 0).unwrap_or(rest.len()),
    }
}

/// Marks the first special byte of eight by its high bit. Later bytes may be marked by mistake.
#[inline]
fn mark_special(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    // Flipping bit 1 moves the quote below 0x21, and the space from there to the quote's place. Subtracting 0x21 then sets the
    // high bit of each smaller byte. A borrow may also mark later bytes.
    let low = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES);
    (low | backslash) & !word & (ONES << 7)
}

/// Returns the index of the first marked byte.
#[inline]
fn first_mark(marks: u64) -> usize {
    marks.trailing_zeros() as usize / 8
}

/// The part of an escape before the end of the piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// No escape.
    None,
    /// After `\`.
    Begun,
    /// After `\u` and `count` digits. `high` is the high half of a surrogate pair before them, or 0.
    PartialNumber { high: u16, value: u16, count: u8 },
    /// After the high half of a surrogate pair: `\` must follow.
    High(u16),
    /// After the high half of a surrogate pair and `\`: `u` must follow.
    HighBegun(u16),
}

/// Reads the text in `input`, up to its closing quote. Returns `true` if the text is complete.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a call more is a twentieth of what a short piece of a text costs")]
pub fn read(text: &mut String, escape: &mut Escape, input: &mut Input<'_>) -> Result<bool, Fault> {
    if *escape != Escape::None && !read_escape(text, escape, input)? {
        return Ok(false);
    }
    // A local copy whose address is not taken stays in registers.
    let mut here = *input;
    loop {
        text.push_str(here.read_plain());
        let byte = here.byte();
        if byte != Some(b'\\') {
            if byte == Some(b'"') {
                here.bump();
            }
            *input = here;
            return match byte {
                None => Ok(false),
                Some(b'"') => Ok(true),
                Some(_) => Err(Fault::Expected("control characters in a string escaped")),
            };
        }
        // Most escapes are a single letter.
        match here.read_short_escape() {
            Some(letter) => text.push(letter),
            None => {
                *escape = Escape::Begun;
                *input = here;
                if !read_escape(text, escape, input)? {
                    return Ok(false);
                }
                here = *input;
            }
        }
    }
}

/// Returns the character of an escape with one letter.
#[inline]
fn unescape(byte: u8) -> Option<char> {
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

/// Reads the rest of an escape. Returns `true` if it is complete.
#[inline(never)]
fn read_escape(text: &mut String, escape: &mut Escape, input: &mut Input<'_>) -> Result<bool, Fault> {
    while *escape != Escape::None {
        let Some(byte) = input.byte() else { return Ok(false) };
        *escape = advance_escape(*escape, byte, text)?;
        input.bump();
    }
    Ok(true)
}

/// Returns the next state of an escape. Adds its character to `text` when it is complete.
fn advance_escape(escape: Escape, byte: u8, text: &mut String) -> Result<Escape, Fault> {
    match (escape, byte) {
        (Escape::Begun, b'u') => Ok(Escape::PartialNumber { high: 0, value: 0, count: 0 }),
        (Escape::Begun, _) => {
            text.push(unescape(byte).ok_or(Fault::Expected("one of the escapes of JSON"))?);
            Ok(Escape::None)
        }
        (Escape::High(high), b'\\') => Ok(Escape::HighBegun(high)),
        (Escape::HighBegun(high), b'u') => Ok(Escape::PartialNumber { high, value: 0, count: 0 }),
        (Escape::PartialNumber { high, value, count }, _) => {
            let digit = char::from(byte).to_digit(16).and_then(|digit| u16::try_from(digit).ok());
            let value = value << 4 | digit.ok_or(Fault::Expected("four hexadecimal digits after `\\u`"))?;
            if count < 3 {
                return Ok(Escape::PartialNumber { high, value, count: count + 1 });
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

/// The maximum number of shown characters of an incomplete number. So many digits always fit a float, and are quickly read
/// again for each piece.
const MAX_SHOWN_DIGITS: usize = 308;

/// A number whose text is still arriving.
#[derive(Debug)]
pub struct PartialNumber {
    text: String,
    part: Part,
    /// Set if the last piece has added characters that can be shown.
    has_news: bool,
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
    /// Returns the part of the number that `byte` belongs to, or `None` if it ends the number.
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

    /// Returns whether a number may end after this part.
    #[inline]
    fn is_end(self) -> bool {
        matches!(self, Self::Zero | Self::Integer | Self::Fraction | Self::Exponent)
    }
}

impl PartialNumber {
    pub const fn new() -> Self {
        Self { text: String::new(), part: Part::Begin, has_news: false }
    }

    /// Reads the number in `input`. If the number ends there, returns its value. Then the next number can be read.
    #[inline]
    pub fn read(&mut self, input: &mut Input<'_>) -> Result<Option<Number>, Fault> {
        let mut part = self.part;
        let piece = input.read_ascii_while(|byte| {
            let next = part.next(byte);
            part = next.unwrap_or(part);
            next.is_some()
        });
        self.part = part;
        let Some(next) = input.byte() else {
            self.has_news = self.text.len() < MAX_SHOWN_DIGITS && !piece.is_empty();
            self.text.push_str(piece);
            return Ok(None);
        };
        if part == Part::Zero && next.is_ascii_digit() {
            return Err(Fault::Expected("a number without leading zeros"));
        }
        if self.text.is_empty() {
            return self.parse(piece).map(Some);
        }
        self.text.push_str(piece);
        self.finish().map(Some)
    }

    /// Ends the number, and returns its value.
    pub fn finish(&mut self) -> Result<Number, Fault> {
        let text = std::mem::take(&mut self.text);
        let value = self.parse(&text);
        self.text = text;
        self.text.clear();
        value
    }

    #[inline]
    fn parse(&mut self, text: &str) -> Result<Number, Fault> {
        if !self.part.is_end() {
            return Err(Fault::Expected("a digit"));
        }
        self.part = Part::Begin;
        serde_json::from_str(text).map_err(|_| Fault::Range)
    }

    /// Returns the value of the number so far, if it is new. Its text ends with a digit, and its exponent is not too large.
    pub fn shown(&self) -> Option<Number> {
        if !self.has_news {
            return None;
        }
        let mut text = &self.text[..self.text.len().min(MAX_SHOWN_DIGITS)];
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

    use super::find_special;

    proptest! {
        #[test]
        fn the_first_special_byte_is_found(bytes in any::<Vec<u8>>(), some in r#"[a-z\x80\xff!#\[\]]{0,20}["\\\x00\x1f]?[a-z]{0,9}"#) {
            for bytes in [&bytes[..], some.as_bytes()] {
                let found = bytes.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\');
                for at in 0..=found.unwrap_or(bytes.len()) {
                    prop_assert_eq!(at + find_special(bytes, &bytes[at..]), found.unwrap_or(bytes.len()));
                }
            }
        }
    }
}
