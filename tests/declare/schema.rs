//! Tests of real schemas in each dialect: the providers' meta-schemas accept them, and they keep the meaning of the originals.

use std::path::Path;

use jsonschema::Validator;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tool_runtime::schema::{Dialect, Schema, Severity};

use crate::shared_data;

/// Returns pairs of a dialect and a meta-schema that its schemas must satisfy.
fn profiles(data: &Path) -> Vec<(Dialect, Validator)> {
    let read =
        |name: &str| jsonschema::validator_for(&shared_data::json(&data.join("schema-profiles").join(name))).unwrap();
    vec![
        (Dialect::OpenAiStrict, read("openai_202602.json")),
        (Dialect::Gemini, read("gemini_202503.json")),
        (Dialect::Gemini, read("gemini_202602.json")),
        (Dialect::Anthropic, anthropic()),
    ]
}

/// Returns the subset that Anthropic documents for its strict mode.
fn anthropic() -> Validator {
    jsonschema::validator_for(&json!({
        "$ref": "#/$defs/node",
        "required": ["type", "properties"],
        "$defs": {"node": {
            "type": "object",
            "anyOf": [{"required": ["type"]}, {"required": ["anyOf"]}, {"required": ["$ref"]}],
            "additionalProperties": false,
            "if": {"properties": {"type": {"enum": ["object", ["object", "null"]]}}, "required": ["type"]},
            "then": {"required": ["properties", "additionalProperties"]},
            "properties": {
                "type": {"type": ["string", "array"]},
                "title": {"type": "string"},
                "description": {"type": "string"},
                "default": true,
                "enum": {"items": {"type": ["string", "number", "boolean", "null"]}},
                "const": {"type": ["string", "number", "boolean", "null"]},
                "properties": {"additionalProperties": {"$ref": "#/$defs/node"}},
                "required": {"type": "array"},
                "additionalProperties": {"const": false},
                "items": {"$ref": "#/$defs/node"},
                "minItems": {"enum": [0, 1]},
                "anyOf": {"items": {"$ref": "#/$defs/node"}},
                "$ref": {"pattern": r"^#/\$defs/"},
                "$defs": {"additionalProperties": {"$ref": "#/$defs/node"}},
                "pattern": {"type": "string"},
                "format": {"enum": [
                    "date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid",
                ]},
            },
        }},
    }))
    .unwrap()
}

fn options() -> jsonschema::ValidationOptions<'static> {
    jsonschema::options().should_validate_formats(true)
}

fn lower(schema: &Schema, dialect: Dialect) -> Value {
    serde_json::from_str(schema.lowered(dialect).json().get()).unwrap()
}

/// Returns all real schemas: name, schema and labelled instances.
pub(crate) fn schemas(data: &Path) -> impl Iterator<Item = (String, Value, Vec<Value>)> {
    let tools = shared_data::files(&data.join("mcp-tools"), ".json").into_iter().flat_map(|path| {
        let file = shared_data::json(&path);
        let tools = file.get("tools").unwrap_or(&file).as_array().unwrap().clone();
        tools
            .into_iter()
            .map(move |tool| (format!("{} {}", path.display(), tool["name"]), tool["inputSchema"].clone(), Vec::new()))
    });
    let labelled = shared_data::files(&data.join("schemas"), ".jsonl.gz")
        .into_iter()
        .flat_map(|path| shared_data::lines(&path))
        .map(|record| {
            (
                record["id"].to_string(),
                record["schema"].clone(),
                record["tests"].as_array().cloned().unwrap_or_default(),
            )
        });
    tools.chain(labelled)
}

fn assert_no_failures(what: &str, total: usize, failures: &[String]) {
    eprintln!("{what}: {total} cases, {} of them wrong", failures.len());
    assert!(
        failures.is_empty(),
        "{what}: {} of {total}\n{}",
        failures.len(),
        failures[..failures.len().min(10)].join("\n")
    );
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn providers_accept_every_real_schema() {
    let data = shared_data::data();
    let profiles = profiles(&data);
    let (mut total, mut failures) = (0, Vec::new());
    for (name, schema, _) in schemas(&data) {
        let schema = Schema::new(schema);
        for (dialect, profile) in &profiles {
            total += 1;
            let mut lowered = lower(&schema, *dialect);
            allow_documented_null(&mut lowered);
            if let Err(error) = profile.validate(&lowered) {
                failures.push(format!("{dialect:?} {name}: {error} at {}\n  {lowered}", error.instance_path()));
            }
        }
    }
    assert_no_failures("accepted schemas", total, &failures);
}

/// Allows `anyOf: [{$ref}, {type: null}]`, which OpenAI documents. The profile knows null only in a list of types.
fn allow_documented_null(schema: &mut Value) {
    let null = json!({"type": "null"});
    match schema {
        Value::Array(list) => list.iter_mut().for_each(allow_documented_null),
        Value::Object(map) => {
            if let Some(Value::Array(members)) = map.get_mut("anyOf")
                && members.iter().all(|member| *member == null || member.get("$ref").is_some())
            {
                members
                    .iter_mut()
                    .filter(|member| **member == null)
                    .for_each(|member| *member = json!({"type": ["string", "null"]}));
            }
            map.values_mut().for_each(allow_documented_null);
        }
        _ => {}
    }
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn whole_dialects_agree_with_the_original() {
    let data = shared_data::data();
    let (mut total, mut failures) = (0, Vec::new());
    for (name, schema, tests) in schemas(&data) {
        let Ok(original) = options().build(&schema) else { continue };
        let schema = Schema::new(schema);
        for (dialect, draft) in
            [(Dialect::JsonSchema2020, jsonschema::Draft::Draft202012), (Dialect::Draft07, jsonschema::Draft::Draft7)]
        {
            let text = lower(&schema, dialect);
            let weakened = schema.lowered(dialect).worst() >= Some(Severity::Weakened);
            let validator = match options().with_draft(draft).build(&text) {
                Ok(validator) => validator,
                Err(error) => {
                    failures.push(format!("{dialect:?} {name}: {error}\n  {text}"));
                    continue;
                }
            };
            for test in &tests {
                total += 1;
                let (before, after) = (original.is_valid(&test["data"]), validator.is_valid(&test["data"]));
                // If the validator and the label disagree about the original, the label is right.
                let labelled = test["valid"] == after;
                if before != after && !labelled && !(weakened && after) {
                    failures.push(format!("{dialect:?} {name}: {before} {after} {}\n  {text}", test["data"]));
                }
            }
        }
    }
    assert_no_failures("equal verdicts", total, &failures);
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn valid_values_stay_valid_in_a_weaker_schema() {
    let data = shared_data::data();
    let (mut total, mut narrowed, mut failures) = (0, 0, Vec::new());
    for (name, schema, tests) in schemas(&data) {
        let Ok(original) = options().build(&schema) else { continue };
        let schema = Schema::new(schema);
        for dialect in [Dialect::OpenAiStrict, Dialect::Gemini, Dialect::Anthropic] {
            if schema.lowered(dialect).worst() >= Some(Severity::Narrowed) {
                narrowed += 1;
                continue;
            }
            let mut text = lower(&schema, dialect);
            relax(&mut text);
            let validator = options().build(&text).unwrap();
            for test in tests.iter().filter(|test| original.is_valid(&test["data"])) {
                total += 1;
                if let Err(error) = validator.validate(&test["data"]) {
                    failures.push(format!(
                        "{dialect:?} {name}: {error}: {}\n  {text}\n  {:?}",
                        test["data"],
                        schema.lowered(dialect).losses()
                    ));
                }
            }
        }
    }
    eprintln!("{narrowed} narrowed ones left out");
    assert_no_failures("valid values", total, &failures);
}

/// Removes `required` and `additionalProperties: false`, which strict modes add.
fn relax(schema: &mut Value) {
    match schema {
        Value::Array(list) => list.iter_mut().for_each(relax),
        Value::Object(map) => {
            if map.get("required").is_some_and(Value::is_array)
                && map.get("additionalProperties") == Some(&Value::Bool(false))
            {
                map.shift_remove("required");
                map.shift_remove("additionalProperties");
            }
            map.values_mut().for_each(relax);
        }
        _ => {}
    }
}

/// A booking of a hotel.
#[derive(Debug, Deserialize, PartialEq, JsonSchema)]
struct Booking {
    city: String,
    #[serde(default = "two")]
    nights: u8,
    note: Option<String>,
    #[serde(default)]
    guests: Vec<Guest>,
    #[serde(default)]
    room: Room,
    near: Option<Box<Booking>>,
}

#[derive(Debug, Deserialize, PartialEq, JsonSchema)]
struct Guest {
    name: String,
    #[serde(default)]
    age: u16,
}

#[derive(Debug, Default, Deserialize, PartialEq, JsonSchema)]
#[serde(tag = "kind")]
enum Room {
    #[default]
    Any,
    Suite {
        #[serde(default)]
        floor: i8,
    },
}

fn two() -> u8 {
    2
}

#[test]
fn strict_arguments_are_raised_to_the_type() {
    let schema = Schema::from_schemars(schemars::schema_for!(Booking));
    let strict = schema.lowered(Dialect::OpenAiStrict);
    assert!(strict.worst() < Some(Severity::Narrowed), "{:?}", strict.losses());
    let validator = jsonschema::validator_for(&lower(&schema, Dialect::OpenAiStrict)).unwrap();
    let nothing = json!({"city": "Bern", "nights": null, "note": null, "guests": null, "room": null, "near": null});
    let full = json!({
        "city": "Bern", "nights": 3, "note": "quiet", "guests": [{"name": "Ada", "age": null}],
        "room": {"kind": "Suite", "floor": null}, "near": nothing,
    });
    for (arguments, expected) in [
        (&nothing, json!({"city": "Bern"})),
        (
            &full,
            json!({
                "city": "Bern", "nights": 3, "note": "quiet", "guests": [{"name": "Ada"}], "room": {"kind": "Suite"},
                "near": {"city": "Bern"},
            }),
        ),
    ] {
        assert!(validator.is_valid(arguments), "{arguments}");
        let raised: Booking = serde_json::from_str(&strict.raise(&arguments.to_string())).unwrap();
        assert_eq!(raised, serde_json::from_value(expected).unwrap());
        assert!(
            serde_json::from_value::<Booking>(arguments.clone()).is_err(),
            "the strict arguments do not fit the type before they are raised"
        );
    }
}

#[test]
fn a_declared_type_fits_every_dialect() {
    let schema = Schema::from_schemars(schemars::schema_for!(Guest));
    let guest = json!({"name": "Ada"});
    for dialect in Dialect::ALL {
        let text = lower(&schema, dialect);
        let valid = jsonschema::validator_for(&text).unwrap().is_valid(&guest);
        assert_eq!(valid, dialect != Dialect::OpenAiStrict, "{dialect:?}: {text}");
    }
    assert!(anthropic().is_valid(&lower(&schema, Dialect::Anthropic)));
    let losses = schema.lowered(Dialect::Anthropic).losses();
    assert_eq!(losses.len(), 2, "the bounds of `age` are lost: {losses:?}");
}
