//! Numbers: those of a few digits, as most are, and what `serde_json` makes of the others.

use serde::de::{Error as _, Expected};
use serde_json::Error;

use super::Source;

/// A number as a visitor gets it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Whole(u64),
    Negative(i64),
    Broken(f64),
}

/// So many digits are a number that an `f64` holds.
const DIGITS: usize = 15;

/// Powers of ten, each of which an `f64` holds.
const POWERS: [f64; DIGITS] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];

/// Writes the digits that `text` begins with behind those of `number`, `most` at most; and how many they are.
fn digits(text: &[u8], mut number: u64, most: usize) -> (u64, usize) {
    let mut length = 0;
    while let Some(digit @ b'0'..=b'9') = text.get(length).filter(|_| length < most) {
        number = number * 10 + u64::from(digit - b'0');
        length += 1;
    }
    (number, length)
}

impl Source<'_> {
    /// The number here.
    #[inline]
    pub(super) fn number(&mut self, expected: &dyn Expected) -> Result<Number, Error> {
        match self.plain_number() {
            Some(number) => Ok(Number::Whole(number)),
            None => self.other_number(expected),
        }
    }

    /// The number here, of digits and nothing else; `None` where there is another value, or another number.
    pub(super) fn plain_number(&mut self) -> Option<u64> {
        self.peek();
        let text = &self.text.as_bytes()[self.at..];
        // So many digits fit.
        let (number, length) = digits(text, 0, 18);
        let ends = !matches!(text.get(length), Some(b'0'..=b'9' | b'.' | b'e' | b'E'));
        if length == 0 || !ends || (text[0] == b'0' && length > 1) {
            return None;
        }
        self.at += length;
        Some(number)
    }

    /// The number here, if it has a sign, or a point, and few digits.
    fn plain_decimal(&mut self) -> Option<Number> {
        let text = &self.text.as_bytes()[self.at..];
        let (is_negative, unsigned) = match text {
            [b'-', unsigned @ ..] => (true, unsigned),
            _ => (false, text),
        };
        let (whole, length) = digits(unsigned, 0, DIGITS);
        if length == 0 || (unsigned[0] == b'0' && length > 1) {
            return None;
        }
        let (mantissa, end) = match unsigned.get(length) {
            Some(b'.') => digits(&unsigned[length + 1..], whole, DIGITS - length),
            _ => (whole, 0),
        };
        let taken = length + if end > 0 { end + 1 } else { 0 };
        if matches!(unsigned.get(taken), Some(b'0'..=b'9' | b'.' | b'e' | b'E')) {
            return None;
        }
        let number = if end > 0 {
            // Both are exact, so this is the nearest there is.
            #[allow(clippy::cast_precision_loss, reason = "fifteen digits are")]
            let number = mantissa as f64 / POWERS[end];
            Number::Broken(if is_negative { -number } else { number })
        } else if is_negative && whole > 0 {
            Number::Negative(-whole.cast_signed())
        } else {
            // `-0` is none of whole numbers; and what has no sign was not plain.
            return None;
        };
        self.at += text.len() - unsigned.len() + taken;
        Some(number)
    }

    /// The number here, which is not plain.
    fn other_number(&mut self, expected: &dyn Expected) -> Result<Number, Error> {
        if !matches!(self.peek(), Some(b'0'..=b'9' | b'-')) {
            return Err(self.misfit(expected));
        }
        if let Some(number) = self.plain_decimal() {
            return Ok(number);
        }
        let number = self.written()?;
        match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), ..) => Ok(Number::Whole(number)),
            // `-0` is no whole number, even where its digits are kept.
            (_, Some(number), _) if number != 0 => Ok(Number::Negative(number)),
            (.., Some(number)) => Ok(Number::Broken(number)),
            (.., None) => Err(Error::custom("number out of range")),
        }
    }

    /// The number here, as `serde_json` has it.
    pub(super) fn written(&mut self) -> Result<serde_json::Number, Error> {
        self.whole().inspect_err(|_| {
            // One that is too large is a number all the same: who takes another value in its place reads on behind it.
            let _ = self.raw();
        })
    }

    /// The number here, as the type that its text is parsed to; `None` where that does not hold it.
    pub(super) fn parsed<T: std::str::FromStr>(&mut self, expected: &dyn Expected) -> Result<Option<T>, Error> {
        let start = (self.peek(), self.at).1;
        self.number(expected)?;
        Ok(self.text[start..self.at].parse().ok())
    }
}
