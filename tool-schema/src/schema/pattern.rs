//! Regular expressions of ECMA 262, as in the keyword `pattern`. They run in linear time and bounded space.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::Chars;

use regex::{Regex, RegexBuilder};
use regex_syntax::ast::{ErrorKind, parse::Parser};

/// The maximum size of a compiled pattern, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// The white space of ECMA 262.
const SPACE: &str =
    r"\t\n\x0b\x0c\r\x20\u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}";

/// A compiled regular expression of ECMA 262.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

/// The reason why a pattern cannot be translated for the crate `regex`.
enum Untranslatable {
    /// It has look-around or back-references.
    Backtracks,
    /// It is not a valid pattern.
    Invalid,
}

impl Pattern {
    /// Compiles `pattern` to at most `max_bytes`. Returns `None` if it is not valid, or needs backtracking or more space.
    pub fn compile(pattern: &str, max_bytes: usize) -> Option<Self> {
        let pattern = translate_text(pattern)?;
        let regex = RegexBuilder::new(&pattern).size_limit(max_bytes).dfa_size_limit(MAX_BYTES).build();
        regex.ok().map(Self)
    }

    /// Returns whether the expression matches a part of `text`.
    pub fn is_match(&self, text: &str) -> bool {
        // `regex` panics for a few patterns: https://github.com/rust-lang/regex/issues/1344.
        catch_unwind(AssertUnwindSafe(|| self.0.is_match(text))).unwrap_or(false)
    }
}

/// Returns whether `text` is a regular expression, even one that needs backtracking.
pub fn is_regex(text: &str) -> bool {
    !matches!(translate(text), Err(Untranslatable::Invalid))
}

/// Returns `pattern` as the crate `regex` reads it, or `None` if it is not valid or needs backtracking.
pub fn translate_text(pattern: &str) -> Option<String> {
    translate(pattern).ok()
}

/// Translates `pattern` for the crate `regex`, which reads some parts in another way.
fn translate(pattern: &str) -> Result<String, Untranslatable> {
    // `(?s)` is no part of ECMA 262. Where it is set, a dot matches everything in both.
    let flags = |rest: &str| {
        rest.split([':', ')', '-'])
            .next()
            .is_some_and(|flags| flags.contains('s') && flags.chars().all(|flag| flag.is_ascii_alphabetic()))
    };
    let dot = if pattern.split("(?").skip(1).any(flags) { "." } else { r"[^\n\r\u{2028}\u{2029}]" };
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                translate_escape(&mut chars, false, &mut out)?;
            }
            '[' => translate_class(&mut chars, &mut out)?,
            '.' => out.push_str(dot),
            other => out.push(other),
        }
    }
    match Parser::new().parse(&out).map_err(|error| error.kind().clone()) {
        Ok(_) => Ok(out),
        Err(ErrorKind::UnsupportedLookAround | ErrorKind::UnsupportedBackreference) => Err(Untranslatable::Backtracks),
        Err(_) => Err(Untranslatable::Invalid),
    }
}

/// Translates what follows a backslash. Returns whether it is a class of characters.
fn translate_escape(chars: &mut Peekable<Chars<'_>>, in_class: bool, out: &mut String) -> Result<bool, Untranslatable> {
    let Some(escaped) = chars.next() else {
        out.push('\\');
        return Ok(false);
    };
    let characters = match escaped.to_ascii_lowercase() {
        'd' => "0-9",
        'w' => "A-Za-z0-9_",
        's' => SPACE,
        _ => "",
    };
    match escaped {
        _ if !characters.is_empty() => {
            out.extend([if escaped.is_ascii_uppercase() { "[^" } else { "[" }, characters, "]"]);
        }
        'b' if in_class => out.push_str(r"\x08"),
        // A word has ASCII characters.
        'b' | 'B' => drop(write!(out, r"(?-u:\{escaped})")),
        'c' if let Some(letter) = chars.next_if(char::is_ascii_alphabetic) => {
            let _ = write!(out, r"\x{:02x}", u32::from(letter) % 32);
        }
        '0' if !chars.peek().is_some_and(char::is_ascii_digit) => out.push_str(r"\x00"),
        // ECMA 262 has no `\a`.
        'a' => return Err(Untranslatable::Invalid),
        other => out.extend(['\\', other]),
    }
    Ok(!characters.is_empty() || matches!(escaped, 'p' | 'P'))
}

/// Translates a class of characters behind its bracket. To the crate `regex`, `[`, `&&`, `--` and `~~` are operators in it.
fn translate_class(chars: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), Untranslatable> {
    let is_negated = chars.next_if_eq(&'^').is_some();
    if chars.next_if_eq(&']').is_some() {
        // Other languages read `[]a]` as a class of both characters. Then the pattern is not checked.
        if chars.clone().find(|c| matches!(c, '[' | ']')) == Some(']') {
            return Err(Untranslatable::Invalid);
        }
        out.push_str(if is_negated { "(?s:.)" } else { r"[^\x00-\u{10ffff}]" });
        return Ok(());
    }
    out.push_str(if is_negated { "[^" } else { "[" });
    // Set after a character that can begin a range.
    let mut begins_range = false;
    let mut ends_range = false;
    while let Some(c) = chars.next() {
        if c == '-' && begins_range && chars.peek().is_some_and(|next| *next != ']') {
            out.push('-');
            (begins_range, ends_range) = (false, true);
            continue;
        }
        let mut is_class = false;
        match c {
            ']' => {
                out.push(']');
                break;
            }
            '\\' => is_class = translate_escape(chars, true, out)?,
            '[' if !ends_range && chars.peek() == Some(&':') => {
                // No class of ECMA 262, but of the engines of several languages: `[:alpha:]`.
                out.push('[');
                for c in chars.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
                is_class = true;
            }
            '[' | '-' | '&' | '~' => out.extend(['\\', c]),
            other => out.push(other),
        }
        begins_range = !is_class && !ends_range;
        ends_range = false;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_ecma_262() {
        for (pattern, matching, others) in [
            (".", &["a", "é", "🙂", "\u{85}"][..], &["\n", "\r", "\u{2028}", "\u{2029}"][..]),
            (r"(?s)^.$", &["\n", "\r"], &[""]),
            (r"^[.]\.$", &[".."], &["a.", ".a"]),
            (r"^é\b", &["éa"], &["é", "é "]),
            (r"^\B.$", &["é"], &["e"]),
            (r"^[\b]\0$", &["\u{8}\0"], &["b0"]),
            (r"^[&&][~~]$", &["&~"], &["~&"]),
            (r"^[+--]$", &["+", ",", "-"], &["."]),
            (r"^[a\d-]$", &["a", "7", "-"], &["b", "٣"]),
            (r"^[[\]a]$", &["[", "]", "a"], &["b"]),
            (r"^[&-[:word:]$", &["&", "A", "[", ":", "w"], &["a", "_"]),
            (r"^[[:digit:]x]$", &["1", "x"], &[":", "d"]),
            ("^[^]$", &["\n", "a"], &["", "ab"]),
            ("^a[]*$", &["a"], &["a]", "ab"]),
            (r"^\cA[\cA]$", &["\u{1}\u{1}"], &["cA"]),
            (r"^\S\D\W$", &["a٣é"], &["\u{feff}٣é", "a1é", "a٣_"]),
        ] {
            let compiled = Pattern::compile(pattern, MAX_BYTES).unwrap_or_else(|| panic!("{pattern}"));
            for text in matching {
                assert!(compiled.is_match(text), "{pattern} {text:?}");
            }
            for text in others {
                assert!(!compiled.is_match(text), "{pattern} {text:?}");
            }
        }
        for pattern in ["^[]a]$", "^[^]a]$", r"\a", "[a", "a\\", "(?=a)a", r"(a)\1"] {
            assert!(Pattern::compile(pattern, MAX_BYTES).is_none(), "{pattern}");
        }
        assert!(is_regex("(?=a)a") && is_regex("^[^]*$") && !is_regex("[a"));
    }
}
