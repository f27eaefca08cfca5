//! The readers of schemas, and schemas in their forms, with what these cannot say.

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use serde_json::{Value, value::RawValue};

use super::{pointer, raise::Plan};

/// A form of JSON Schema that some reader accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// JSON Schema 2020-12, whole: what MCP wants.
    JsonSchema2020,
    /// Draft 7: what the Vercel AI SDK sends.
    Draft07,
    /// OpenAI's strict mode: everything required, nothing additional, optional as nullable.
    OpenAiStrict,
    /// Gemini's subset of OpenAPI 3.
    Gemini,
    /// Anthropic's strict mode.
    Anthropic,
}

impl Dialect {
    /// Every dialect, in the order of their discriminants.
    pub const ALL: [Self; 5] = [Self::JsonSchema2020, Self::Draft07, Self::OpenAiStrict, Self::Gemini, Self::Anthropic];
}

/// A schema in the form of one dialect.
#[derive(Clone, Debug)]
pub struct Lowered {
    json: Arc<RawValue>,
    losses: Vec<Loss>,
    plan: Option<Arc<Plan>>,
}

impl Lowered {
    pub(super) fn new(schema: &Value, losses: Vec<Loss>, plan: Option<Plan>) -> Self {
        let json = serde_json::value::to_raw_value(schema).expect("a Value is always JSON").into();
        Self { json, losses, plan: plan.map(Arc::new) }
    }

    /// Returns the schema as JSON text, rendered once and shared.
    pub fn json(&self) -> &Arc<RawValue> {
        &self.json
    }

    /// Returns the losses, in the order in which they occur.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// Returns how much the worst loss matters; none where nothing was lost.
    pub fn worst(&self) -> Option<Severity> {
        self.losses.iter().map(|loss| loss.severity).max()
    }

    /// Returns whether [`raise`](Self::raise) may change anything: a `null` can stand for "not given".
    pub fn raises(&self) -> bool {
        self.plan.is_some()
    }

    /// Turns arguments that follow the lowered schema back into ones that follow the neutral one: a `null` that stands
    /// for "not given" only because the dialect has no optional properties is removed, at every depth. A `null` that
    /// the neutral schema takes stays, and so does one of which it is unclear to which branch of a union it belongs.
    /// Text that is not JSON comes back as it is.
    ///
    /// ```
    /// # use tool_schema::schema::{Dialect, Schema};
    /// let schema = Schema::new(serde_json::json!({
    ///     "type": "object",
    ///     "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    ///     "required": ["city"],
    /// }));
    /// let strict = schema.lowered(Dialect::OpenAiStrict);
    /// assert_eq!(strict.raise(r#"{"city":"Bern","days":null}"#), r#"{"city":"Bern"}"#);
    /// ```
    pub fn raise<'a>(&self, arguments: &'a str) -> Cow<'a, str> {
        self.plan.as_ref().map_or(Cow::Borrowed(arguments), |plan| plan.raise(arguments))
    }
}

/// Something that a dialect cannot say.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// Where in the neutral schema: a JSON Pointer.
    pub path: String,
    /// The keyword that was left out or changed.
    pub keyword: String,
    /// How much it matters.
    pub severity: Severity,
    /// A sentence about what replaces it.
    pub note: String,
}

/// How much a [`Loss`] matters, from little to much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Only words for the reader went, such as a default or an example. What is valid is the same.
    Annotation,
    /// The lowered schema accepts more. Our decoder still refuses what the neutral schema refuses.
    Weakened,
    /// The lowered schema accepts less: some valid arguments cannot be sent by a model that keeps to it.
    Narrowed,
    /// The lowered schema has only a stand-in here. A provider must not be asked to keep to it strictly.
    Inexpressible,
}

/// The most losses that are listed: an untrusted schema could lose a lot.
const MOST: usize = 1_000;

/// The losses of one lowering, each place and keyword once.
#[derive(Debug, Default)]
pub struct Losses {
    seen: HashSet<(String, String, Severity)>,
    list: Vec<Loss>,
}

impl Losses {
    pub fn add(&mut self, path: &str, keyword: &str, severity: Severity, note: impl Into<String>) {
        if self.list.len() < MOST && self.seen.insert((path.to_owned(), keyword.to_owned(), severity)) {
            let (path, keyword, note) = (path.to_owned(), keyword.to_owned(), note.into());
            self.list.push(Loss { path, keyword, severity, note });
        }
    }

    pub fn into_vec(self) -> Vec<Loss> {
        self.list
    }
}

/// How many levels of JSON a schema may have. What lies deeper is replaced by `true`; `serde_json` reads 128 itself.
pub const LEVELS: usize = 120;

/// `schema` with at most [`LEVELS`] levels.
pub fn bound<'a>(schema: &'a Value, losses: &mut Losses) -> Cow<'a, Value> {
    if deeper(schema, 0) { Cow::Owned(cut(schema, "", 1, losses)) } else { Cow::Borrowed(schema) }
}

/// Returns whether `value`, which lies below `level` others, has levels that are one too many.
fn deeper(value: &Value, level: usize) -> bool {
    match value {
        Value::Array(list) => level == LEVELS || list.iter().any(|one| deeper(one, level + 1)),
        Value::Object(map) => level == LEVELS || map.values().any(|one| deeper(one, level + 1)),
        _ => false,
    }
}

fn cut(value: &Value, at: &str, level: usize, losses: &mut Losses) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) if level > LEVELS => {
            let note = format!("deeper than {LEVELS} levels: not read");
            losses.add(at, "", Severity::Weakened, note);
            Value::Bool(true)
        }
        Value::Array(list) => {
            list.iter().enumerate().map(|(i, one)| cut(one, &format!("{at}/{i}"), level + 1, losses)).collect()
        }
        Value::Object(map) => {
            map.iter().map(|(key, one)| (key.clone(), cut(one, &pointer::push(at, key), level + 1, losses))).collect()
        }
        leaf => leaf.clone(),
    }
}
