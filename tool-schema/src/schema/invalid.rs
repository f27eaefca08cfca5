//! The removal of invalid keywords from a schema, so that the rest of it still checks values.

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use serde_json::{Map, Value, json};

use super::graph::{Gap, Graph, NodeId, address};
use super::places::{self, Holds};
use super::{
    compiled::{self, declared, error::truncate},
    draft::Draft,
    keywords, pointer,
};
use crate::feedback::summarize;

/// A keyword that was removed from a schema, because its value is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidKeyword {
    /// The JSON Pointer of the keyword in the schema.
    pub place: String,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for InvalidKeyword {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} is left out: {}", truncate(&self.place), self.reason)
    }
}

/// Removes the keywords of `schema` whose values its draft does not allow, and each `$ref` without a target. Returns them.
///
/// The rest of the schema stays. It accepts each value that an implementation that ignores these keywords accepts: where a
/// schema that accepts more would let the whole refuse more, such as inside `not`, the keyword around it is removed, too. A
/// property or a definition that is no schema becomes a schema that accepts everything.
///
/// A schema that is no object, or too large to compile, stays as it is.
///
/// ```
/// use serde_json::json;
/// use tool_schema::schema::remove_invalid_keywords;
///
/// let mut schema = json!({ "properties": { "n": { "type": "integer", "minimum": 0, "exclusiveMinimum": true } } });
/// let removed = remove_invalid_keywords(&mut schema);
/// assert_eq!(schema, json!({ "properties": { "n": { "type": "integer", "minimum": 0 } } }));
/// assert_eq!(removed[0].place, "/properties/n/exclusiveMinimum");
/// ```
pub fn remove_invalid_keywords(schema: &mut Value) -> Vec<InvalidKeyword> {
    if compiled::check_size(schema).is_err() {
        return Vec::new();
    }
    let draft = declared::read_draft(schema, &mut Vec::new());
    let mut removal = Removal::new(draft);
    removal.clean(schema, "");
    // References are followed only now, because a definition that is no schema has become one.
    removal.broken = find_broken_references(schema, draft);
    while !removal.broken.is_empty() || !removal.weaker.is_empty() {
        let known = removal.weaker.len();
        removal.links = find_links(schema);
        removal.clean(schema, "");
        if removal.weaker.len() == known {
            break;
        }
    }
    removal.removed
}

/// Returns the places of the schemas with a `$ref`, and the places of its targets.
fn find_links(schema: &Value) -> HashMap<String, String> {
    let mut links = HashMap::new();
    places::visit(schema, &mut |at, one| {
        let reference = one.get("$ref").and_then(Value::as_str);
        if let Some((target, _)) = reference.and_then(|reference| pointer::resolve(schema, at, reference)) {
            links.insert(at.to_owned(), target);
        }
    });
    links
}

/// Returns the places of the schemas whose reference has no target, or one that is not a schema.
fn find_broken_references(schema: &Value, draft: Draft) -> HashSet<String> {
    let (graph, ids) = Graph::build(schema, draft);
    let is_no_schema = |id: &NodeId| matches!(graph.node(*id).gap, Some(Gap::NotASchema(_)));
    let broken = graph.nodes().filter(|(_, node)| {
        matches!(node.gap, Some(Gap::UnresolvedReference(_))) || node.references.iter().any(is_no_schema)
    });
    let broken: HashSet<NodeId> = broken.map(|(id, _)| id).collect();
    if broken.is_empty() {
        return HashSet::new();
    }
    let is_broken = |value: &Value| ids.get(&address(value)).is_some_and(|id| broken.contains(id));
    places::find(schema, &is_broken).into_iter().collect()
}

/// The keywords that restrict more if the schema inside them accepts more.
const UNWEAKENABLE: [&str; 4] = ["contains", "if", "not", "oneOf"];

struct Removal {
    draft: Draft,
    /// The places of the schemas whose reference is to be removed.
    broken: HashSet<String>,
    /// The places of the schemas with a reference, and of its targets.
    links: HashMap<String, String>,
    /// The places of the schemas that accept more than before.
    weaker: HashSet<String>,
    removed: Vec<InvalidKeyword>,
}

impl Removal {
    fn new(draft: Draft) -> Self {
        let (broken, links, weaker, removed) = Default::default();
        Self { draft, broken, links, weaker, removed }
    }

    fn is_weaker(&self, at: &str) -> bool {
        self.weaker.contains(at) || self.links.get(at).is_some_and(|target| self.weaker.contains(target))
    }

    fn report(&mut self, place: String, reason: impl Into<String>) {
        self.removed.push(InvalidKeyword { place, reason: reason.into() });
    }

    /// Removes what is invalid from the schema at `at`, and from those inside. Returns whether it accepts more now.
    fn clean(&mut self, schema: &mut Value, at: &str) -> bool {
        let Value::Object(map) = schema else { return false };
        let mut is_weaker = self.is_weaker(at);
        if self.broken.contains(at) {
            for word in REFERENCES.into_iter().filter(|word| map.shift_remove(*word).is_some()) {
                self.report(pointer::join(at, word), "it has no target in the schema, and nothing is downloaded");
            }
            is_weaker = true;
        }
        for (word, expected) in keywords::find_faults(map, self.draft) {
            self.clean_keyword(map, &word, expected, at);
            is_weaker = true;
        }
        let inside = self.clean_inside(map, at);
        is_weaker |= !inside.is_empty();
        for word in UNWEAKENABLE.into_iter().filter(|word| inside.contains(*word)) {
            self.weaken(map, word, at);
        }
        let strict = ["unevaluatedProperties", "unevaluatedItems"].into_iter();
        for word in strict.filter(|word| is_weaker && map.shift_remove(*word).is_some()) {
            self.report(pointer::join(at, word), "without the invalid keyword beside it, it would refuse more values");
        }
        if is_weaker {
            self.weaker.insert(at.to_owned());
        }
        is_weaker
    }

    /// Cleans the schemas directly inside a schema. Returns the keywords of those that accept more now.
    fn clean_inside(&mut self, map: &mut Map<String, Value>, at: &str) -> HashSet<String> {
        let mut weaker = HashSet::new();
        for (word, value) in map.iter_mut() {
            if keywords::expected_form(word, self.draft).is_none() {
                continue;
            }
            for (place, one) in schemas_inside(word, value, &pointer::join(at, word)) {
                if self.clean(one, &place) {
                    weaker.insert(word.clone());
                }
            }
        }
        weaker
    }

    /// Replaces the invalid members of a keyword's value, or removes the keyword.
    fn clean_keyword(&mut self, map: &mut Map<String, Value>, word: &str, expected: &str, at: &str) {
        let (draft, place) = (self.draft, pointer::join(at, word));
        let Some(value) = map.get_mut(word) else { return };
        let whole = format!("expected {expected}, got {}", summarize(value));
        let mut members = Vec::new();
        if places::holds(word, value) != Holds::One {
            for (place, one) in schemas_inside(word, value, &place) {
                let is_list_of_names = word == "dependencies" && one.is_array();
                if !keywords::is_schema(one, draft) && !is_list_of_names {
                    members.push((place, format!("expected a schema, got {}", summarize(one))));
                    // A name stays: with `additionalProperties`, an unknown name would be refused.
                    *one = json!({});
                }
            }
        }
        if let ("required", Value::Array(names)) = (word, &mut *value) {
            let mut known = HashSet::new();
            names.retain(|name| name.as_str().is_some_and(|name| known.insert(name.to_owned())));
            members.push((place.clone(), whole.clone()));
        }
        if !members.is_empty() && keywords::expected_form(word, draft).is_some_and(|(_, fits)| fits(value, draft)) {
            for (place, reason) in members {
                self.report(place, reason);
            }
            if word == "oneOf" {
                self.weaken(map, word, at);
            }
            return;
        }
        map.shift_remove(word);
        self.report(place, whole);
        // The other keyword refuses what the removed one would have allowed.
        let other = match word {
            "properties" | "patternProperties" => "additionalProperties",
            "prefixItems" => "items",
            // Without a minimum, one item must fit.
            "minContains" => "contains",
            _ => return,
        };
        if map.shift_remove(other).is_some() {
            self.report(pointer::join(at, other), format!("without `{word}`, it would refuse more values"));
        }
    }

    /// Changes the keyword `word`, inside which a schema accepts more now, so that it refuses nothing more.
    fn weaken(&mut self, map: &mut Map<String, Value>, word: &str, at: &str) {
        match word {
            "contains" if map.shift_remove("maxContains").is_none() => return,
            "contains" => {}
            "oneOf" if !map.contains_key("anyOf") => {
                if let Some(branches) = map.shift_remove(word) {
                    map.insert("anyOf".to_owned(), branches);
                }
            }
            word => drop(map.shift_remove(word)),
        }
        self.report(pointer::join(at, word), "without the invalid keyword inside it, it would refuse more values");
    }
}

/// Returns the schemas in the value of the keyword `word`, and other values in their places, each with its JSON Pointer.
fn schemas_inside<'a>(word: &str, value: &'a mut Value, at: &str) -> Vec<(String, &'a mut Value)> {
    match (places::holds(word, value), value) {
        (Holds::One, one) => vec![(at.to_owned(), one)],
        (Holds::Many, Value::Array(list)) => {
            list.iter_mut().enumerate().map(|(i, one)| (format!("{at}/{i}"), one)).collect()
        }
        (Holds::Named, Value::Object(named)) => {
            named.iter_mut().map(|(name, one)| (pointer::join(at, name), one)).collect()
        }
        _ => Vec::new(),
    }
}

/// The keywords that refer to another schema.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::schema::{CompiledSchema, testing};

    fn cleaned(mut schema: Value) -> (Value, Vec<String>) {
        let removed = remove_invalid_keywords(&mut schema);
        (schema, removed.into_iter().map(|keyword| keyword.place).collect())
    }

    #[test]
    fn only_the_invalid_keyword_is_removed() {
        let cases = [
            (json!({"type": "string", "required": true}), json!({"type": "string"}), vec!["/required"]),
            (json!({"minimum": 0, "exclusiveMinimum": true}), json!({"minimum": 0}), vec!["/exclusiveMinimum"]),
            (json!({"contains": {}, "minContains": ""}), json!({}), vec!["/minContains", "/contains"]),
            (
                json!({"properties": {"a": {"type": "str", "maxLength": 3}, "b": {"type": "integer"}}, "required": ["b"]}),
                json!({"properties": {"a": {"maxLength": 3}, "b": {"type": "integer"}}, "required": ["b"]}),
                vec!["/properties/a/type"],
            ),
            // A property that is no schema keeps its name.
            (
                json!({"properties": {"a": {"type": "string"}, "type": "object"}, "required": ["a"]}),
                json!({"properties": {"a": {"type": "string"}, "type": {}}, "required": ["a"]}),
                vec!["/properties/type"],
            ),
            (json!({"required": ["a", 5, "a"]}), json!({"required": ["a"]}), vec!["/required"]),
            (json!({"type": ["string", "nul"], "enum": []}), json!({}), vec!["/type", "/enum"]),
            (json!({"properties": null, "required": null}), json!({}), vec!["/properties", "/required"]),
            (
                json!({"description": 5, "title": ["x"], "minLength": 1}),
                json!({"minLength": 1}),
                vec!["/description", "/title"],
            ),
            // A reference without a target is removed, and one to a definition that is no schema stays.
            (
                json!({"properties": {"x": {"$ref": "#/$defs/X"}, "y": {"type": "integer"}}}),
                json!({"properties": {"x": {}, "y": {"type": "integer"}}}),
                vec!["/properties/x/$ref"],
            ),
            (
                json!({"$ref": "#/$defs/x~1y", "$defs": {"x/y": "text"}}),
                json!({"$ref": "#/$defs/x~1y", "$defs": {"x/y": {}}}),
                vec!["/$defs/x~1y"],
            ),
            (
                json!({"allOf": [{"type": "object"}, null]}),
                json!({"allOf": [{"type": "object"}, {}]}),
                vec!["/allOf/1"],
            ),
            (json!({"allOf": [], "anyOf": {}, "minLength": 1}), json!({"minLength": 1}), vec!["/allOf", "/anyOf"]),
            // A list is no schema since 2020-12.
            (json!({"items": [{"type": "string"}], "maxItems": 2}), json!({"maxItems": 2}), vec!["/items"]),
            // What is left must not refuse more.
            (json!({"not": {"minimum": "5"}}), json!({}), vec!["/not/minimum", "/not"]),
            (json!({"not": 7, "maximum": 5}), json!({"maximum": 5}), vec!["/not"]),
            (
                json!({"oneOf": [{"type": "string"}, {"type": "int"}]}),
                json!({"anyOf": [{"type": "string"}, {}]}),
                vec!["/oneOf/1/type", "/oneOf"],
            ),
            (
                json!({"properties": [], "additionalProperties": false, "minProperties": 1}),
                json!({"minProperties": 1}),
                vec!["/properties", "/additionalProperties"],
            ),
            (
                json!({"allOf": [{"properties": 5}], "unevaluatedProperties": false}),
                json!({"allOf": [{}]}),
                vec!["/allOf/0/properties", "/unevaluatedProperties"],
            ),
            // Data are not schemas.
            (
                json!({"const": {"type": 5}, "default": {"required": true}}),
                json!({"const": {"type": 5}, "default": {"required": true}}),
                vec![],
            ),
        ];
        for (schema, expected, places) in cases {
            let shown = schema.to_string();
            assert_eq!(cleaned(schema), (expected, places.into_iter().map(str::to_owned).collect()), "{shown}");
        }
    }

    #[test]
    fn a_value_that_is_no_schema_stays() {
        for no_schema in [json!(5), json!(null), json!("x"), json!([{}])] {
            assert_eq!(cleaned(no_schema.clone()), (no_schema, vec![]));
        }
    }

    /// Replaces the values of some keywords by invalid ones, which have no valid part. Returns how many.
    fn corrupt(schema: &mut Value, draft: Draft, wrong: &mut impl Iterator<Item = (bool, Value)>) -> usize {
        let Value::Object(map) = schema else { return 0 };
        let mut count = 0;
        for (word, value) in map.iter_mut().filter(|(word, _)| *word != "$schema") {
            let Some((_, fits)) = keywords::expected_form(word, draft) else { continue };
            match wrong.next() {
                Some((true, other)) if !fits(&other, draft) && !other.is_array() && !other.is_object() => {
                    *value = other;
                    count += 1;
                }
                _ => {
                    let inside = schemas_inside(word, value, "").into_iter();
                    count += inside.map(|(_, one)| corrupt(one, draft, wrong)).sum::<usize>();
                }
            }
        }
        count
    }

    proptest! {
        #[test]
        fn the_rest_compiles_and_accepts_what_the_whole_accepts(
            schema in testing::schema(),
            values in prop::collection::vec(testing::value(), 8),
            wrong in prop::collection::vec((prop::bool::weighted(0.2), testing::value()), 60),
        ) {
            let Ok(whole) = CompiledSchema::compile(&schema) else { return Ok(()) };
            let mut odd = schema.clone();
            let count = corrupt(&mut odd, Draft::of(&schema), &mut wrong.into_iter());
            let before = odd.clone();
            let removed = remove_invalid_keywords(&mut odd);
            prop_assert!(removed.is_empty() == (count == 0), "{schema}, with {count} wrong: {before}: {removed:?}");
            let rest = CompiledSchema::compile(&odd);
            prop_assert!(rest.is_ok(), "{before}: {odd}: {rest:?}");
            for value in values.iter().filter(|value| whole.is_valid(value)) {
                prop_assert!(rest.as_ref().is_ok_and(|rest| rest.is_valid(value)), "{value}: {schema}: {before}: {odd}");
            }
        }
    }
}
