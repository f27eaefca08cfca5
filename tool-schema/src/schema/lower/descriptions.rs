//! Descriptions of references: one stands beside a reference or in its target, because Moonshot refuses both at once.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The maximum number of bytes by which the description of one definition grows a schema.
const MAX_GROWTH: usize = 4_096;

/// Changes each definition that has a description and a reference with a description of its own. The definition's description
/// moves to all its references. If that is long, those beside the references are left out instead.
pub fn separate_descriptions(root: &mut Map<String, Value>) {
    let mut references: BTreeMap<String, (usize, bool)> = BTreeMap::new();
    each_reference(root, &mut |name, node| {
        let (count, is_described) = references.entry(name.to_owned()).or_default();
        *count += 1;
        *is_described |= node.contains_key("description");
    });
    let mut moved: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (name, (count, is_described)) in references {
        let Some(Value::Object(definition)) = root.get_mut("$defs").and_then(|all| all.get_mut(&name)) else {
            continue;
        };
        let Some(text) = definition.get("description").and_then(Value::as_str).filter(|_| is_described) else {
            continue;
        };
        let fits = text.len().saturating_mul(count) <= MAX_GROWTH;
        let text = fits.then(|| text.to_owned());
        if fits {
            definition.remove("description");
        }
        moved.insert(name, text);
    }
    if moved.is_empty() {
        return;
    }
    each_reference(root, &mut |name, node| match moved.get(name) {
        Some(Some(text)) => {
            let own = node.get("description").and_then(Value::as_str);
            let text = match own {
                Some(own) if own != text => format!("{own}\n\n{text}"),
                _ => text.clone(),
            };
            node.insert("description".to_owned(), text.into());
        }
        Some(None) => drop(node.remove("description")),
        None => {}
    });
}

/// Calls `visit` with the name of the definition and the schema, for each schema that is a reference.
fn each_reference(schema: &mut Map<String, Value>, visit: &mut dyn FnMut(&str, &mut Map<String, Value>)) {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix("#/$defs/"));
    if let Some(name) = name.map(str::to_owned) {
        visit(&name, schema);
    }
    for (word, value) in schema {
        let below: Vec<&mut Value> = match (word.as_str(), value) {
            ("properties" | "$defs", Value::Object(named)) => named.values_mut().collect(),
            ("anyOf" | "prefixItems", Value::Array(list)) => list.iter_mut().collect(),
            ("items" | "additionalProperties", one) => vec![one],
            _ => continue,
        };
        for one in below.into_iter().filter_map(Value::as_object_mut) {
            each_reference(one, visit);
        }
    }
}
