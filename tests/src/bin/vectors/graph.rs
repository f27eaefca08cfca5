//! `graph`: cycles among parameters, and the order in which they are validated. `buildContext`: the context of a validator.

use std::sync::Arc;

use serde_json::{Value, json};
use tool_runtime::Toolset;
use tool_schema::feedback;

use super::{
    builder::differences_of_names,
    case::{check_equal, without_undefined},
    compat,
    two_modes::{Field, TwoModeTool},
};

pub(crate) fn run(case: &Value) -> Result<Vec<&'static str>, String> {
    let requires = case["requires"].as_object().ok_or("no graph")?;
    let graph: Vec<(&str, Vec<String>)> = requires.iter().map(|(name, required)| (&**name, texts(required))).collect();
    let graph: Vec<(&str, &[String])> = graph.iter().map(|(name, required)| (*name, &**required)).collect();
    if let Some(expected) = case.get("cycles") {
        check_equal(expected, &json!(compat::cycles(&graph))).map_err(|error| format!("cycles: {error}"))?;
    }
    let order = compat::order(&graph).map(|order| order.into_iter().map(|index| graph[index].0).collect::<Vec<_>>());
    match (case.get("toposort"), case["toposortError"].as_str(), &order) {
        (Some(expected), None, Some(order)) => {
            check_equal(expected, &json!(order)).map_err(|error| format!("order: {error}"))?;
        }
        (None, Some(compat::NO_ORDER), None) | (None, None, _) => {}
        (expected, error, order) => return Err(format!("expected {expected:?} or {error:?}, got {order:?}")),
    }
    let tool = tool(&graph);
    let mut differences = differences_of_names(&tool);
    let error = tool.compat().err();
    let expected = case["validateToolSpecError"].as_str();
    if case.get("validateToolSpec").is_some() && error.is_some() || expected.is_some() && error.as_deref() != expected {
        return Err(format!("building: expected the error {expected:?}, got {error:?}"));
    }
    match (tool.ours(), order) {
        (Ok(ours), Some(order)) => {
            let ours = Toolset::new().with(ours).map_err(|error| error.to_string())?;
            let (answer, ..) = tool.call(&ours, &json!({}));
            let results = answer?["validationResults"].take();
            let asked: Vec<&String> = results.as_object().into_iter().flatten().map(|(name, _)| name).collect();
            if !order.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_lowercase())) {
                differences.push("tie");
            } else if asked != order {
                return Err(format!("by default: expected {order:?}, got {asked:?}"));
            }
        }
        (Err(ours), _) if error.is_some() => {
            check_cycles(&compat::cycles(&graph), &ours)?;
            differences.push("cycle-words");
        }
        (Err(_), _) if !differences.is_empty() => {}
        (Err(error), _) => return Err(format!("by default: {error}")),
        (Ok(_), None) => return Err("by default: expected an error, got a tool".to_owned()),
    }
    Ok(differences)
}

/// Fails if the error of our own mode names other cycles than the compatible mode.
fn check_cycles(cycles: &[Vec<String>], error: &str) -> Result<(), String> {
    let Some(found) = error.strip_prefix("parameters wait for each other: ") else { return Ok(()) };
    let quoted = |cycle: &Vec<String>| -> Vec<String> {
        cycle.iter().chain(cycle.first()).map(|name| feedback::quote_name(name)).collect()
    };
    let expected: Vec<String> = cycles.iter().map(|cycle| quoted(cycle).join(" -> ")).collect();
    let expected = expected.join("; ");
    if found == expected { Ok(()) } else { Err(format!("by default: expected the cycles {expected}, got {found}")) }
}

/// Returns a tool whose parameters refuse everything.
fn tool(graph: &[(&str, &[String])]) -> TwoModeTool {
    let field = |(name, requires): &(&str, &[String])| Field {
        name: (*name).to_owned(),
        schema: json!({}),
        requires: Some(requires.to_vec()),
    };
    let judge = |_: &str, _: Option<&Value>, _: &dyn Fn(&str) -> Option<Value>| {
        Ok(json!({ "valid": false, "problems": ["required"] }))
    };
    TwoModeTool::new(graph.iter().map(field).collect(), Arc::new(judge), Arc::new(|_| Ok(json!({ "ok": true }))))
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

pub(crate) fn context(case: &Value) -> Result<(), String> {
    let case = without_undefined(case.clone());
    let (field, dynamic) = (case["field"].as_str().ok_or("no field")?, texts(&case["dynamicSet"]));
    let valid = case["validFields"].as_object().ok_or("no fields")?;
    let is_dynamic = |name: &str| dynamic.iter().any(|dynamic| dynamic == name);
    let got = match compat::context(field, &texts(&case["requires"]), valid, is_dynamic) {
        Ok(context) => json!({ "success": true, "context": context }),
        Err(missing) => json!({ "success": false, "missingRequirements": missing }),
    };
    check_equal(&case["result"], &got)
}
