//! Numbers, whatever they are cut into.

use serde_json::Number;

use super::{fault::Fault, text::Input};

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
