//! A server's definition of a tool, sanitized, and the pins of accepted definitions.

use std::collections::BTreeMap;

use rmcp::model::ToolAnnotations;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tool_run::{run::Digest, tool::to_valid_name};
use tool_runtime::{
    Effect,
    feedback::{escape, one_line},
    schema::CompiledSchema,
    toolset::{RuntimeTool, RuntimeToolBuilder},
};
use tool_schema::schema::remove_invalid_keywords;

use super::{RemoteServer, connection::ListedTool};
use crate::mcp::message::read_object;

/// A server's current definition of a tool.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The server's name of the tool.
    pub remote_name: String,
    /// The name in the toolset.
    pub name: String,
    /// The digest of the definition as it came.
    pub digest: Digest,
    /// The parts of the definition that are left out, with the reasons.
    pub left_out: Vec<(String, String)>,
    /// The definition as it came.
    whole: Map<String, Value>,
    input: Value,
    output: Option<Value>,
    hints: ToolAnnotations,
}

impl Definition {
    /// Checks a definition. `position` is its place in the list, from 1.
    ///
    /// Fails with the tool's name and a reason when the definition is too large, or lacks a name or a schema.
    pub fn new(tool: &ListedTool, position: usize, server: &RemoteServer) -> Result<Self, (String, String)> {
        let text = tool.definition.get();
        let shown_name = read_name(text).map_or_else(|| format!("(number {position})"), |name| shorten_name(&name));
        let refuse = |reason: String| Err((shown_name.clone(), reason));
        let most = server.limits.definition_bytes;
        if text.len() > most {
            return refuse(format!("its definition has {} bytes, and at most {most} are accepted", text.len()));
        }
        let mut whole = match serde_json::from_str(text) {
            Ok(Value::Object(whole)) => whole,
            Ok(_) => return refuse("its definition is no object".to_owned()),
            Err(error) => return refuse(format!("its definition cannot be read: {error}")),
        };
        // A member that is `null` counts as missing.
        whole.retain(|_, value| !value.is_null());
        let Some(Value::String(remote_name)) = whole.get("name").cloned() else {
            return refuse("it has no name".to_owned());
        };
        if whole.get("execution").and_then(|execution| execution.get("taskSupport")) == Some(&"required".into()) {
            return refuse("it only runs as a task of MCP, which this client does not support".to_owned());
        }
        let mut input = match whole.get("inputSchema") {
            Some(input @ Value::Object(_)) => input.clone(),
            Some(_) => return refuse("its `inputSchema` is no object".to_owned()),
            None => return refuse("it has no `inputSchema`".to_owned()),
        };
        if tool.is_refused {
            return refuse("its schema has an invalid `x-mcp-header`".to_owned());
        }
        let mut left_out = Vec::new();
        clean_schema("/inputSchema", &mut input, &mut left_out);
        let output = match whole.get("outputSchema") {
            Some(Value::Object(output)) => {
                let mut output = Value::Object(output.clone());
                clean_schema("/outputSchema", &mut output, &mut left_out);
                Some(output)
            }
            Some(_) => {
                left_out.push(("/outputSchema".to_owned(), "it is no object".to_owned()));
                None
            }
            None => None,
        };
        for name in ["title", "description"] {
            if whole.get(name).is_some_and(|text| !text.is_string()) {
                left_out.push((format!("/{name}"), "it is no text".to_owned()));
            }
        }
        let hints = read_hints(whole.get("annotations"), &mut left_out);
        let mut text = String::new();
        write_canonical(&Value::Object(whole.clone()), &mut text);
        let name = to_valid_name(&format!("{}{remote_name}", server.prefix)).into_owned();
        Ok(Self { remote_name, name, digest: Digest::of(text), left_out, whole, input, output, hints })
    }

    /// Returns a builder of the tool, without its handler. It contains the texts, and the hints that are trusted.
    pub fn tool_builder(&self, server: &RemoteServer) -> RuntimeToolBuilder {
        let description = escape(self.text("description").unwrap_or_default());
        let mut builder = RuntimeTool::new(&self.name, description)
            .input(escape_texts(self.input.clone()))
            .origin(self.origin(&server.name));
        if let Some(title) = self.text("title").or(self.hints.title.as_deref()) {
            builder = builder.title(one_line(title));
        }
        if let Some(output) = &self.output {
            builder = builder.output(escape_texts(output.clone()));
        }
        let effect = self.effect(server);
        let allowed = server.allowed.contains(&self.remote_name);
        builder = builder.effect(effect).options(|options| {
            options.idempotent = server.hints && self.hints.is_idempotent();
            options.open_world = !server.hints || self.hints.open_world_hint.unwrap_or(true);
            options.untrusted = true;
        });
        if allowed || (server.hints && effect == Effect::ReadOnly) { builder } else { builder.require_approval() }
    }

    /// Returns the effect that the server claims, if its hints count.
    pub fn effect(&self, server: &RemoteServer) -> Effect {
        if server.hints { self.claimed_effect() } else { Effect::Write }
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.whole.get(name)?.as_str()
    }

    /// Returns the text that names the server to the person who approves a call, and the parts of the definition that are missing.
    fn origin(&self, server: &str) -> String {
        let mut origin = format!("MCP server {}", one_line(server));
        if self.left_out.is_empty() {
            return origin;
        }
        let places: Vec<String> = self.left_out.iter().take(MAX_SHOWN).map(|(place, _)| shorten_name(place)).collect();
        origin.push_str(", without the invalid parts of its definition: ");
        origin.push_str(&places.join(", "));
        if self.left_out.len() > MAX_SHOWN {
            origin.push_str(", …");
        }
        origin
    }

    /// Returns the effect that the server claims. A tool that lost a part of its definition is not read-only: the part may have
    /// restricted what the tool does.
    fn claimed_effect(&self) -> Effect {
        match (self.hints.read_only_hint, self.hints.destructive_hint) {
            (Some(true), _) if self.left_out.is_empty() => Effect::ReadOnly,
            (_, Some(false)) => Effect::Write,
            _ => Effect::Destructive,
        }
    }

    /// Returns the schema of the tool's output, if the server declares one.
    pub fn output_schema(&self) -> Option<&Value> {
        self.output.as_ref()
    }

    /// Returns the definition as JSON on several lines, without deceptive characters, for people who compare it with another.
    pub fn for_people(&self) -> String {
        escape(&serde_json::to_string_pretty(&self.whole).unwrap_or_default())
    }
}

/// The maximum number of missing parts that an approval names.
const MAX_SHOWN: usize = 3;

/// Returns the name in a definition, which may be nested too deep to be read as a whole.
fn read_name(definition: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let named: Named = read_object(definition)?;
    Some(named.name)
}

/// Removes the invalid keywords of the schema at `at`, and checks whether the rest can be used.
fn clean_schema(at: &str, schema: &mut Value, left_out: &mut Vec<(String, String)>) {
    let removed = remove_invalid_keywords(schema);
    left_out.extend(removed.into_iter().map(|keyword| (format!("{at}{}", keyword.place), keyword.reason)));
    if let Err(error) = CompiledSchema::compile(schema) {
        left_out.push((at.to_owned(), error.to_string()));
    }
}

/// Reads the hints. One that is not of the protocol is left out.
fn read_hints(annotations: Option<&Value>, left_out: &mut Vec<(String, String)>) -> ToolAnnotations {
    let Some(annotations) = annotations else { return ToolAnnotations::default() };
    let Value::Object(given) = annotations else {
        left_out.push(("/annotations".to_owned(), "they are no object".to_owned()));
        return ToolAnnotations::default();
    };
    let mut flag = |name: &str| match given.get(name) {
        None | Some(Value::Null) => None,
        Some(Value::Bool(flag)) => Some(*flag),
        Some(_) => {
            left_out.push((format!("/annotations/{name}"), "it is neither true nor false".to_owned()));
            None
        }
    };
    let (reads, destroys) = (flag("readOnlyHint"), flag("destructiveHint"));
    let (idempotent, open) = (flag("idempotentHint"), flag("openWorldHint"));
    let title = given.get("title").and_then(Value::as_str).map(str::to_owned);
    ToolAnnotations::from_raw(title, reads, destroys, idempotent, open)
}

/// Returns the beginning of a text of the server, on one line.
pub fn shorten_name(name: &str) -> String {
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
