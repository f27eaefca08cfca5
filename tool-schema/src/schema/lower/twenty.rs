//! Older versions of JSON Schema as 2020-12.

use serde_json::{Map, Value};

use super::rewrite::{Source, Version};
use crate::schema::{loss::Losses, words};

pub(super) struct Twenty;

impl Version for Twenty {
    const DEFINITIONS: &'static str = "$defs";

    fn name<'w>(&self, word: &'w str, schema: &Map<String, Value>, _: &Source<'_>) -> Option<&'w str> {
        let is_tuple = schema.get("items").is_some_and(Value::is_array);
        match word {
            "definitions" => Some("$defs"),
            "items" if is_tuple => Some("prefixItems"),
            "additionalItems" => is_tuple.then_some("items"),
            "dependencies" => Some("dependentSchemas"),
            "$recursiveAnchor" => None,
            other => Some(other),
        }
    }

    fn finish(&self, _: &Map<String, Value>, to: &mut Map<String, Value>, source: &Source<'_>, _: &mut Losses) {
        if to.contains_key("$ref") && !source.draft.reference_has_siblings() {
            to.retain(|word, _| word == "$ref" || words::is_annotation(word));
        }
        let Some(Value::Object(schemas)) = to.get_mut("dependentSchemas") else { return };
        let (required, schemas) =
            std::mem::take(schemas).into_iter().partition::<Map<_, _>, _>(|(_, one)| one.is_array());
        if schemas.is_empty() {
            to.shift_remove("dependentSchemas");
        } else {
            to.insert("dependentSchemas".to_owned(), Value::Object(schemas));
        }
        if !required.is_empty() {
            let all = to.entry("dependentRequired").or_insert_with(|| Map::new().into());
            if let Some(all) = all.as_object_mut() {
                all.extend(required);
            }
        }
    }
}
