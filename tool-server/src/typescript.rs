//! Conversion of schemas into TypeScript types, for frontends.
//!
//! A type expresses the part of a schema that a compiler can check, without limits and patterns. If TypeScript cannot express a
//! schema exactly, the type is wider, never narrower.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::Write as _,
};

use serde_json::{Map, Value};
use tool_runtime::Toolset;
use tool_schema::schema::{places, pointer};

/// The name of the type of all tools.
const ALL: &str = "Tools";

/// Returns a TypeScript module with the types of each tool's input and output. Its type `Tools` fits the AI SDK's
/// `UIMessage<unknown, UIDataTypes, Tools>`, so that a frontend's `part.input` and `part.output` have types. Other frontends can
/// use `Tools['name']['input']`.
///
/// The module leaves out tools that clients do not see (`meta(hidden = true)`). The text depends only on the declarations of the
/// tools: write it to a file of the frontend, and let a test compare the two.
///
/// ```
/// use tool_runtime::{tool, toolset};
/// use tool_server::typescript;
///
/// /// Get the usual temperature of a city.
/// #[tool(effect = read_only)]
/// fn get_temperature(
///     /// The city's English name.
///     city: String,
///     /// The month, 1 for January.
///     month: Option<u8>,
/// ) -> f64 {
///     10.0
/// }
///
/// assert_eq!(typescript(&toolset!(get_temperature)), "\
/// // Made from the declarations of the tools: change those.
///
/// export type GetTemperatureInput = {
///   /** The city's English name. */
///   city: string;
///   /** The month, 1 for January. */
///   month?: number | null;
/// };
///
/// export type GetTemperatureOutput = number;
///
/// export type Tools = {
///   /** Get the usual temperature of a city. */
///   get_temperature: { input: GetTemperatureInput; output: GetTemperatureOutput };
/// };
/// ");
/// ```
pub fn typescript(tools: &Toolset) -> String {
    let mut module = Module::new(&[ALL]);
    let mut all = String::new();
    let shown = tools.iter().map(|tool| tool.spec()).filter(|spec| !spec.is_hidden());
    for spec in shown {
        let input = module.declare(&format!("{}_input", spec.name), spec.input.neutral());
        let output = match &spec.output {
            Some(output) => module.declare(&format!("{}_output", spec.name), output.neutral()),
            None => "unknown".to_owned(),
        };
        all.push_str(&comment(&spec.description, "  "));
        all.extend(["  ", &*key(&spec.name), ": { input: ", &input, "; output: ", &output, " };\n"]);
    }
    let all = if all.is_empty() { "{ [key: string]: never }".to_owned() } else { format!("{{\n{all}}}") };
    let types = module.finish();
    format!("// Made from the declarations of the tools: change those.\n{types}\nexport type {ALL} = {all};\n")
}

/// A module with uniquely named type declarations. It declares a definition once, even if several schemas share it.
#[derive(Debug)]
struct Module {
    declarations: Vec<String>,
    taken: HashSet<String>,
    /// The names of definitions, by their identity.
    shared: HashMap<String, String>,
}

impl Module {
    /// Creates a module that does not use the names in `reserved`.
    fn new(reserved: &[&str]) -> Self {
        let taken = reserved.iter().map(|name| (*name).to_owned()).collect();
        Self { declarations: Vec::new(), taken, shared: HashMap::new() }
    }

    /// Declares the type of the schema `root`, with a name derived from `name`. Returns the type's name.
    fn declare(&mut self, name: &str, root: &Value) -> String {
        let name = self.reserve_name(name);
        let mut printer = Printer::new(self, root);
        printer.known.insert(String::new(), name.clone());
        printer.todo.push((name.clone(), String::new()));
        while let Some((name, at)) = printer.todo.pop() {
            let text = printer.declaration(&name, &at);
            printer.module.declarations.push(text);
        }
        name
    }

    /// Returns the text of all declarations, each after an empty line.
    fn finish(self) -> String {
        self.declarations.concat()
    }

    /// Returns an unused type name that is derived from `wanted`.
    fn reserve_name(&mut self, wanted: &str) -> String {
        let base = type_name(wanted);
        let mut name = base.clone();
        let mut number = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{base}{number}");
            number += 1;
        }
        name
    }
}

/// The maximum depth of nested types. Deeper ones are `unknown`.
const MAX_NESTING: usize = 48;

/// The maximum length of a list of equal items that is written as a tuple.
const MAX_ITEMS: u64 = 16;

/// A type's text, and the precedence of its outermost operator.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Type {
    text: String,
    precedence: Precedence,
}

/// The precedence of an operator, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Union,
    Intersection,
    Primary,
}

impl Type {
    fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), precedence: Precedence::Primary }
    }

    fn unknown() -> Self {
        Self::plain("unknown")
    }

    /// Returns the union of `members`.
    fn any_of(members: Vec<Self>) -> Self {
        Self::join(members, " | ", Precedence::Union, "never", "unknown")
    }

    /// Returns the intersection of `members`.
    fn all_of(members: Vec<Self>) -> Self {
        Self::join(members, " & ", Precedence::Intersection, "unknown", "never")
    }

    /// Joins `members` by the operator `with`. Leaves out members equal to `neutral`. If a member equals `absorbing`, it is
    /// the whole result.
    fn join(members: Vec<Self>, with: &str, precedence: Precedence, neutral: &str, absorbing: &str) -> Self {
        let mut parts: Vec<Self> = Vec::new();
        for member in members {
            if member.text == absorbing {
                return member;
            }
            if member.text != neutral && !parts.contains(&member) {
                parts.push(member);
            }
        }
        match parts.len() {
            0 => Self::plain(neutral),
            1 => parts.remove(0),
            _ => {
                let texts: Vec<_> = parts.into_iter().map(|part| part.into_operand(precedence)).collect();
                Self { text: texts.join(with), precedence }
            }
        }
    }

    /// Returns the text for an operand of an operator with this precedence, in parentheses if necessary.
    fn into_operand(self, precedence: Precedence) -> String {
        if self.precedence < precedence { format!("({})", self.text) } else { self.text }
    }

    /// Returns the type of a list of this type.
    fn list(self) -> Self {
        Self::plain(format!("{}[]", self.into_operand(Precedence::Primary)))
    }
}

/// The position at which a type is written.
#[derive(Clone, Copy, Debug)]
struct Position {
    /// The number of enclosing objects that are written over several lines.
    indent: usize,
    /// The number of enclosing schemas.
    level: usize,
    /// Set if an object or a list encloses the type, so that the type may refer back to the declared one.
    is_inside: bool,
}

impl Position {
    fn inside(self) -> Self {
        Self { is_inside: true, ..self }
    }

    fn indented(self) -> Self {
        Self { indent: self.indent + 1, ..self.inside() }
    }
}

/// A printer of the types of the document `root`.
#[derive(Debug)]
struct Printer<'a> {
    module: &'a mut Module,
    root: &'a Value,
    /// The names of the document's definitions, by their places.
    known: HashMap<String, String>,
    /// The names and places of definitions that are not declared yet.
    todo: Vec<(String, String)>,
    /// The place of the definition that is being declared.
    declared: String,
}

impl<'a> Printer<'a> {
    fn new(module: &'a mut Module, root: &'a Value) -> Self {
        Self { module, root, known: HashMap::new(), todo: Vec::new(), declared: String::new() }
    }

    /// Returns the declaration of the schema at `at` under `name`.
    fn declaration(&mut self, name: &str, at: &str) -> String {
        at.clone_into(&mut self.declared);
        let root = self.root;
        let schema = root.pointer(at).unwrap_or(&Value::Null);
        let body = self.type_of(schema, at, Position { indent: 0, level: 0, is_inside: false });
        format!("\n{}export type {name} = {};\n", doc(schema, ""), body.text)
    }

    /// Returns the type of `schema`, whose place is `at`.
    fn type_of(&mut self, schema: &Value, at: &str, position: Position) -> Type {
        let members = match schema {
            Value::Bool(false) => return Type::plain("never"),
            Value::Object(members) if position.level < MAX_NESTING => members,
            _ => return Type::unknown(),
        };
        let position = Position { level: position.level + 1, ..position };
        let mut parts: Vec<Type> = self.own_type(members, at, position).into_iter().collect();
        if let Some((target, _)) = reference(self.root, at, schema) {
            parts.push(self.reference_type(&target, position));
        }
        for (word, is_union) in [("allOf", false), ("anyOf", true), ("oneOf", true)] {
            let Some(Value::Array(all)) = members.get(word) else { continue };
            let place = pointer::join(at, word);
            let all = all.iter().enumerate().map(|(i, one)| self.type_of(one, &format!("{place}/{i}"), position));
            let all: Vec<_> = all.collect();
            parts.push(if is_union { Type::any_of(all) } else { Type::all_of(all) });
        }
        Type::all_of(parts)
    }

    /// Returns the type that the schema's own keywords express, or `None` if they express none.
    fn own_type(&mut self, members: &Map<String, Value>, at: &str, position: Position) -> Option<Type> {
        if let Some(only) = members.get("const") {
            return Some(Type::plain(literal(only)));
        }
        if let Some(Value::Array(values)) = members.get("enum") {
            return Some(Type::any_of(values.iter().map(|value| Type::plain(literal(value))).collect()));
        }
        let kinds: Vec<&str> = match members.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => vec![implied_type(members)?],
        };
        let types = kinds.into_iter().map(|kind| match kind {
            "string" | "boolean" | "null" => Type::plain(kind),
            "integer" | "number" => Type::plain("number"),
            "array" => self.array_type(members, at, position),
            "object" => self.object_type(members, at, position),
            _ => Type::unknown(),
        });
        Some(Type::any_of(types.collect()))
    }

    /// Returns the name of the type for the definition at `target`.
    fn reference_type(&mut self, target: &str, position: Position) -> Type {
        if !position.is_inside && leads_to(self.root, target, &self.declared) {
            // The type would refer directly to itself.
            return Type::unknown();
        }
        if let Some(name) = self.known.get(target) {
            return Type::plain(name);
        }
        let identity = identity(self.root, target);
        let shared = identity.as_ref().and_then(|identity| self.module.shared.get(identity)).cloned();
        let name = shared.unwrap_or_else(|| {
            let name = self.module.reserve_name(&pointer::last(target));
            self.todo.push((name.clone(), target.to_owned()));
            name
        });
        if let Some(identity) = identity {
            self.module.shared.insert(identity, name.clone());
        }
        self.known.insert(target.to_owned(), name.clone());
        Type::plain(name)
    }

    fn object_type(&mut self, members: &Map<String, Value>, at: &str, position: Position) -> Type {
        let none = Map::new();
        let properties = members.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let required: Vec<&str> =
            members.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let others = self.undeclared_type(members, at, position);
        let undeclared: Vec<_> = required.iter().filter(|name| !properties.contains_key(**name)).collect();
        if properties.is_empty() && undeclared.is_empty() {
            // A struct without fields has empty `properties`; a free object has no `properties`.
            let is_free = !members.contains_key("properties");
            let others = others.unwrap_or_else(|| Type::plain(if is_free { "unknown" } else { "never" }));
            return self.map_type(members, at, &others);
        }
        let indent = "  ".repeat(position.indent + 1);
        let mut body = String::new();
        for (name, schema) in properties {
            let place = pointer::join(&pointer::join(at, "properties"), name);
            let value = self.type_of(schema, &place, position.indented());
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            let _ = writeln!(body, "{}{indent}{}{mark}: {};", doc(schema, &indent), key(name), value.text);
        }
        for name in undeclared {
            let value = others.as_ref().map_or("unknown", |others| others.text.as_str());
            let _ = writeln!(body, "{indent}{}: {value};", key(name));
        }
        let declared = Type::plain(format!("{{\n{body}{}}}", "  ".repeat(position.indent)));
        match others {
            Some(others) if others.text != "never" && others.text != "unknown" => {
                Type::all_of(vec![declared, self.map_type(members, at, &others)])
            }
            _ => declared,
        }
    }

    /// Returns the type of undeclared members, or `None` if the schema does not mention them.
    fn undeclared_type(&mut self, members: &Map<String, Value>, at: &str, position: Position) -> Option<Type> {
        let mut types = Vec::new();
        if let Some(Value::Object(patterns)) = members.get("patternProperties") {
            let place = pointer::join(at, "patternProperties");
            types.extend(patterns.iter().map(|(pattern, schema)| {
                let at = pointer::join(&place, pattern);
                self.type_of(schema, &at, position.inside())
            }));
        }
        match members.get("additionalProperties") {
            Some(schema) => {
                types.push(self.type_of(schema, &pointer::join(at, "additionalProperties"), position.inside()));
            }
            // Members without a pattern may have any value.
            None if !types.is_empty() => types.push(Type::unknown()),
            None => return None,
        }
        Some(Type::any_of(types))
    }

    /// Returns the type of an object with any members, or with those that `propertyNames` lists.
    fn map_type(&self, members: &Map<String, Value>, at: &str, value: &Type) -> Type {
        let names = members.get("propertyNames").map(|names| {
            let at = pointer::join(at, "propertyNames");
            reference(self.root, &at, names).map_or(names, |(_, target)| target)
        });
        let listed = names.and_then(|names| names.get("enum")?.as_array()).map(Vec::as_slice).unwrap_or_default();
        let listed: Vec<_> = listed.iter().filter(|name| name.is_string()).map(Value::to_string).collect();
        Type::plain(if listed.is_empty() {
            format!("{{ [key: string]: {} }}", value.text)
        } else {
            format!("{{ [K in {}]?: {} }}", listed.join(" | "), value.text)
        })
    }

    fn array_type(&mut self, members: &Map<String, Value>, at: &str, position: Position) -> Type {
        // Before 2020-12, `items` was the list of the first items' schemas, and `additionalItems` the schema of the rest.
        let (listed, rest) = match (members.get("prefixItems"), members.get("items")) {
            (Some(Value::Array(listed)), rest) => (Some(("prefixItems", listed)), rest.map(|rest| ("items", rest))),
            (_, Some(Value::Array(listed))) => {
                (Some(("items", listed)), members.get("additionalItems").map(|rest| ("additionalItems", rest)))
            }
            (_, rest) => (None, rest.map(|rest| ("items", rest))),
        };
        let inside = position.inside();
        let rest = rest.map(|(word, schema)| self.type_of(schema, &pointer::join(at, word), inside));
        let count = |word: &str| members.get(word).and_then(Value::as_u64);
        let (least, most) = (count("minItems").unwrap_or(0), count("maxItems"));
        let Some((word, listed)) = listed else {
            let item = rest.unwrap_or_else(Type::unknown);
            return match most {
                Some(0) => Type::plain("[]"),
                Some(most) if most == least && most <= MAX_ITEMS => {
                    let items = vec![item.text; usize::try_from(most).unwrap_or_default()];
                    Type::plain(format!("[{}]", items.join(", ")))
                }
                _ => item.list(),
            };
        };
        let place = pointer::join(at, word);
        let mut items = Vec::new();
        for (i, schema) in listed.iter().enumerate() {
            let Type { text, .. } = self.type_of(schema, &format!("{place}/{i}"), inside);
            let is_optional = i as u64 >= least;
            items.push(if is_optional { format!("({text})?") } else { text });
        }
        let is_closed = most.is_some_and(|most| most <= listed.len() as u64);
        match rest {
            _ if is_closed => {}
            Some(rest) if rest.text == "never" => {}
            rest => items.push(format!("...{}", rest.unwrap_or_else(Type::unknown).list().text)),
        }
        Type::plain(format!("[{}]", items.join(", ")))
    }
}

/// Returns the type of value to which the keywords apply, for a schema without `type`.
fn implied_type(members: &Map<String, Value>) -> Option<&'static str> {
    let has = |words: &[&str]| words.iter().any(|word| members.contains_key(*word));
    if has(&["properties", "required", "additionalProperties", "patternProperties", "propertyNames"]) {
        Some("object")
    } else if has(&["items", "prefixItems"]) {
        Some("array")
    } else {
        None
    }
}

/// Returns `text` as the name of a type: its words, capitalized and joined. Because TypeScript's keywords are in lower case, the
/// name is never a keyword.
fn type_name(text: &str) -> String {
    let mut name = String::new();
    let mut begins = true;
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(if begins { c.to_ascii_uppercase() } else { c });
        }
        begins = !c.is_ascii_alphanumeric();
    }
    match name.chars().next() {
        None => "Type".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) => name,
    }
}

/// Returns the name of a member, in quotes if necessary.
fn key(name: &str) -> String {
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '$';
    let mut chars = name.chars();
    let is_plain = chars.next().is_some_and(begins) && chars.all(|c| begins(c) || c.is_ascii_digit());
    if is_plain { name.to_owned() } else { Value::from(name).to_string() }
}

/// Returns the literal type of `value`.
fn literal(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Value::Object(members) if members.is_empty() => "{ [key: string]: never }".to_owned(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{}: {}", key(name), literal(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join("; "))
        }
        scalar => scalar.to_string(),
    }
}

/// Returns a comment with a schema's description, default and deprecation.
fn doc(schema: &Value, indent: &str) -> String {
    let mut text = schema.get("description").and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        let _ = write!(text, "\n@default {default}");
    }
    if schema.get("deprecated") == Some(&Value::Bool(true)) {
        text.push_str("\n@deprecated");
    }
    comment(&text, indent)
}

/// Returns `text` as a comment, or an empty text if `text` is empty.
fn comment(text: &str, indent: &str) -> String {
    // The text of a schema must not end the comment.
    let text = text.trim().replace("*/", "*\\/");
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    match lines[..] {
        [] => String::new(),
        [line] => format!("{indent}/** {line} */\n"),
        _ => {
            let lines = lines.iter().map(|line| format!("{indent} * {line}").trim_end().to_owned() + "\n");
            format!("{indent}/**\n{}{indent} */\n", lines.collect::<String>())
        }
    }
}

/// The maximum number of definitions that a definition may reach and still be shared between schemas.
const MAX_REACHED: usize = 64;

/// The maximum number of places that are visited in search of a cycle. An unfinished search counts as a cycle.
const MAX_STEPS: usize = 10_000;

/// Returns the place that `schema` itself refers to (`$ref`, `$dynamicRef`), and the schema there.
fn reference<'a>(root: &'a Value, at: &str, schema: &Value) -> Option<(String, &'a Value)> {
    let link = ["$ref", "$dynamicRef"].iter().find_map(|word| schema.get(*word)?.as_str())?;
    pointer::resolve(root, at, link)
}

/// Returns the identity of a definition: its place, and all definitions that it reaches. Returns `None` if they are too many.
fn identity(root: &Value, at: &str) -> Option<String> {
    let mut reached = BTreeMap::from([(at.to_owned(), root.pointer(at)?)]);
    let mut todo = vec![at.to_owned()];
    while let Some(at) = todo.pop() {
        let mut found = Vec::new();
        references(root, &at, root.pointer(&at)?, &mut found);
        for (at, target) in found {
            if reached.insert(at.clone(), target).is_none() {
                todo.push(at);
            }
        }
        if reached.len() > MAX_REACHED {
            return None;
        }
    }
    serde_json::to_string(&(at, reached)).ok()
}

/// Collects the targets of all references in `schema`, except those inside its definitions (`$defs`).
fn references<'a>(root: &'a Value, at: &str, schema: &'a Value, found: &mut Vec<(String, &'a Value)>) {
    found.extend(reference(root, at, schema));
    for (word, at, one) in places::children(schema, at) {
        if !places::is_structure(word) {
            references(root, &at, one, found);
        }
    }
}

/// Returns whether the type at `from` leads to the one at `to` without an object or a list in between. A TypeScript alias may
/// refer to itself only inside an object or a list. A search that is too long counts as `true`.
fn leads_to(root: &Value, from: &str, to: &str) -> bool {
    let mut seen = HashSet::new();
    let mut todo = vec![from.to_owned()];
    while let Some(at) = todo.pop() {
        if at == to || seen.len() > MAX_STEPS {
            return true;
        }
        let Some(schema) = root.pointer(&at).filter(|_| !seen.contains(&at)) else { continue };
        todo.extend(reference(root, &at, schema).map(|(at, _)| at));
        let beside = places::children(schema, &at).into_iter();
        todo.extend(beside.filter(|(word, ..)| matches!(*word, "allOf" | "anyOf" | "oneOf")).map(|(_, at, _)| at));
        seen.insert(at);
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn declared(schema: &Value) -> String {
        let mut module = Module::new(&["Tools"]);
        module.declare("it", schema);
        module.finish().trim().to_owned()
    }

    /// Returns the type of `schema`, which must not need other declarations.
    fn typed(schema: &Value) -> String {
        let text = declared(schema);
        let text = text.strip_prefix("export type It = ").and_then(|text| text.strip_suffix(';'));
        text.unwrap_or_else(|| panic!("{schema} needs more")).to_owned()
    }

    #[test]
    fn values() {
        for (schema, expected) in [
            (json!(true), "unknown"),
            (json!({}), "unknown"),
            (json!(false), "never"),
            (json!(7), "unknown"),
            (json!({"type": "string", "minLength": 3}), "string"),
            (json!({"type": "integer"}), "number"),
            (json!({"type": ["integer", "null"]}), "number | null"),
            (json!({"type": ["integer", "number"]}), "number"),
            (json!({"type": "date"}), "unknown"),
            (json!({"const": "a\"\n"}), r#""a\"\n""#),
            (json!({"const": {"a": [1, null], "b c": {}}}), r#"{ a: [1, null]; "b c": { [key: string]: never } }"#),
            (json!({"type": "string", "enum": ["b", "a", "b"]}), r#""b" | "a""#),
            (json!({"enum": [-1.5, true, null]}), "-1.5 | true | null"),
            (json!({"enum": []}), "never"),
            (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), "string | null"),
            (json!({"anyOf": [{"type": "string"}, {}]}), "unknown"),
            (json!({"allOf": [{"type": "string"}, {}]}), "string"),
            (json!({"type": "string", "oneOf": [{"const": "a"}, {"const": "b"}]}), r#"string & ("a" | "b")"#),
        ] {
            assert_eq!(typed(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn lists_and_tuples() {
        for (schema, expected) in [
            (json!({"type": "array"}), "unknown[]"),
            (json!({"items": {"type": ["string", "null"]}}), "(string | null)[]"),
            (json!({"type": "array", "items": {"enum": ["a"]}, "maxItems": 0}), "[]"),
            (
                json!({"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}),
                "[number, number, number]",
            ),
            (json!({"type": "array", "items": {"type": "number"}, "minItems": 99, "maxItems": 99}), "number[]"),
            (
                json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "minItems": 2, "maxItems": 2}),
                "[string, number]",
            ),
            (
                json!({"type": "array", "prefixItems": [{"type": "string"}, {"enum": [1, 2]}], "minItems": 1}),
                "[string, (1 | 2)?, ...unknown[]]",
            ),
            (json!({"type": "array", "prefixItems": [{}], "minItems": 1, "items": false}), "[unknown]"),
            (json!({"items": [{"type": "null"}], "additionalItems": {"type": "null"}}), "[(null)?, ...null[]]"),
        ] {
            assert_eq!(typed(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn objects_and_maps() {
        for (schema, expected) in [
            (json!({"type": "object"}), "{ [key: string]: unknown }"),
            (json!({"type": "object", "properties": {}}), "{ [key: string]: never }"),
            (json!({"type": "object", "additionalProperties": false}), "{ [key: string]: never }"),
            (json!({"type": "object", "additionalProperties": {"type": "number"}}), "{ [key: string]: number }"),
            (
                json!({"type": "object", "patternProperties": {"^x": {"type": "number"}}, "additionalProperties": false}),
                "{ [key: string]: number }",
            ),
            // Other members may have any value, and no index signature says so.
            (
                json!({"properties": {"a": {"type": "string"}}, "patternProperties": {"^x": {"type": "number"}}}),
                "{\n  a?: string;\n}",
            ),
            (
                json!({"type": "object", "propertyNames": {"enum": ["a", "b-c"]}, "additionalProperties": {"type": "null"}}),
                r#"{ [K in "a" | "b-c"]?: null }"#,
            ),
            (
                json!({"properties": {"a": {"type": "string"}, "b c": true}, "required": ["b c", "d"]}),
                "{\n  a?: string;\n  \"b c\": unknown;\n  d: unknown;\n}",
            ),
            (
                json!({"properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": {"type": "number"}}),
                "{\n  a: string;\n} & { [key: string]: number }",
            ),
            (
                json!({"properties": {"a": {"properties": {"__proto__": {"type": "null"}}}}}),
                "{\n  a?: {\n    __proto__?: null;\n  };\n}",
            ),
            (
                json!({"oneOf": [
                    {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
                    {"properties": {"kind": {"const": "b"}}, "required": ["kind"]},
                ]}),
                "{\n  kind: \"a\";\n} | {\n  kind: \"b\";\n}",
            ),
        ] {
            assert_eq!(typed(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn definitions_are_declared_once_and_may_be_recursive() {
        let tree = json!({"$defs": {"tree": {
            "type": "object",
            "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}, "root": {"$ref": "#"}},
        }}, "$ref": "#/$defs/tree"});
        assert_eq!(
            declared(&tree),
            "export type It = Tree;\n\nexport type Tree = {\n  kids?: Tree[];\n  root?: It;\n};"
        );
        let point = |kind: &str| json!({"items": {"$ref": "#/$defs/Point"}, "$defs": {"Point": {"type": kind}}});
        let mut module = Module::new(&["Tools"]);
        let names = [("a", "string"), ("b", "string"), ("c", "number"), ("tools", "string"), ("Point", "string")];
        let names = names.map(|(name, kind)| module.declare(name, &point(kind)));
        assert_eq!(names, ["A", "B", "C", "Tools2", "Point3"]);
        let text = module.finish();
        let types =
            ["A = Point[]", "B = Point[]", "C = Point2[]", "Point = string", "Point2 = number", "Point3 = Point[]"];
        for declared in types {
            assert_eq!(text.matches(&format!("export type {declared};")).count(), 1, "{declared} in {text}");
        }
    }

    #[test]
    fn a_type_that_is_nothing_but_itself_is_unknown() {
        let circle = json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "null"}]}, "b": {"$ref": "#/$defs/a"}}});
        assert_eq!(declared(&circle), "export type It = A;\n\nexport type A = unknown;");
        assert_eq!(typed(&json!({"allOf": [{"$ref": "#"}, {"type": "string"}]})), "string");
        assert_eq!(typed(&json!({"$ref": "https://elsewhere.example/x"})), "unknown");
        assert_eq!(typed(&json!({"$ref": "#/nowhere", "type": "string"})), "string");
    }

    #[test]
    fn odd_names_and_comments() {
        let odd = json!({
            "description": "It ends */ alert(1) /*.\r\n\nNot here.",
            "properties": {
                "class": {"type": "string", "description": "A  word.", "default": "a*/b"},
                "1st": {"$ref": "#/$defs/Vec<f64>"},
                "ü\u{2028}\"": {"deprecated": true},
            },
            "$defs": {"Vec<f64>": {"items": {"$ref": "#/$defs/1"}}, "1": {"$ref": "#/$defs/é"}, "é": {"type": "number"}},
        });
        assert_eq!(
            declared(&odd),
            "/**\n * It ends *\\/ alert(1) /*.\n *\n * Not here.\n */\nexport type It = {\n  \
             /**\n   * A  word.\n   * @default \"a*\\/b\"\n   */\n  class?: string;\n  \"1st\"?: VecF64;\n  \
             /** @deprecated */\n  \"ü\u{2028}\\\"\"?: unknown;\n};\n\nexport type VecF64 = _1[];\n\n\
             export type _1 = Type;\n\nexport type Type = number;"
        );
    }

    #[test]
    fn types_that_are_too_large_become_unknown() {
        let mut deep = json!({"type": "string"});
        for _ in 0..60 {
            deep = json!({"items": deep});
        }
        assert_eq!(typed(&deep), format!("unknown{}", "[]".repeat(48)));
        // A chain of many definitions, each of which refers to the next, needs little stack and time.
        let chain = (0..1000).map(|i| (format!("d{i}"), json!({"items": {"$ref": format!("#/$defs/d{}", i + 1)}})));
        let chain = json!({"$ref": "#/$defs/d0", "$defs": chain.collect::<serde_json::Map<_, _>>()});
        assert_eq!(declared(&chain).matches("export type").count(), 1001);
        // A union of many is no circle.
        let many: Vec<_> = (0..1000).map(|i| json!({"const": i})).collect();
        let many = json!({"$ref": "#/$defs/many", "$defs": {"many": {"anyOf": many}}});
        assert!(declared(&many).starts_with("export type It = Many;"));
    }
}
