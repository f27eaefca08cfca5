//! For each type: no call runs that its schema forbids, and a call that its schema allows runs, apart from the listed exceptions.
//! The values are made up from the schemas, and then changed a little.

use bigdecimal::BigDecimal;
use jsonschema::Validator;
use serde_json::{Value, json};
use tool_runtime::{CallError, Context, Toolset, schema::CompiledSchema, tool, toolset};
use tool_schema::schema::Sampler;
use tool_types::{MapInTagged, tools};

/// The types that refuse values which their schema allows, and why this stays.
const REFUSES_MORE: &[(&str, &str)] = &[
    ("single", RANGE),
    ("not_nan", RANGE),
    ("decimal", RANGE),
    ("duration", RANGE),
    ("system_time", RANGE),
    ("chrono_delta", RANGE),
    ("map_of_numbers", KEYS),
    ("map_of_non_zero", KEYS),
    ("map_of_chars", KEYS),
    ("map_of_bools", KEYS),
    ("map_of_enums", KEYS),
    ("map_of_uuids", KEYS),
    ("map_in_tagged", KEYS),
    ("map_in_untagged", KEYS),
    ("map_in_flattened", KEYS),
    ("map_in_adjacent", KEYS),
    ("map_in_list", KEYS),
    ("maps_in_tagged", KEYS),
    ("maps_in_untagged", KEYS),
    ("map_flattened", KEYS),
    ("map_as_variant", KEYS),
    ("wide_keys_in_tagged", BUFFERED),
    ("widest_in_tagged", BUFFERED),
    ("widest_in_untagged", BUFFERED),
    ("widest_in_flattened", BUFFERED),
    ("socket", TEXT),
    ("socket_v4", TEXT),
    ("c_string", TEXT),
    ("os_string", "a text of Windows is a value of the schema on every system"),
    ("array_string", TEXT),
    ("displayed", TEXT),
    (
        "jiff_duration",
        "jiff reads a `SignedDuration` from hours, minutes and seconds only; the format also has years to days",
    ),
    ("try_converted", "a `try_from` can have any rule; `lint_test!` asks the author to describe it"),
];
const RANGE: &str = "schemars does not state the range of the type, and JSON has no limit of its own";
const KEYS: &str = "schemars describes keys as digits or as any text";
const BUFFERED: &str =
    "serde cannot read 128-bit numbers from its buffer, not even as keys; `lint_test!` reports the type";
const TEXT: &str = "schemars describes any text, and no format states the type's rule";

/// The number of values that are made up for each type.
const ROUNDS: u64 = 1_000;

fn accepts(tools: &Toolset, name: &str, arguments: &str) -> Result<(), String> {
    match tools.prepare(name, arguments, &Context::new("1")).now().unwrap() {
        Ok(_) => Ok(()),
        Err(CallError::Rejected(rejection)) => Err(rejection.lines().join("; ")),
        Err(other) => panic!("{name} {arguments}: {other}"),
    }
}

/// Another validator, with formats.
fn second_opinion(schema: &Value) -> Validator {
    jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .unwrap_or_else(|error| panic!("{schema}: {error}"))
}

#[test]
fn decoders_and_schemas_accept_the_same() {
    let tools = tools();
    let (mut wrong, mut refuse) = (Vec::new(), Vec::new());
    for tool in tools.iter() {
        let schema = tool.spec().input.neutral();
        let (ours, validator) = (CompiledSchema::compile(schema).unwrap(), second_opinion(schema));
        let (mut accepted, mut refused_more) = (0, None);
        for round in 0..ROUNDS {
            let value = Sampler::new(round).near(schema);
            let arguments = value.to_string();
            // Only ours knows the formats that schemars made up.
            let is_valid = validator.is_valid(&value);
            let is_allowed = is_valid && ours.is_valid(&value);
            match (accepts(&tools, tool.name(), &arguments), is_valid) {
                (Ok(()), false) => wrong.push(format!("{} {arguments}", tool.name())),
                (Err(reason), true) if is_allowed => {
                    refused_more = refused_more.or(Some(format!("{} {arguments}: {reason}", tool.name())));
                }
                (Ok(()), true) => accepted += 1,
                (Err(_), _) => {}
            }
        }
        assert!(accepted > 0, "{} accepts only {accepted} values: {schema}", tool.name());
        refuse.extend(refused_more.map(|example| (tool.name().to_owned(), example)));
    }
    let is_listed = |name: &str| REFUSES_MORE.iter().any(|(listed, _)| *listed == name);
    assert!(wrong.is_empty(), "{} calls run that the schema forbids: {wrong:#?}", wrong.len());
    let unlisted: Vec<_> = refuse.iter().filter(|(name, _)| !is_listed(name)).map(|(_, example)| example).collect();
    assert!(unlisted.is_empty(), "{unlisted:#?}");
    for (listed, _) in REFUSES_MORE {
        assert!(refuse.iter().any(|(name, _)| name == listed), "`{listed}` refuses nothing more");
    }
}

#[test]
fn reported_calls_are_judged_as_their_schemas_say() {
    let tools = tools();
    let forbidden = [
        ("flat_option", json!({"words": "shoes", "least": 1, "most": "50"})),
        ("flat_option", json!({"words": "shoes", "least": 1, "most": 500})),
        ("limited_newtypes", json!({"amount": 200})),
        ("limited_newtypes", json!({"amount": 1, "tip": 6})),
        ("limited_newtypes", json!({"amount": 1, "name": "a"})),
        ("other", json!("Middle")),
        ("other_tagged", json!({"kind": "Middle"})),
        ("aliased", json!({"userName": "a"})),
        ("aliased_variants", json!("colour")),
        ("flat_external", json!({"name": "a", "Heavy": 1, "Light": null})),
        ("internal_closed", json!({"kind": "Nothing", "more": 1})),
        ("default_on_error", json!({"number": "x"})),
        ("skips_errors", json!({"numbers": [1, "x"]})),
        ("jiff_date", json!("2026-11-27T23:30:00")),
        ("chrono_date", json!("2026 - 11 - 27")),
        ("chrono_utc", json!("2026-11-27 10:00:00 UTC")),
        ("chrono_weekday", json!("monday")),
        ("uuid_", json!("{67e55044-10b1-426f-9247-bb680e5fe0c8}")),
        ("uuid_", json!("urn:uuid:67e55044-10b1-426f-9247-bb680e5fe0c8")),
        ("uuid_", json!("67e5504410b1426f9247bb680e5fe0c8")),
        ("map_of_numbers", json!({"4294967296": "a"})),
        ("map_of_bools", json!({"é": 1})),
        ("map_in_tagged", json!({"kind": "ByNumber", "names": {"\u{f8ff}1": "a"}})),
        ("map_in_tagged", json!({"kind": "ByNumber", "names": {"01": "a"}})),
        ("map_flattened", json!({"0": true})),
        ("map_as_variant", json!({"kind": "ByNumber", "1": 2, "a": 3})),
        ("ip", json!("127.0.0.256")),
        ("point", json!([1, 2])),
        ("point", json!({"x": 1, "z": 2})),
        ("flat_struct", json!({"text": "a", "d": 3})),
        ("aliased", json!({"user_name": "a", "usre_name": "b"})),
        ("skipped", json!({"a": 1, "d": 2, "b": 3})),
        ("skipped", json!({"a": 1, "d": 2, "c": 3})),
        ("internal", json!({"kind": "Nothing", "name": "a"})),
        ("internal_newtype", json!({"kind": "At", "x": 1, "z": 2})),
        ("range", json!({"start": 1, "end": 2, "step": 3})),
        ("untagged_structs", json!([1, 2])),
    ];
    for (name, it) in forbidden {
        let arguments = json!({ "it": it }).to_string();
        assert!(accepts(&tools, name, &arguments).is_err(), "{name} {arguments}");
    }
    let near = accepts(&tools, "aliased", r#"{"it":{"user_name":"a","usre_name":"b"}}"#).unwrap_err();
    assert!(near.contains("did you mean `user_name`"), "{near}");
    let allowed = [
        ("flat_option", json!({"words": "shoes"})),
        ("flat_option", json!({"words": "shoes", "least": 1, "most": 50})),
        ("limited_newtypes", json!({"amount": 9, "tip": 5, "name": "ab"})),
        ("other", json!("Low")),
        ("flat_external", json!({"name": "a", "Light": null})),
        ("flat_map", json!({"id": 1, "anything": true})),
        ("internal_newtype", json!({"kind": "Of", "firstName": "a"})),
        ("map_of_numbers", json!({"1": "a", "4294967295": "b"})),
        ("map_of_signed", json!({"-1": 1})),
        ("map_in_tagged", json!({"kind": "ByNumber", "names": {"1": "a", "4294967295": "b"}})),
        ("map_in_untagged", json!({"-128": true, "127": false})),
        ("map_in_flattened", json!({"names": {"255": true}})),
        ("map_in_adjacent", json!({"c": {"1": 2}, "t": "ByNumber"})),
        ("map_in_adjacent", json!({"c": {"texts": {"1": 2}}, "t": "ByText"})),
        ("map_as_variant", json!({"1": 2, "kind": "ByNumber", "255": 1.0})),
        ("map_as_variant", json!({"kind": "ByText", "1": 2, "a": 3, "\u{f8ff}1": 4})),
        ("map_flattened", json!({"name": "a", "1": true})),
        ("map_in_list", json!([{"kind": "Nothing"}, {"kind": "ByNumber", "names": {"1": "a"}}])),
        (
            "maps_in_tagged",
            json!({
                "kind": "All", "texts": {"1": 1, "true": 2, "x": 3}, "numbers": {"7": 1}, "signed": [{"-1": true}, {}],
                "chars": {"1": 1, "é": 2}, "days": {"rest-day": 1},
            }),
        ),
        ("maps_in_tagged", json!({"kind": "Truths", "bools": {"true": {"1": 1}, "false": {}}, "non_zero": {"1": 1}})),
        ("maps_in_tagged", json!({"kind": "Floats", "floats": {"1.5": 1, "-1e3": 2, "7": 3}})),
        ("maps_in_untagged", json!({"by": {"1": 1}})),
        ("maps_in_untagged", json!({"by": {"1": true}})),
        ("maps_in_untagged", json!({"numbers": {"1": 1}, "texts": {"1": 1}})),
        ("widest_in_adjacent", json!({"c": 1, "t": "Id"})),
        ("internal", json!({"kind": "Numbered", "number": 5.0, "unit": "rest-day"})),
        ("jiff_date", json!("2026-11-27")),
        ("jiff_date_time", json!("2026-11-27T23:30:00")),
        ("chrono_time", json!("23:30:00.5")),
        ("chrono_utc", json!("2026-11-27T10:00:00+01:00")),
        ("decimal", json!("12.50")),
        ("version", json!("1.2.3-rc.1+5")),
        ("ip", json!("::1")),
        ("triple", json!([1.0, null, "é"])),
    ];
    for (name, it) in allowed {
        let arguments = json!({ "it": it }).to_string();
        assert_eq!(accepts(&tools, name, &arguments), Ok(()), "{name} {arguments}");
    }
}

/// Let the client name numbers.
#[tool(external, output = MapInTagged)]
#[allow(non_camel_case_types, reason = "a tool's name")]
struct name_numbers {}

/// Let the client count.
#[tool(external, output = u64)]
#[allow(non_camel_case_types, reason = "a tool's name")]
struct count {}

#[test]
fn an_output_of_a_client_is_read_as_its_schema_says() {
    let tools = toolset!(name_numbers, count);
    let names = r#" {"kind":"ByNumber","names":{"1":"a"}} "#;
    assert_eq!(tools.read_external_output("name_numbers", names).unwrap().as_json(), Some(names.trim()));
    assert!(tools.read_external_output("name_numbers", &names.replace("\"1\"", "\"x\"")).is_err());
    assert_eq!(tools.read_external_output("count", "1e2").unwrap().as_json(), Some("100"));
    for wrong in ["1.5", "-1", "null", "1 1"] {
        assert!(tools.read_external_output("count", wrong).is_err(), "{wrong}");
    }
}

/// Return numbers.
#[tool]
fn prices() -> Vec<BigDecimal> {
    ["0.0000001", "12.50", "-1e40", "0", "1e-400"].map(|text| text.parse().unwrap()).to_vec()
}

#[tokio::test]
async fn an_output_fits_its_schema() {
    let tools = toolset!(prices);
    let output = tools.call("prices", "{}", &Context::new("1")).await.unwrap();
    let schema = tools.get("prices").unwrap().spec().output.clone().unwrap();
    let value = serde_json::from_str(output.as_json().unwrap()).unwrap();
    assert!(second_opinion(schema.neutral()).is_valid(&value), "{value}");
    assert!(value.to_string().contains("E-7"), "{value}");
}
