//! A compiled schema, for checking values against it.
//!
//! The schema may come from a stranger (a browser, an MCP server), so compiling and checking have budgets: on the
//! schema's size, on the value's depth, and on the work that checking can become. Nothing is ever fetched, and regular
//! expressions run in linear time.

mod admit;
mod draft;
mod pattern;
mod place;
mod shared;

use std::fmt;

use serde_json::Value;

use super::explain;
use super::graph::{Cost, Graph, MOST_DEPTH};
use crate::feedback::{Problem, ProblemKind};

/// The work that one check may become, in visits of a part of the value by a subschema: well below a second.
const MOST_WORK: u64 = 10_000_000;

/// How many schemas may be at work inside each other: what fits a thread's stack.
const MOST_NESTING: usize = 1_000;

/// How large a compiled pattern may be, in bytes.
pub(super) const MOST_PATTERN: usize = 1 << 20;

/// How many ways may be followed while a schema is compiled.
const MOST_WAYS: u64 = 20_000;

/// How many parts of a schema may have an `$id`: `jsonschema` compiles each anew for every order in which references lead
/// through them.
const MOST_RESOURCES: usize = 32;

/// A compiled schema, for checking values against it.
///
/// Any draft from 4 to 2020-12, as `$schema` at the root says; 2020-12 where it says nothing. Formats are checked. References inside
/// the schema are followed, others are refused: nothing is fetched and no file is read.
///
/// A `pattern` that only a backtracking engine could run (look-around, back-references), or that is larger than
/// 1 MiB when compiled (16 MiB for all patterns of a schema), is left out and named in [`warnings`](Self::warnings): the rest of the schema is worth more than
/// none of it. Where leaving it out would refuse more instead of less (inside `not`, `if`, `oneOf` or `contains`, or as a
/// name in `patternProperties`), the schema cannot be compiled.
///
/// ```
/// use serde_json::json;
/// use tool_schema::schema::Validator;
///
/// let schema = json!({ "properties": { "unit": { "enum": ["celsius", "fahrenheit"] } } });
/// let validator = Validator::compile(&schema).expect("a small schema");
/// assert!(validator.is_valid(&json!({ "unit": "celsius" })));
///
/// let problems = validator.problems(&json!({ "unit": "celcius" }), "");
/// assert_eq!(
///     problems[0].to_string(),
///     r#"`unit`: expected one of "celsius", "fahrenheit", got "celcius"; did you mean "celsius"?"#
/// );
/// ```
pub struct Validator {
    compiled: jsonschema::Validator,
    graph: Graph,
    cost: Cost,
    warnings: Vec<String>,
}

/// Why a schema cannot be used to check values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncompilable(String);

/// What checking a value can come to.
enum Way {
    /// Within the budget, whatever the value is.
    Direct,
    /// Too much for `jsonschema`, which looks at a part again for each way that leads to it: the graph remembers.
    Remembering,
    /// Too large or too deep in any case.
    Refused(Problem),
}

impl Validator {
    /// Compiles `schema`.
    ///
    /// Fails on a schema that is not one, is larger than 1 MiB, has more than 50,000 values or is nested deeper than 128;
    /// that refers to something outside itself, or to itself without going deeper into the value; whose references multiply
    /// beyond what can be compiled; or that has a pattern as described [above](Self) where it cannot be left out.
    pub fn compile(schema: &Value) -> Result<Self, Uncompilable> {
        admit::size(schema)?;
        let mut warnings = Vec::new();
        let (schema, draft) = draft::of(schema, &mut warnings);
        let (mut graph, ids) = Graph::build(&schema, draft);
        let schema = pattern::without_unrunnable(schema, &mut graph, &ids, &mut warnings)?;
        let cost = admit::cost(&graph)?;
        let compiled = options(MOST_PATTERN)
            .with_draft(draft)
            .build(&schema)
            .map_err(|error| Uncompilable(admit::told(&error)))?;
        Ok(Self { compiled, graph, cost, warnings })
    }

    /// What of the schema is not checked, and why; usually nothing.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Whether `value` fits the schema. A value that is too large or too deep to be checked does not.
    pub fn is_valid(&self, value: &Value) -> bool {
        match self.way(value) {
            Way::Direct => self.compiled.is_valid(value),
            Way::Remembering => self.remembering(value).is_empty(),
            Way::Refused(_) => false,
        }
    }

    /// Everything that is wrong with `value`: nothing exactly when [`is_valid`](Self::is_valid).
    ///
    /// `prefix` is the JSON Pointer of `value` in what the problems' paths are to point into; empty for the value itself.
    /// At most 32 problems are told, or 64 of as many parameters; a last one says how many more there are.
    pub fn problems(&self, value: &Value, prefix: &str) -> Vec<Problem> {
        let mut problems = match self.way(value) {
            Way::Refused(problem) => vec![problem],
            Way::Direct if self.compiled.is_valid(value) => Vec::new(),
            Way::Direct => {
                let problems = explain::findings(&self.graph, value).problems;
                if problems.is_empty() { vec![self.unexplained(value)] } else { problems }
            }
            Way::Remembering => self.remembering(value),
        };
        for problem in &mut problems {
            problem.path.insert_str(0, prefix);
        }
        problems
    }

    /// What the graph alone finds, which looks at each part once.
    fn remembering(&self, value: &Value) -> Vec<Problem> {
        let found = explain::findings(&self.graph, value);
        if found.problems.is_empty() && !found.complete {
            let expected = "arguments that take less work to check against the schema";
            return vec![Problem::new("", ProblemKind::TooLarge, expected)];
        }
        found.problems
    }

    /// What `jsonschema` says where the graph finds nothing wrong.
    fn unexplained(&self, value: &Value) -> Problem {
        let text = self.compiled.validate(value).err().map(|error| error.masked().to_string());
        let expected = text.map_or_else(|| "a value that fits the schema".to_owned(), |text| admit::cut(&text));
        Problem::new("", ProblemKind::Invalid, expected).got(crate::feedback::shorten(value))
    }

    fn way(&self, value: &Value) -> Way {
        let mut depth = 0;
        let Some(work) = self.work(value, 0, &mut depth) else {
            let expected = format!("a value that is nested at most {MOST_DEPTH} levels deep");
            return Way::Refused(Problem::new("", ProblemKind::TooLarge, expected));
        };
        if (depth + 1) * self.cost.nesting > MOST_NESTING {
            let expected = "a value that is nested less deep for this schema";
            return Way::Refused(Problem::new("", ProblemKind::TooLarge, expected));
        }
        if work <= MOST_WORK { Way::Direct } else { Way::Remembering }
    }

    /// The work that checking `value` can become; `None` where it is too deep.
    fn work(&self, value: &Value, depth: usize, deepest: &mut usize) -> Option<u64> {
        if depth > MOST_DEPTH {
            return None;
        }
        *deepest = depth.max(*deepest);
        let visits = |size: usize| self.cost.at(depth).saturating_mul(u64::try_from(size).unwrap_or(u64::MAX));
        let mut work = match value {
            Value::String(text) => visits(1 + text.len() / 64),
            Value::Array(items) => visits(1 + items.len() / 16),
            Value::Object(map) => visits(1 + map.len() / 16),
            _ => visits(1),
        };
        match value {
            Value::Array(items) => {
                for item in items {
                    work = work.saturating_add(self.work(item, depth + 1, deepest)?);
                }
            }
            Value::Object(map) => {
                for part in map.values() {
                    work = work.saturating_add(self.work(part, depth + 1, deepest)?);
                }
            }
            _ => {}
        }
        Some(work)
    }
}

/// How every schema is compiled here: formats checked, nothing fetched, linear regular expressions of bounded size.
/// `most_pattern` is the largest that one of these may be, compiled, in bytes.
pub(super) fn options(most_pattern: usize) -> jsonschema::ValidationOptions<'static> {
    let patterns = jsonschema::PatternOptions::regex().size_limit(most_pattern).dfa_size_limit(MOST_PATTERN);
    jsonschema::options().with_retriever(Offline).should_validate_formats(true).with_pattern_options(patterns)
}

/// Fetches nothing, also where another crate of the program turns on the features of `jsonschema` that would.
struct Offline;

impl jsonschema::Retrieve for Offline {
    fn retrieve(&self, uri: &jsonschema::Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("`{uri}` is not part of the schema").into())
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Validator")
            .field("cost", &self.cost)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Uncompilable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the schema cannot be used: {}", self.0)
    }
}

impl std::error::Error for Uncompilable {}

#[cfg(test)]
mod tests;
