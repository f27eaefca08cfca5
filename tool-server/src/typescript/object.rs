//! Objects, maps, lists and tuples.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{
    print::{Printer, Spot, Type},
    refs, text,
};
use tool_runtime::schema::pointer;

/// Up to how many items a list of a fixed length is written as a tuple.
const MOST_ITEMS: u64 = 16;

impl Printer<'_> {
    pub(super) fn object(&mut self, members: &Map<String, Value>, at: &str, spot: Spot) -> Type {
        let none = Map::new();
        let properties = members.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let required: Vec<&str> =
            members.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let others = self.others(members, at, spot);
        let undeclared: Vec<_> = required.iter().filter(|name| !properties.contains_key(**name)).collect();
        if properties.is_empty() && undeclared.is_empty() {
            // A struct without fields has empty `properties`, a free object has none.
            let is_free = !members.contains_key("properties");
            let others = others.unwrap_or_else(|| Type::plain(if is_free { "unknown" } else { "never" }));
            return self.map(members, at, &others);
        }
        let indent = "  ".repeat(spot.indent + 1);
        let mut body = String::new();
        for (name, schema) in properties {
            let place = pointer::push(&pointer::push(at, "properties"), name);
            let value = self.typed(schema, &place, spot.indented());
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            let _ = writeln!(body, "{}{indent}{}{mark}: {};", text::doc(schema, &indent), text::key(name), value.text);
        }
        for name in undeclared {
            let value = others.as_ref().map_or("unknown", |others| others.text.as_str());
            let _ = writeln!(body, "{indent}{}: {value};", text::key(name));
        }
        let declared = Type::plain(format!("{{\n{body}{}}}", "  ".repeat(spot.indent)));
        match others {
            Some(others) if others.text != "never" && others.text != "unknown" => {
                Type::all_of(vec![declared, self.map(members, at, &others)])
            }
            _ => declared,
        }
    }

    /// What members may be that are not declared; `None` if nothing is said of them.
    fn others(&mut self, members: &Map<String, Value>, at: &str, spot: Spot) -> Option<Type> {
        let mut types = Vec::new();
        if let Some(Value::Object(patterns)) = members.get("patternProperties") {
            let place = pointer::push(at, "patternProperties");
            types.extend(patterns.iter().map(|(pattern, schema)| {
                let at = pointer::push(&place, pattern);
                self.typed(schema, &at, spot.inside())
            }));
        }
        match members.get("additionalProperties") {
            Some(schema) => types.push(self.typed(schema, &pointer::push(at, "additionalProperties"), spot.inside())),
            // Besides those with a pattern, anything goes.
            None if !types.is_empty() && members.contains_key("properties") => {}
            None if !types.is_empty() => types.push(Type::unknown()),
            None => return None,
        }
        Some(Type::any_of(types))
    }

    /// An object of any members, or of those that `propertyNames` lists.
    fn map(&self, members: &Map<String, Value>, at: &str, value: &Type) -> Type {
        let names = members.get("propertyNames").map(|names| {
            let at = pointer::push(at, "propertyNames");
            refs::reference(self.root, &at, names).map_or(names, |(_, target)| target)
        });
        let listed = names.and_then(|names| names.get("enum")?.as_array()).map(Vec::as_slice).unwrap_or_default();
        let listed: Vec<_> = listed.iter().filter(|name| name.is_string()).map(Value::to_string).collect();
        Type::plain(if listed.is_empty() {
            format!("{{ [key: string]: {} }}", value.text)
        } else {
            format!("{{ [K in {}]?: {} }}", listed.join(" | "), value.text)
        })
    }

    pub(super) fn array(&mut self, members: &Map<String, Value>, at: &str, spot: Spot) -> Type {
        // Before 2020-12, `items` was the list, and `additionalItems` what follows.
        let (listed, rest) = match (members.get("prefixItems"), members.get("items")) {
            (Some(Value::Array(listed)), rest) => (Some(("prefixItems", listed)), rest.map(|rest| ("items", rest))),
            (_, Some(Value::Array(listed))) => {
                (Some(("items", listed)), members.get("additionalItems").map(|rest| ("additionalItems", rest)))
            }
            (_, rest) => (None, rest.map(|rest| ("items", rest))),
        };
        let inside = spot.inside();
        let rest = rest.map(|(word, schema)| self.typed(schema, &pointer::push(at, word), inside));
        let count = |word: &str| members.get(word).and_then(Value::as_u64);
        let (least, most) = (count("minItems").unwrap_or(0), count("maxItems"));
        let Some((word, listed)) = listed else {
            let item = rest.unwrap_or_else(Type::unknown);
            return match most {
                Some(0) => Type::plain("[]"),
                Some(most) if most == least && most <= MOST_ITEMS => {
                    let items = vec![item.text; usize::try_from(most).unwrap_or_default()];
                    Type::plain(format!("[{}]", items.join(", ")))
                }
                _ => item.list(),
            };
        };
        let place = pointer::push(at, word);
        let mut items = Vec::new();
        for (i, schema) in listed.iter().enumerate() {
            let Type { text, .. } = self.typed(schema, &format!("{place}/{i}"), inside);
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
