//! Everything that is wrong with the arguments of one call.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Problem, ProblemKind};

/// Why a call was refused before it ran: everything that is wrong with its arguments, in one answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rejection {
    problems: Vec<Problem>,
}

impl Rejection {
    /// A rejection for `problems`, in the order in which they are told.
    ///
    /// An empty list becomes one problem that says so: a rejection always has a reason.
    pub fn new(mut problems: Vec<Problem>) -> Self {
        if problems.is_empty() {
            problems.push(Problem::new("", ProblemKind::Invalid, "arguments that the tool accepts"));
        }
        Self { problems }
    }

    /// A rejection for one problem.
    pub fn one(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }

    /// The problems; at least one.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The rejection as the JSON object that a model gets: `ok`, `problems` of the call as a whole, and
    /// `validationResults` by parameter.
    pub fn to_json(&self) -> Value {
        let mut call = Vec::new();
        let mut fields: Map<String, Value> = Map::new();
        for problem in &self.problems {
            let parameter = problem
                .parameter()
                .filter(|_| problem.kind != ProblemKind::Unknown || problem.path.matches('/').count() > 1);
            let Some(name) = parameter else {
                call.push(Value::String(problem.to_string()));
                continue;
            };
            let nested = problem.path.matches('/').count() > 1;
            let text = if nested { problem.to_string() } else { problem.sentence() };
            let entry = fields.entry(name).or_insert_with(|| json!({ "valid": false, "problems": [] }));
            if let Some(list) = entry["problems"].as_array_mut() {
                list.push(Value::String(text));
            }
            if !nested && !problem.allowed.is_empty() {
                entry["allowedValues"] = Value::Array(problem.allowed.clone());
            }
        }
        let mut out = Map::new();
        out.insert("ok".into(), Value::Bool(false));
        if !call.is_empty() {
            out.insert("problems".into(), Value::Array(call));
        }
        if !fields.is_empty() {
            out.insert("validationResults".into(), Value::Object(fields));
        }
        Value::Object(out)
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                out.write_str("\n")?;
            }
            write!(out, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Rejection {}
