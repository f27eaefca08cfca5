//! `toolBuilder`: a tool given as data, with dynamic parameters. The compatible mode must return the recorded text exactly. Our
//! own mode must agree apart from the differences that `compat` lists.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tool_runtime::Toolset;

use super::{
    case::{check_equal, without_undefined},
    two_modes::{Field, Outcome, TwoModeTool},
};

pub(crate) fn run(case: &Value) -> Result<Vec<&'static str>, String> {
    let tool = read(&without_undefined(case["tool"].clone()))?;
    check(&tool, case)
}

/// Checks `tool` against the calls of a case, or the error of building it.
pub(crate) fn check(tool: &TwoModeTool, case: &Value) -> Result<Vec<&'static str>, String> {
    let (compat, mut differences) = (tool.compat(), differences_of_names(tool));
    let ours = tool.ours();
    if let Some(expected) = case["buildError"].as_str() {
        differences.push("cycle-words");
        return match (compat.err(), ours) {
            (Some(error), Err(_)) if error == expected => Ok(differences),
            (None, _) => Err(format!("expected the error {expected:?}, got a tool")),
            (Some(error), Err(_)) => Err(format!("expected the error {expected:?}, got {error:?}")),
            (Some(_), Ok(_)) => Err("by default: expected an error, got a tool".to_owned()),
        };
    }
    let compat = Toolset::new().with(compat?).map_err(|error| error.to_string())?;
    let ours = match ours {
        Ok(_) if differences.contains(&"names-at-build") => {
            return Err("by default: expected an error, got a tool".to_owned());
        }
        Ok(tool) => Some(Toolset::new().with(tool).map_err(|error| error.to_string())?),
        Err(error) if differences.is_empty() => return Err(format!("by default: {error}")),
        Err(_) => None,
    };
    for (index, call) in case["calls"].as_array().ok_or("no calls")?.iter().enumerate() {
        let input = without_undefined(call["input"].clone());
        let at = |error: String| format!("call {index}: {error}");
        let expected = expected(call).map_err(at)?;
        let (outcome, trace, _) = tool.call(&compat, &input);
        check_recording(call, &expected, &outcome, &trace).map_err(at)?;
        let Some(ours) = &ours else { continue };
        let (outcome, trace, met) = tool.call(ours, &input);
        let of_names = differences.iter().copied().filter(|name| *name == "static-name");
        let met = met.into_iter().chain(of_names).chain(differences_of_input(tool, &input)).collect();
        differences.extend(compare_default(call, &expected, &outcome, &trace, met).map_err(at)?);
    }
    differences.sort_unstable();
    differences.dedup();
    Ok(differences)
}

fn expected(call: &Value) -> Result<Outcome, String> {
    match (call.get("result"), call["error"].as_str()) {
        (Some(result), None) => Ok(Ok(without_undefined(result.clone()))),
        (None, Some(error)) => Ok(Err(error.to_owned())),
        _ => Err("neither a result nor an error is recorded".to_owned()),
    }
}

/// Checks that the compatible mode returned the recorded text.
fn check_recording(call: &Value, expected: &Outcome, outcome: &Outcome, trace: &[Value]) -> Result<(), String> {
    match (expected, outcome) {
        (Ok(expected), Ok(got)) => check_equal(expected, got)?,
        (expected, got) if expected == got => {}
        (expected, got) => return Err(format!("expected {expected:?}, got {got:?}")),
    }
    if let Some(expected) = call.get("trace") {
        check_equal(&without_undefined(expected.clone()), &json!(trace)).map_err(|error| format!("trace: {error}"))?;
    }
    check_executed(call, trace)
}

fn check_executed(call: &Value, trace: &[Value]) -> Result<(), String> {
    let executed = trace.iter().any(|event| event.get("execute").is_some());
    match call["executed"].as_bool() {
        Some(expected) if expected != executed => Err(format!("expected executed: {expected}, got {executed}")),
        _ => Ok(()),
    }
}

/// Compares our own mode with the recording. Returns the differences, which `met` explains.
fn compare_default(
    call: &Value,
    expected: &Outcome,
    outcome: &Outcome,
    trace: &[Value],
    met: Vec<&'static str>,
) -> Result<Vec<&'static str>, String> {
    let keys = |outcome: &Outcome| -> Vec<String> {
        let results = outcome.as_ref().ok().and_then(|answer| answer["validationResults"].as_object());
        results.into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    if outcome == expected && keys(outcome) == keys(expected) {
        check_executed(call, trace).map_err(|error| format!("by default: {error}"))?;
        return Ok(if format!("{outcome:?}") == format!("{expected:?}") { Vec::new() } else { vec!["order-of-keys"] });
    }
    if outcome == expected && keys(expected).iter().any(|name| !is_plain(name)) {
        return Ok(vec!["tie"]);
    }
    if met.is_empty() {
        return Err(format!("by default: expected {expected:?}, got {outcome:?}"));
    }
    Ok(met)
}

fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// Returns the differences that the declaration causes.
pub(crate) fn differences_of_names(tool: &TwoModeTool) -> Vec<&'static str> {
    let mut found = Vec::new();
    let find = |name: &String| tool.fields.iter().find(|field| field.name == *name);
    for requires in tool.fields.iter().filter_map(|field| field.requires.as_ref()) {
        if requires.iter().any(|name| find(name).is_none()) {
            found.push("names-at-build");
        }
        if requires.iter().any(|name| find(name).is_some_and(|field| field.requires.is_none())) {
            found.push("static-name");
        }
        if requires.iter().enumerate().any(|(index, name)| requires[..index].contains(name)) {
            found.push("repeated-name");
        }
    }
    found
}

/// Returns the differences that the arguments cause.
fn differences_of_input(tool: &TwoModeTool, input: &Value) -> Vec<&'static str> {
    let mut found = Vec::new();
    let Some(given) = input.as_object() else { return vec!["schema"] };
    if given.keys().any(|name| tool.fields.iter().all(|field| field.name != *name)) {
        found.push("unknown-name");
    }
    let fits = |field: &Field| match given.get(&field.name) {
        Some(value) => jsonschema::is_valid(&field.schema, value),
        None => field.requires.is_some(),
    };
    if !tool.fields.iter().all(fits) {
        found.push("schema");
    }
    let mut required = tool.fields.iter().filter_map(|field| field.requires.as_ref()).flatten();
    if required.any(|name| ["constructor", "hasOwnProperty", "toString", "valueOf"].contains(&&**name)) {
        found.push("inherited-name");
    }
    found
}

fn read(tool: &Value) -> Result<TwoModeTool, String> {
    let fields = tool["fields"].as_array().ok_or("a tool without fields")?;
    let mut validators = Map::new();
    let mut all = Vec::new();
    for field in fields {
        let name = field["name"].as_str().ok_or("a field without a name")?.to_owned();
        let validator = field.get("validator").filter(|_| field["dynamic"] == true);
        if let Some(validator) = validator {
            validators.insert(name.clone(), validator.clone());
        }
        let requires = field["requires"].as_array().into_iter().flatten();
        let requires = requires.filter_map(Value::as_str).map(str::to_owned).collect();
        all.push(Field { schema: schema(&field["type"]), requires: validator.map(|_| requires), name });
    }
    let judge =
        move |name: &str, value: Option<&Value>, _: &dyn Fn(&str) -> Option<Value>| judge(&validators[name], value);
    let kind = tool["execute"].clone();
    Ok(TwoModeTool::new(all, Arc::new(judge), Arc::new(move |arguments| execute(&kind, &arguments))))
}

fn schema(name: &Value) -> Value {
    match name.as_str() {
        Some(name @ ("string" | "number" | "integer" | "boolean" | "array" | "object" | "null")) => {
            json!({ "type": name })
        }
        Some("int") => json!({ "type": "integer" }),
        _ if name.is_object() => name.clone(),
        _ => json!({}),
    }
}

fn judge(validator: &Value, value: Option<&Value>) -> Result<Value, String> {
    let result = |result: Option<&Value>| {
        let undefined = "Cannot read properties of undefined (reading 'normalizedValue')";
        result.cloned().ok_or_else(|| undefined.to_owned())
    };
    match validator["kind"].as_str() {
        Some("const") => result(validator.get("result")),
        Some("match") => {
            let fits = |case: &&Value| match value {
                Some(value) => case.get("equals") == Some(value),
                None => case["absent"] == true,
            };
            match validator["cases"].as_array().into_iter().flatten().find(fits) {
                Some(case) => result(case.get("result")),
                None => result(validator.get("otherwise")),
            }
        }
        Some("trimUpper") => Ok(match value.and_then(Value::as_str) {
            Some(text) => json!({ "valid": true, "normalizedValue": trim(text).to_uppercase() }),
            None => json!({ "valid": false, "problems": ["required"] }),
        }),
        Some("present") => Ok(match value {
            Some(_) => json!({ "valid": true }),
            None => json!({ "valid": false, "problems": ["required"] }),
        }),
        Some("throw") => Err(validator["message"].as_str().unwrap_or_default().to_owned()),
        other => Err(format!("no such validator: {other:?}")),
    }
}

/// Returns the text without JavaScript's white space around it.
fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}'))
}

fn execute(work: &Value, arguments: &Map<String, Value>) -> Result<Value, String> {
    match work["kind"].as_str() {
        Some("echo") => Ok(json!({ "ok": true, "executedWith": arguments })),
        Some("const") => Ok(work["result"].clone()),
        Some("throw") => Err(work["message"].as_str().unwrap_or_default().to_owned()),
        other => Err(format!("no such work: {other:?}")),
    }
}
