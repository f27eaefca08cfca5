//! Prints the schemas of tools as lists for models have them, one tool a line, for `scripts/grammars`:
//! `{"tool", "exact", "forms": {"portable", "openai_strict", "anthropic_strict"}}`.
//!
//! The tools are those of the fixtures. With the argument `-`, they are read from stdin instead: a JSON Schema on each line, or an
//! object with the members `name` and `inputSchema`. A strict form that cannot express a schema is `null`.

use std::io::{BufRead as _, Write as _};

use serde_json::{Value, json};
use tool_runtime::schema::{Dialect, Schema, Severity};
use tool_test_fixtures::{declared, shapes};

fn main() {
    let mut out = std::io::stdout().lock();
    let mut print = |name: &str, schema: &Schema| {
        let forms = json!({
            "portable": form(schema, Dialect::Portable),
            "openai_strict": form(schema, Dialect::OpenAiStrict),
            "anthropic_strict": form(schema, Dialect::Anthropic),
        });
        let exact = form(schema, Dialect::JsonSchema2020);
        writeln!(out, "{}", json!({ "tool": name, "exact": exact, "forms": forms })).expect("stdout is open");
    };
    if std::env::args().nth(1).as_deref() == Some("-") {
        for (number, line) in std::io::stdin().lock().lines().enumerate() {
            let value: Value = serde_json::from_str(&line.expect("a line of UTF-8")).expect("a line of JSON");
            let schema = value.get("inputSchema").unwrap_or(&value).clone();
            print(value["name"].as_str().unwrap_or(&format!("line {}", number + 1)), &Schema::new(schema));
        }
        return;
    }
    for tools in [shapes::tools(), declared::tools()] {
        for tool in tools.iter() {
            print(tool.name(), &tool.spec().input);
        }
    }
}

/// Returns a form of the schema, or null if the dialect cannot express it.
fn form(schema: &Schema, dialect: Dialect) -> Value {
    let lowered = schema.lowered(dialect);
    let is_strict = matches!(dialect, Dialect::OpenAiStrict | Dialect::Anthropic);
    if is_strict && lowered.worst() >= Some(Severity::Inexpressible) {
        return Value::Null;
    }
    serde_json::from_str(lowered.json().get()).unwrap_or_default()
}
