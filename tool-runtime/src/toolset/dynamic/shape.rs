//! The parameters of a tool that are known at run time only.

use super::{DynamicError, DynamicField, graph};
use crate::tool::dynamic::Shape;
use tool_schema::feedback::suggest;

/// The parameters, in the order of the schema, and how the dynamic ones depend on each other.
#[derive(Debug)]
pub struct Parameters {
    names: Vec<String>,
    /// The node of each parameter that is dynamic.
    node_of: Vec<Option<usize>>,
    /// In the order in which they are asked.
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
    /// The parameters called `names`, of which `fields` are dynamic; puts these in the order in which they are asked.
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
            let find = |others: &[String]| places(field, others, &names, fields);
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
        let Some(order) = graph::order(&before, by_name) else {
            let names = |cycle: Vec<usize>| cycle.into_iter().map(|node| fields[node].name.clone()).collect();
            return Err(DynamicError::Cycle { cycles: graph::cycles(&before).into_iter().map(names).collect() });
        };
        let nodes: Vec<Node> = order.iter().filter_map(|node| nodes[*node].take()).collect();
        let mut given: Vec<Option<DynamicField>> = std::mem::take(fields).into_iter().map(Some).collect();
        fields.extend(order.iter().filter_map(|node| given[*node].take()));
        let node_of = |place: usize| nodes.iter().position(|node| node.field == place);
        Ok(Self { node_of: (0..names.len()).map(node_of).collect(), names, nodes })
    }

    /// Whose values the validator at `node` sees before they are validated.
    pub fn hints(&self, node: usize) -> &[usize] {
        &self.nodes[node].hints
    }
}

/// Where the parameters called `others` are, which `field` names.
fn places(
    field: &DynamicField,
    others: &[String],
    names: &[String],
    fields: &[DynamicField],
) -> Result<Vec<usize>, DynamicError> {
    let mut places = Vec::with_capacity(others.len());
    for other in others {
        let (name, found) = (field.name.clone(), names.iter().position(|known| known == other));
        let other = other.clone();
        if other == name {
            return Err(DynamicError::Own { name });
        }
        let Some(place) = found else {
            let suggestion = suggest::nearest(&other, fields.iter().map(|field| &*field.name)).map(str::to_owned);
            return Err(DynamicError::Unknown { name, other, suggestion });
        };
        if fields.iter().all(|field| field.name != other) {
            return Err(DynamicError::Static { name, other });
        }
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
