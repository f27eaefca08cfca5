//! A simplified view of a JSON Schema: what a person has to know to give a value.

use serde_json::{Map, Value};

use super::check;

/// A schema reference is followed this deep; what lies deeper is asked for as JSON.
const DEPTH: usize = 6;
/// A schema is read up to this many nodes: references can multiply a small text into a huge tree.
const NODES: usize = 2000;

/// What a value may be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shape {
    /// What it consists of.
    pub(super) kind: Kind,
    /// A name for people.
    pub(super) title: Option<String>,
    /// What it means.
    pub(super) description: String,
    /// All values that are allowed, with what each of them means; empty where any value of the kind is.
    pub(super) allowed: Vec<Choice>,
    /// What is taken when nothing is given.
    pub(super) default: Option<Value>,
    /// Values that show what is meant.
    pub(super) examples: Vec<Value>,
    /// Whether `null` may stand for "nothing".
    pub(super) nullable: bool,
}

/// One allowed value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    /// The value.
    pub(super) value: Value,
    /// What it means, where the schema says it.
    pub(super) label: String,
}

/// What a value consists of.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Kind {
    /// A text.
    Text(Text),
    /// A number; `integer` when it has no fraction.
    Number(Number),
    /// Yes or no.
    Bool,
    /// A list of values of one shape.
    List { item: Box<Shape>, least: usize, most: Option<usize>, unique: bool },
    /// Named values.
    Object { fields: Vec<Field>, open: bool },
    /// A value of one of several simple kinds.
    Either(Vec<Shape>),
    /// Any JSON.
    #[default]
    Anything,
}

/// Limits of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Text {
    pub(super) least: usize,
    pub(super) most: Option<usize>,
    pub(super) pattern: Option<String>,
    pub(super) format: Option<String>,
}

/// Limits of a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Number {
    pub(super) integer: bool,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) above: Option<f64>,
    pub(super) below: Option<f64>,
    pub(super) step: Option<f64>,
}

/// A named value of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    /// The name on the wire.
    pub(super) name: String,
    /// Whether it must be given.
    pub(super) required: bool,
    /// What it may be.
    pub(super) shape: Shape,
}

impl Shape {
    /// Reads a schema; what is not understood becomes [`Kind::Anything`].
    pub(super) fn of(schema: &Value) -> Self {
        Reader { root: schema, nodes: NODES }.read(schema, 0)
    }

    /// The fields, where this is an object.
    pub(super) fn fields(&self) -> &[Field] {
        match &self.kind {
            Kind::Object { fields, .. } => fields,
            _ => &[],
        }
    }

    /// The shape at a JSON Pointer, where it is known.
    pub(super) fn at(&self, pointer: &str) -> Option<&Shape> {
        let mut shape = self;
        for step in pointer.split('/').skip(1) {
            shape = match &shape.kind {
                Kind::Object { fields, .. } => {
                    let name = step.replace("~1", "/").replace("~0", "~");
                    &fields.iter().find(|field| field.name == name)?.shape
                }
                Kind::List { item, .. } => item,
                _ => return None,
            };
        }
        Some(shape)
    }

    /// The only value that is possible, where there is just one.
    pub(super) fn only(&self) -> Option<&Value> {
        match &self.allowed[..] {
            [one] if !self.nullable => Some(&one.value),
            _ => None,
        }
    }

    /// Whether it is an object that is asked for field by field.
    pub(super) fn is_form(&self) -> bool {
        self.allowed.is_empty() && self.fields().iter().any(|field| field.required)
    }

    /// Whether any text will do.
    pub(super) fn is_free_text(&self) -> bool {
        let Kind::Text(text) = &self.kind else { return false };
        self.allowed.is_empty() && text.pattern.is_none() && text.format.is_none()
    }

    /// What is wrong with a value, as a phrase that follows the name; `Ok` where nothing is.
    pub(super) fn check(&self, value: &Value) -> Result<(), String> {
        check::check(self, value)
    }
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
            several => either(several.iter().map(|kind| self.kind(kind, &merged, depth)).map(Shape::plain).collect()),
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

impl Shape {
    fn plain(kind: Kind) -> Self {
        Self { kind, ..Self::default() }
    }
}

impl Choice {
    /// A value that says all by itself.
    pub(super) fn plain(value: &Value) -> Self {
        Self { value: value.clone(), label: String::new() }
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
