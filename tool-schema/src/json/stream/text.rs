//! Names and texts, whatever they are cut into.

use super::{fault::Fault, input::Input};

/// How far an escape has come where the text was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escape {
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

/// Adds to `text` what `input` has of it; whether that is all of it. The closing quote is read too.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a call more is a twentieth of what a short piece of a text costs")]
pub(super) fn read(text: &mut String, escape: &mut Escape, input: &mut Input<'_>) -> Result<bool, Fault> {
    if *escape != Escape::None && !go_on(text, escape, input)? {
        return Ok(false);
    }
    // A copy whose address nobody has stays in registers.
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
                    Some(_) => Err(Fault::Control),
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

/// What a letter behind a backslash stands for.
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

/// Goes on with an escape that has begun; whether it is complete.
#[inline(never)]
fn go_on(text: &mut String, escape: &mut Escape, input: &mut Input<'_>) -> Result<bool, Fault> {
    while *escape != Escape::None {
        let Some(byte) = input.byte() else { return Ok(false) };
        *escape = follow(*escape, byte, text)?;
        input.bump();
    }
    Ok(true)
}

/// The next state of an escape. What it stands for is added to `text` when it is complete.
fn follow(escape: Escape, byte: u8, text: &mut String) -> Result<Escape, Fault> {
    match (escape, byte) {
        (Escape::Begun, b'u') => Ok(Escape::Digits { high: 0, value: 0, count: 0 }),
        (Escape::Begun, _) => {
            text.push(letter(byte).ok_or(Fault::Escape)?);
            Ok(Escape::None)
        }
        (Escape::High(high), b'\\') => Ok(Escape::HighBegun(high)),
        (Escape::HighBegun(high), b'u') => Ok(Escape::Digits { high, value: 0, count: 0 }),
        (Escape::Digits { high, value, count }, _) => {
            let digit = char::from(byte).to_digit(16).and_then(|digit| u16::try_from(digit).ok());
            let value = value << 4 | digit.ok_or(Fault::Hexadecimal)?;
            if count < 3 {
                return Ok(Escape::Digits { high, value, count: count + 1 });
            }
            if high == 0 && (0xd800..0xdc00).contains(&value) {
                return Ok(Escape::High(value));
            }
            let units = if high == 0 { &[value][..] } else { &[high, value] };
            for unit in char::decode_utf16(units.iter().copied()) {
                text.push(unit.map_err(|_| Fault::Surrogates)?);
            }
            Ok(Escape::None)
        }
        _ => Err(Fault::Surrogates),
    }
}
