//! Which schemas ask for more than decoding gives.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{dialect, exact::range_of, number, pointer, words};

/// Returns whether `schema`, made by schemars from a type, has keywords that serde's decoding of that type does not
/// enforce by itself: those that an author wrote with `#[schemars(range(…), regex(…), length(…), extend(…))]`. If so,
/// typed decoding must be followed by a check against the schema.
///
/// Give it the schema **as schemars made it**: the numeric formats tell an integer type's own bounds from written ones.
/// (In a schema from [`Schema::from_schemars`](super::Schema::from_schemars) they are gone; bounds that are exactly those
/// of some integer type then pass as its own.) References are followed inside `schema`; one that leads nowhere, and
/// everything else that is in doubt, counts as yes: a needless check costs time, a missing one is a hole. So `char` (one
/// character), `[T; N]` (N items), sets (`uniqueItems`) and `NonZeroI32` (`not`) are checked too: a `String` or `Vec` with
/// a written length has the same schema. Formats that well-known types enforce (`uuid`, `date-time`, `ipv4`, …) count as
/// no.
///
/// `#[schemars(required)]` on an `Option` leaves no trace in a schema and cannot be seen.
///
/// ```
/// # use tool_schema::schema::needs_check;
/// #[derive(schemars::JsonSchema)]
/// struct Page {
///     #[schemars(range(min = 1))]
///     number: u32,
/// }
/// assert!(needs_check(schemars::schema_for!(Page).as_value()));
/// assert!(!needs_check(schemars::schema_for!(Vec<u32>).as_value()));
/// ```
pub fn needs_check(schema: &Value) -> bool {
    let mut walk = Walk { root: schema, seen: HashSet::new(), todo: Vec::new() };
    if walk.finds(schema, &Place::Root(""), false, 0) {
        return true;
    }
    while let Some(Target { at, schema, variant, level }) = walk.todo.pop() {
        if walk.finds(schema, &Place::Root(&at), variant, level) {
            return true;
        }
    }
    false
}

/// The way through a schema and what it refers to.
struct Walk<'a> {
    root: &'a Value,
    /// The targets of references so far; `true` where one is a variant.
    seen: HashSet<(*const Value, bool)>,
    todo: Vec<Target<'a>>,
}

/// The target of a reference.
struct Target<'a> {
    at: String,
    schema: &'a Value,
    variant: bool,
    level: usize,
}

/// Where a schema stands. Only a reference asks for it as a text.
enum Place<'p> {
    Root(&'p str),
    Below(&'p Place<'p>, &'p str, Option<&'p str>),
}

impl Place<'_> {
    fn pointer(&self) -> String {
        match self {
            Self::Root(at) => (*at).to_owned(),
            Self::Below(outer, word, token) => words::place(&outer.pointer(), word, *token),
        }
    }
}

impl<'a> Walk<'a> {
    /// Returns whether `schema` has what decoding does not enforce. `variant` is `true` for a variant of an enum or a tag
    /// of one, where serde enforces constants.
    fn finds(&mut self, schema: &'a Value, place: &Place<'_>, variant: bool, level: usize) -> bool {
        if level > dialect::LEVELS {
            return true;
        }
        let Value::Object(map) = schema else {
            // `false` refuses what may decode.
            return *schema == Value::Bool(false);
        };
        if !map.iter().all(|(word, value)| enforced(map, word, value, variant)) {
            return true;
        }
        if let Some(reference) = words::get(map, "$ref") {
            let at = place.pointer();
            let target = reference.as_str().and_then(|reference| pointer::resolve(self.root, &at, reference));
            let Some((at, schema)) = target else { return true };
            if self.seen.insert((std::ptr::from_ref(schema), variant)) {
                self.todo.push(Target { at, schema, variant, level });
            }
        }
        words::inside(map).any(|(word, token, child)| {
            let closed = matches!(word, "additionalProperties" | "unevaluatedProperties" | "items")
                && *child == Value::Bool(false);
            if closed || words::is_structure(word) {
                return false;
            }
            // The tag of a variant stands one level below the variant.
            let variant = matches!(word, "oneOf" | "anyOf") || (variant && matches!(word, "properties" | "allOf"));
            self.finds(child, &Place::Below(place, word, token.as_deref()), variant, level + 1)
        })
    }
}

/// Returns whether serde enforces `word` in `schema` by itself, as far as can be seen.
fn enforced(schema: &Map<String, Value>, word: &str, value: &Value, variant: bool) -> bool {
    match word {
        "type"
        | "enum"
        | "properties"
        | "required"
        | "items"
        | "prefixItems"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "anyOf"
        | "oneOf"
        | "allOf"
        | "$ref" => true,
        "const" => variant || value.is_null(),
        "format" => value.as_str().is_some_and(|format| range_of(format).is_some() || BY_TYPES.contains(&format)),
        "minimum" | "maximum" => is_own_bound(schema, word, value),
        "minItems" | "maxItems" => number::count(value) == tuple_length(schema),
        // The keys of a map by integers.
        "patternProperties" => {
            value.as_object().is_some_and(|map| map.keys().all(|key| key == r"^\d+$" || key == r"^-?\d+$"))
        }
        _ => words::is_annotation(word),
    }
}

/// Formats that types enforce when they decode, and that nobody can write with schemars' own attributes on a `String`.
const BY_TYPES: &[&str] =
    &["date", "date-time", "duration", "ip", "ipv4", "ipv6", "partial-date-time", "partial-time", "time", "uuid"];

fn is_own_bound(schema: &Map<String, Value>, word: &str, value: &Value) -> bool {
    let Some(value) = value.as_number() else { return false };
    if let Some((min, max)) = words::get(schema, "format").and_then(Value::as_str).and_then(range_of) {
        let own = if word == "minimum" { min } else { max };
        return own.is_some_and(|own| number::compare(&own, value).is_eq());
    }
    let bounds = [schema.get("minimum"), schema.get("maximum")].map(|bound| bound.and_then(Value::as_number));
    let [Some(min), Some(max)] = bounds else { return false };
    ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"].into_iter().filter_map(range_of).any(
        |own| {
            own.0.is_some_and(|own| number::compare(&own, min).is_eq())
                && own.1.is_some_and(|own| number::compare(&own, max).is_eq())
        },
    )
}

/// Returns how many items a tuple has; none where the schema is not one of a tuple.
fn tuple_length(schema: &Map<String, Value>) -> Option<u64> {
    let items = schema.get("prefixItems")?.as_array()?;
    u64::try_from(items.len()).ok()
}

#[cfg(test)]
mod tests {
    #![allow(dead_code, reason = "the types are only described")]

    use std::collections::{BTreeSet, HashMap};

    use schemars::{JsonSchema, schema_for};
    use serde_json::json;

    use super::*;

    #[derive(JsonSchema)]
    struct Tree {
        name: String,
        children: Vec<Tree>,
        parent: Option<Box<Tree>>,
        kind: Kind,
        sizes: (u8, i64, f64),
        by_id: HashMap<u32, Tree>,
        any: Value,
    }

    #[derive(JsonSchema)]
    #[serde(tag = "type")]
    enum Kind {
        /// Green.
        Leaf { color: Color },
        /// Brown.
        Branch { length: usize },
    }

    #[derive(JsonSchema)]
    enum Color {
        /// Light.
        Light,
        Dark,
    }

    #[derive(JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Deep {
        tree: Option<Tree>,
        list: Vec<Limited>,
    }

    #[derive(JsonSchema)]
    struct Limited {
        #[schemars(length(max = 5))]
        name: String,
    }

    #[test]
    fn types_alone_need_none() {
        for schema in [schema_for!(Tree), schema_for!(Option<Color>), schema_for!((i8, u64, bool)), schema_for!(Kind)] {
            assert!(!needs_check(schema.as_value()), "{schema:?}");
            let exact = crate::schema::Schema::from_schemars(schema);
            assert!(!needs_check(exact.neutral()), "{:?}", exact.neutral());
        }
    }

    #[test]
    fn what_is_written_or_in_doubt_needs_one() {
        #[derive(JsonSchema)]
        struct Narrow(#[schemars(range(min = -128, max = 127))] i32);
        #[derive(JsonSchema)]
        struct Email(#[schemars(email)] String);
        for schema in
            [schema_for!(Deep), schema_for!(Narrow), schema_for!(Email), schema_for!(BTreeSet<u8>), schema_for!(char)]
        {
            assert!(needs_check(schema.as_value()), "{schema:?}");
        }
        for schema in [
            json!({"$ref": "#/$defs/nowhere"}),
            json!({"type": "string", "const": "a"}),
            json!({"type": "number", "multipleOf": 2}),
            json!({"type": "integer", "minimum": 0, "maximum": 10}),
            json!({"type": "array", "minItems": 1}),
            json!({"properties": {"a": {"if": {}}}}),
            json!({"properties": {"a": false}}),
        ] {
            assert!(needs_check(&schema), "{schema}");
        }
    }

    #[test]
    fn references_are_followed_from_where_they_stand() {
        let inside = |kind: Value| {
            let part =
                json!({"$id": "https://example.com/part", "$defs": {"x": kind}, "items": [{"$ref": "#/$defs/x"}]});
            json!({"properties": {"a/b": part}, "$defs": {"x": {"minLength": 1}}})
        };
        assert!(!needs_check(&inside(json!({"type": "string"}))));
        assert!(needs_check(&inside(json!({"pattern": "a"}))));
    }

    #[test]
    fn circles_end() {
        assert!(!needs_check(&json!({"$ref": "#"})));
        assert!(!needs_check(
            &json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"})
        ));
    }
}
