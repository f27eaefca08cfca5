//! A server's definition of a tool, sanitized, and the pins of accepted definitions.

use std::collections::BTreeMap;

use rmcp::model::{Tool, ToolAnnotations};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tool_run::run::Digest;
use tool_runtime::{
    Effect,
    feedback::{escape, one_line},
    toolset::{RuntimeTool, RuntimeToolBuilder},
};

use super::RemoteServer;

/// A server's current definition of a tool.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The server's name of the tool.
    pub remote: String,
    /// The name in the toolset.
    pub name: String,
    pub digest: Digest,
    tool: Tool,
}

impl Definition {
    /// Checks a definition.
    ///
    /// Fails with the tool's name and a reason when the definition is too large, or when a toolset cannot contain the name.
    pub fn new(tool: Tool, server: &RemoteServer) -> Result<Self, (String, String)> {
        let remote = tool.name.to_string();
        let refuse = |reason: String| Err((shortened(&remote), reason));
        let Ok(value) = serde_json::to_value(&tool) else { return refuse("it is not JSON".to_owned()) };
        let mut text = String::new();
        canonical(&value, &mut text);
        let most = server.limits.definition_bytes;
        if text.len() > most {
            return refuse(format!("its definition has {} bytes, and {most} are taken", text.len()));
        }
        let name = format!("{}{}", server.prefix, named(&remote));
        if let Err(error) = tool_runtime::toolset::check_name(&name) {
            return refuse(error.to_string());
        }
        Ok(Self { digest: Digest::of(text), remote, name, tool })
    }

    /// Returns a builder of the tool, without its handler. It contains the texts, and the hints that are trusted.
    pub fn tool(&self, server: &RemoteServer) -> RuntimeToolBuilder {
        let description = escape(self.tool.description.as_deref().unwrap_or_default());
        let mut builder = RuntimeTool::new(&self.name, description)
            .input(readable(Value::Object((*self.tool.input_schema).clone())))
            .origin(format!("MCP server {}", one_line(&server.name)));
        let annotations = self.tool.annotations.as_ref();
        let title = self.tool.title.as_deref().or_else(|| annotations?.title.as_deref());
        if let Some(title) = title {
            builder = builder.title(one_line(title));
        }
        if let Some(output) = &self.tool.output_schema {
            builder = builder.output(readable(Value::Object((**output).clone())));
        }
        let hints = annotations.filter(|_| server.hints);
        let effect = hints.map_or(Effect::Write, effect);
        let allowed = server.allowed.contains(&self.remote);
        builder = builder.effect(effect).options(|options| {
            options.timeout = Some(server.limits.call);
            options.idempotent = hints.is_some_and(ToolAnnotations::is_idempotent);
            options.open_world = hints.and_then(|hints| hints.open_world_hint).unwrap_or(true);
            options.untrusted = true;
        });
        if allowed || (server.hints && effect == Effect::ReadOnly) { builder } else { builder.approval() }
    }

    /// Returns the schema of its output.
    pub fn output(&self) -> Option<Value> {
        Some(Value::Object((**self.tool.output_schema.as_ref()?).clone()))
    }

    /// Returns the definition for people who compare it with another: JSON on several lines, without deceptive characters.
    pub fn shown(&self) -> String {
        escape(&serde_json::to_string_pretty(&self.tool).unwrap_or_default())
    }
}

/// Returns the effect that a server's hints claim.
fn effect(hints: &ToolAnnotations) -> Effect {
    match (hints.read_only_hint, hints.destructive_hint) {
        (Some(true), _) => Effect::ReadOnly,
        (_, Some(false)) => Effect::Write,
        _ => Effect::Destructive,
    }
}

/// Replaces the characters that a tool's name cannot have by `_`.
fn named(remote: &str) -> String {
    remote.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

fn shortened(name: &str) -> String {
    one_line(&name.chars().take(64).collect::<String>())
}

/// Escapes invisible characters in a schema's texts for people and models.
fn readable(schema: Value) -> Value {
    match schema {
        Value::Object(map) => {
            let entry = |(key, value): (String, Value)| match value {
                Value::String(text) if matches!(key.as_str(), "title" | "description" | "$comment") => {
                    (key, Value::String(escape(&text)))
                }
                value => (key, readable(value)),
            };
            Value::Object(map.into_iter().map(entry).collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(readable).collect()),
        leaf => leaf,
    }
}

/// Writes a value with sorted keys, so that equal definitions have equal digests.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            out.push('{');
            for (key, value) in sorted {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(list) => {
            out.push('[');
            for value in list {
                canonical(value, out);
                out.push(',');
            }
            out.push(']');
        }
        leaf => out.push_str(&leaf.to_string()),
    }
}

/// Returns a call's arguments as an object.
pub fn arguments(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// The digests of accepted definitions, by the server's names of the tools. A digest covers the whole definition with its texts,
/// because a server could mislead the model by a description. Store the pins with the application's configuration, for example as
/// JSON. Then the client also detects changes that were made while the program was not running.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pins(BTreeMap<String, Digest>);

impl Pins {
    /// Creates pins that accept all these definitions.
    pub(super) fn of(offered: &[Definition]) -> Self {
        Self(offered.iter().map(|definition| (definition.remote.clone(), definition.digest)).collect())
    }

    pub(super) fn accept(&mut self, change: &Change) {
        match change.now {
            Some(digest) => drop(self.0.insert(change.tool.clone(), digest)),
            None => drop(self.0.remove(&change.tool)),
        }
    }

    pub(super) fn holds(&self, definition: &Definition) -> bool {
        self.0.get(&definition.remote) == Some(&definition.digest)
    }

    /// Returns the differences between the offered and the accepted definitions.
    pub(super) fn changes(&self, offered: &[Definition]) -> Vec<Change> {
        let changed = offered.iter().filter(|definition| !self.holds(definition)).map(|definition| Change {
            tool: definition.remote.clone(),
            is_new: !self.0.contains_key(&definition.remote),
            now: Some(definition.digest),
            definition: Some(definition.shown()),
        });
        let is_offered = |name: &String| offered.iter().any(|definition| definition.remote == *name);
        let gone = self.0.keys().filter(|name| !is_offered(name));
        let gone = gone.map(|name| Change { tool: name.clone(), is_new: false, now: None, definition: None });
        changed.chain(gone).collect()
    }
}

/// A difference between a tool's definition and its pin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The server's name of the tool, which may contain any characters.
    pub tool: String,
    /// Set if the tool had no pin.
    pub is_new: bool,
    /// The digest of the current definition; `None` if the server no longer offers the tool.
    pub now: Option<Digest>,
    /// The whole current definition, for the person who decides, without deceptive characters.
    pub definition: Option<String>,
}
