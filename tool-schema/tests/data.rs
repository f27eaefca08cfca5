//! Tests of the validator with schemas and values from elsewhere. Each test runs only if its data exists.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use tool_schema::schema::CompiledSchema;

/// A case of a schema: a value, and the expected result.
struct Case<'a> {
    valid: bool,
    data: &'a Value,
}

/// The number of cases, and the cases with an unexpected result.
#[derive(Default)]
struct Tally {
    judged: usize,
    refused: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

impl Tally {
    fn add<'a>(&mut self, name: &str, schema: &Value, cases: impl Iterator<Item = Case<'a>>) {
        let validator = match CompiledSchema::compile(schema) {
            Ok(validator) => validator,
            Err(error) => {
                *self.refused.entry(format!("{name}: {error}")).or_default() += cases.count();
                return;
            }
        };
        for case in cases {
            self.judged += 1;
            let fits = validator.is_valid(case.data);
            assert_eq!(validator.problems(case.data, "").is_empty(), fits, "{name} {}", case.data);
            if fits != case.valid {
                self.wrong.push(format!("{name}: {}", case.data));
            }
        }
    }
}

fn cases(tests: &Value) -> impl Iterator<Item = Case<'_>> {
    let tests = tests.as_array().into_iter().flatten();
    tests.map(|test| Case { valid: test["valid"] == true, data: &test["data"] })
}

#[test]
fn real_schemas_of_functions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/schemas");
    let Ok(files) = fs::read_dir(folder) else { return };
    let mut tally = Tally::default();
    for file in files {
        let lines = BufReader::new(GzDecoder::new(File::open(file.unwrap().path()).unwrap())).lines();
        for line in lines {
            let case: Value = serde_json::from_str(&line.unwrap()).unwrap();
            tally.add(case["id"].as_str().unwrap(), &case["schema"], cases(&case["tests"]));
        }
    }
    assert!(tally.judged > 3_900, "{}", tally.judged);
    assert!(tally.refused.is_empty() && tally.wrong.is_empty(), "{:#?} {:#?}", tally.refused, tally.wrong);
}

/// The cases whose result differs from the suite on purpose.
const EXCEPTIONS: [&str; 2] = [
    // `serde_json` reads such a number as an `f64`, which is not an integer in draft 4.
    "optional/bignum: integer: ",
    // An unknown `$schema` is read as 2020-12, with a warning.
    "/vocabulary: schema that uses custom metaschema",
];

/// `JSON_SCHEMA_SUITE` is the folder `tests` of the JSON Schema test suite, as `scripts/json-schema-suite` gets it.
#[test]
fn json_schema_test_suite() {
    let Some(suite) = std::env::var_os("JSON_SCHEMA_SUITE").map(PathBuf::from) else { return };
    for (folder, draft) in [
        ("draft4", "http://json-schema.org/draft-04/schema#"),
        ("draft6", "http://json-schema.org/draft-06/schema#"),
        ("draft7", "http://json-schema.org/draft-07/schema#"),
        ("draft2019-09", "https://json-schema.org/draft/2019-09/schema"),
        ("draft2020-12", "https://json-schema.org/draft/2020-12/schema"),
    ] {
        let mut tally = Tally::default();
        for inner in ["", "optional", "optional/format"] {
            let Ok(files) = fs::read_dir(suite.join(folder).join(inner)) else { continue };
            let files = files.map(|file| file.unwrap().path());
            for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "json")) {
                let name = file.file_stem().unwrap().to_string_lossy().into_owned();
                // This file expects that formats are not checked.
                if inner.is_empty() && name == "format" {
                    continue;
                }
                let groups: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
                for mut group in groups.as_array().unwrap().clone() {
                    let mut schema = group["schema"].take();
                    if let Some(map) = schema.as_object_mut() {
                        map.entry("$schema").or_insert_with(|| json!(draft));
                    }
                    let name = format!("{inner}/{name}: {}", group["description"].as_str().unwrap());
                    tally.add(&name, &schema, cases(&group["tests"]));
                }
            }
        }
        tally.wrong.retain(|wrong| !EXCEPTIONS.iter().any(|exception| wrong.starts_with(exception)));
        assert!(tally.judged > 750, "{folder}: {}", tally.judged);
        assert!(tally.wrong.is_empty(), "{folder}: {:#?}", tally.wrong);
        for reason in tally.refused.keys() {
            let is_foreign = reason.contains("needs the feature `jsonschema`") && !cfg!(feature = "jsonschema");
            assert!(is_foreign || reason.contains("a reference has no target"), "{folder}: {reason}");
        }
    }
}
