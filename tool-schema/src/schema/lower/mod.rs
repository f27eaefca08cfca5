//! Lowering of the neutral schema to each dialect, and the features that each provider accepts.

mod rewrite;
#[cfg(test)]
mod tests;
mod write;

use serde_json::Value;

use rewrite::{TargetDraft, rewrite};

use super::{
    Dialect, LoweredSchema, Severity,
    data::Kind,
    dialect::{self, Losses},
    draft::Draft,
    places, pointer,
    raise::NullRemover,
    shape::{self, Refs},
};

pub fn lower(neutral: &Value, dialect: Dialect) -> LoweredSchema {
    let mut losses = Losses::default();
    let neutral = dialect::bound(neutral, &mut losses);
    match dialect {
        Dialect::JsonSchema2020 if Draft::of(&neutral) == Draft::Twenty => {
            LoweredSchema::new(&neutral, losses.into_vec(), None)
        }
        Dialect::JsonSchema2020 => rewrite(&neutral, TargetDraft::Twenty, losses),
        Dialect::Draft07 => rewrite(&neutral, TargetDraft::Seven, losses),
        Dialect::OpenAiStrict => lower_to_subset(&neutral, &OPENAI, losses),
        Dialect::Gemini => lower_to_subset(&neutral, &GEMINI, losses),
        Dialect::Anthropic => lower_to_subset(&neutral, &ANTHROPIC, losses),
    }
}

fn lower_to_subset(neutral: &Value, rules: &Rules, losses: Losses) -> LoweredSchema {
    let (shape, targets, mut losses) = shape::Reader::new(neutral, rules.refs, losses).read();
    let shape = write::to_object(shape, &targets, rules, &mut losses);
    let schema = write::write(&shape, &targets, rules, &mut losses);
    check_sizes(&schema, rules, &mut losses);
    let null_remover = if rules.all_required { NullRemover::new(shape, targets) } else { None };
    LoweredSchema::new(&schema, losses.into_vec(), null_remover)
}

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
    fn placeholder_severity(&self) -> Severity {
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

/// Returns `name` if it is not used, and otherwise `name` with a number.
fn unused_name(name: &str, is_used: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !is_used(name)).expect("numbers do not end")
}

/// Returns whether `pattern` has no look-around, back-references, word boundaries, named groups or flags.
fn is_simple_pattern(pattern: &str) -> bool {
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

/// The sizes of a schema, as in [`Sizes`].
#[derive(Debug, Default)]
struct Measured {
    properties: usize,
    optional: usize,
    levels: usize,
    values: usize,
    characters: usize,
}

/// Records a loss for each size of `schema` that exceeds the limit of `rules`.
pub fn check_sizes(schema: &Value, rules: &Rules, losses: &mut Losses) {
    let limits = &rules.sizes;
    let mut found = Measured::default();
    measure(schema, "", 0, &mut found);
    let all = [
        ("properties", found.properties, limits.properties, "properties"),
        ("required", found.optional, limits.optional, "optional properties"),
        ("properties", found.levels, limits.levels, "levels of objects"),
        ("enum", found.values, limits.values, "listed values"),
        ("", found.characters, limits.characters, "characters in names and values"),
    ];
    for (word, count, max, noun) in all {
        if max > 0 && count > max {
            let note = format!("{count} {noun}, but {} takes {max} at most", rules.reader);
            losses.add("", word, Severity::Inexpressible, note);
        }
    }
}

fn measure(schema: &Value, at: &str, mut level: usize, found: &mut Measured) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        level += 1;
        found.levels = found.levels.max(level);
        found.properties += properties.len();
        found.characters += properties.keys().map(String::len).sum::<usize>();
        let required = schema.get("required").and_then(Value::as_array).map_or(0, Vec::len);
        found.optional += properties.len().saturating_sub(required);
    }
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    for value in listed.clone().chain(schema.get("const")) {
        found.characters += value.as_str().map_or(0, str::len);
    }
    found.values += listed.count();
    for (word, place, child) in places::children(schema, at) {
        let level = if places::is_structure(word) { 0 } else { level };
        if places::is_structure(word) {
            found.characters += pointer::last(&place).len();
        }
        measure(child, &place, level, found);
    }
}
