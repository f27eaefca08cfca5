//! The passes, and that an exact schema accepts what serde decodes.

#![allow(dead_code, reason = "the types are only described")]

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;

use super::*;

fn exact_of<T: JsonSchema>() -> Value {
    exact(schema_for!(T).to_value())
}

#[test]
fn numbers_get_the_bounds_of_their_type() {
    assert_eq!(exact_of::<i64>(), json!({"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX}));
    assert_eq!(exact_of::<u32>(), json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}));
    assert_eq!(exact_of::<usize>(), json!({"type": "integer", "minimum": 0, "maximum": usize::MAX}));
    assert_eq!(exact_of::<i8>(), json!({"type": "integer", "minimum": -128, "maximum": 127}));
    assert_eq!(exact_of::<f32>(), json!({"type": "number"}));
    assert_eq!(exact_of::<std::num::NonZeroU8>(), json!({"type": "integer", "minimum": 1, "maximum": 255}));
}

#[test]
fn tighter_bounds_stay_and_wider_ones_go() {
    #[derive(JsonSchema)]
    struct Bounded {
        #[schemars(range(min = 1, max = 10))]
        tight: u32,
        #[schemars(range(min = -5, max = 1000))]
        wide: u8,
        #[schemars(extend("exclusiveMinimum" = 0))]
        open: i16,
    }
    let schema = exact_of::<Bounded>();
    assert_eq!(schema["properties"]["tight"], json!({"type": "integer", "minimum": 1, "maximum": 10}));
    assert_eq!(schema["properties"]["wide"], json!({"type": "integer", "minimum": 0, "maximum": 255}));
    assert_eq!(schema["properties"]["open"], json!({"type": "integer", "exclusiveMinimum": 0, "maximum": 32767}));
}

#[test]
fn a_format_of_text_is_not_a_number_type() {
    let schema = json!({"type": "string", "format": "int64"});
    assert_eq!(exact(schema.clone()), schema);
}

/// How warm it is shown.
#[derive(JsonSchema, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Unit {
    /// As in Bern.
    Celsius,
    /// As in Boston.
    Fahrenheit,
    Kelvin,
}

#[test]
fn documented_constants_become_one_enum() {
    assert_eq!(
        exact_of::<Unit>(),
        json!({
            "type": "string",
            "enum": ["kelvin", "celsius", "fahrenheit"],
            "description": "How warm it is shown.\n\n- `celsius`: As in Bern.\n- `fahrenheit`: As in Boston.",
        })
    );
}

#[test]
fn titles_of_types_go_and_written_ones_stay() {
    #[derive(JsonSchema)]
    struct Order {
        #[schemars(title = "The item")]
        item: String,
        part: Part,
    }
    #[derive(JsonSchema)]
    #[schemars(title = "A part")]
    struct Part {
        empty: Empty,
    }
    #[derive(JsonSchema)]
    struct Empty {}
    assert_eq!(
        exact_of::<Order>(),
        json!({
            "type": "object",
            "properties": {"item": {"type": "string", "title": "The item"}, "part": {"$ref": "#/$defs/Part"}},
            "required": ["item", "part"],
            "$defs": {
                "Part": {
                    "title": "A part",
                    "type": "object",
                    "properties": {"empty": {"$ref": "#/$defs/Empty"}},
                    "required": ["empty"],
                },
                "Empty": {"type": "object", "properties": {}},
            },
        })
    );
}

#[test]
fn wrappers_and_nulls_are_joined_where_nothing_clashes() {
    let cases = [
        (
            json!({"allOf": [{"$ref": "#/$defs/A"}], "description": "d"}),
            json!({"$ref": "#/$defs/A", "description": "d"}),
        ),
        (
            json!({"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]}),
            json!({"type": ["string", "null"], "minLength": 1}),
        ),
        (
            json!({"anyOf": [{"const": 1, "type": "integer"}, {"type": "null"}]}),
            json!({"type": ["integer", "null"], "enum": [1, null]}),
        ),
    ];
    for (before, after) in cases {
        assert_eq!(exact(before), after);
    }
    let kept = [
        json!({"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}),
        json!({"allOf": [{"description": "inner"}], "description": "outer"}),
        json!({"allOf": [{"additionalProperties": false}], "properties": {"a": {}}}),
        json!({"anyOf": [{"type": "string", "not": {"const": "x"}}, {"type": "null"}]}),
        json!({"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}),
        json!({"oneOf": [{"const": "a"}, {"const": "a"}]}),
    ];
    for schema in kept {
        assert_eq!(exact(schema.clone()), schema);
    }
}

#[derive(JsonSchema, Deserialize)]
#[serde(tag = "kind")]
enum Shape {
    Circle { radius: f32 },
    Square { side: u8, label: Option<char> },
}

#[derive(JsonSchema, Deserialize)]
struct Everything {
    small: i8,
    big: u64,
    pair: (u8, bool),
    three: [i16; 3],
    unit: Unit,
    shape: Option<Shape>,
    map: HashMap<u8, Vec<Unit>>,
    #[serde(default)]
    names: BTreeMap<String, Option<u16>>,
    next: Option<Box<Everything>>,
}

/// Values near what the types above take, and others.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        prop_oneof![Just(-129_i64), Just(-1), Just(0), Just(255), Just(256), any::<i64>()].prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        Just(json!(0.5)),
        prop_oneof![Just("celsius"), Just("x"), Just("xy"), Just("")].prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"kind": "Square", "side": a, "label": b})),
            inner.clone().prop_map(|a| json!({"kind": "Circle", "radius": a})),
            proptest::collection::hash_map(prop_oneof![Just("7"), Just("a"), Just("-1")], inner, 0..3).prop_map(
                |map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()
            ),
        ]
    })
}

fn agrees<T: JsonSchema + DeserializeOwned>(value: &Value) -> Result<(), TestCaseError> {
    let schema = exact_of::<T>();
    let valid = jsonschema::is_valid(&schema, value);
    let decoded = serde_json::from_str::<T>(&value.to_string());
    prop_assert_eq!(valid, decoded.is_ok(), "{} {:?}", value, decoded.err());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_schema_accepts_what_serde_decodes(value in values()) {
        agrees::<i8>(&value)?;
        agrees::<u64>(&value)?;
        agrees::<f32>(&value)?;
        agrees::<char>(&value)?;
        agrees::<(u8, bool)>(&value)?;
        agrees::<[i16; 3]>(&value)?;
        agrees::<Option<Unit>>(&value)?;
        agrees::<BTreeMap<String, Option<u16>>>(&value)?;
    }

    #[test]
    fn and_so_in_a_struct(field in prop_oneof![
        Just("small"), Just("big"), Just("pair"), Just("three"), Just("unit"), Just("shape"), Just("names"), Just("next"),
    ], value in values()) {
        // serde also takes structs as arrays, which no schema says: they are left out.
        prop_assume!(!(matches!(field, "shape" | "next") && value.is_array()));
        let mut whole = json!({
            "small": 1, "big": 2, "pair": [1, true], "three": [1, 2, 3], "unit": "kelvin", "map": {"1": ["celsius"]},
        });
        whole[field] = value;
        agrees::<Everything>(&whole)?;
    }
}
