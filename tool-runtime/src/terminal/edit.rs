//! Arguments, edited one by one.

use serde_json::{Map, Value};

use super::{Terminal, escape};
use crate::tool::ToolSpec;

/// Asks for each parameter; an empty answer keeps what is there. `None` when the input has ended.
pub(super) async fn edit(terminal: &Terminal, spec: &ToolSpec, arguments: &Value) -> Option<Value> {
    let schema = spec.input.neutral();
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let mut edited = arguments.as_object().cloned().unwrap_or_default();
    for (name, property) in properties {
        match value(terminal, name, property, schema, edited.get(name)).await? {
            Value::Null if !edited.contains_key(name) => {}
            value => {
                edited.insert(name.clone(), value);
            }
        }
    }
    Some(Value::Object(edited))
}

/// Asks for one value. What is typed is JSON, or a plain text where a text is allowed.
pub(super) async fn value(
    terminal: &Terminal,
    name: &str,
    schema: &Value,
    root: &Value,
    current: Option<&Value>,
) -> Option<Value> {
    let resolved = resolve(schema, root);
    if let (None, Some(properties)) = (current, resolved["properties"].as_object()) {
        let mut object = Map::new();
        for (name, property) in properties {
            let value = Box::pin(value(terminal, name, property, root, property.get("default"))).await?;
            if value != Value::Null {
                object.insert(name.clone(), value);
            }
        }
        return Some(Value::Object(object));
    }
    let shown = match current {
        Some(Value::String(text)) => format!(" [{}]", escape(text)),
        Some(value) => format!(" [{}]", escape(&value.to_string())),
        None => String::new(),
    };
    let typed = terminal.ask(&format!("  {}{shown}: ", escape(name))).await.ok()??;
    let typed = typed.trim();
    if typed.is_empty() {
        return Some(current.cloned().unwrap_or_default());
    }
    Some(match (resolved["type"].as_str(), typed) {
        (Some("string"), _) => Value::from(typed.trim_matches('"')),
        (Some("boolean"), "y" | "yes") => Value::Bool(true),
        (Some("boolean"), "n" | "no") => Value::Bool(false),
        _ => serde_json::from_str(typed).unwrap_or_else(|_| Value::from(typed)),
    })
}

/// The schema that a reference leads to.
fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|path| root.pointer(path.strip_prefix('#')?));
    target.unwrap_or(schema)
}
