//! What a provider takes, as a table.

use crate::schema::shape::{Kind, Refs};

/// What a provider takes.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a table of what is there and what is not")]
pub(super) struct Rules {
    /// What the reader is called in notes.
    pub(super) reader: &'static str,
    /// Whether the reader is asked to keep to the schema: what it cannot say then rules that out. If not, a stand-in is
    /// only narrower.
    pub(super) strict: bool,
    pub(super) refs: Refs,
    /// The limits that it takes. `minItems` of more than [`Rules::most_min_items`] are left out.
    pub(super) limits: &'static [&'static str],
    pub(super) formats: &'static [&'static str],
    pub(super) most_min_items: u64,
    /// Whether a pattern can be said.
    pub(super) pattern: fn(&str) -> bool,
    /// Whether listed values of this kind can be said.
    pub(super) values: fn(Kind) -> bool,
    /// Whether `const` is known.
    pub(super) constant: bool,
    /// Whether `anyOf` is known.
    pub(super) unions: bool,
    /// Whether `prefixItems` is known.
    pub(super) tuples: bool,
    /// Whether every object must say that it has no other properties.
    pub(super) closed: bool,
    /// Whether every property must be required, so that an optional one is a nullable one.
    pub(super) all_required: bool,
    /// Whether the order of properties is said.
    pub(super) ordering: bool,
    /// Whether `default` is known.
    pub(super) default: bool,
    pub(super) sizes: Sizes,
}

/// How large a schema may be; zero for no limit.
#[derive(Debug)]
pub(super) struct Sizes {
    pub(super) properties: usize,
    pub(super) optional: usize,
    pub(super) levels: usize,
    pub(super) values: usize,
    pub(super) characters: usize,
}

impl Sizes {
    pub(super) const ANY: Self = Self { properties: 0, optional: 0, levels: 0, values: 0, characters: 0 };
}
