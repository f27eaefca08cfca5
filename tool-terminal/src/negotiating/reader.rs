//! Reads JSON Schemas into shapes: references, `allOf`, nullables, lists of constants.

use serde_json::{Map, Value};

use super::shape::{Choice, Field, Kind, Number, Shape, Text};

/// A schema reference is followed this deep; what lies deeper is asked for as JSON.
const DEPTH: usize = 6;
/// A schema is read up to this many nodes: references can multiply a small text into a huge tree.
const NODES: usize = 2000;

/// The shape of a schema; what is not understood becomes [`Kind::Anything`].
pub(super) fn read(schema: &Value) -> Shape {
    Reader { root: schema, nodes: NODES }.read(schema, 0)
}

/// Reads schemas that may refer to one another.
struct Reader<'a> {
    root: &'a Value,
    nodes: usize,
}

impl Reader<'_> {
    fn read(&mut self, schema: &Value, depth: usize) -> Shape {
        let Some(known) = schema.as_object().filter(|_| depth <= DEPTH && self.nodes > 0) else {
            return Shape::default();
        };
        self.nodes -= 1;
        let merged = self.merged(known, 0);
        let word = |key: &str| merged.get(key).and_then(Value::as_str).map(str::trim);
        let mut shape = Shape {
            title: word("title").map(str::to_owned),
            description: word("description").unwrap_or_default().to_owned(),
            default: merged.get("default").cloned(),
            examples: merged.get("examples").and_then(Value::as_array).cloned().unwrap_or_default(),
            ..Shape::default()
        };
        shape.examples.extend(merged.get("example").cloned());
        let types = types(&merged);
        shape.nullable = types.contains(&"null") || merged.get("nullable") == Some(&Value::Bool(true));
        let types: Vec<_> = types.into_iter().filter(|kind| *kind != "null").collect();
        if let Some(values) = merged.get("enum").and_then(Value::as_array) {
            shape.nullable |= values.contains(&Value::Null);
            shape.allowed = values.iter().filter(|value| !value.is_null()).map(Choice::plain).collect();
        }
        if let Some(value) = merged.get("const").filter(|value| !value.is_null()) {
            shape.allowed = vec![Choice::plain(value)];
        }
        shape.kind = match &types[..] {
            [one] => self.kind(one, &merged, depth),
            [] => self.alternatives(&mut shape, &merged, depth),
            several => either(
                several
                    .iter()
                    .map(|kind| self.kind(kind, &merged, depth))
                    .map(|kind| Shape { kind, ..Shape::default() })
                    .collect(),
            ),
        };
        if !shape.allowed.is_empty() && shape.kind == Kind::Anything {
            shape.kind = kind_of(&shape.allowed[0].value);
        }
        shape
    }

    /// The schema with its reference and its `allOf` put into it; its own keywords win.
    fn merged(&mut self, schema: &Map<String, Value>, links: usize) -> Map<String, Value> {
        let mut out = schema.clone();
        let reference = out.remove("$ref");
        let target = reference.as_ref().and_then(Value::as_str).and_then(|link| {
            let pointer = link.strip_prefix('#')?;
            self.root.pointer(pointer).and_then(Value::as_object).cloned()
        });
        let parts = out.get("allOf").and_then(Value::as_array).cloned().unwrap_or_default();
        for part in target.into_iter().chain(parts.iter().filter_map(Value::as_object).cloned()) {
            if links >= DEPTH || self.nodes == 0 {
                break;
            }
            self.nodes -= 1;
            for (key, value) in self.merged(&part, links + 1) {
                match (out.get_mut(&key), value) {
                    (Some(Value::Object(own)), Value::Object(more)) if key == "properties" => {
                        more.into_iter().for_each(|(name, property)| {
                            own.entry(name).or_insert(property);
                        });
                    }
                    (Some(Value::Array(own)), Value::Array(more)) if key == "required" => own.extend(more),
                    (Some(_), _) => {}
                    (None, value) => {
                        out.insert(key, value);
                    }
                }
            }
        }
        out
    }

    fn kind(&mut self, name: &str, schema: &Map<String, Value>, depth: usize) -> Kind {
        let number = |key: &str| schema.get(key).and_then(Value::as_f64);
        let count = |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        let word = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
        match name {
            "string" => Kind::Text(Text {
                least: count("minLength").unwrap_or(0),
                most: count("maxLength"),
                pattern: word("pattern"),
                format: word("format"),
            }),
            "integer" | "number" => Kind::Number(Number {
                integer: name == "integer",
                min: number("minimum"),
                max: number("maximum"),
                above: number("exclusiveMinimum"),
                below: number("exclusiveMaximum"),
                step: number("multipleOf").filter(|step| *step > 0.0),
            }),
            "boolean" => Kind::Bool,
            "array" if !schema.contains_key("prefixItems") => Kind::List {
                item: Box::new(schema.get("items").map(|items| self.read(items, depth + 1)).unwrap_or_default()),
                least: count("minItems").unwrap_or(0),
                most: count("maxItems"),
                unique: schema.get("uniqueItems") == Some(&Value::Bool(true)),
            },
            "object" => {
                let names = schema.get("required").and_then(Value::as_array);
                let required = |name: &str| names.is_some_and(|names| names.iter().any(|known| known == name));
                let mut fields = Vec::new();
                for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
                    let shape = self.read(property, depth + 1);
                    fields.push(Field { name: name.clone(), required: required(name), shape });
                }
                let open = schema.get("additionalProperties") != Some(&Value::Bool(false));
                Kind::Object { fields, open }
            }
            _ => Kind::Anything,
        }
    }

    /// `anyOf` and `oneOf`: a nullable, a list of constants, or several kinds.
    fn alternatives(&mut self, shape: &mut Shape, schema: &Map<String, Value>, depth: usize) -> Kind {
        let Some(parts) = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(*key)?.as_array()) else {
            return if schema.contains_key("properties") { self.kind("object", schema, depth) } else { Kind::Anything };
        };
        let mut shapes = Vec::new();
        for part in parts {
            let read = self.read(part, depth + 1);
            let null = part.get("type").is_some_and(|kind| kind == "null") || part.get("const") == Some(&Value::Null);
            shape.nullable |= null || read.nullable;
            if !null {
                shapes.push(read);
            }
        }
        if shapes.len() == 1 {
            let one = shapes.remove(0);
            if shape.description.is_empty() {
                shape.description = one.description;
            }
            shape.allowed = one.allowed;
            return one.kind;
        }
        if !shapes.is_empty() && shapes.iter().all(|part| !part.allowed.is_empty()) {
            for part in shapes {
                let label = Some(part.description).filter(|text| !text.is_empty()).or(part.title).unwrap_or_default();
                let single = part.allowed.len() == 1;
                let named = part.allowed.into_iter();
                shape
                    .allowed
                    .extend(named.map(|one| if single { Choice { label: label.clone(), ..one } } else { one }));
            }
            return shape.allowed.first().map_or(Kind::Anything, |one| kind_of(&one.value));
        }
        either(shapes)
    }
}

/// Several kinds, where each of them is simple enough to be told from the others.
fn either(shapes: Vec<Shape>) -> Kind {
    let simple = |shape: &Shape| matches!(shape.kind, Kind::Text(_) | Kind::Number(_) | Kind::Bool);
    if !shapes.is_empty() && shapes.iter().all(simple) { Kind::Either(shapes) } else { Kind::Anything }
}

fn types(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn kind_of(value: &Value) -> Kind {
    match value {
        Value::String(_) => Kind::Text(Text::default()),
        Value::Number(_) => Kind::Number(Number::default()),
        Value::Bool(_) => Kind::Bool,
        _ => Kind::Anything,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn count(shape: &Shape) -> usize {
        1 + shape.fields().iter().map(|field| count(&field.shape)).sum::<usize>()
    }

    fn kind(schema: &Value) -> Kind {
        read(schema).kind
    }

    #[test]
    fn references_and_parts_are_put_together() {
        let shape = read(&json!({"$ref": "#/$defs/A", "description": "mine", "$defs": {
            "A": {"description": "its", "allOf": [{"properties": {"x": {"type": "boolean"}}, "required": ["x"]}],
                "type": "object", "properties": {"y": {"const": 1}}}}}));
        let fields: Vec<_> = shape.fields().iter().map(|field| (field.name.as_str(), field.required)).collect();
        assert_eq!((shape.description.as_str(), fields), ("mine", vec![("y", false), ("x", true)]));
        assert_eq!(shape.at("/y").and_then(Shape::only), Some(&json!(1)));
    }

    #[test]
    fn nullables_and_alternatives() {
        let shape = read(&json!({"anyOf": [{"type": "string", "description": "a text"}, {"type": "null"}]}));
        assert!(shape.nullable && shape.description == "a text" && matches!(shape.kind, Kind::Text(_)));
        let shape = read(&json!({"oneOf": [{"const": "a", "description": "first"}, {"enum": ["b", "c"]}]}));
        let labels: Vec<_> = shape.allowed.iter().map(|choice| choice.label.as_str()).collect();
        assert_eq!(labels, ["first", "", ""]);
        assert!(matches!(kind(&json!({"type": ["integer", "boolean"]})), Kind::Either(shapes) if shapes.len() == 2));
        assert_eq!(kind(&json!({"anyOf": [{"type": "object"}, {"type": "string"}]})), Kind::Anything);
        assert!(read(&json!({"enum": ["a", null]})).nullable);
    }

    #[test]
    fn schemas_that_never_end_are_cut() {
        assert_eq!(kind(&json!({"$ref": "#"})), Kind::Anything);
        let tree = json!({"$ref": "#/$defs/T", "$defs": {"T": {"type": "object", "properties": {
            "a": {"$ref": "#/$defs/T"}, "b": {"$ref": "#/$defs/T"}, "c": {"$ref": "#/$defs/T"}, "d": {"$ref": "#/$defs/T"},
            "e": {"$ref": "#/$defs/T"}, "f": {"$ref": "#/$defs/T"}, "g": {"$ref": "#/$defs/T"}}}}});
        assert!(count(&read(&tree)) < 4 * NODES);
        for odd in
            [json!(true), json!(null), json!({"$ref": 1}), json!({"allOf": [true], "type": 3}), json!({"$ref": "#/x"})]
        {
            assert_eq!(kind(&odd), Kind::Anything);
        }
    }
}
