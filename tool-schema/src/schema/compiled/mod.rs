//! A compiled schema, for checking values against it.
//!
//! The schema may be untrusted, for example from a browser or an MCP server. So the schema's size, the value's depth and the cost
//! of a check are limited. Nothing is ever fetched, and regular expressions run in linear time.

pub mod declared;
pub mod error;
#[cfg(any(test, feature = "jsonschema"))]
mod foreign;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;

use serde_json::Value;

use super::evaluate::Evaluator;
use super::graph::{BYTES_PER_VISIT, COMPARISONS_PER_VISIT, Cost, Gap, Graph, MAX_DEPTH, NodeId, address};
use super::pattern::{self, Pattern};
use super::{explain, places};
use crate::feedback::{Problem, ProblemKind, excerpt, summarize};
use error::{CompileError, truncate};

/// The maximum cost of one check, which takes well below a second.
const MAX_COST: u64 = 10_000_000;

/// The maximum number of nested schemas that are active at a time. So many fit a thread's stack.
const MAX_NESTING: usize = 1_000;

/// The maximum number of paths that `jsonschema` may follow while it compiles a schema.
const MAX_PATHS: u64 = 20_000;

/// The maximum number of `$id`s. `jsonschema` compiles a part with an `$id` again for every order in which references reach it.
const MAX_IDS: usize = 32;

/// A compiled schema, for checking values against it.
///
/// It supports the drafts from 4 to 2020-12. `$schema` at the root names the draft; the default is 2020-12. Formats are checked.
/// References inside the schema are followed. Other references are refused: nothing is fetched, and no file is read.
///
/// A `pattern` that cannot run is left out, with one of the [`warnings`](Self::warnings). Such a pattern is not valid, needs a
/// backtracking engine (look-around, back-references), or is too large: above 1 MiB when compiled, or above 16 MiB with all
/// patterns of the schema. The rest of the schema is still useful. But leaving a pattern out could refuse more values inside
/// `not`, `if`, `oneOf` or `contains`, and in `patternProperties`. A schema with such a pattern there cannot be compiled.
///
/// A few schemas can be compiled only with the feature `jsonschema`. They have one of these:
///
/// - references that depend on the evaluation path (`$dynamicRef`)
/// - references that depend on a relative or repeated `$id`
/// - references to the meta-schemas
/// - the formats `idn-email` and `idn-hostname`
///
/// ```
/// use serde_json::json;
/// use tool_schema::schema::CompiledSchema;
///
/// let schema = json!({ "properties": { "unit": { "enum": ["celsius", "fahrenheit"] } } });
/// let schema = CompiledSchema::compile(&schema).expect("a small schema");
/// assert!(schema.is_valid(&json!({ "unit": "celsius" })));
///
/// let problems = schema.problems(&json!({ "unit": "celcius" }), "");
/// assert_eq!(
///     problems[0].to_string(),
///     r#"`unit`: expected one of "celsius", "fahrenheit", got "celcius"; did you mean "celsius"?"#
/// );
/// ```
pub struct CompiledSchema {
    /// The library's validator, for schemas that the graph does not model.
    #[cfg(feature = "jsonschema")]
    foreign: Option<jsonschema::Validator>,
    graph: Graph,
    cost: Cost,
    warnings: Vec<String>,
}

/// The way in which a value is checked.
enum Strategy {
    /// The evaluator visits a part once per path. The cost is within the limit.
    Direct,
    /// The walk that explains problems visits a part once, because visiting it once per path would cost too much.
    Memoized,
    /// The value is too deep to be checked.
    Rejected(Problem),
}

impl CompiledSchema {
    /// Compiles `schema`.
    ///
    /// Fails if `schema` is not valid. Fails above 1 MiB, 50,000 values, 32 `$id`s, or 128 levels of nesting. Fails on
    /// references to other documents, on references to itself that do not go deeper into the value, and on references that
    /// multiply too much. [As above](Self), a pattern or a missing feature can also cause a failure.
    pub fn compile(schema: &Value) -> Result<Self, CompileError> {
        check_size(schema)?;
        let mut warnings = Vec::new();
        let draft = declared::read_draft(schema, &mut warnings);
        declared::check(schema, draft)?;
        let (mut graph, ids) = Graph::build(schema, draft);
        let patterns = compile_patterns(schema, &mut graph, &ids, &mut warnings)?;
        let cost = check_cost(&graph)?;
        graph.compile(&patterns);
        let foreign = find_foreign(schema, &graph, &ids)?;
        #[cfg(feature = "jsonschema")]
        let foreign = foreign.map(|_| foreign::compile(schema, &graph, &ids)).transpose()?;
        #[cfg(not(feature = "jsonschema"))]
        if let Some((place, keyword)) = foreign {
            return Err(feature_error(&place, keyword));
        }
        Ok(Self {
            #[cfg(feature = "jsonschema")]
            foreign,
            graph,
            cost,
            warnings,
        })
    }

    /// Returns the reason why `schema` cannot be compiled without the feature `jsonschema`. Returns `None` if the feature is
    /// on, if `schema` does not need it, or if a reference in `schema` has no valid target.
    pub fn needs_feature(schema: &Value) -> Option<CompileError> {
        if cfg!(feature = "jsonschema") {
            return None;
        }
        let (mut graph, ids) = Graph::build(schema, declared::read_draft(schema, &mut Vec::new()));
        graph.compile(&HashMap::new());
        let (place, keyword) = find_foreign(schema, &graph, &ids).ok()??;
        Some(feature_error(&place, keyword))
    }

    /// Returns warnings about the parts of the schema that are not checked. Usually there are none.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns whether `value` fits the schema. Returns `false` for a value that is too large or too deep to check.
    pub fn is_valid(&self, value: &Value) -> bool {
        match self.choose_strategy(value) {
            Strategy::Direct => self.accepts(value),
            Strategy::Memoized => self.explain(value).is_empty(),
            Strategy::Rejected(_) => false,
        }
    }

    /// Returns all problems of `value`. The list is empty if and only if the value [`is_valid`](Self::is_valid).
    ///
    /// `prefix` is the JSON Pointer of `value` in the document that the problems' paths refer to; it is empty for the value
    /// itself. At most 32 problems are listed, or as many as parameters have problems, up to 64. If there are more, the last
    /// listed problem states how many.
    pub fn problems(&self, value: &Value, prefix: &str) -> Vec<Problem> {
        let mut problems = match self.choose_strategy(value) {
            Strategy::Rejected(problem) => vec![problem],
            Strategy::Direct if self.accepts(value) => Vec::new(),
            Strategy::Direct => {
                let problems = explain::find_problems(&self.graph, value).problems;
                if problems.is_empty() { vec![self.unexplained_problem(value)] } else { problems }
            }
            Strategy::Memoized => self.explain(value),
        };
        for problem in &mut problems {
            problem.path.insert_str(0, prefix);
        }
        problems
    }

    /// Returns the problems that the walk finds. If the walk is incomplete and finds none, returns a problem that states this.
    fn explain(&self, value: &Value) -> Vec<Problem> {
        let found = explain::find_problems(&self.graph, value);
        if found.problems.is_empty() && !found.complete {
            let expected = "arguments that take less work to check against the schema";
            return vec![Problem::new("", ProblemKind::TooLarge, expected)];
        }
        found.problems
    }

    fn accepts(&self, value: &Value) -> bool {
        #[cfg(feature = "jsonschema")]
        if let Some(foreign) = &self.foreign {
            return foreign.is_valid(value);
        }
        Evaluator::new(&self.graph, usize::MAX).accepts(0, value)
    }

    /// Returns a problem for an invalid value in which the walk finds none.
    #[cfg_attr(not(feature = "jsonschema"), expect(clippy::unused_self, reason = "only the library says why"))]
    fn unexplained_problem(&self, value: &Value) -> Problem {
        #[cfg(feature = "jsonschema")]
        let text = self.foreign.as_ref().and_then(|foreign| foreign.validate(value).err()?.masked().to_string().into());
        #[cfg(not(feature = "jsonschema"))]
        let text: Option<String> = None;
        let expected = text.map_or_else(|| "a value that fits the schema".to_owned(), |text| truncate(&text));
        Problem::new("", ProblemKind::Invalid, expected).got(summarize(value))
    }

    fn choose_strategy(&self, value: &Value) -> Strategy {
        let mut depth = 0;
        let Some(cost) = self.max_cost(value, 0, &mut depth) else {
            let expected = format!("a value that is nested at most {MAX_DEPTH} levels deep");
            return Strategy::Rejected(Problem::new("", ProblemKind::TooLarge, expected));
        };
        if (depth + 1) * self.cost.nesting > MAX_NESTING {
            let expected = "a value that is nested less deep for this schema";
            return Strategy::Rejected(Problem::new("", ProblemKind::TooLarge, expected));
        }
        if cost <= MAX_COST { Strategy::Direct } else { Strategy::Memoized }
    }

    /// Returns the maximum cost of checking `value`, or `None` if it is too deep.
    fn max_cost(&self, value: &Value, depth: usize, deepest: &mut usize) -> Option<u64> {
        if depth > MAX_DEPTH {
            return None;
        }
        *deepest = depth.max(*deepest);
        let size = match value {
            Value::String(text) => text.len() / BYTES_PER_VISIT,
            Value::Array(items) => items.len() / COMPARISONS_PER_VISIT,
            Value::Object(map) => map.len() / COMPARISONS_PER_VISIT,
            _ => 0,
        };
        let mut cost = self.cost.at(depth).saturating_mul(1 + size as u64);
        match value {
            Value::Array(items) => {
                for item in items {
                    cost = cost.saturating_add(self.max_cost(item, depth + 1, deepest)?);
                }
            }
            Value::Object(map) => {
                for part in map.values() {
                    cost = cost.saturating_add(self.max_cost(part, depth + 1, deepest)?);
                }
            }
            _ => {}
        }
        Some(cost)
    }
}

impl fmt::Debug for CompiledSchema {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("CompiledSchema")
            .field("cost", &self.cost)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

const MAX_BYTES: usize = 1 << 20;
const MAX_VALUES: usize = 50_000;

/// Refuses a schema that is too large to compile.
pub fn check_size(schema: &Value) -> Result<(), CompileError> {
    let (mut bytes, mut values) = (0, 0);
    let mut todo = vec![(schema, 0)];
    while let Some((value, depth)) = todo.pop() {
        values += 1;
        bytes += match value {
            Value::String(text) => text.len() + 2,
            Value::Object(map) => 2 + map.keys().map(|key| key.len() + 4).sum::<usize>(),
            _ => 2,
        };
        if depth > MAX_DEPTH {
            return Err(CompileError(format!("it is nested deeper than {MAX_DEPTH} levels")));
        }
        if values > MAX_VALUES {
            return Err(CompileError(format!("it has more than {MAX_VALUES} values")));
        }
        if bytes > MAX_BYTES {
            return Err(CompileError(format!("it is larger than {MAX_BYTES} bytes")));
        }
        match value {
            Value::Array(items) => todo.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => todo.extend(map.values().map(|part| (part, depth + 1))),
            _ => {}
        }
    }
    Ok(())
}

/// Returns the maximum cost of checks. Refuses a schema that would need too much stack or time.
fn check_cost(graph: &Graph) -> Result<Cost, CompileError> {
    let refused = |text: String| Err(CompileError(text));
    let Some(cost) = Cost::of(graph) else {
        return refused("a `$ref` leads back to itself without a property or an item in between".to_owned());
    };
    if cost.nesting > MAX_NESTING {
        return refused(format!(
            "{} schemas apply to one value inside each other, more than {MAX_NESTING}",
            cost.nesting
        ));
    }
    if cost.paths > MAX_PATHS {
        return refused("references multiply beyond what can be compiled".to_owned());
    }
    if graph.id_count > MAX_IDS {
        return refused(format!("it has {} parts with an `$id`, more than {MAX_IDS}", graph.id_count));
    }
    Ok(cost)
}

/// Returns the first keyword of `graph` that only the library `jsonschema` supports, with its place. Fails on a reference
/// without a target, or to a value that is not a schema.
fn find_foreign(
    schema: &Value,
    graph: &Graph,
    ids: &HashMap<usize, NodeId>,
) -> Result<Option<(String, &'static str)>, CompileError> {
    let mut found = None;
    for (id, node) in graph.nodes() {
        match &node.gap {
            None => {}
            Some(Gap::UnresolvedReference(reference)) => {
                let text = format!("a reference has no target (the target is never downloaded): `{reference}`");
                return Err(CompileError(truncate(&text)));
            }
            Some(Gap::NotASchema(text)) => {
                return Err(CompileError(format!("the target of a reference is not a schema: {text}")));
            }
            Some(Gap::Foreign(keyword)) => {
                found = found.or(Some((id, *keyword)));
            }
        }
    }
    let place_of =
        |id: NodeId| places::find(schema, &|value| ids.get(&address(value)) == Some(&id)).pop().unwrap_or_default();
    Ok(found.map(|(id, keyword)| (place_of(id), keyword)))
}

/// Returns the error for a keyword that only the library `jsonschema` supports.
fn feature_error(place: &str, keyword: &str) -> CompileError {
    CompileError(format!("{} needs the feature `jsonschema` of tool-runtime", truncate(&format!("{place}/{keyword}"))))
}

/// The size limits that are tried for a compiled pattern, in bytes. The last limit is the maximum.
const SIZES: [usize; 3] = [1 << 14, 1 << 17, pattern::MAX_BYTES];

/// The maximum size of all patterns of a schema together, in bytes.
const MAX_PATTERN_BYTES: usize = 16 << 20;

/// Compiles the patterns of `graph`. Removes each that cannot run, with a warning. Fails if that could refuse more values.
fn compile_patterns(
    schema: &Value,
    graph: &mut Graph,
    ids: &HashMap<usize, NodeId>,
    warnings: &mut Vec<String>,
) -> Result<HashMap<String, Pattern>, CompileError> {
    let mut tried = HashMap::new();
    let mut left = MAX_PATTERN_BYTES;
    let mut dropped: Vec<NodeId> = Vec::new();
    for (id, node) in graph.nodes() {
        if let Some((name, _)) =
            node.pattern_properties.iter().find(|(name, _)| !try_pattern(name, &mut tried, &mut left))
        {
            return Err(pattern_refusal("patternProperties", name));
        }
        let pattern = node.leaf.get("pattern").and_then(Value::as_str);
        if pattern.is_some_and(|pattern| !try_pattern(pattern, &mut tried, &mut left)) {
            dropped.push(id);
        }
    }
    if !dropped.is_empty() {
        drop_patterns(schema, graph, ids, &dropped, warnings)?;
    }
    Ok(tried.into_iter().filter_map(|(text, pattern)| Some((text, pattern?))).collect())
}

/// Returns whether `pattern` can be compiled within the bytes that are `left`. Each pattern is tried once.
fn try_pattern(pattern: &str, tried: &mut HashMap<String, Option<Pattern>>, left: &mut usize) -> bool {
    if let Some(known) = tried.get(pattern) {
        return known.is_some();
    }
    let mut sizes = SIZES.into_iter().filter(|size| size <= left);
    let (size, compiled) = sizes.find_map(|size| Some((size, Pattern::compile(pattern, size)?))).unzip();
    *left -= size.unwrap_or(0);
    let runs = compiled.is_some();
    tried.insert(pattern.to_owned(), compiled);
    runs
}

fn drop_patterns(
    schema: &Value,
    graph: &mut Graph,
    ids: &HashMap<usize, NodeId>,
    dropped: &[NodeId],
    warnings: &mut Vec<String>,
) -> Result<(), CompileError> {
    let text = |graph: &Graph, id: NodeId| {
        graph.node(id).leaf.get("pattern").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let guarded = find_unweakenable(graph);
    if let Some(id) = dropped.iter().find(|id| guarded[**id]) {
        return Err(pattern_refusal("not, if, oneOf or contains", &text(graph, *id)));
    }
    let id_of = |value: &Value| ids.get(&address(value)).copied().filter(|id| dropped.contains(id));
    for place in places::find(schema, &|value| id_of(value).is_some()) {
        if let Some(id) = schema.pointer(&place).and_then(id_of) {
            warnings.push(format!("{place}/pattern is not checked, {}", unsupported_pattern(&text(graph, id))));
        }
    }
    for &id in dropped {
        graph.node_mut(id).leaf.shift_remove("pattern");
    }
    Ok(())
}

fn pattern_refusal(keyword: &str, pattern: &str) -> CompileError {
    CompileError(format!("a pattern inside {keyword} cannot be left out, {}", unsupported_pattern(pattern)))
}

fn unsupported_pattern(pattern: &str) -> String {
    format!(
        "because it is not a regular expression that runs in linear time and bounded space (avoid look-around, back-references \
         and large counts): `{}`",
        excerpt(pattern, 80)
    )
}

/// Returns for each node whether the whole schema may refuse more values when the node accepts more. Such nodes are inside
/// `not`, `if`, `oneOf` or `contains`.
fn find_unweakenable(graph: &Graph) -> Vec<bool> {
    let mut guarded: Vec<bool> = graph.nodes().map(|_| false).collect();
    let mut waiting: Vec<NodeId> = Vec::new();
    for (_, node) in graph.nodes() {
        waiting.extend(node.not.iter().chain(&node.if_).chain(&node.one_of));
        waiting.extend(node.contains.map(|contains| contains.schema));
    }
    while let Some(id) = waiting.pop() {
        if !std::mem::replace(&mut guarded[id], true) {
            waiting.extend(graph.node(id).same_value().chain(graph.node(id).parts()));
        }
    }
    guarded
}
