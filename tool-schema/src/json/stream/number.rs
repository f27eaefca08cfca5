//! Numbers, whatever they are cut into.

use serde_json::Number;

use super::{fault::Fault, input::Input};

/// How much of an unfinished number is shown: so many digits always fit a float, and reading them again with each delta
/// takes no longer than reading the delta.
const SHOWN: usize = 308;

/// A number whose text is still arriving.
#[derive(Debug)]
pub(super) struct Digits {
    text: String,
    part: Part,
    /// Whether the last delta has added to what is shown.
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
    /// The part that `byte` belongs to after this one; `None` if the number cannot go on with it.
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

    /// Whether a number can end with this part.
    #[inline]
    fn is_end(self) -> bool {
        matches!(self, Self::Zero | Self::Integer | Self::Fraction | Self::Exponent)
    }
}

impl Digits {
    pub(super) const fn new() -> Self {
        Self { text: String::new(), part: Part::Begin, news: false }
    }

    /// Reads what `input` has of the number: its value, if it ends there. With the next number it begins anew.
    #[inline]
    pub(super) fn read(&mut self, input: &mut Input<'_>) -> Result<Option<Number>, Fault> {
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
            return Err(Fault::LeadingZero);
        }
        if self.text.is_empty() {
            return self.value(piece).map(Some);
        }
        self.text.push_str(piece);
        self.end().map(Some)
    }

    /// The value, if the text ends here.
    pub(super) fn end(&mut self) -> Result<Number, Fault> {
        let text = std::mem::take(&mut self.text);
        let value = self.value(&text);
        self.text = text;
        self.text.clear();
        value
    }

    #[inline]
    fn value(&mut self, text: &str) -> Result<Number, Fault> {
        if !self.part.is_end() {
            return Err(Fault::Digit);
        }
        self.part = Part::Begin;
        parse(text).ok_or(Fault::Range)
    }

    /// The value of as much as can be shown, if that is more now: up to the last digit, and without the digits of an
    /// exponent that make it too large.
    pub(super) fn shown(&self) -> Option<Number> {
        if !self.news {
            return None;
        }
        let mut text = &self.text[..self.text.len().min(SHOWN)];
        loop {
            text = text.trim_end_matches(|c: char| !c.is_ascii_digit());
            if text.is_empty() {
                return None;
            }
            if let Some(number) = parse(text) {
                return Some(number);
            }
            text = &text[..text.len() - 1];
        }
    }
}

/// The value of a number's whole text, if it is in range.
#[inline]
fn parse(text: &str) -> Option<Number> {
    // So many digits always fit, and most numbers have no more.
    if text.len() < 19 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let value = text.bytes().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
        return Some(Number::from(value));
    }
    serde_json::from_str(text).ok()
}
