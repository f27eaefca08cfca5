//! The sizes of schemas with the targets of their references in place.

use std::collections::HashMap;

use serde_json::Value;

use crate::schema::{places, pointer};

/// The maximum number of references on the way to a schema. With more of them, the schema counts as endless.
const MAX_TURNS: usize = 50;

/// The size of a schema with the targets of all its references in place, except those that lead back to themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub schemas: usize,
    pub bytes: usize,
}

impl Size {
    const ENDLESS: Self = Self { schemas: usize::MAX, bytes: usize::MAX };

    fn add(&mut self, other: Self) {
        self.schemas = self.schemas.saturating_add(other.schemas);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// The known sizes. Each target is measured once, because a chain of small schemas that each use the next one twice is endless.
#[derive(Debug, Default)]
pub struct Sizes {
    /// The sizes of targets. A target that is being measured has none.
    known: HashMap<String, Option<Size>>,
}

impl Sizes {
    /// Returns the size of `root`.
    pub fn of_root(&mut self, root: &Value) -> Size {
        self.known.insert(String::new(), None);
        self.measure(root, "", root, MAX_TURNS)
    }

    /// Returns the size of `schema`, to which a reference at another place leads.
    pub fn of_target(&mut self, root: &Value, at: &str, schema: &Value) -> Size {
        self.measure_target(root, at, schema, MAX_TURNS)
    }

    fn measure_target(&mut self, root: &Value, at: &str, schema: &Value, turns: usize) -> Size {
        if let Some(known) = self.known.get(at) {
            return known.unwrap_or(Size { schemas: 1, bytes: at.len() });
        }
        if turns == 0 {
            return Size::ENDLESS;
        }
        self.known.insert(at.to_owned(), None);
        let size = self.measure(root, at, schema, turns - 1);
        self.known.insert(at.to_owned(), Some(size));
        size
    }

    fn measure(&mut self, root: &Value, at: &str, schema: &Value, turns: usize) -> Size {
        let mut size = Size { schemas: 1, bytes: 2 };
        let Value::Object(map) = schema else { return size };
        for (word, value) in map.iter().filter(|(word, _)| !places::is_structure(word)) {
            let target = || pointer::resolve(root, at, value.as_str()?);
            if word == "$ref"
                && let Some((at, target)) = target()
            {
                size.add(self.measure_target(root, &at, target, turns));
            } else if places::holds(word, value) == places::Holds::Nothing {
                size.bytes = size.bytes.saturating_add(word.len() + value.to_string().len() + 4);
            } else {
                size.bytes = size.bytes.saturating_add(word.len() + 4);
            }
        }
        for (word, at, child) in places::children(schema, at) {
            if !places::is_structure(word) {
                size.bytes = size.bytes.saturating_add(pointer::last(&at).len() + 4);
                size.add(self.measure(root, &at, child, turns));
            }
        }
        size
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn schemas(root: &Value) -> usize {
        Sizes::default().of_root(root).schemas
    }

    #[test]
    fn a_definition_counts_with_all_that_it_uses() {
        let item = json!({"$defs": {"Item": {"properties": {"a": {}, "b": {"$ref": "#/$defs/Name"}}}, "Name": {}},
            "properties": {"x": {"$ref": "#/$defs/Item"}, "y": {"$ref": "#/$defs/Item"}}});
        // The root, and twice a reference, an item, its two properties and the name.
        assert_eq!(schemas(&item), 1 + 2 * 5);
        assert_eq!(schemas(&json!({"properties": {"x": {"$ref": "#"}, "y": {"$ref": "#/none"}}})), 1 + 2 + 1);
    }

    #[test]
    fn a_chain_that_doubles_is_measured_once_per_definition() {
        let mut definitions = Map::new();
        for i in 0..20 {
            let next = json!({"$ref": format!("#/$defs/T{}", i + 1)});
            definitions.insert(format!("T{i}"), json!({"properties": {"a": next, "b": next}}));
        }
        definitions.insert("T20".to_owned(), json!({}));
        let root = json!({"$ref": "#/$defs/T0", "$defs": definitions});
        let mut sizes = Sizes::default();
        assert!(sizes.of_root(&root).schemas > 1 << 20);
        assert_eq!(sizes.known.len(), 22);
    }

    #[test]
    fn a_long_chain_is_endless() {
        let definitions: Map<_, _> =
            (0..100_000).map(|i| (format!("T{i}"), json!({"$ref": format!("#/$defs/T{}", i + 1)}))).collect();
        assert_eq!(schemas(&json!({"$ref": "#/$defs/T0", "$defs": definitions})), usize::MAX);
    }
}
