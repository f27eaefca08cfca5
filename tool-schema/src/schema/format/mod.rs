//! The formats of texts that are checked, and texts that hold something encoded.

mod internet;

use base64::{Engine, engine::general_purpose::STANDARD};
use fluent_uri::{Iri, IriRef, Uri, UriRef};
use serde_json::Value;

use super::draft::Draft;
use super::pattern;

/// A check of a text.
pub type Check = fn(&str) -> bool;

/// The way in which a format is checked.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    /// A format that is checked here.
    Checked(Check),
    /// A format that only the library `jsonschema` checks: it needs the tables of internationalized names.
    Foreign,
    /// A name that does not decide which texts are valid.
    Unknown,
}

impl Format {
    /// Returns the format called `name` in `draft`.
    pub fn named(draft: Draft, name: &str) -> Self {
        Self::Checked(match name {
            "date" => is_date,
            "date-time" => is_date_time,
            "time" => is_time,
            "duration" if draft >= Draft::Nineteen => is_duration,
            "email" => internet::is_email,
            "hostname" if draft <= Draft::Six => internet::is_old_host_name,
            "hostname" => internet::is_host_name,
            "ipv4" => internet::is_ipv4,
            "ipv6" => internet::is_ipv6,
            "uri" => |text| Uri::parse(text).is_ok(),
            "uri-reference" if draft >= Draft::Six => |text| UriRef::parse(text).is_ok(),
            "iri" if draft >= Draft::Seven => |text| Iri::parse(text).is_ok(),
            "iri-reference" if draft >= Draft::Seven => |text| IriRef::parse(text).is_ok(),
            "uri-template" if draft >= Draft::Six => internet::is_uri_template,
            "json-pointer" if draft >= Draft::Six => is_json_pointer,
            "relative-json-pointer" if draft >= Draft::Seven => is_relative_json_pointer,
            "regex" => pattern::is_regex,
            "uuid" if draft >= Draft::Nineteen => is_uuid,
            "idn-email" => return Self::Foreign,
            "idn-hostname" if draft >= Draft::Seven => return Self::Foreign,
            _ => return Self::Unknown,
        })
    }
}

fn is_json_pointer(text: &str) -> bool {
    let escapes_are_right = text.split('~').skip(1).all(|rest| rest.starts_with('0') || rest.starts_with('1'));
    text.is_empty() || (text.starts_with('/') && escapes_are_right)
}

fn is_relative_json_pointer(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (levels, rest) = text.split_at(end);
    let is_number = !levels.is_empty() && (levels == "0" || !levels.starts_with('0'));
    is_number && (rest == "#" || is_json_pointer(rest))
}

fn is_uuid(text: &str) -> bool {
    let is_right = |(place, byte): (usize, u8)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_right)
}

/// Returns the check of `contentEncoding` and `contentMediaType`, where they are known.
pub fn content_check(encoding: Option<&str>, media_type: Option<&str>) -> Option<Check> {
    match (encoding, media_type) {
        (Some("base64"), None) => Some(|text| STANDARD.decode(text).is_ok()),
        (Some("base64"), Some("application/json")) => {
            Some(|text| STANDARD.decode(text).is_ok_and(|bytes| serde_json::from_slice::<Value>(&bytes).is_ok()))
        }
        (None, Some("application/json")) => Some(|text| serde_json::from_str::<Value>(text).is_ok()),
        _ => None,
    }
}

const MINUTES_OF_A_DAY: u32 = 24 * 60;

fn is_date(text: &str) -> bool {
    let [year @ .., b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else { return false };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(&[*m1, *m2], 2), number(&[*d1, *d2], 2)) else {
        return false;
    };
    let is_leap_year = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    text.split_once(['T', 't']).is_some_and(|(date, time)| is_date(date) && is_time(time))
}

fn is_time(text: &str) -> bool {
    let [h1, h2, b':', m1, m2, b':', s1, s2, rest @ ..] = text.as_bytes() else { return false };
    let Some(minutes) = minutes(&[*h1, *h2], &[*m1, *m2]) else { return false };
    let Some(seconds) = number(&[*s1, *s2], 2).filter(|seconds| *seconds <= 60) else { return false };
    let Some(offset) = skip_fraction(rest).and_then(offset) else { return false };
    // A leap second is the last one of a day in UTC.
    seconds < 60 || (minutes + MINUTES_OF_A_DAY - offset) % MINUTES_OF_A_DAY == MINUTES_OF_A_DAY - 1
}

fn is_duration(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('P') else { return false };
    let (date, time) = rest.split_once('T').map_or((rest, None), |(date, time)| (date, Some(time)));
    let Some(date) = units(date) else { return false };
    let Some(time) = time.map_or(Some(None), |time| units(time).map(Some)) else { return false };
    let date_is_right = matches!(date.as_str(), "" | "Y" | "YM" | "YMD" | "M" | "MD" | "D" | "W");
    match time.as_deref() {
        None => date_is_right && !date.is_empty(),
        Some(time) => date_is_right && matches!(time, "H" | "HM" | "HMS" | "M" | "MS" | "S"),
    }
}

/// Returns the units of a duration's part, each after its digits.
fn units(mut part: &str) -> Option<String> {
    let mut units = String::new();
    while !part.is_empty() {
        let digits = part.find(|c: char| !c.is_ascii_digit()).filter(|digits| *digits > 0)?;
        units.push(part[digits..].chars().next()?);
        part = part.get(digits + 1..)?;
    }
    Some(units)
}

/// Returns the number that `digits` are, if there are `count`.
fn number(digits: &[u8], count: usize) -> Option<u32> {
    let are_digits = digits.len() == count && digits.iter().all(u8::is_ascii_digit);
    are_digits.then(|| digits.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0')))
}

fn minutes(hours: &[u8], minutes: &[u8]) -> Option<u32> {
    let hours = number(hours, 2).filter(|hours| *hours < 24)?;
    let minutes = number(minutes, 2).filter(|minutes| *minutes < 60)?;
    Some(hours * 60 + minutes)
}

/// Returns the text behind the fraction of a second.
fn skip_fraction(text: &[u8]) -> Option<&[u8]> {
    let Some(fraction) = text.strip_prefix(b".") else { return Some(text) };
    let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (digits > 0).then(|| &fraction[digits..])
}

/// Returns the minutes that a time is before UTC, within a day.
fn offset(text: &[u8]) -> Option<u32> {
    match text {
        b"Z" | b"z" => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let minutes = minutes(&[*h1, *h2], &[*m1, *m2])?;
            Some(if *sign == b'+' { minutes } else { MINUTES_OF_A_DAY - minutes })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
