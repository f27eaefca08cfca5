//! Limits that schemars drops. `#[schemars(range(max = 9))]` on a field adds `maximum` only if the schema of the field's type has
//! a `type`. A reference to a definition has none, so the limit is dropped without an error. If schemars inlines all types, every
//! limit stays. So the two schemas together show which limits were dropped.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    places::{self, Holds},
    pointer,
};

/// The keywords that attributes of schemars add.
const LIMITS: [&str; 9] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "pattern",
];

/// The maximum number of schemas after inlining. Types that use each other twice double with each level.
const MAX_INLINED: usize = 10_000;

/// Adds the limits that schemars dropped from `schema`, beside the references from which they were dropped. `inlined` returns the
/// schema of the same type with `inline_subschemas` set.
///
/// A limit stays lost if schemars also drops it from the inlined schema: a `length` of a map, or a limit of a union. The function
/// does nothing if the inlined schema would be very large.
pub fn restore_limits(schema: &mut Value, inlined: impl FnOnce() -> Value) {
    let mut left = MAX_INLINED;
    if !is_small(schema, schema, &mut Vec::new(), &mut left) {
        return;
    }
    let mut search = Search { root: schema, seen: HashSet::new(), found: Vec::new() };
    search.compare("", schema, &inlined());
    for (at, limits) in search.found {
        if let Some(Value::Object(place)) = schema.pointer_mut(&at) {
            place.extend(limits);
        }
    }
}

/// Subtracts the number of schemas that `schema` has after inlining from `left`. Returns whether any are left.
fn is_small<'a>(root: &'a Value, schema: &'a Value, inside: &mut Vec<&'a str>, left: &mut usize) -> bool {
    *left = left.saturating_sub(1);
    if *left == 0 || inside.len() > places::MAX_NESTING {
        return false;
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        // schemars refers to a type inside itself.
        let Some((_, target)) = pointer::resolve(root, "", reference).filter(|_| !inside.contains(&reference)) else {
            return true;
        };
        inside.push(reference);
        let is_small = is_small(root, target, inside, left);
        inside.pop();
        return is_small;
    }
    places::children(schema, "")
        .into_iter()
        .all(|(word, _, child)| word == "$defs" || is_small(root, child, inside, left))
}

struct Search<'a> {
    root: &'a Value,
    /// The targets of references whose parts were compared.
    seen: HashSet<*const Value>,
    /// The places of references, and the limits to add there.
    found: Vec<(String, Map<String, Value>)>,
}

impl<'a> Search<'a> {
    /// Compares `schema`, which is at `at`, with its inlined form.
    fn compare(&mut self, at: &str, schema: &'a Value, inlined: &Value) {
        let (Value::Object(map), Value::Object(whole)) = (schema, inlined) else { return };
        let mut known = vec![map];
        let (mut at, mut schema) = (at.to_owned(), schema);
        let place = at.clone();
        while let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let Some((target, found)) = pointer::resolve(self.root, &at, reference) else { return };
            let (true, Value::Object(map)) = (known.len() <= places::MAX_NESTING, found) else { return };
            known.push(map);
            (at, schema) = (target, found);
        }
        if known.len() > 1 {
            let is_lost = |(word, value): &(&String, &Value)| {
                LIMITS.contains(&word.as_str()) && known.iter().all(|map| map.get(*word) != Some(*value))
            };
            let lost: Map<_, _> =
                whole.iter().filter(is_lost).map(|(word, value)| (word.clone(), value.clone())).collect();
            if !lost.is_empty() {
                self.found.push((place, lost));
            }
            if !self.seen.insert(std::ptr::from_ref(schema)) {
                return;
            }
        }
        self.compare_parts(&at, schema, inlined);
    }

    fn compare_parts(&mut self, at: &str, schema: &'a Value, inlined: &Value) {
        if let (Some([first, null]), None) =
            (schema.get("anyOf").and_then(Value::as_array).map(Vec::as_slice), inlined.get("anyOf"))
            && null.get("type").is_some_and(|kind| kind == "null")
        {
            // An inlined type with a `type` gets null added to it.
            return self.compare(&format!("{at}/anyOf/0"), first, inlined);
        }
        for (word, value) in schema.as_object().into_iter().flatten() {
            let Some(other) = inlined.get(word).filter(|_| !places::is_structure(word)) else { continue };
            let at = pointer::join(at, word);
            match (places::holds(word, value), value, other) {
                (Holds::One, ..) => self.compare(&at, value, other),
                (Holds::Many, Value::Array(list), Value::Array(others)) if list.len() == others.len() => {
                    for (index, (one, other)) in list.iter().zip(others).enumerate() {
                        self.compare(&format!("{at}/{index}"), one, other);
                    }
                }
                (Holds::Named, Value::Object(named), Value::Object(others)) => {
                    for (name, one) in named {
                        let Some(other) = others.get(name) else { continue };
                        self.compare(&pointer::join(&at, name), one, other);
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(dead_code, reason = "the types are only described")]

    use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
    use serde_json::json;

    use super::*;

    fn restored<T: JsonSchema>() -> Value {
        let describe = |inline| {
            let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = inline);
            SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value()
        };
        let mut schema = describe(false);
        restore_limits(&mut schema, || describe(true));
        schema
    }

    #[derive(JsonSchema)]
    struct Euros(u8);

    #[derive(JsonSchema)]
    struct Name(String);

    #[derive(JsonSchema)]
    struct Names(Vec<Name>);

    #[derive(JsonSchema)]
    struct Price(#[schemars(range(max = 90))] Euros);

    #[test]
    fn limits_of_references_are_restored() {
        #[derive(JsonSchema)]
        struct Pay {
            #[schemars(range(min = 1, max = 9))]
            amount: Euros,
            #[schemars(range(max = 5))]
            tip: Option<Euros>,
            #[schemars(regex(pattern = "^[a-z]+$"), length(min = 2))]
            from: Name,
            #[schemars(length(max = 3), inner(length(max = 7)))]
            to: Names,
            price: Price,
            free: Euros,
            next: Option<Box<Pay>>,
        }
        let schema = restored::<Pay>();
        let properties = &schema["properties"];
        assert_eq!(properties["amount"], json!({"$ref": "#/$defs/Euros", "minimum": 1, "maximum": 9}));
        let tip = json!({"anyOf": [{"$ref": "#/$defs/Euros", "maximum": 5}, {"type": "null"}]});
        assert_eq!(properties["tip"], tip);
        assert_eq!(properties["from"], json!({"$ref": "#/$defs/Name", "minLength": 2, "pattern": "^[a-z]+$"}));
        assert_eq!(properties["to"], json!({"$ref": "#/$defs/Names", "maxItems": 3}));
        assert_eq!(properties["price"], json!({"$ref": "#/$defs/Price", "maximum": 90}));
        assert_eq!(properties["free"], json!({"$ref": "#/$defs/Euros"}));
    }

    #[test]
    fn limits_inside_definitions_and_variants_are_restored() {
        #[derive(JsonSchema)]
        #[schemars(tag = "kind")]
        enum Order {
            Many { parts: Vec<Part> },
            One(Part),
        }
        #[derive(JsonSchema)]
        struct Part {
            #[schemars(range(max = 7))]
            price: Euros,
        }
        let schema = restored::<Order>();
        assert_eq!(schema["$defs"]["Part"]["properties"]["price"], json!({"$ref": "#/$defs/Euros", "maximum": 7}));
    }

    #[test]
    fn a_schema_that_would_be_very_large_stays_as_it_is() {
        let twice = |next: usize| json!({"prefixItems": [{"$ref": format!("#/$defs/{next}")}, {"$ref": format!("#/$defs/{next}")}]});
        let mut definitions: Map<String, Value> = (0..30).map(|i| (i.to_string(), twice(i + 1))).collect();
        definitions.insert("30".to_owned(), json!({"type": "integer"}));
        let mut schema = json!({"$ref": "#/$defs/0", "$defs": definitions});
        restore_limits(&mut schema, || unreachable!("nobody inlines it"));
    }
}
