//! Nothing that can be sent as a schema does harm.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::schema::{Dialect, Schema, Severity};

#[test]
fn hostile_schemas_end() {
    // 2^60 schemas when inlined.
    let mut definitions = Map::new();
    for i in 0..60 {
        let next = json!({"$ref": format!("#/$defs/d{}", i + 1), "description": "x"});
        definitions.insert(format!("d{i}"), json!({"type": "object", "properties": {"a": next, "b": next}}));
    }
    definitions.insert("d60".to_owned(), json!({"type": "string"}));
    let wide = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
    let mut deep = json!({"type": "string"});
    for _ in 0..50_000 {
        deep = Value::Object(Map::from_iter([("items".to_owned(), deep)]));
    }
    let deep = Schema::new(deep);
    for dialect in Dialect::ALL {
        let text = Schema::new(wide.clone()).lowered(dialect).json().get().to_owned();
        assert!(text.len() < 500_000, "{dialect:?} made {} of it", text.len());
        serde_json::from_str::<Value>(deep.lowered(dialect).json().get()).unwrap();
        assert!(deep.lowered(dialect).worst() >= Some(Severity::Weakened));
    }
    // Dropping it would need a stack.
    std::mem::forget(deep);
}

fn schemas() -> impl Strategy<Value = Value> {
    let words = prop_oneof![
        Just("type"),
        Just("enum"),
        Just("const"),
        Just("properties"),
        Just("required"),
        Just("additionalProperties"),
        Just("items"),
        Just("prefixItems"),
        Just("anyOf"),
        Just("oneOf"),
        Just("allOf"),
        Just("not"),
        Just("if"),
        Just("$ref"),
        Just("$defs"),
        Just("definitions"),
        Just("minimum"),
        Just("maxLength"),
        Just("minItems"),
        Just("exclusiveMinimum"),
        Just("pattern"),
        Just("description"),
        Just("default"),
        Just("unevaluatedProperties"),
        Just("dependentRequired"),
        Just("dependencies"),
        Just("contains"),
        Just("patternProperties"),
        Just("$schema"),
        Just("$id"),
        Just("x"),
        Just("a/b~"),
    ];
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        Just(json!(0.5)),
        prop_oneof![
            Just("string"),
            Just("object"),
            Just("array"),
            Just("integer"),
            Just("null"),
            Just("#"),
            Just("#/$defs/x"),
            Just("#/items"),
            Just("x"),
            Just("http://json-schema.org/draft-07/schema#"),
            Just("http://json-schema.org/draft-04/schema#"),
            Just("(?=a)"),
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 5, move |inner| {
        prop_oneof![
            3 => proptest::collection::hash_map(words.clone(), inner.clone(), 0..5)
                .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()),
            1 => proptest::collection::vec(inner, 0..4).prop_map(Value::from),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_json_is_survived(schema in schemas(), arguments in schemas()) {
        let schema = Schema::new(schema);
        for dialect in Dialect::ALL {
            let lowered = schema.lowered(dialect);
            serde_json::from_str::<Value>(lowered.json().get()).unwrap();
            serde_json::from_str::<Value>(&lowered.raise(&arguments.to_string())).unwrap();
        }
        crate::schema::needs_check(schema.neutral());
        Schema::from_schemars(schema.neutral().clone());
    }
}
