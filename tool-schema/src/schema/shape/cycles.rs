//! References that lead back to themselves without a value in between.

use std::collections::{BTreeMap, HashMap};

use super::{At, Form, Shape};
use crate::schema::losses::{Losses, Severity};

/// Removes each reference in `targets` that leads back to itself while the value stays the same, as in
/// `{"Self": {"anyOf": [{"$ref": "#/$defs/Self"}, …]}}`. It says nothing, and readers of schemas would not end.
pub fn break_cycles(targets: &mut BTreeMap<At, Shape>, losses: &mut Losses) {
    for (from, to) in find_back_edges(targets) {
        losses.add(&from, "$ref", Severity::Weakened, "leads back to itself: left out");
        let Some(shape) = targets.get_mut(&from) else { continue };
        let leads_back = |shape: &Shape| matches!(&shape.form, Form::Ref(at) if *at == to);
        match &mut shape.form {
            Form::Union(members) => {
                members.retain(|member| !leads_back(member));
                let members = std::mem::take(members);
                shape.form = if members.is_empty() { Form::Any } else { Shape::union(&shape.at, members).form };
            }
            form => *form = Form::Any,
        }
    }
}

/// Returns the references that end a cycle: the place of a target, and the place of one that leads there.
fn find_back_edges(targets: &BTreeMap<At, Shape>) -> Vec<(At, At)> {
    let mut found = Vec::new();
    // The value is set for targets that are done. The others lead to the current one.
    let mut states: HashMap<&At, bool> = HashMap::new();
    for (start, shape) in targets {
        if states.contains_key(start) {
            continue;
        }
        states.insert(start, false);
        let mut path = vec![(start, references(shape))];
        while let Some((at, todo)) = path.last_mut() {
            let at = *at;
            let Some(next) = todo.pop() else {
                states.insert(at, true);
                path.pop();
                continue;
            };
            match (states.get(next), targets.get(next)) {
                (Some(true), _) | (_, None) => {}
                (Some(false), _) => found.push((at.clone(), next.clone())),
                (None, Some(shape)) => {
                    states.insert(next, false);
                    path.push((next, references(shape)));
                }
            }
        }
    }
    found
}

/// Returns the places whose schemas a value of `shape` may fit directly.
fn references(shape: &Shape) -> Vec<&At> {
    let members = match &shape.form {
        Form::Union(members) => members.as_slice(),
        _ => std::slice::from_ref(shape),
    };
    members.iter().filter_map(|member| if let Form::Ref(at) = &member.form { Some(at) } else { None }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::schema::{Dialect, Schema};

    #[test]
    fn a_reference_to_itself_is_left_out() {
        let definitions = json!({
            "Self": {"$ref": "#/$defs/Self"},
            "One": {"anyOf": [{"$ref": "#/$defs/Two"}, {"type": "string"}]},
            "Two": {"anyOf": [{"$ref": "#/$defs/One"}, {"type": "integer"}]},
            "List": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/List"}}, {"type": "null"}]},
        });
        let names = ["Self", "One", "Two", "List"];
        let all = names.map(|name| (name.to_owned(), json!({"$ref": format!("#/$defs/{name}")})));
        let properties: serde_json::Map<String, Value> = all.into_iter().collect();
        let schema = Schema::new(json!({"type": "object", "properties": properties, "$defs": definitions}));
        for dialect in [Dialect::Portable, Dialect::OpenAiStrict] {
            let form: Value = serde_json::from_str(schema.lowered(dialect).json().get()).unwrap();
            let definitions = &form["$defs"];
            assert_ne!(definitions["Self"], json!({"$ref": "#/$defs/Self"}), "{dialect:?}");
            let unions = [&definitions["One"], &definitions["Two"]];
            assert_eq!(unions.iter().filter(|one| one.to_string().contains("$ref")).count(), 1, "{dialect:?}");
            assert!(definitions["List"].to_string().contains("$ref"), "{dialect:?}");
        }
    }
}
