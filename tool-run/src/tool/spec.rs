//! The specification of a tool: all that is known without running it.

use std::{collections::HashMap, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::feedback::{Rejection, malformed};
use crate::json::text;
use crate::schema::Schema;

/// The specification of a tool: all that a model, a person and the runtime need to decide about a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name that the model calls: `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// The description of the tool, for the model.
    pub description: String,
    /// The schema of the arguments; its root is an object.
    pub input: Arc<Schema>,
    /// The schema of the output, where it has a JSON form.
    pub output: Option<Arc<Schema>>,
    /// The flags and limits of the declaration.
    pub traits: Traits,
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
            traits: Traits::default(),
        }
    }

    /// Returns whether frontends get to see nothing of the tool's calls: `meta(hidden = true)`.
    pub fn is_hidden(&self) -> bool {
        self.traits.meta.get("hidden") == Some(&true.into())
    }

    /// The arguments with the declared defaults filled in, in the schema's order: what a person is shown.
    ///
    /// Fails when they are no object, or nested 128 levels deep: then there is nothing to show, and nothing to approve.
    pub fn with_defaults(&self, arguments: &str) -> Result<Value, Rejection> {
        let arguments = if text::is_blank(arguments) { "{}" } else { arguments };
        let mut given: Map<String, Value> =
            serde_json::from_str(arguments).map_err(|error| Rejection::one(malformed(arguments, &error)))?;
        let mut all = Map::new();
        for (name, schema) in self.input.neutral()["properties"].as_object().into_iter().flatten() {
            if let Some(value) = given.shift_remove(name).or_else(|| schema.get("default").cloned()) {
                all.insert(name.clone(), value);
            }
        }
        all.extend(given);
        Ok(Value::Object(all))
    }

    /// Returns the same as texts, name and JSON: what was given stands there as it was written, with all the digits that a
    /// [`Value`] would round. Each is one line.
    ///
    /// Fails like [`ToolSpec::with_defaults`].
    pub fn written(&self, arguments: &str) -> Result<Vec<(String, String)>, Rejection> {
        let all = self.with_defaults(arguments)?;
        let mut given: HashMap<String, String> = text::entries(arguments).into_iter().collect();
        let text =
            |(name, value): (&String, &Value)| (name.clone(), given.remove(name).unwrap_or_else(|| value.to_string()));
        Ok(all.as_object().into_iter().flatten().map(text).collect())
    }
}

impl ToolSpec {
    /// The question of the declaration ([`Traits::challenge`]) with the arguments of [`ToolSpec::written`] in their
    /// places; `None` without one.
    ///
    /// Arguments are written as JSON, so that none can pretend to be part of the question.
    pub fn challenge(&self, written: &[(String, String)]) -> Option<String> {
        let mut text = String::new();
        let mut rest = self.traits.challenge.as_deref()?;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, behind)) = after.split_once('}') else { break };
            text.push_str(before);
            let value = written.iter().find(|(given, _)| given == name);
            text.push_str(value.map_or("(not given)", |(_, value)| value));
            rest = behind;
        }
        text.push_str(rest);
        Some(text)
    }
}

/// The flags and limits of a tool's declaration.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Traits {
    /// The tool's effect on the world.
    pub effect: Effect,
    /// Set if the same call twice has the effect of one.
    pub idempotent: bool,
    /// Set if the tool deals with things outside the application, such as the web.
    pub open_world: bool,
    /// The condition under which a person must approve a call.
    pub approval: Approval,
    /// Set if the call is executed outside this program: by a browser, a terminal, a person.
    pub external: bool,
    /// How long a call may take.
    pub timeout: Option<Duration>,
    /// How often a call that failed may be tried again.
    pub retries: u32,
    /// Set if everything that must not happen twice is a step (`Context::step`): a call whose process
    /// is gone is then started again, and its recorded steps are not repeated. A call that was stopped in the middle of a
    /// step is not: a person is asked what came of it. Without effect on an external tool, which does not run here.
    pub resumable: bool,
    /// Set if the call runs alone, in the model's order.
    pub sequential: bool,
    /// Set if the call may start before the model's turn ends.
    pub eager: bool,
    /// Set if the function blocks its thread.
    pub blocking: bool,
    /// Set if providers are asked to keep to the schema strictly.
    pub strict: bool,
    /// Set if the output may hold text of strangers.
    pub untrusted: bool,
    /// The question shown at an approval, with `{parameter}` places.
    pub challenge: Option<String>,
    /// The version of the tool's behaviour.
    pub version: Option<String>,
    /// Earlier versions whose waiting calls this one can take over.
    pub migrate_from: Vec<String>,
    /// Example arguments, for the model.
    pub examples: Vec<Value>,
    /// The texts that a person sees while the tool works.
    pub ui: Option<Ui>,
    /// Set if the arguments cannot be checked against the schema, because it could not be compiled.
    pub unvalidated: bool,
    /// Where the tool comes from, if not from this program.
    pub origin: Option<String>,
    /// Anything else, for the application.
    pub meta: Map<String, Value>,
    /// Additions to the definition for one provider or another: under the name of its list format, an object.
    pub provider: Map<String, Value>,
}

/// The effect of a tool on the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It only reads.
    ReadOnly,
    /// It changes something, in a way that can be undone. What is assumed when nothing is said.
    #[default]
    Write,
    /// It destroys something.
    Destructive,
}

/// The condition under which a person must approve a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Approval {
    /// Never.
    #[default]
    Never,
    /// Always.
    Always,
    /// When a predicate over the typed arguments says so.
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

/// Takes the icon, the text while the tool runs, the text when it is done, and the explanation.
impl From<[Option<String>; 4]> for Ui {
    fn from([icon, running, done, tooltip]: [Option<String>; 4]) -> Self {
        Self { icon, running, done, tooltip }
    }
}
