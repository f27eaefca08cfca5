//! The mistakes that models make when they write JSON.

use super::scan::End;

/// A mistake: what was expected in its place, what stands there, and what may have been meant.
#[derive(Default)]
pub(super) struct Mistake {
    pub(super) expected: String,
    pub(super) got: Option<&'static str>,
    pub(super) suggestion: Option<String>,
}

impl Mistake {
    fn new(expected: impl Into<String>) -> Self {
        Self { expected: expected.into(), ..Self::default() }
    }

    fn got(mut self, got: &'static str) -> Self {
        self.got = Some(got);
        self
    }

    fn meant(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }
}

/// The mistake in `text` at the byte `at`, of which `serde_json` said `message`.
pub(super) fn find(text: &str, message: &str, at: usize) -> Mistake {
    let here = text[at..].chars().next();
    let before = text[..at].trim_end().chars().next_back();
    if message.starts_with("recursion limit") {
        return Mistake::new("values that are nested less than 128 levels deep");
    }
    if text.trim_start().starts_with("```") {
        return Mistake::new("JSON alone, without a code fence around it");
    }
    if message.starts_with("EOF") {
        return Mistake::new(format!("the rest of the JSON: it ends {}", End::of(text).phrase()));
    }
    if message == "trailing characters" {
        return match here {
            Some('{' | '[' | '"') => Mistake::new("one JSON value, not several after each other"),
            _ => Mistake::new("nothing after the JSON value"),
        };
    }
    if let Some(mistake) = in_text(text, message, at) {
        return mistake;
    }
    if before == Some(',') && matches!(here, Some('}' | ']' | ',')) {
        return match here {
            Some(',') => Mistake::new("a value between the commas"),
            Some(close) => Mistake::new(format!("no comma before the closing `{close}`")),
            None => Mistake::new("JSON"),
        };
    }
    let is_name = message == "key must be a string" || message == "expected `\"`";
    match here {
        Some(quote @ '\'') => {
            let inner = text[at + 1..].split(quote).next().unwrap_or_default();
            let what = if is_name { "names in double quotes" } else { "texts in double quotes" };
            let mistake = Mistake::new(what).got("a single quote");
            if inner.len() < 60 { mistake.meant(quoted(inner)) } else { mistake }
        }
        Some('“' | '”' | '„' | '‘' | '’') => Mistake::new("straight double quotes around names and texts"),
        Some('/' | '#') => Mistake::new("JSON without comments"),
        _ => number(text, message, at)
            .or_else(|| missing(message, here, before))
            .or_else(|| word(text, at, is_name))
            .unwrap_or_else(|| {
                let message = if message == "expected ident" { "expected value" } else { message };
                Mistake::new(format!("JSON ({message})"))
            }),
    }
}

/// Mistakes inside a text between quotes.
fn in_text(text: &str, message: &str, at: usize) -> Option<Mistake> {
    if message.starts_with("control character") {
        // The place is just behind the character.
        let control =
            text[..at].chars().next_back().into_iter().chain(text[at..].chars().next()).find(|c| c.is_control());
        let escape = control.map(|control| crate::feedback::excerpt(&control.to_string(), 1));
        return Some(Mistake {
            suggestion: escape,
            ..Mistake::new("line breaks and other control characters in texts to be escaped")
        });
    }
    if message.contains("surrogate") || message == "unexpected end of hex escape" {
        return Some(Mistake::new("both halves of a surrogate pair (such as \\ud83d\\ude00), or the character itself"));
    }
    if message != "invalid escape" {
        return None;
    }
    let escaped = text[at..].chars().next()?;
    Some(match escaped {
        _ if text[..at].ends_with("\\u") || is_hex_escape(&text[..at]) => {
            Mistake::new("four hexadecimal digits after \\u")
        }
        '\'' => Mistake::new("a single quote in a text as it is, without a backslash").meant("'"),
        c => Mistake::new("a backslash in a text to be written twice").meant(format!("\\\\{c}")),
    })
}

/// Whether `text` ends in `\u` and at most four more characters.
fn is_hex_escape(text: &str) -> bool {
    let mut last = text.char_indices().rev().take(6);
    last.any(|(index, _)| text[index..].starts_with("\\u"))
}

/// A separator that is missing.
fn missing(message: &str, here: Option<char>, before: Option<char>) -> Option<Mistake> {
    let starts_value = here.is_some_and(|c| c.is_alphanumeric() || "\"{[-".contains(c));
    Some(match message {
        "expected `:`" => Mistake::new("a colon between name and value"),
        "expected `,` or `}`" | "expected `,` or `]`"
            if before == Some('"') && here.is_some_and(|c| c != '"' && c != '{' && c != '[') =>
        {
            Mistake::new("a comma, or quotes inside a text escaped as \\\"")
        }
        "expected `,` or `}`" if starts_value => Mistake::new("a comma between the entries"),
        "expected `,` or `]`" if starts_value => Mistake::new("a comma between the items"),
        _ => return None,
    })
}

/// A word where a value or a name in quotes belongs.
fn word(text: &str, at: usize, is_name: bool) -> Option<Mistake> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let start =
        text[..at].rfind(|c| !part(c)).map_or(0, |end| end + text[end..].chars().next().map_or(1, char::len_utf8));
    let word = text[start..].split(|c| !part(c)).next().unwrap_or_default();
    if !word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return None;
    }
    if is_name {
        return Some(Mistake::new("names in double quotes").meant(quoted(word)));
    }
    Some(match word {
        "True" | "TRUE" => Mistake::new("true or false in lower case").meant("true"),
        "False" | "FALSE" => Mistake::new("true or false in lower case").meant("false"),
        "None" | "nil" | "Null" | "NULL" | "undefined" => Mistake::new("null for nothing").meant("null"),
        "NaN" | "nan" => Mistake::new("a number or null: JSON has no NaN"),
        "Infinity" | "inf" | "Inf" => Mistake::new("a number or null: JSON has no Infinity"),
        _ if text[..start].trim().is_empty() => Mistake::new("JSON alone, without words before it"),
        word if word.len() < 60 => Mistake::new("texts in double quotes").meant(quoted(word)),
        _ => Mistake::new("texts in double quotes"),
    })
}

/// A number as other languages write it.
fn number(text: &str, message: &str, at: usize) -> Option<Mistake> {
    let part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let start =
        text[..at].rfind(|c| !part(c)).map_or(0, |end| end + text[end..].chars().next().map_or(1, char::len_utf8));
    let number = text[start..].split(|c| !part(c)).next().unwrap_or_default();
    let digits = number.trim_start_matches('-');
    if message == "number out of range" {
        return Some(Mistake::new("a number that fits 64 bits, or the number as a text"));
    }
    if let Some(rest) = number.strip_prefix('+') {
        return Some(Mistake {
            suggestion: Some(rest.chars().take(30).collect()),
            ..Mistake::new("a number without a plus sign")
        });
    }
    if digits.starts_with("0x") || digits.starts_with("0X") || digits.starts_with("0b") {
        return Some(Mistake::new("a decimal number"));
    }
    if digits.starts_with('.') && digits[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return Some(Mistake::new("a number with a digit before its point").meant(number.replacen('.', "0.", 1)));
    }
    if digits.starts_with('0') && digits[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return Some(Mistake::new("a number without leading zeros"));
    }
    if digits == "Infinity" || digits == "inf" {
        return Some(Mistake::new("a number or null: JSON has no Infinity"));
    }
    (message == "invalid number").then(|| Mistake::new("a number such as 0.5 or -12"))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", crate::feedback::excerpt(text, 60))
}
