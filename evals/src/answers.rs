//! The answers to wrong calls, and the targets for them.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tool_runtime::{
    CallError, Context, Rejection, Toolset, Validation,
    toolset::{DynamicField, RuntimeTool},
};

use crate::tools;

/// A wrong call: what was sent, what is wrong with it, and what would be right.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    pub id: usize,
    pub tool: String,
    pub mistakes: Vec<Mistake>,
    pub sent: Map<String, Value>,
    pub right: Map<String, Value>,
    /// The request that the call answers, if it is one of a data set. Cases of the own tools have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<UserRequest>,
}

/// A request of a person, and the tool that answers it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserRequest {
    /// The name of the request in its data set.
    pub source: String,
    pub text: String,
    /// The tool's description, and the schema of its parameters.
    pub description: String,
    pub parameters: Value,
    /// The values that are right, for each parameter. An empty text stands for a parameter that is left out.
    pub allowed: Map<String, Value>,
    /// The values that a validator accepts, for each dynamic parameter.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub choices: Map<String, Value>,
}

impl Case {
    /// Returns the set with the case's tool. `own` are the tools of this program.
    pub fn tools(&self, own: &Toolset) -> Toolset {
        let Some(request) = &self.request else { return own.clone() };
        let tool = RuntimeTool::new(self.tool.as_str(), request.description.as_str()).input(request.parameters.clone());
        if request.choices.is_empty() {
            let tool = tool.handler(|_, _| async { Ok(Value::Null) }).expect("its name was checked");
            return Toolset::new().with(tool).expect("it is the only tool");
        }
        let choices = request.choices.clone().into_iter();
        let tool = choices.fold(tool.dynamic(), |tool, (name, choices)| tool.field(dynamic_field(name, &choices)));
        let tool = tool.handler(|_, _| async { Ok(Value::Null) }).expect("its parameters are those of the schema");
        Toolset::new().with(tool).expect("it is the only tool")
    }
}

fn dynamic_field(name: String, choices: &Value) -> DynamicField {
    let choices = choices.as_array().cloned().unwrap_or_default();
    DynamicField::new(name).validate(move |value, _| match value.filter(|value| choices.contains(value)) {
        Some(value) => Validation::accept(value),
        None => Validation::reject("not available").allowed(choices.clone()),
    })
}

/// One mistake of a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mistake {
    pub class: String,
    /// The parameter as the tool declares it; an unknown one as the call names it.
    pub parameter: String,
}

/// A measured value, and its limit.
#[derive(Debug)]
pub struct Target {
    name: &'static str,
    measured: f64,
    limit: Limit,
}

#[derive(Debug)]
enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

impl Target {
    pub fn is_met(&self) -> bool {
        match self.limit {
            Limit::AtLeast(limit) => self.measured >= limit,
            Limit::AtMost(limit) => self.measured <= limit,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Limit::AtLeast(limit) | Limit::AtMost(limit)) = self.limit;
        let verdict = if self.is_met() { "ok" } else { "MISS" };
        write!(out, "TARGET {} {:.1} {limit} {verdict}", self.name, self.measured)
    }
}

/// The beginning of the line with the form of the right call.
pub const FORM: &str = "Call it like this";

/// Sends each case to its tool, and returns the targets. The first missed cases are printed.
pub async fn measure(cases: &[Case]) -> Vec<Target> {
    let own = tools::all();
    let (mut mistakes, mut named, mut executed, mut bytes, mut leaks) = (0, 0, 0, 0, 0);
    let mut misses = Vec::new();
    for case in cases {
        let tools = case.tools(&own);
        let Some(text) = answer(&tools, case).await else {
            executed += 1;
            misses.push(format!("case {} ran: {}", case.id, Value::from(case.sent.clone())));
            continue;
        };
        let problems: Vec<&str> = text.lines().filter(|line| !line.starts_with(FORM)).collect();
        let problems = problems.join("\n");
        mistakes += case.mistakes.len();
        bytes += problems.len();
        for mistake in &case.mistakes {
            if has_word(&problems, &mistake.parameter) {
                named += 1;
            } else {
                misses.push(format!("case {}: {mistake:?} is not named in\n{text}", case.id));
            }
        }
        let choices = case.request.as_ref().map(|request| Value::from(request.choices.clone())).unwrap_or_default();
        let known = format!("{} {} {choices}", schema_of(&tools, &case.tool), Value::from(case.sent.clone()));
        for value in case.right.values().flat_map(scalars) {
            if has_word(&text, &value) && !has_word(&known, &value) {
                leaks += 1;
                misses.push(format!("case {}: {value} cannot be known, and is in\n{text}", case.id));
            }
        }
    }
    misses.iter().take(5).for_each(|miss| eprintln!("{miss}"));
    let per_mistake = |count: usize| as_number(count) / as_number(mistakes.max(1));
    vec![
        Target { name: "mistakes-named-%", measured: 100.0 * per_mistake(named), limit: Limit::AtLeast(100.0) },
        Target { name: "wrong-calls-executed", measured: as_number(executed), limit: Limit::AtMost(0.0) },
        Target { name: "bytes-per-mistake", measured: per_mistake(bytes), limit: Limit::AtMost(160.0) },
        Target { name: "leaked-values", measured: as_number(leaks), limit: Limit::AtMost(0.0) },
    ]
}

/// Returns the text that a model receives for a case; `None` if the call ran, or ended otherwise than by a rejection.
async fn answer(tools: &Toolset, case: &Case) -> Option<String> {
    reject(tools, case).await?.for_model().map(str::to_owned)
}

/// Returns the rejection of a case; `None` if the call ran, or ended otherwise.
pub async fn reject(tools: &Toolset, case: &Case) -> Option<Rejection> {
    let sent = Value::from(case.sent.clone()).to_string();
    match tools.call(&case.tool, &sent, &Context::new("call_1")).await {
        Err(CallError::Rejected(rejection)) => Some(rejection),
        _ => None,
    }
}

fn schema_of(tools: &Toolset, name: &str) -> String {
    tools.get(name).map(|tool| tool.spec().input.neutral().to_string()).unwrap_or_default()
}

/// Returns the texts of the scalars in a value, without those that every answer may have.
fn scalars(value: &Value) -> Vec<String> {
    match value {
        Value::Null | Value::Bool(_) => Vec::new(),
        Value::Array(items) => items.iter().flat_map(scalars).collect(),
        Value::Object(members) => members.values().flat_map(scalars).collect(),
        Value::String(text) => vec![text.clone()],
        number @ Value::Number(_) => vec![number.to_string()],
    }
}

/// Returns whether `text` has `word`, not inside a longer word.
pub fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word)
        .any(|(at, _)| !is_part(text[..at].chars().next_back()) && !is_part(text[at + word.len()..].chars().next()))
}

#[allow(clippy::cast_precision_loss, reason = "there are few cases")]
pub fn as_number(count: usize) -> f64 {
    count as f64
}
