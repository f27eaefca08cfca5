//! Lowered schemas under construction.

use serde_json::{Map, Value, json};

pub(super) type Node = Map<String, Value>;

/// A schema of that type.
pub(super) fn typed(kind: &str) -> Node {
    let mut node = Node::new();
    node.insert("type".to_owned(), kind.into());
    node
}

/// `node`, or null. Where there is a type, null joins it: not every reader takes `{"type": "null"}` alone, though OpenAI
/// documents it beside a reference.
pub(super) fn nullable(mut node: Node) -> Node {
    if let Some(Value::Array(members)) = node.get_mut("anyOf") {
        join_null(members);
        return node;
    }
    let Some(Value::String(kind)) = node.get("type") else {
        if node.get("type").is_some_and(Value::is_array) {
            return node;
        }
        let mut outer = Node::new();
        if let Some(description) = node.shift_remove("description") {
            outer.insert("description".to_owned(), description);
        }
        outer.insert("anyOf".to_owned(), json!([node, {"type": "null"}]));
        return outer;
    };
    if kind == "null" {
        return node;
    }
    let kinds = json!([kind, "null"]);
    node.insert("type".to_owned(), kinds);
    if let Some(only) = node.shift_remove("const") {
        node.insert("enum".to_owned(), json!([only, null]));
    } else if let Some(Value::Array(values)) = node.get_mut("enum") {
        values.push(Value::Null);
    }
    node
}

fn join_null(members: &mut Vec<Value>) {
    let kind = |member: &Value| member.get("type").and_then(Value::as_str).map(str::to_owned);
    if members.iter().any(|member| member.get("type").is_some_and(|kind| kind == "null" || kind.is_array())) {
        return;
    }
    let is_scalar = |member: &Value| kind(member).is_some_and(|kind| kind != "object" && kind != "array");
    let place = members.iter().position(is_scalar).or_else(|| members.iter().position(|member| kind(member).is_some()));
    match place.map(|place| &mut members[place]) {
        Some(Value::Object(member)) => *member = nullable(std::mem::take(member)),
        _ => members.push(json!({"type": "null"})),
    }
}
