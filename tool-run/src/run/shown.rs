//! The view of a call that a person gets.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Call;
use crate::digest::Digest;
use crate::feedback::{Rejection, one_line};
use crate::json::text;
use crate::tool::{Effect, ToolSpec};

/// The view of a call that a person gets: all of it, with nothing cut and nothing that could fool the eye.
///
/// It is made of the arguments as the tool accepted them, defaults filled in. Control characters, escape sequences and
/// characters that turn the direction of text are written out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Shown {
    /// The tool's name.
    pub tool: String,
    /// The tool's name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where the tool comes from, if not from this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The tool's effect on the world.
    pub effect: Effect,
    /// The question of the declaration, with the arguments in their places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<String>,
    /// The arguments as JSON, for a form: not escaped, and numbers of more than 64 bits are rounded; see `lines`.
    pub arguments: Value,
    /// The arguments' names and values, to be shown a line each.
    pub lines: Vec<(String, String)>,
    /// Tools whose outputs hold text of strangers, and came before this call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tainted_by: Vec<String>,
}

impl Shown {
    /// Returns the view of a call of the tool `spec`.
    ///
    /// Fails when `arguments` are no object.
    pub fn new(spec: &ToolSpec, arguments: &str, tainted_by: &[String]) -> Result<Self, Rejection> {
        let written = spec.written(arguments)?;
        Ok(Self {
            tool: one_line(&spec.name),
            title: spec.title.as_deref().map(one_line),
            origin: spec.traits.origin.as_deref().map(one_line),
            effect: spec.traits.effect,
            challenge: spec.challenge(&written).as_deref().map(one_line),
            arguments: spec.with_defaults(arguments)?,
            lines: written.iter().map(|(name, value)| (one_line(name), one_line(value))).collect(),
            tainted_by: tainted_by.iter().map(|name| one_line(name)).collect(),
        })
    }

    /// Returns the view of a call that was started already: its arguments as they were written.
    pub(super) fn of_running(call: &Call) -> Self {
        let text = &call.arguments().text;
        let line = |(name, value): &(String, String)| (one_line(name), one_line(value));
        Self {
            tool: one_line(&call.name),
            title: None,
            origin: call.tool.as_ref().and_then(|tool| tool.origin.as_deref()).map(one_line),
            effect: call.tool.as_ref().map_or(Effect::default(), |tool| tool.effect),
            challenge: None,
            lines: text::members(text).iter().flatten().map(line).collect(),
            arguments: serde_json::from_str(text).unwrap_or_default(),
            tainted_by: Vec::new(),
        }
    }

    /// The digest of everything that is shown.
    pub fn digest(&self) -> Digest {
        Digest::of(serde_json::to_vec(self).unwrap_or_default())
    }
}
