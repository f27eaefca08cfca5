//! The names of tools that every provider accepts.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};

/// The number of bytes in the longest valid name.
const MAX_LENGTH: usize = 64;

/// The number of bytes of `_` and the digest at the end of a changed name.
const END: usize = 9;

/// Returns whether `name` is `[A-Za-z0-9_-]{1,64}`, the form that every provider accepts.
pub fn is_valid_name(name: &str) -> bool {
    (1..=MAX_LENGTH).contains(&name.len()) && name.chars().all(is_allowed)
}

/// Returns `name` if it is valid. Otherwise returns a similar valid name, which ends with digits of the digest of `name`.
///
/// The result follows from `name` alone. So no other tool can change it while a call waits, and each process gets the same one.
pub fn to_valid_name(name: &str) -> Cow<'_, str> {
    if is_valid_name(name) {
        return Cow::Borrowed(name);
    }
    let kept = name.chars().take(MAX_LENGTH - END);
    let similar: String = kept.map(|c| if is_allowed(c) { c } else { '_' }).collect();
    let [a, b, c, d, ..]: [u8; 32] = Sha256::digest(name).into();
    Cow::Owned(format!("{similar}_{a:02x}{b:02x}{c:02x}{d:02x}"))
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_names_are_valid_and_differ() {
        for name in ["f", "a-b_C9", &"x".repeat(64)] {
            assert!(matches!(to_valid_name(name), Cow::Borrowed(same) if same == name));
        }
        let long = |end: &str| format!("{}{end}", "x".repeat(84));
        let names = ["", "a.b", "a/b", "a b", "größe", "ä", "\n", &long("a"), &long("b"), &"x".repeat(65)];
        let changed: std::collections::HashSet<String> =
            names.iter().map(|name| to_valid_name(name).into_owned()).collect();
        assert_eq!(changed.len(), names.len());
        assert!(changed.iter().all(|name| is_valid_name(name)), "{changed:?}");
        // It is the same in every version.
        assert_eq!(to_valid_name("browser.tabs open!"), "browser_tabs_open__695c0a2a");
    }
}
