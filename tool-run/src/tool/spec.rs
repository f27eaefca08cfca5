//! The specification of a tool: everything that is known without running it.

use std::{collections::HashMap, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Fingerprint;
use crate::feedback::{Rejection, explain_syntax_error};
use crate::json::text;
use crate::schema::{Dialect, ReadText, Schema, read_values};

/// The specification of a tool: everything that a model, a person and the runtime need to decide about a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name that the model calls: `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// The description of the tool, for the model.
    pub description: String,
    /// The schema of the arguments. Those of a declared tool are an object.
    pub input: Arc<Schema>,
    /// The schema of the output, if it has a JSON form.
    pub output: Option<Arc<Schema>>,
    /// The flags and limits of the declaration.
    pub options: ToolOptions,
}

impl ToolSpec {
    /// Creates a spec without title, output schema and options, for tools that no macro declares.
    pub fn new(name: impl Into<String>, description: impl Into<String>, input: Schema) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: description.into(),
            input: Arc::new(input),
            output: None,
            options: ToolOptions::default(),
        }
    }

    /// Returns whether frontends must not show the tool's calls: `meta(hidden = true)`.
    pub fn is_hidden(&self) -> bool {
        self.options.meta.get("hidden") == Some(&true.into())
    }

    /// Returns the arguments with the declared defaults filled in, in the schema's order. A person sees the call in this
    /// form.
    ///
    /// Fails if the arguments are not a JSON object, unless the schema takes other values, or are nested 128 levels deep. Empty text
    /// means `{}`.
    pub fn fill_defaults(&self, arguments: &str) -> Result<Value, Rejection> {
        let wraps = self.input.lowered(Dialect::Portable).wraps();
        let arguments = written(arguments, wraps);
        let syntax_error = |error| Rejection::one(explain_syntax_error(arguments, &error));
        if wraps {
            return serde_json::from_str(arguments).map_err(syntax_error);
        }
        let mut given: Map<String, Value> = serde_json::from_str(arguments).map_err(syntax_error)?;
        let mut all = Map::new();
        for (name, schema) in self.input.neutral()["properties"].as_object().into_iter().flatten() {
            if let Some(value) = given.shift_remove(name).or_else(|| schema.get("default").cloned()) {
                all.insert(name.clone(), value);
            }
        }
        all.extend(given);
        Ok(Value::Object(all))
    }

    /// Returns the arguments of [`ToolSpec::fill_defaults`] as pairs of name and JSON text. Given arguments keep their own
    /// text, with all the digits that a [`Value`] would round. Each text is one line. Arguments of a tool that takes more than
    /// objects are one pair, as the model wrote them.
    ///
    /// Fails in the same cases as [`ToolSpec::fill_defaults`].
    pub fn argument_texts(&self, arguments: &str) -> Result<Vec<(String, String)>, Rejection> {
        let all = self.fill_defaults(arguments)?;
        let portable = self.input.lowered(Dialect::Portable);
        if portable.wraps() {
            return Ok(text::entries(&portable.wrap(written(arguments, true))));
        }
        let mut given: HashMap<String, String> = text::entries(arguments).into_iter().collect();
        let text =
            |(name, value): (&String, &Value)| (name.clone(), given.remove(name).unwrap_or_else(|| value.to_string()));
        Ok(all.as_object().into_iter().flatten().map(text).collect())
    }

    /// Returns the arguments of a call with the values that the model sent in another form, as [`ToolOptions::lenient`] allows. Returns
    /// `None` if nothing is read.
    ///
    /// Nothing is read for a tool of another program, or of a schema that is not that of a declared type.
    pub fn read_values(&self, arguments: &str) -> Option<ReadText> {
        let may_read = self.options.lenient && self.options.origin.is_none() && self.input.is_declared();
        if may_read { read_values(self.input.neutral(), arguments) } else { None }
    }

    /// Returns the digest of the parts of this definition that matter to waiting calls.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self)
    }

    /// Returns [`ToolOptions::challenge`] with the arguments in place of `{parameter}`, or `None` if the tool has no challenge.
    /// [`ToolSpec::argument_texts`] returns the arguments.
    ///
    /// Arguments are written as JSON, so that none can pretend to be part of the question.
    pub fn challenge(&self, argument_texts: &[(String, String)]) -> Option<String> {
        let mut text = String::new();
        let mut rest = self.options.challenge.as_deref()?;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, behind)) = after.split_once('}') else { break };
            text.push_str(before);
            let value = argument_texts.iter().find(|(given, _)| given == name);
            text.push_str(value.map_or("(not given)", |(_, value)| value));
            rest = behind;
        }
        text.push_str(rest);
        Some(text)
    }
}

/// Returns the arguments that a text means: an object without members for a blank one, and for null where null is no argument.
fn written(arguments: &str, takes_null: bool) -> &str {
    let arguments = if takes_null { arguments } else { text::without_null(arguments) };
    if text::is_blank(arguments) { "{}" } else { arguments }
}

/// The flags and limits of a tool's declaration.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolOptions {
    /// The tool's effect on the world.
    pub effect: Effect,
    /// Set if two identical calls have the same effect as one.
    pub idempotent: bool,
    /// Set if the tool deals with things outside the application, such as the web.
    pub open_world: bool,
    /// The condition under which a person must approve a call.
    pub approval: Approval,
    /// Set if something outside this program executes the call: a browser, a terminal, a person.
    pub external: bool,
    /// The longest time that a call may take.
    pub timeout: Option<Duration>,
    /// The number of times that a failed call may be retried.
    pub retries: u32,
    /// Set if durable steps (`Context::step`) hold everything that must not happen twice. If the process of a call dies,
    /// another process starts the call again, and does not repeat its recorded steps. If the process died during a step, and
    /// the tool is not safe to repeat, a person is asked for the outcome. External tools, which do not run here, ignore this.
    pub resumable: bool,
    /// Set if the call runs alone, in the model's order.
    pub sequential: bool,
    /// Set if the call may start before the model's turn ends.
    pub eager: bool,
    /// Set if the function blocks its thread.
    pub blocking: bool,
    /// Set if providers must enforce the schema strictly.
    pub strict: bool,
    /// Set if values are read that a model sent in another form, such as `"5"` for an integer
    /// ([`read_values`](crate::schema::read_values)). Only tools with a declared schema and without an `origin` use it.
    pub lenient: bool,
    /// Set if the output may contain untrusted text.
    pub untrusted: bool,
    /// The question that an approver reads, in which `{parameter}` stands for the value of that parameter.
    pub challenge: Option<String>,
    /// The version of the tool's behaviour.
    pub version: Option<String>,
    /// The earlier versions whose waiting calls this one can take over.
    pub migrate_from: Vec<String>,
    /// Example arguments for the model.
    pub examples: Vec<Value>,
    /// The texts that a person sees while the tool works.
    pub ui: Option<Ui>,
    /// Set if the schema could not be compiled, so that arguments cannot be checked against it.
    pub unvalidated: bool,
    /// The origin of the tool, if it is not part of this program.
    pub origin: Option<String>,
    /// Further data of the application.
    pub meta: Map<String, Value>,
    /// The members to add to the tool's definition for single providers: an object for each name of a list format of tools.
    pub provider: Map<String, Value>,
}

/// The effect of a tool on the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The tool only reads.
    ReadOnly,
    /// The tool changes something in a way that can be undone. The default.
    #[default]
    Write,
    /// The tool destroys something.
    Destructive,
}

/// The condition under which a person must approve a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Approval {
    /// No call needs an approval.
    #[default]
    Never,
    /// Every call needs an approval.
    Always,
    /// A predicate over the typed arguments decides.
    When,
}

/// The texts that a person sees while a tool works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ui {
    /// The name of an icon.
    pub icon: Option<String>,
    /// The text while the tool runs.
    pub running: Option<String>,
    /// The text when it is done.
    pub done: Option<String>,
    /// A longer explanation.
    pub tooltip: Option<String>,
}

/// Converts the icon, the text while the tool runs, the text when it is done, and the explanation, in this order.
impl From<[Option<String>; 4]> for Ui {
    fn from([icon, running, done, tooltip]: [Option<String>; 4]) -> Self {
        Self { icon, running, done, tooltip }
    }
}

/// The permission of a call. A later variant is stricter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// The call may run.
    Allow,
    /// A person must approve the call.
    Ask,
    /// The call must not run.
    Deny {
        /// The reason, for the model.
        reason: Option<String>,
    },
}

impl Permission {
    /// Creates a denial with a reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: Some(reason.into()) }
    }

    /// Returns the stricter of the two permissions. So no policy can weaken another.
    pub fn and(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Deny { .. }, _) | (_, Self::Allow) => self,
            _ => other,
        }
    }
}
