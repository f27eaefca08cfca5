//! The portable form: attempts to write it with less and less in place of references and unions.

use serde_json::Value;

use super::{
    root::to_one_object,
    rules::{PORTABLE, Rules},
    write::write,
};
use crate::schema::{
    LoweredSchema,
    losses::Losses,
    raise::Raiser,
    shape::{Combining, Reader, Reading, Refs, Sizes},
};

/// The maximum number of schemas, and of their bytes, of a schema whose references are all replaced by their targets.
const MAX_INLINED: usize = 400;
const MAX_INLINED_BYTES: usize = 16_000;

/// The maximum number of schemas of a target that replaces its references in any schema.
const MAX_SMALL: usize = 8;

/// The maximum size of the form: so many times the size of the schema, and so many more bytes. The branches of a union repeat
/// what stands beside it, so nested unions double.
const MAX_GROWTH: usize = 4;
const MAX_MORE_BYTES: usize = 4_096;

/// Returns `neutral` in the portable form. With `leaves_out_null`, an optional property has no `null`.
///
/// - If the schema is small with all targets in place of their references, they are put there. Only cycles stay references.
/// - Otherwise, or if this grows too much, only small targets are put there.
/// - If this grows too much, unions with constraints beside them are left out, too. So the work is linear in any schema.
pub fn lower_to_portable(neutral: &Value, leaves_out_null: bool, losses: &Losses) -> LoweredSchema {
    let rules = Rules { leaves_out_null, ..PORTABLE };
    let inlined = Sizes::default().of_root(neutral);
    if inlined.schemas <= MAX_INLINED
        && inlined.bytes <= MAX_INLINED_BYTES
        && let Some(lowered) = try_to_lower(neutral, &rules, losses, max_bytes(inlined.bytes))
    {
        return lowered;
    }
    let rules = Rules { refs: Refs::InlineSmall(MAX_SMALL), ..rules };
    let own_bytes = neutral.to_string().len();
    try_to_lower(neutral, &rules, losses, max_bytes(own_bytes))
        .or_else(|| {
            let rules = Rules { combining: Combining::Linear, ..rules };
            try_to_lower(neutral, &rules, losses, usize::MAX)
        })
        .expect("the last attempt has no maximum")
}

fn max_bytes(source: usize) -> usize {
    source.saturating_mul(MAX_GROWTH).saturating_add(MAX_MORE_BYTES)
}

/// Returns the schema under `rules`, or `None` if it is larger than `max_bytes`.
fn try_to_lower(neutral: &Value, rules: &Rules, losses: &Losses, max_bytes: usize) -> Option<LoweredSchema> {
    let Reading { shape, targets, mut losses, is_cut } =
        Reader::new(neutral, rules.refs, rules.combining, losses.clone()).read();
    if is_cut && max_bytes < usize::MAX {
        return None;
    }
    let (shape, is_wrapped) = to_one_object(shape, &targets, &mut losses);
    let schema = write(&shape, &targets, rules, &mut losses);
    let lowered = LoweredSchema::new(&schema, losses.into_vec(), is_wrapped.then_some(Raiser::Unwrap));
    (lowered.json().get().len() <= max_bytes).then_some(lowered)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, json};

    use super::*;
    use crate::schema::{CompiledSchema, Dialect, Schema, Severity, testing};

    fn portable(schema: &Value) -> Value {
        serde_json::from_str(Schema::new(schema.clone()).lowered(Dialect::Portable).json().get()).unwrap()
    }

    /// Returns the form of a required property `x`.
    #[expect(clippy::needless_pass_by_value, reason = "they are written out at the call")]
    fn property(schema: Value, definitions: Value) -> Value {
        portable(&json!({"type": "object", "properties": {"x": schema}, "required": ["x"], "$defs": definitions}))
            ["properties"]["x"]
            .clone()
    }

    fn lost(schema: &Value) -> Vec<(String, Severity)> {
        let schema = Schema::new(schema.clone());
        let losses = schema.lowered(Dialect::Portable).losses();
        losses.iter().map(|loss| (loss.keyword.clone(), loss.severity)).collect()
    }

    #[test]
    fn a_union_at_the_root_becomes_one_object() {
        let union = json!({"description": "Finds one.", "oneOf": [
            {"type": "object", "description": "By number.", "properties": {"by": {"const": "id"}, "v": {"type": "integer"}},
                "required": ["by", "v"], "additionalProperties": false},
            {"$ref": "#/$defs/Name"},
        ], "$defs": {"Name": {"type": "object", "properties": {"by": {"const": "name"}, "v": {"type": "string"},
            "exact": {"type": "boolean"}}, "required": ["by", "v"], "additionalProperties": false}}});
        let expected = json!({
            "type": "object",
            "description": "Finds one.\n\nOne of:\n- `by`: \"id\", `v`. By number.\n- `by`: \"name\", `v`, optional `exact`",
            "properties": {
                "by": {"type": "string", "enum": ["id", "name"]},
                "v": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                "exact": {"type": "boolean"},
            },
            "required": ["by", "v"],
            "additionalProperties": false,
        });
        assert_eq!(portable(&union), expected);
        assert_eq!(lost(&union), [("anyOf".to_owned(), Severity::Weakened)]);
        // A condition on a plain object becomes words.
        let condition = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
        assert_eq!(portable(&condition)["description"], "(needs `a` or `b`)");
    }

    #[test]
    fn a_root_that_is_no_object_is_wrapped() {
        let union = json!({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "object", "properties": {"value": {"type": "null"}}}]});
        let schema = Schema::new(union);
        let lowered = schema.lowered(Dialect::Portable);
        assert!(lowered.wraps() && lowered.raises());
        let form: Value = serde_json::from_str(lowered.json().get()).unwrap();
        assert_eq!(form["type"], "object");
        assert_eq!(form["properties"]["value"]["anyOf"][0], json!({"type": "array", "items": {"type": "integer"}}));
        for (given, raised) in [
            (r#"{"value": [1, 2.50]}"#, "[1, 2.50]"),
            (r#"{"value":{"value":null}}"#, r#"{"value":null}"#),
            (r#"{"v\u0061lue":[]}"#, "[]"),
            // A model that ignores the wrapper.
            ("[1]", "[1]"),
            (r#"{"value":1,"b":2}"#, r#"{"value":1,"b":2}"#),
            (r#"{"other":1}"#, r#"{"other":1}"#),
            (r#"{"value":1"#, r#"{"value":1"#),
        ] {
            assert_eq!(lowered.raise(given), raised, "{given}");
        }
        assert_eq!(lowered.wrap("[1]"), r#"{"value":[1]}"#);
        assert_eq!(lowered.wrap("[1"), "[1");
        let object = Schema::new(json!({"type": "object", "properties": {"value": {}}}));
        assert!(!object.lowered(Dialect::Portable).wraps());
        assert_eq!(object.lowered(Dialect::Portable).wrap("{}"), "{}");
        assert_eq!(object.lowered(Dialect::Portable).raise(r#"{"value":1}"#), r#"{"value":1}"#);
    }

    #[test]
    fn references_are_replaced_or_lead_to_definitions() {
        let definitions = json!({
            "Item": {"type": "object", "description": "An item.", "properties": {"n": {"type": "integer"}}},
            "Tree/<ä>": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Tree~1<ä>"}}}},
        });
        let item = property(json!({"$ref": "#/$defs/Item", "description": "The x."}), definitions.clone());
        let expected =
            json!({"type": "object", "description": "The x.\n\nAn item.", "properties": {"n": {"type": "integer"}}});
        assert_eq!(item, expected);
        let tree = property(json!({"$ref": "#/$defs/Tree~1<ä>", "description": "The x."}), definitions);
        assert_eq!(tree, json!({"$ref": "#/$defs/Tree____", "description": "The x."}));
        let described = json!({"type": "object", "properties": {
            "a": {"$ref": "#/$defs/Node", "description": "The a."}, "b": {"$ref": "#/$defs/Node"},
        }, "$defs": {"Node": {"description": "A node.", "type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}}});
        let out = portable(&described);
        assert_eq!(out["properties"]["a"], json!({"$ref": "#/$defs/Node", "description": "The a.\n\nA node."}));
        assert_eq!(out["properties"]["b"]["description"], "A node.");
        assert_eq!(out["$defs"]["Node"].get("description"), None);
        // Even a root that is its own definition.
        let root = portable(&json!({"type": "object", "properties": {"next": {"$ref": "#"}}}));
        assert_eq!(root["properties"]["next"], json!({"$ref": "#/$defs/Whole"}));
        assert_eq!(root["$defs"]["Whole"]["properties"]["next"], json!({"$ref": "#/$defs/Whole"}));
    }

    #[test]
    fn a_reference_loses_nothing_without_a_word() {
        let list = json!({"List": {"type": "object", "properties": {"next": {"$ref": "#/$defs/List"}}}});
        let schema = json!({"$ref": "#/$defs/List", "title": "T", "default": {}, "examples": [{"next": {}}]});
        let expected = json!({"$ref": "#/$defs/List", "description": r#"(default: {}; for example {"next":{}})"#});
        assert_eq!(property(schema.clone(), list.clone()), expected);
        let whole = json!({"type": "object", "properties": {"x": schema}, "$defs": list});
        let words: Vec<String> = lost(&whole).into_iter().map(|(word, _)| word).collect();
        assert_eq!(words, ["default", "examples", "title"]);
    }

    #[test]
    fn limits_that_refuse_the_request_become_words() {
        let schema = |word: &str, value: Value, other: &str, beside: Value| {
            let kind = crate::schema::data::Kind::of_word(word).unwrap().name();
            property(json!({"type": kind, word: value, other: beside}), Value::Null)
        };
        for (word, low, other, high, text) in [
            ("minimum", json!(5), "maximum", json!(2), "5 to 2"),
            ("exclusiveMinimum", json!(1), "maximum", json!(1), "at most 1; more than 1"),
            ("minLength", json!(5), "maxLength", json!(2), "5 to 2 characters"),
            ("minItems", json!(5), "maxItems", json!(2), "5 to 2 items"),
            ("minProperties", json!(5), "maxProperties", json!(2), "5 to 2 entries"),
        ] {
            let form = schema(word, low, other, high);
            assert_eq!(form["description"], format!("({text})"), "{form}");
            assert!(form.get(word).is_none() && form.get(other).is_none(), "{form}");
        }
        assert_eq!(schema("minimum", json!(2), "maximum", json!(2))["minimum"], 2);
        for (step, is_sent) in [
            (json!(0.01), true),
            (json!(1e-9), true),
            (json!(1_000), true),
            (json!(4_294_967_296_u64), false),
            (json!(1e-300), false),
            (json!(0.123_456_789), false),
        ] {
            let form = property(json!({"type": "number", "multipleOf": step}), Value::Null);
            assert_eq!(form.get("multipleOf").is_some(), is_sent, "{form}");
            assert_ne!(form.get("description").is_some(), is_sent, "{form}");
        }
        let named = json!({"type": "object", "properties": {"a": {"type": "string"}}, "minProperties": 1});
        let form = property(named, Value::Null);
        assert_eq!((form.get("minProperties"), &form["description"]), (None, &json!("(at least 1 entry)")));
        let map = json!({"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1});
        assert_eq!(property(map, Value::Null)["minProperties"], 1);
        assert_eq!(property(json!({"type": "string", "pattern": ""}), Value::Null), json!({"type": "string"}));
    }

    #[test]
    fn large_definitions_stay() {
        let fields: Map<_, _> = (0..200).map(|i| (format!("field{i}"), json!({"type": "string"}))).collect();
        let definitions = json!({"Large": {"type": "object", "properties": fields}, "Small": {"type": "object", "properties": {"a": {}}}});
        let refs = |name: &str| json!({"type": "object", "properties": {"a": {"$ref": name}, "b": {"$ref": name}, "c": {"$ref": "#/$defs/Small"}}, "$defs": definitions});
        let large = portable(&refs("#/$defs/Large"));
        assert_eq!(large["properties"]["b"], json!({"$ref": "#/$defs/Large"}));
        assert_eq!(large["properties"]["c"]["type"], "object");
        assert_eq!(large["$defs"].as_object().unwrap().len(), 1);
        assert_eq!(portable(&refs("#/$defs/Small")).get("$defs"), None);
    }

    #[test]
    fn unions_have_complete_members() {
        let union = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "additionalProperties": false,
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
        let both = json!({"a": {"type": "integer"}, "b": {"type": "integer"}});
        let member = |name: &str| {
            let properties =
                if name == "a" { both.clone() } else { json!({"b": {"type": "integer"}, "a": {"type": "integer"}}) };
            json!({"type": "object", "properties": properties, "required": [name], "additionalProperties": false})
        };
        assert_eq!(property(union, json!({})), json!({"anyOf": [member("a"), member("b")]}));
        for (schema, expected) in [
            (
                json!({"type": ["string", "null"], "description": "d"}),
                json!({"description": "d", "anyOf": [{"type": "string"}, {"type": "null"}]}),
            ),
            (
                json!({"enum": ["a", 1, null]}),
                json!({"anyOf": [{"type": "string", "const": "a"}, {"type": "integer", "const": 1}, {"type": "null"}]}),
            ),
            (
                json!({"type": ["string", "integer"], "minimum": 1}),
                json!({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 1}]}),
            ),
        ] {
            assert_eq!(property(schema.clone(), json!({})), expected, "{schema}");
        }
        // Without a type, a limit is about its own kind only.
        let limit = property(json!({"minimum": 1}), json!({}));
        assert_eq!(limit["anyOf"].as_array().unwrap().len(), 6);
    }

    #[test]
    fn tuples_have_items_and_counts() {
        let tuple = |members: Value| json!({"type": "array", "prefixItems": members, "items": false});
        let pair = property(tuple(json!([{"type": "number"}, {"type": "number"}])), json!({}));
        assert_eq!(pair, json!({"type": "array", "items": {"type": "number"}, "maxItems": 2}));
        let mixed = property(
            json!({"type": "array", "prefixItems": [{"type": "number", "description": "n"}, {"type": ["string", "null"]}], "minItems": 2, "maxItems": 2}),
            json!({}),
        );
        assert_eq!(
            mixed,
            json!({
                "type": "array",
                "prefixItems": [{"type": "number", "description": "n"}, {"anyOf": [{"type": "string"}, {"type": "null"}]}],
                "items": {"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "null"}]},
                "minItems": 2,
                "maxItems": 2,
            })
        );
        let open = property(
            json!({"type": "array", "prefixItems": [{"type": "number"}], "items": {"type": "string"}}),
            json!({}),
        );
        assert_eq!(open, json!({"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "string"}]}}));
        let none = property(json!({"type": "array", "items": false}), json!({}));
        assert_eq!(none["maxItems"], 0);
        assert!(none["items"].is_object());
    }

    #[test]
    fn every_place_has_a_type() {
        let any = property(json!({}), json!({}));
        assert_eq!(any["type"].as_array().unwrap().len(), 6);
        assert_eq!(any["items"]["items"]["type"].as_array().unwrap().len(), 5);
        assert_eq!(property(json!({"type": "array"}), json!({}))["items"], any);
        let schema = json!({"type": "object", "properties": {"b": {"type": "string"}}, "required": ["a"]});
        assert_eq!(portable(&schema)["properties"]["a"], any);
        assert_eq!(portable(&json!({})), json!({"type": "object", "properties": {}, "additionalProperties": true}));
    }

    #[test]
    fn required_properties_come_first_at_every_level() {
        let inner = json!({"type": "object", "properties": {"o": {"type": "string"}, "r": {"type": "string"}}, "required": ["r"]});
        let out = portable(&json!({"type": "object", "properties": {"o": inner, "x": inner}, "required": ["x"]}));
        let names = |one: &Value| one["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&out), ["x", "o"]);
        assert_eq!(names(&out["properties"]["o"]), ["r", "o"]);
    }

    #[test]
    fn optional_properties_of_declared_types_have_no_null() {
        #[derive(schemars::JsonSchema)]
        #[expect(dead_code, reason = "only its schema counts")]
        struct Search {
            needed: Option<u8>,
            list: Vec<Option<u8>>,
            #[serde(default = "five")]
            five: Option<u8>,
            #[serde(default)]
            inner: Option<Inner>,
        }
        /// A choice.
        #[derive(schemars::JsonSchema)]
        #[expect(dead_code, reason = "only its schema counts")]
        enum Inner {
            A(u8),
            B { x: Option<String> },
        }
        #[expect(clippy::unnecessary_wraps, reason = "it is the default of an option")]
        fn five() -> Option<u8> {
            Some(5)
        }
        let text = |schema: &Schema| schema.lowered(Dialect::Portable).json().get().to_owned();
        let declared = Schema::from_schemars(schemars::schema_for!(Search));
        let form: Value = serde_json::from_str(&text(&declared)).unwrap();
        let null = json!({"type": "null"});
        assert_eq!(form["properties"]["needed"], json!({"type": "integer", "minimum": 0, "maximum": 255}));
        assert_eq!(form["properties"]["list"]["items"]["anyOf"][1], null);
        // Here, null is not the same as nothing.
        assert_eq!(form["properties"]["five"]["anyOf"][1], null);
        assert_eq!(form["properties"]["inner"]["description"], "A choice.");
        assert_eq!(form["properties"]["inner"].get("default"), None);
        assert_eq!(form["properties"]["inner"]["anyOf"].as_array().unwrap().len(), 2);
        // Other schemas keep it.
        let other: Value = serde_json::from_str(&text(&Schema::new(declared.neutral().clone()))).unwrap();
        assert_eq!(other["properties"]["inner"]["anyOf"][2], null);
    }

    #[test]
    fn dropped_keywords_become_words_and_losses() {
        let schema = json!({"type": "object", "properties": {"x": {"type": "object", "patternProperties": {"^x-": {"type": "string"}},
            "additionalProperties": false, "minProperties": 1, "dependentRequired": {"a": ["b"]}, "not": {"const": {}}},
            "y": {"type": "array", "items": {"type": "string"}, "uniqueItems": true, "contains": {"const": "a"}},
            "z": {"type": "string", "format": "ipv4", "minLength": 1, "maxLength": 64},
            "w": {"type": "string", "minLength": 1, "maxLength": 65}}});
        let out = portable(&schema);
        let expected = json!({"type": "object", "description": "(names match ^x-; not {})", "additionalProperties": {"type": "string"}, "minProperties": 1});
        assert_eq!(out["properties"]["x"], expected);
        assert_eq!(
            out["properties"]["y"],
            json!({"type": "array", "description": "(no item twice)", "items": {"type": "string"}})
        );
        assert_eq!(
            out["properties"]["z"],
            json!({"type": "string", "description": "(an IPv4 address)", "minLength": 1, "maxLength": 64})
        );
        assert_eq!(out["properties"]["w"], json!({"type": "string", "description": "(1 to 65 characters)"}));
        for word in ["patternProperties", "dependentRequired", "not", "uniqueItems", "contains", "format", "maxLength"]
        {
            assert!(lost(&schema).contains(&(word.to_owned(), Severity::Weakened)), "{word}");
        }
    }

    /// Returns `count` definitions, each of which uses the next one twice, with `keywords` beside the references.
    fn chain(count: usize, keywords: &Value) -> Value {
        let mut definitions = Map::new();
        for i in 0..count {
            let mut next = json!({"$ref": format!("#/$defs/T{}", i + 1)});
            next.as_object_mut().unwrap().extend(keywords.as_object().unwrap().clone());
            definitions.insert(format!("T{i}"), json!({"type": "object", "properties": {"a": next, "b": next}}));
        }
        definitions.insert(format!("T{count}"), json!({"type": "string"}));
        json!({"type": "object", "properties": {"v": {"$ref": "#/$defs/T0"}}, "$defs": definitions})
    }

    fn nested_unions(count: usize) -> Value {
        let inner = (0..count).fold(json!({"type": "string"}), |inner, _| {
            json!({"type": "object", "properties": {"next": inner, "a": {"type": "integer"}, "b": {"type": "integer"}},
                "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})
        });
        json!({"type": "object", "properties": {"v": inner}})
    }

    fn union_of_unions(count: usize) -> Value {
        let member =
            |i: usize, j: usize| json!({"type": "object", "properties": {format!("a{i}_{j}"): {"type": "integer"}}});
        let union = |i: usize| json!({"anyOf": (0..3).map(|j| member(i, j)).collect::<Vec<_>>()});
        json!({"type": "object", "properties": {"v": {"allOf": (0..count).map(union).collect::<Vec<_>>()}}})
    }

    fn wide_root(count: usize) -> Value {
        let member = |i: usize| json!({"type": "object", "properties": {format!("p{i}"): {"type": "integer"}, "kind": {"const": i}}, "required": [format!("p{i}"), "kind"]});
        json!({"anyOf": (0..count).map(member).collect::<Vec<_>>()})
    }

    #[test]
    fn hostile_schemas_stay_small() {
        let beside = json!({"minProperties": 1, "allOf": [{"$ref": "#/$defs/T1"}]});
        for (name, schema) in [
            ("chain", chain(20, &json!({}))),
            ("long chain", chain(5_000, &json!({}))),
            ("chain with siblings", chain(20, &beside)),
            ("nested unions", nested_unions(8)),
            ("deeper unions", nested_unions(20)),
            ("unions that hold at once", union_of_unions(20)),
            ("wide root", wide_root(2_000)),
        ] {
            let source = schema.to_string().len();
            let form = portable(&schema).to_string().len();
            assert!(form <= 4 * source + 4_096, "{name}: {source} bytes became {form}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn it_accepts_what_the_schema_accepts((schema, value) in testing::schema_and_value()) {
            let Ok(neutral) = CompiledSchema::compile(&schema) else { return Ok(()) };
            let owner = Schema::new(schema);
            let lowered = owner.lowered(Dialect::Portable);
            let form: Value = serde_json::from_str(lowered.json().get()).unwrap();
            let validator = CompiledSchema::compile(&form).unwrap();
            let value: Value = serde_json::from_str(&lowered.wrap(&value.to_string())).unwrap();
            let own: Value = serde_json::from_str(&lowered.raise(&value.to_string())).unwrap();
            if neutral.is_valid(&own) && lowered.worst() < Some(Severity::Narrowed) && (lowered.wraps() || own.is_object()) {
                prop_assert!(validator.is_valid(&value), "{value}\n{}\n{form}", owner.neutral());
            }
        }
    }
}
