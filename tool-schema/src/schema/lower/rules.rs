//! The features of JSON Schema that each provider accepts.

use crate::schema::{Severity, data::Kind, shape::Refs};

/// The features of JSON Schema that a provider accepts.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a table of what is there and what is not")]
pub struct Rules {
    /// The provider's name in notes.
    pub reader: &'static str,
    /// Set if the provider enforces the schema. A placeholder then causes an inexpressible loss, and otherwise a narrowed one.
    pub strict: bool,
    pub refs: Refs,
    /// The limits that the provider accepts.
    pub limits: &'static [&'static str],
    pub formats: &'static [&'static str],
    /// The maximum of an accepted `minItems`.
    pub max_min_items: u64,
    /// Returns `true` for a pattern that the provider accepts.
    pub pattern: fn(&str) -> bool,
    /// Returns `true` for a kind whose values can be listed.
    pub lists: fn(Kind) -> bool,
    /// Set if `const` is supported.
    pub constant: bool,
    /// Set if `anyOf` is supported.
    pub unions: bool,
    /// Set if `prefixItems` is supported.
    pub tuples: bool,
    /// Set if every object must forbid additional properties.
    pub closed: bool,
    /// Set if every property must be required, so that optional ones become nullable.
    pub all_required: bool,
    /// Set if the order of properties is written.
    pub ordering: bool,
    /// Set if `default` is supported.
    pub default: bool,
    pub sizes: Sizes,
}

impl Rules {
    /// Returns the severity of the loss of a part that a placeholder replaces.
    pub fn placeholder_severity(&self) -> Severity {
        if self.strict { Severity::Inexpressible } else { Severity::Narrowed }
    }
}

/// The maximum sizes of a schema. Zero means no limit. `characters` counts bytes of UTF-8.
#[derive(Debug)]
pub struct Sizes {
    pub properties: usize,
    pub optional: usize,
    pub levels: usize,
    pub values: usize,
    pub characters: usize,
}

impl Sizes {
    pub const UNLIMITED: Self = Self { properties: 0, optional: 0, levels: 0, values: 0, characters: 0 };
}

/// Anthropic's strict mode: no additional properties, no recursion, no limits like `maximum`, at most 24 optional properties.
pub const ANTHROPIC: Rules = Rules {
    reader: "Anthropic's strict mode",
    strict: true,
    refs: Refs::KeepAcyclic,
    limits: &["pattern", "format", "minItems"],
    formats: &["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"],
    max_min_items: 1,
    pattern: is_simple_pattern,
    lists: |_| true,
    constant: true,
    unions: true,
    tuples: false,
    closed: true,
    all_required: false,
    ordering: false,
    default: true,
    sizes: Sizes { optional: 24, ..Sizes::UNLIMITED },
};

/// OpenAI's strict mode: all properties required, no additional ones; recursion is allowed.
pub const OPENAI: Rules = Rules {
    reader: "OpenAI's strict mode",
    strict: true,
    refs: Refs::Keep,
    limits: &[
        "pattern",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    ],
    formats: &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
    max_min_items: u64::MAX,
    pattern: |_| true,
    lists: |_| true,
    constant: true,
    unions: true,
    tuples: false,
    closed: true,
    all_required: true,
    ordering: false,
    default: false,
    sizes: Sizes { properties: 5_000, optional: 0, levels: 10, values: 1_000, characters: 120_000 },
};

/// Gemini: the part of JSON Schema that all its versions document. There are no references and no unions, and each schema has a
/// type.
///
/// A recursive schema is expanded twice; then a description names it. A union of objects becomes one object with the properties
/// of all. Of a union of several kinds, the first kind stays. Only strings have an `enum`. The order of properties is written,
/// because Gemini 2.0 needs it.
pub const GEMINI: Rules = Rules {
    reader: "Gemini",
    strict: false,
    refs: Refs::Inline,
    limits: &["format", "minimum", "maximum", "minItems", "maxItems"],
    formats: &["date-time", "date", "time"],
    max_min_items: u64::MAX,
    pattern: |_| false,
    lists: |kind| kind == Kind::String,
    constant: false,
    unions: false,
    tuples: true,
    closed: false,
    all_required: false,
    ordering: true,
    default: false,
    sizes: Sizes::UNLIMITED,
};

/// Returns whether `pattern` has no look-around, back-references, word boundaries, named groups or flags.
pub fn is_simple_pattern(pattern: &str) -> bool {
    let mut characters = pattern.chars().peekable();
    while let Some(one) = characters.next() {
        let is_irregular = match one {
            '\\' => characters.next().is_some_and(|next| next.is_ascii_digit() || matches!(next, 'b' | 'B' | 'k')),
            '(' if characters.peek() == Some(&'?') => characters.nth(1).is_some_and(|next| next != ':'),
            _ => false,
        };
        if is_irregular {
            return false;
        }
    }
    true
}
