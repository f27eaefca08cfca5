//! The parameters of a `DynamicTool`: their dependencies and their schemas.

use std::{cmp::Ordering, fmt};

use serde_json::{Map, Value};

use super::DynamicField;
use crate::tool::dynamic::Shape;
use crate::toolset::ToolsetError;
use tool_schema::feedback::{self, suggest};

/// The parameters in the order of the schema, and the dependencies of the dynamic ones.
#[derive(Debug)]
pub struct Parameters {
    names: Vec<String>,
    /// The node of each parameter that is dynamic.
    node_of: Vec<Option<usize>>,
    /// The nodes, in the order in which their validators are asked.
    nodes: Vec<Node>,
}

/// A dynamic parameter.
#[derive(Debug)]
pub struct Node {
    field: usize,
    requires: Vec<usize>,
    after: Vec<usize>,
    hints: Vec<usize>,
}

impl Parameters {
    /// Creates the parameters called `names`, of which `fields` are dynamic. Puts `fields` into the order of their validators.
    pub fn new(names: Vec<String>, fields: &mut Vec<DynamicField>) -> Result<Self, DynamicError> {
        let mut nodes = Vec::with_capacity(fields.len());
        for (index, field) in fields.iter().enumerate() {
            let name = || field.name.clone();
            if fields[..index].iter().any(|earlier| earlier.name == field.name) {
                return Err(DynamicError::Twice { name: name() });
            }
            let Some(place) = names.iter().position(|known| *known == field.name) else {
                let suggestion = suggest::nearest(&field.name, names.iter().map(String::as_str)).map(str::to_owned);
                return Err(DynamicError::NoProperty { name: name(), suggestion });
            };
            if field.validator.is_none() {
                return Err(DynamicError::NoValidator { name: name() });
            }
            let find = |others: &[String]| places(field, others, &names);
            let (requires, after, hints) = (find(&field.requires)?, find(&field.after)?, find(&field.hints)?);
            if let Some(other) = after.iter().find(|other| requires.contains(other)) {
                return Err(DynamicError::Repeated { name: name(), other: names[*other].clone() });
            }
            nodes.push(Some(Node { field: place, requires, after, hints }));
        }
        let node_of = |place: usize| nodes.iter().flatten().position(|node| node.field == place);
        let before =
            |node: &Node| node.requires.iter().chain(&node.after).filter_map(|place| node_of(*place)).collect();
        let before: Vec<Vec<usize>> = nodes.iter().flatten().map(before).collect();
        let by_name = |a: usize, b: usize| fields[a].name.cmp(&fields[b].name);
        let Some(order) = order(&before, by_name) else {
            let names = |cycle: Vec<usize>| cycle.into_iter().map(|node| fields[node].name.clone()).collect();
            return Err(DynamicError::Cycle { cycles: cycles(&before).into_iter().map(names).collect() });
        };
        let nodes: Vec<Node> = order.iter().filter_map(|node| nodes[*node].take()).collect();
        let mut given: Vec<Option<DynamicField>> = std::mem::take(fields).into_iter().map(Some).collect();
        fields.extend(order.iter().filter_map(|node| given[*node].take()));
        let node_of = |place: usize| nodes.iter().position(|node| node.field == place);
        Ok(Self { node_of: (0..names.len()).map(node_of).collect(), names, nodes })
    }

    /// Returns the parameters whose given values the validator at `node` sees.
    pub fn hints(&self, node: usize) -> &[usize] {
        &self.nodes[node].hints
    }
}

/// Returns the indexes of the parameters `others`, to which `field` refers.
fn places(field: &DynamicField, others: &[String], names: &[String]) -> Result<Vec<usize>, DynamicError> {
    let mut places = Vec::with_capacity(others.len());
    for other in others {
        let (name, found) = (field.name.clone(), names.iter().position(|known| known == other));
        let other = other.clone();
        if other == name {
            return Err(DynamicError::Own { name });
        }
        let Some(place) = found else {
            let suggestion = suggest::nearest(&other, names.iter().map(String::as_str)).map(str::to_owned);
            return Err(DynamicError::Unknown { name, other, suggestion });
        };
        if places.contains(&place) {
            return Err(DynamicError::Repeated { name, other });
        }
        places.push(place);
    }
    Ok(places)
}

impl Shape for Parameters {
    fn name(&self, field: usize) -> &str {
        &self.names[field]
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    fn fields(&self) -> usize {
        self.names.len()
    }

    fn is_dynamic(&self, field: usize) -> bool {
        self.node_of[field].is_some()
    }

    fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn field(&self, node: usize) -> usize {
        self.nodes[node].field
    }

    fn requires(&self, node: usize) -> &[usize] {
        &self.nodes[node].requires
    }

    fn after(&self, node: usize) -> &[usize] {
        &self.nodes[node].after
    }
}

/// Returns the cycles of nodes that wait for each other. `before[n]` lists what `n` waits for; indexes beyond the end are
/// allowed.
///
/// A cycle lists its nodes from the first to the last, which waits for the first. The search starts at each node in order and
/// follows its dependencies in order. It visits no node twice.
fn cycles(before: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    let mut seen = vec![false; before.len()];
    for root in 0..before.len() {
        if seen[root] {
            continue;
        }
        seen[root] = true;
        // The path from the root: each node with the number of dependencies already followed.
        let mut way = vec![(root, 0)];
        while let Some((node, gone)) = way.last_mut() {
            let Some(next) = before[*node].get(*gone).copied() else {
                way.pop();
                continue;
            };
            *gone += 1;
            if let Some(start) = way.iter().position(|(node, _)| *node == next) {
                found.push(way[start..].iter().map(|(node, _)| *node).collect());
            } else if next < before.len() && !seen[next] {
                seen[next] = true;
                way.push((next, 0));
            }
        }
    }
    found
}

/// Returns an order in which each node comes after what it waits for. If several nodes may come next, `compare` decides.
///
/// Returns `None` if nodes wait for each other, or for an index beyond the end.
fn order(before: &[Vec<usize>], compare: impl Fn(usize, usize) -> Ordering) -> Option<Vec<usize>> {
    let mut left: Vec<usize> = (0..before.len()).collect();
    left.sort_by(|a, b| compare(*a, *b));
    let mut order: Vec<usize> = Vec::with_capacity(left.len());
    while let Some(next) = left.iter().position(|node| before[*node].iter().all(|first| order.contains(first))) {
        order.push(left.remove(next));
    }
    (order.len() == before.len()).then_some(order)
}

/// The keywords with which a schema itself states which other properties an object may have, or where they are defined.
const OPEN: [&str; 9] = [
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
];

/// Returns the schema of complete arguments: an object that allows no other names, unless the schema has keywords about them. If
/// the root is only a reference to a definition, the definition replaces it.
pub fn complete_schema(schema: Value) -> Map<String, Value> {
    let root = root_target(&schema);
    let Value::Object(mut schema) = schema else { return Map::new() };
    if let Some(root) = root {
        schema.shift_remove("$ref");
        for (key, value) in root {
            schema.entry(key).or_insert(value);
        }
    }
    schema.entry("type").or_insert_with(|| "object".into());
    if !OPEN.iter().any(|key| schema.contains_key(*key)) {
        schema.insert("additionalProperties".into(), false.into());
    }
    schema
}

fn root_target(schema: &Value) -> Option<Map<String, Value>> {
    let place = schema.get("$ref")?.as_str()?.strip_prefix('#').filter(|place| place.starts_with('/'))?;
    if schema.get("properties").is_some() { None } else { schema.pointer(place)?.as_object().cloned() }
}

/// Returns the schema of arguments that may lack `dynamic` parameters, with the descriptions of these.
pub fn partial_schema<'n>(
    complete: &Map<String, Value>,
    dynamic: impl Iterator<Item = (&'n str, Option<&'n str>)>,
) -> Value {
    let mut schema = complete.clone();
    for (name, description) in dynamic {
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|required| required != name);
        }
        let property = schema.get_mut("properties").and_then(|properties| properties.get_mut(name));
        let (Some(property), Some(description)) = (property, description) else { continue };
        if *property == Value::Bool(true) {
            *property = Value::Object(Map::new());
        }
        if let Value::Object(property) = property {
            property.insert("description".into(), description.into());
        }
    }
    if schema.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        schema.shift_remove("required");
    }
    Value::Object(schema)
}

/// The error of building a tool with dynamic parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DynamicError {
    /// The tool's name cannot be used, or its output schema needs the feature `jsonschema`.
    InvalidTool(ToolsetError),
    /// The schema of the arguments cannot be used.
    Schema {
        /// The reason.
        reason: String,
    },
    /// A parameter was added that the schema of the arguments does not have.
    NoProperty {
        /// The parameter.
        name: String,
        /// The property whose name is nearest to it.
        suggestion: Option<String>,
    },
    /// A parameter was added twice.
    Twice {
        /// The parameter.
        name: String,
    },
    /// A parameter has no validator.
    NoValidator {
        /// The parameter.
        name: String,
    },
    /// A parameter refers to one that does not exist.
    Unknown {
        /// The parameter.
        name: String,
        /// The name to which it refers.
        other: String,
        /// The known parameter whose name is nearest.
        suggestion: Option<String>,
    },
    /// A parameter refers to itself.
    Own {
        /// The parameter.
        name: String,
    },
    /// A parameter refers to another one twice.
    Repeated {
        /// The parameter.
        name: String,
        /// The parameter to which it refers.
        other: String,
    },
    /// Parameters wait for each other.
    Cycle {
        /// Each cycle, from its first parameter to the last, which waits for the first.
        cycles: Vec<Vec<String>>,
    },
}

impl fmt::Display for DynamicError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |name: &str| feedback::quote_name(name);
        let near = |suggestion: &Option<String>| match suggestion {
            Some(near) => format!("; did you mean {}?", quoted(near)),
            None => String::new(),
        };
        match self {
            Self::InvalidTool(error) => error.fmt(out),
            Self::Schema { reason } => write!(out, "the schema of the arguments cannot be used: {reason}"),
            Self::NoProperty { name, suggestion } => {
                write!(out, "the schema of the arguments has no property {}{}", quoted(name), near(suggestion))
            }
            Self::Twice { name } => write!(out, "the parameter {} is added twice", quoted(name)),
            Self::NoValidator { name } => {
                let name = quoted(name);
                write!(out, "the parameter {name} has no validator; add one, or leave it static by not adding it")
            }
            Self::Unknown { name, other, suggestion } => {
                write!(out, "{} waits for {}, an unknown parameter{}", quoted(name), quoted(other), near(suggestion))
            }
            Self::Own { name } => write!(out, "{} waits for itself", quoted(name)),
            Self::Repeated { name, other } => {
                write!(out, "{} names {} twice; once is enough", quoted(name), quoted(other))
            }
            Self::Cycle { cycles } => {
                let written = |cycle: &Vec<String>| {
                    let round = cycle.iter().chain(cycle.first());
                    round.map(|name| quoted(name)).collect::<Vec<_>>().join(" -> ")
                };
                let cycles: Vec<String> = cycles.iter().map(written).collect();
                write!(out, "parameters wait for each other: {}", cycles.join("; "))
            }
        }
    }
}

impl std::error::Error for DynamicError {}

impl From<ToolsetError> for DynamicError {
    fn from(error: ToolsetError) -> Self {
        Self::InvalidTool(error)
    }
}
