//! Tests of `#[arg(pattern)]`: the schema has the pattern in the notation of JSON Schema, and the decoder agrees with the schema.

use serde_json::json;
use tool_runtime::{Context, tool, toolset};

/// Match patterns in Rust's own notation.
#[tool(allow(undescribed))]
fn matches(
    #[arg(pattern = r"\A[[:alpha:]]+\z")] letters: Option<String>,
    #[arg(pattern = "(?i)^(?P<word>ok|ja)$")] cases: Option<String>,
    #[arg(pattern = r"(?x) ^ \x{41} [a-f--b]? $ # a comment")] comment: Option<String>,
    #[arg(pattern = "^[a-z&&[^aeiou]]+$")] consonants: Option<String>,
    #[arg(pattern = r"^\d{2}$")] digits: Option<String>,
    #[arg(pattern = r"^\pL\-$")] property: Option<String>,
    #[arg(pattern = "(?s)^a.b$")] lines: Option<String>,
    #[arg(pattern = r"^.\b[--A]$")] line: Option<String>,
) -> bool {
    [letters, cases, comment, consonants, digits, property, lines, line].iter().any(Option::is_some)
}

#[tokio::test]
async fn the_schema_has_the_pattern_in_the_notation_of_json_schema() {
    let tools = toolset!(matches);
    let schema = tools.get("matches").unwrap().spec().input.neutral();
    let validator = jsonschema::validator_for(schema).unwrap();
    for (name, published, right, wrong) in [
        ("letters", "^[A-Za-z]+$", &["a", "Zz"][..], &["", "a1", "ä", "a\n"][..]),
        ("cases", "^(?<word>[Oo][Kk]|[Jj][Aa])$", &["ok", "Ok", "JA"], &["o", "o\u{212a}", "okja"]),
        ("comment", r"^\u{41}[ac-f]?$", &["A", "Aa", "Ac"], &["Ab", " A", "a"]),
        ("consonants", "^[b-df-hj-np-tv-z]+$", &["b", "xyz"], &["a", "bad", "B"]),
        ("digits", r"^\d{2}$", &["07"], &["7", "٠٧", "x07"]),
        ("property", r"^\p{L}-$", &["ä-", "A-"], &["1-", "-"]),
        ("lines", r"^a[\s\S]b$", &["a\nb", "axb"], &["ab", "a\nb\n"]),
        ("line", r"^.\b[\-\-A]$", &["a-", "A-"], &["aA", "a."]),
    ] {
        let property = &schema["properties"][name];
        assert_eq!(property["pattern"], published, "{property}");
        for (text, expected) in right.iter().map(|text| (text, true)).chain(wrong.iter().map(|text| (text, false))) {
            let arguments = json!({ name: text });
            assert_eq!(validator.is_valid(&arguments), expected, "{name}: {text:?}");
            let called = tools.call("matches", &arguments.to_string(), &Context::new("c")).await;
            assert_eq!(called.is_ok(), expected, "{name}: {text:?} {called:?}");
        }
    }
}
