//! A server's definition of a tool, sanitized, and the pins of accepted definitions.

use std::collections::BTreeMap;

use rmcp::model::{Tool, ToolAnnotations};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tool_run::{run::Digest, tool::to_valid_name};
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
    pub remote_name: String,
    /// The name in the toolset.
    pub name: String,
    pub digest: Digest,
    tool: Tool,
}

impl Definition {
    /// Checks a definition.
    ///
    /// Fails with the tool's name and a reason when the definition is too large.
    pub fn new(tool: Tool, server: &RemoteServer) -> Result<Self, (String, String)> {
        let remote_name = tool.name.to_string();
        let refuse = |reason: String| Err((shorten_name(&remote_name), reason));
        let Ok(value) = serde_json::to_value(&tool) else { return refuse("it is not JSON".to_owned()) };
        let mut text = String::new();
        write_canonical(&value, &mut text);
        let most = server.limits.definition_bytes;
        if text.len() > most {
            return refuse(format!("its definition has {} bytes, and at most {most} are accepted", text.len()));
        }
        let name = to_valid_name(&format!("{}{remote_name}", server.prefix)).into_owned();
        Ok(Self { digest: Digest::of(text), remote_name, name, tool })
    }

    /// Returns a builder of the tool, without its handler. It contains the texts, and the hints that are trusted.
    pub fn tool_builder(&self, server: &RemoteServer) -> RuntimeToolBuilder {
        let description = escape(self.tool.description.as_deref().unwrap_or_default());
        let mut builder = RuntimeTool::new(&self.name, description)
            .input(escape_texts(Value::Object((*self.tool.input_schema).clone())))
            .origin(format!("MCP server {}", one_line(&server.name)));
        let annotations = self.tool.annotations.as_ref();
        let title = self.tool.title.as_deref().or_else(|| annotations?.title.as_deref());
        if let Some(title) = title {
            builder = builder.title(one_line(title));
        }
        if let Some(output) = &self.tool.output_schema {
            builder = builder.output(escape_texts(Value::Object((**output).clone())));
        }
        let hints = annotations.filter(|_| server.hints);
        let effect = self.effect(server);
        let allowed = server.allowed.contains(&self.remote_name);
        builder = builder.effect(effect).options(|options| {
            options.timeout = Some(server.limits.call);
            options.idempotent = hints.is_some_and(ToolAnnotations::is_idempotent);
            options.open_world = hints.and_then(|hints| hints.open_world_hint).unwrap_or(true);
            options.untrusted = true;
        });
        if allowed || (server.hints && effect == Effect::ReadOnly) { builder } else { builder.require_approval() }
    }

    /// Returns the effect that the server claims, if its hints count.
    pub fn effect(&self, server: &RemoteServer) -> Effect {
        self.tool.annotations.as_ref().filter(|_| server.hints).map_or(Effect::Write, claimed_effect)
    }

    /// Returns the schema of the tool's output, if the server declares one.
    pub fn output_schema(&self) -> Option<Value> {
        Some(Value::Object((**self.tool.output_schema.as_ref()?).clone()))
    }

    /// Returns the definition as JSON on several lines, without deceptive characters, for people who compare it with another.
    pub fn for_people(&self) -> String {
        escape(&serde_json::to_string_pretty(&self.tool).unwrap_or_default())
    }
}

fn claimed_effect(hints: &ToolAnnotations) -> Effect {
    match (hints.read_only_hint, hints.destructive_hint) {
        (Some(true), _) => Effect::ReadOnly,
        (_, Some(false)) => Effect::Write,
        _ => Effect::Destructive,
    }
}

fn shorten_name(name: &str) -> String {
    one_line(&name.chars().take(64).collect::<String>())
}

/// Escapes invisible characters in the texts of a schema that people and models read.
fn escape_texts(schema: Value) -> Value {
    match schema {
        Value::Object(map) => {
            let entry = |(key, value): (String, Value)| match value {
                Value::String(text) if matches!(key.as_str(), "title" | "description" | "$comment") => {
                    (key, Value::String(escape(&text)))
                }
                value => (key, escape_texts(value)),
            };
            Value::Object(map.into_iter().map(entry).collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(escape_texts).collect()),
        leaf => leaf,
    }
}

/// Writes a value with sorted keys, so that equal definitions have equal digests.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            out.push('{');
            for (key, value) in sorted {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(list) => {
            out.push('[');
            for value in list {
                write_canonical(value, out);
                out.push(',');
            }
            out.push(']');
        }
        leaf => out.push_str(&leaf.to_string()),
    }
}

/// Returns a call's arguments as an object.
pub fn arguments_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// The digests of accepted definitions, by the server's names of the tools. A digest covers the whole definition with its texts,
/// because a server could mislead the model by a description. Store the pins with the application's configuration, for example as
/// JSON. Then the client also detects changes that the server made while the program was not running.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pins(BTreeMap<String, Digest>);

impl Pins {
    /// Creates pins that accept all these definitions.
    pub(super) fn of(offered: &[Definition]) -> Self {
        Self(offered.iter().map(|definition| (definition.remote_name.clone(), definition.digest)).collect())
    }

    /// Replaces or removes the pin of a changed tool.
    pub(super) fn accept(&mut self, change: &DefinitionChange) {
        match change.now {
            Some(digest) => drop(self.0.insert(change.tool.clone(), digest)),
            None => drop(self.0.remove(&change.tool)),
        }
    }

    pub(super) fn holds(&self, definition: &Definition) -> bool {
        self.0.get(&definition.remote_name) == Some(&definition.digest)
    }

    /// Returns the differences between the offered and the accepted definitions.
    pub(super) fn changes(&self, offered: &[Definition]) -> Vec<DefinitionChange> {
        let changed = offered.iter().filter(|definition| !self.holds(definition)).map(|definition| DefinitionChange {
            tool: definition.remote_name.clone(),
            is_new: !self.0.contains_key(&definition.remote_name),
            now: Some(definition.digest),
            definition: Some(definition.for_people()),
        });
        let is_offered = |name: &String| offered.iter().any(|definition| definition.remote_name == *name);
        let gone = self.0.keys().filter(|name| !is_offered(name));
        let gone = gone.map(|name| DefinitionChange { tool: name.clone(), is_new: false, now: None, definition: None });
        changed.chain(gone).collect()
    }
}

/// A difference between a tool's definition and its pin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefinitionChange {
    /// The server's name of the tool, which may contain any characters.
    pub tool: String,
    /// Set if the tool had no pin.
    pub is_new: bool,
    /// The digest of the current definition; `None` if the server no longer offers the tool.
    pub now: Option<Digest>,
    /// The whole current definition, for the person who decides, without deceptive characters.
    pub definition: Option<String>,
}
