//! Arguments, edited one by one.

use serde_json::{Map, Value};

use super::Terminal;
use tool_runtime::feedback::one_line;
use tool_runtime::tool::ToolSpec;

/// How deep objects inside objects are asked for name by name; below, they are typed as JSON. A schema can contain
/// itself.
const DEEPEST: usize = 4;

/// Asks for each parameter; an empty answer keeps what is there. `None` when the input has ended.
pub(super) async fn edit(terminal: &Terminal, spec: &ToolSpec, arguments: &Value) -> Option<Value> {
    let schema = spec.input.neutral();
    terminal.say("  Press Enter to keep what stands in brackets.");
    let mut edited = arguments.as_object().cloned().unwrap_or_default();
    entries(&Questions { terminal, root: schema }, schema, &mut edited, 0).await?;
    Some(Value::Object(edited))
}

/// Asks for a value that `schema` describes; an empty answer keeps what is in `current`. `None` when the input has ended.
pub(super) async fn value(terminal: &Terminal, name: &str, schema: &Value, current: Option<Value>) -> Option<Value> {
    let (questions, resolved) = (Questions { terminal, root: schema }, resolve(schema, schema));
    match current {
        Some(Value::Object(mut object)) if resolved["properties"].is_object() => {
            entries(&questions, resolved, &mut object, 1).await?;
            Some(Value::Object(object))
        }
        current => questions.value(name, schema, current.as_ref(), 0).await,
    }
}

/// Who is asked, and where references lead.
struct Questions<'a> {
    terminal: &'a Terminal,
    root: &'a Value,
}

/// Asks for each entry of an object.
async fn entries(
    questions: &Questions<'_>,
    schema: &Value,
    object: &mut Map<String, Value>,
    depth: usize,
) -> Option<()> {
    let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let current = object.get(name).or_else(|| property.get("default").filter(|_| depth > 0));
        let given = Box::pin(questions.value(name, property, current, depth)).await?;
        // Nothing was typed for what need not be there.
        let empty = given.is_null() || given.as_object().is_some_and(Map::is_empty) && !required(name);
        if !empty || object.contains_key(name) {
            object.insert(name.clone(), given);
        }
    }
    Some(())
}

impl Questions<'_> {
    /// Asks for one value. What is typed is JSON, or a plain text where a text is allowed.
    async fn value(&self, name: &str, schema: &Value, current: Option<&Value>, depth: usize) -> Option<Value> {
        let resolved = resolve(schema, self.root);
        if current.is_none() && resolved["properties"].is_object() && depth < DEEPEST {
            let mut object = Map::new();
            entries(self, resolved, &mut object, depth + 1).await?;
            return Some(Value::Object(object));
        }
        let shown = match current {
            Some(Value::String(text)) => format!(" [{}]", one_line(text)),
            Some(value) => format!(" [{}]", one_line(&value.to_string())),
            None => String::new(),
        };
        let typed = self.terminal.ask(&format!("  {}{shown}: ", one_line(name))).await.ok()??;
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
}

/// The schema that a reference leads to.
fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|path| root.pointer(path.strip_prefix('#')?));
    target.unwrap_or(schema)
}
