//! Names in columns of text, which cannot hold the character NUL.

use std::borrow::Cow;

/// The name as it is stored: a NUL as `\0`, a backslash as `\\`.
pub(super) fn stored(name: &str) -> Cow<'_, str> {
    if name.contains(['\0', '\\']) { name.replace('\\', r"\\").replace('\0', r"\0").into() } else { name.into() }
}

/// The name that [`stored`] wrote.
pub(super) fn named(text: String) -> String {
    if !text.contains('\\') {
        return text;
    }
    let mut name = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        name.push(match c {
            '\\' => match chars.next() {
                Some('0') => '\0',
                _ => '\\',
            },
            other => other,
        });
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for name in ["", "run-1", "\0", "a\\0b", "\\", "\\\\\0\\0", "ü\0\u{202e}"] {
            let text = stored(name);
            assert!(!text.contains('\0'));
            assert_eq!(named(text.into_owned()), name);
        }
    }
}
