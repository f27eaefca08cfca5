//! Writing arrays.

use serde_json::Value;

use super::{
    node::{Node, typed},
    write::Writer,
};
use crate::schema::{
    Severity, pointer,
    shape::{Array, At, Form, Kind, Scalar, Shape, count},
};

impl Writer<'_> {
    pub(super) fn array(&mut self, array: &Array, at: &At, hints: &mut Vec<String>) -> Node {
        let mut node = typed("array");
        let never = array.items.form == Form::Never;
        if self.rules.tuples && !array.prefix.is_empty() {
            let prefix: Vec<Value> = array.prefix.iter().map(|item| Value::Object(self.node(item, false))).collect();
            node.insert("prefixItems".to_owned(), prefix.into());
            if !never && array.items.form != Form::Any {
                let items = self.node(&array.items, false);
                node.insert("items".to_owned(), Value::Object(items));
            }
        } else {
            let mut members = array.prefix.clone();
            let open = array.items.form == Form::Any && !members.is_empty();
            if !never && !open {
                members.push((*array.items).clone());
            }
            if !array.prefix.is_empty() {
                hints.push(format!("in order: {}", array.prefix.iter().map(kind).collect::<Vec<_>>().join(", ")));
                self.weaken(at, "prefixItems");
                if open && !is_full(array) {
                    self.losses.add(at, "items", Severity::Narrowed, "further items are like the first ones");
                }
            }
            let items = if members.is_empty() {
                Shape::new(at.clone(), Form::Scalar(Scalar { kind: Kind::Null, values: None, limits: Vec::new() }))
            } else {
                Shape::union(at, members)
            };
            node.insert("items".to_owned(), Value::Object(self.node(&items, false)));
        }
        self.limits(&mut node, &array.limits, hints);
        if never && !is_full(array) {
            self.weaken(at, "items");
            if self.rules.limits.contains(&"maxItems") {
                node.insert("maxItems".to_owned(), array.prefix.len().into());
            }
        }
        node
    }
}

/// What to call a value of that shape.
fn kind(shape: &Shape) -> String {
    match &shape.form {
        Form::Scalar(scalar) => scalar.kind.name().to_owned(),
        Form::Object(_) => "object".to_owned(),
        Form::Array(_) => "array".to_owned(),
        Form::Cut(kind) => kind.name().to_owned(),
        Form::Ref(at) => pointer::last(at),
        Form::Union(members) => members.iter().map(kind).collect::<Vec<_>>().join(" or "),
        Form::Any | Form::Never => "anything".to_owned(),
    }
}

/// Whether the first items are all that there can be.
fn is_full(array: &Array) -> bool {
    let most = count(&array.limits, "maxItems");
    most.is_some_and(|most| usize::try_from(most).is_ok_and(|most| most <= array.prefix.len()))
}
