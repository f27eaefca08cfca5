//! The features of JSON Schema that each provider accepts.

use crate::schema::{
    Severity,
    data::Kind,
    shape::{Combining, Refs},
};

/// The features of JSON Schema that a provider accepts.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a table of what is there and what is not")]
pub struct Rules {
    /// The provider's name in notes.
    pub reader: &'static str,
    /// Set for the portable form, see [`PORTABLE`].
    pub portable: bool,
    /// Set if an optional property is written without `null`, because leaving it out means the same.
    pub leaves_out_null: bool,
    /// Set if the provider enforces the schema. A placeholder then causes an inexpressible loss, and otherwise a narrowed one.
    pub strict: bool,
    pub refs: Refs,
    pub combining: Combining,
    /// The limits that the provider accepts. Every form leaves out those that make a grammar decoder refuse the request: large
    /// bounds and counts, and patterns whose meaning depends on the engine.
    pub limits: &'static [&'static str],
    /// The formats that the provider accepts, without those that outlines-core or llguidance refuse.
    pub formats: &'static [&'static str],
    /// The maximum of an accepted `minItems`.
    pub max_min_items: u64,
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
#[derive(Clone, Copy, Debug)]
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

/// The portable form, which every known server takes, also behind a gateway or with a decoder that follows a grammar:
///
/// - The root is one object. Its unions are merged; a root that is no object is wrapped.
/// - A schema has a `type`, or is `anyOf` or a `$ref`, never two of them. `type` is no list, except for any value.
/// - Required properties come first, because decoders that follow a grammar write properties in a fixed order.
/// - A list has `items`, also beside `prefixItems`.
/// - References lead to `#/$defs`, and have nothing beside them except a description.
pub const PORTABLE: Rules = Rules {
    reader: "a provider",
    strict: false,
    refs: Refs::InlineSmall(usize::MAX),
    combining: Combining::Complete,
    portable: true,
    leaves_out_null: false,
    limits: &[
        "pattern",
        "format",
        "minLength",
        "maxLength",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
    ],
    formats: &["date-time", "time", "date", "email", "uri", "uuid"],
    max_min_items: u64::MAX,
    lists: |_| true,
    constant: true,
    unions: true,
    tuples: true,
    closed: false,
    all_required: false,
    ordering: false,
    default: true,
    sizes: Sizes::UNLIMITED,
};

/// Anthropic's strict mode: no additional properties, no recursion, no limits like `maximum`, at most 24 optional properties.
pub const ANTHROPIC: Rules = Rules {
    reader: "Anthropic's strict mode",
    strict: true,
    refs: Refs::KeepAcyclic,
    combining: Combining::Typed,
    portable: false,
    leaves_out_null: false,
    limits: &["pattern", "format", "minItems"],
    formats: &["date-time", "time", "date", "email", "uri", "uuid"],
    max_min_items: 1,
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
    combining: Combining::Typed,
    portable: false,
    leaves_out_null: false,
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
    formats: &["date-time", "time", "date", "email", "uuid"],
    max_min_items: u64::MAX,
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
    combining: Combining::Typed,
    portable: false,
    leaves_out_null: false,
    limits: &["format", "minimum", "maximum", "minItems", "maxItems"],
    formats: &["date-time", "date", "time"],
    max_min_items: u64::MAX,
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
