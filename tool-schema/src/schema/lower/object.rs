//! Writing objects.

use serde_json::{Value, json};

use super::{
    node::{Node, nullable, typed},
    write::Writer,
};
use crate::schema::{
    Severity,
    raise::takes_null,
    shape::{At, Object, Property, Rest},
};

impl Writer<'_> {
    pub(super) fn object(&mut self, object: &Object, at: &At, is_root: bool, hints: &mut Vec<String>) -> Node {
        let mut node = typed("object");
        let mut properties = Vec::new();
        let mut required = Vec::new();
        for property in &object.properties {
            if property.required || self.rules.all_required {
                required.push(Value::from(property.name.as_str()));
            }
            properties.push((property.name.clone(), Value::Object(self.property(property))));
        }
        if self.rules.closed {
            self.lose_rest(object, at, is_root);
            self.close(&mut node, properties, required);
        } else {
            if !properties.is_empty() {
                let ordering: Vec<Value> = properties.iter().map(|(name, _)| name.as_str().into()).collect();
                node.insert("properties".to_owned(), Value::Object(properties.into_iter().collect()));
                if !required.is_empty() {
                    node.insert("required".to_owned(), required.into());
                }
                node.insert("propertyOrdering".to_owned(), ordering.into());
            } else if self.rules.ordering {
                node.insert("propertyOrdering".to_owned(), json!([]));
            }
            match &object.rest {
                Rest::Unsaid => {}
                Rest::None => drop(node.insert("additionalProperties".to_owned(), false.into())),
                Rest::Open => drop(node.insert("additionalProperties".to_owned(), true.into())),
                Rest::Of(shape) => {
                    let rest = self.node(shape, false);
                    node.insert("additionalProperties".to_owned(), Value::Object(rest));
                }
            }
        }
        self.limits(&mut node, &object.limits, hints);
        node
    }

    fn property(&mut self, property: &Property) -> Node {
        let node = self.node(&property.shape, false);
        let optional = self.rules.all_required && !property.required;
        if optional && !takes_null(&property.shape, self.targets) { nullable(node) } else { node }
    }

    pub(super) fn close(&mut self, node: &mut Node, properties: Vec<(String, Value)>, required: Vec<Value>) {
        if self.rules.closed {
            node.insert("properties".to_owned(), Value::Object(properties.into_iter().collect()));
            node.insert("required".to_owned(), required.into());
            node.insert("additionalProperties".to_owned(), false.into());
        } else if self.rules.ordering {
            node.insert("propertyOrdering".to_owned(), json!([]));
        }
    }

    /// A closed object has no room for properties without a name.
    fn lose_rest(&mut self, object: &Object, at: &At, is_root: bool) {
        let named = !object.properties.is_empty();
        let free = match object.rest {
            Rest::None => return,
            // Who names properties means these; who has no argument means none.
            Rest::Unsaid if named || object.declared || is_root => return,
            Rest::Unsaid => "properties",
            Rest::Open | Rest::Of(_) => "additionalProperties",
        };
        if named {
            self.losses.add(at, free, Severity::Narrowed, "only the named properties can be sent");
        } else {
            self.stand_in(at, free, "a map with free keys cannot be said: an empty object stands in");
        }
    }
}
