//! Gemini: the part of JSON Schema that every version of it documents. No references, no unions, a type everywhere.
//!
//! A recursive schema is followed for two turns and then only named; a union of objects becomes one object that takes
//! what any of them takes; of a union of several kinds the first stays. Listed values are strings. The order of
//! properties is said, as Gemini 2.0 wants it.

use super::rules::{Rules, Sizes};
use crate::schema::shape::{Kind, Refs};

pub(super) const RULES: Rules = Rules {
    reader: "Gemini",
    strict: false,
    refs: Refs::Inline,
    limits: &["format", "minimum", "maximum", "minItems", "maxItems"],
    formats: &["date-time", "date", "time"],
    most_min_items: u64::MAX,
    pattern: |_| false,
    values: |kind| kind == Kind::String,
    constant: false,
    unions: false,
    tuples: true,
    closed: false,
    all_required: false,
    ordering: true,
    default: false,
    sizes: Sizes::ANY,
};
