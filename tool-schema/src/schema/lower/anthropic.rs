//! Anthropic's strict mode: nothing additional, no limits on sizes, no recursion.

use super::rules::{Rules, Sizes};
use crate::schema::shape::Refs;

pub(super) const RULES: Rules = Rules {
    reader: "Anthropic's strict mode",
    strict: true,
    refs: Refs::KeepStraight,
    limits: &["pattern", "format", "minItems"],
    formats: &["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"],
    most_min_items: 1,
    pattern: is_regular,
    values: |_| true,
    constant: true,
    unions: true,
    tuples: false,
    closed: true,
    all_required: false,
    ordering: false,
    default: true,
    sizes: Sizes { optional: 24, ..Sizes::ANY },
};

/// Whether `pattern` is without what goes beyond regular languages: looking around, references back, word boundaries.
fn is_regular(pattern: &str) -> bool {
    let mut characters = pattern.chars().peekable();
    while let Some(one) = characters.next() {
        let beyond = match one {
            '\\' => characters.next().is_some_and(|next| next.is_ascii_digit() || matches!(next, 'b' | 'B' | 'k')),
            '(' if characters.peek() == Some(&'?') => characters.nth(1).is_some_and(|next| next != ':'),
            _ => false,
        };
        if beyond {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::is_regular;

    #[test]
    fn patterns_beyond_regular_ones_are_known() {
        for pattern in ["^[a-z]+$", r"^\d{3}(-\d+)?$", "(?:a|b)", r"\\b", "["] {
            assert!(is_regular(pattern), "{pattern}");
        }
        for pattern in ["(?=a)", "(?!a)", "(?<=a)", r"(a)\1", r"\bword", r"(?<n>a)\k<n>"] {
            assert!(!is_regular(pattern), "{pattern}");
        }
    }
}
