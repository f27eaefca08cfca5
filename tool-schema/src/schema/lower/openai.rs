//! OpenAI's strict mode: everything required, nothing additional; recursion is welcome.

use super::rules::{Rules, Sizes};
use crate::schema::shape::Refs;

pub(super) const RULES: Rules = Rules {
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
    most_min_items: u64::MAX,
    pattern: |_| true,
    values: |_| true,
    constant: true,
    unions: true,
    tuples: false,
    closed: true,
    all_required: true,
    ordering: false,
    default: false,
    sizes: Sizes { properties: 5_000, optional: 0, levels: 10, values: 1_000, characters: 120_000 },
};
