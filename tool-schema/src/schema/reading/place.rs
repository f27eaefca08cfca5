//! The places of a schema where a value is read: those with values of one kind, besides null.

use std::cell::Cell;

use serde_json::{Map, Value};

use super::super::{
    places::{self, Holds},
    pointer,
};

/// The maximum number of references and unions that lead to a place.
const MAX_STEPS: usize = 32;

/// The valid values of a place where values are read.
#[derive(Debug)]
pub enum Place<'a> {
    Integer,
    Boolean,
    /// One of these texts.
    Choice(Vec<&'a str>),
    /// Items of this schema.
    List(&'a Value),
    /// These properties, and no others.
    Object(&'a Map<String, Value>),
}

/// A reader of one schema.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    pub root: &'a Value,
    /// The number of steps that are left. At 0, nothing more is found.
    pub left: &'a Cell<usize>,
}

impl<'a> Reader<'a> {
    /// Returns the place that `schema` describes. Returns `None` if no value is read there. If several objects are valid, the value
    /// `text` decides by its tag.
    pub fn place(self, schema: &'a Value, text: &str) -> Option<Place<'a>> {
        let mut found = Vec::new();
        self.collect(schema, 0, &mut found)?;
        let mut choices = Vec::new();
        let mut places: Vec<Place<'a>> = Vec::new();
        for place in found {
            match place {
                Place::Choice(more) => choices.extend(more),
                place => places.push(place),
            }
        }
        if !choices.is_empty() {
            choices.sort_unstable();
            choices.dedup();
            places.push(Place::Choice(choices));
        }
        if places.len() > 1 && places.iter().all(|place| matches!(place, Place::Object(_))) {
            self.spend(text.len() / 8)?;
            let members: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
            places.retain(|place| matches!(place, Place::Object(properties) if self.has_tag(properties, &members)));
        }
        let place = places.pop()?;
        places.is_empty().then_some(place)
    }

    /// Returns the item that the value `text` is, if `schema` describes integers, booleans or choices.
    pub fn single(self, schema: &'a Value, text: &str) -> Option<String> {
        let place = self.place(schema, text)?;
        let value: Value = serde_json::from_str(text).ok()?;
        let fits = match (&place, &value) {
            (Place::Integer, Value::Number(_)) | (Place::Boolean, Value::Bool(_)) => true,
            (Place::Choice(choices), Value::String(text)) => choices.contains(&&**text),
            _ => false,
        };
        if fits { Some(text.to_owned()) } else { self.read_scalar(&place, text) }
    }

    /// Returns the JSON text of the value that the JSON string `json` means at `place`.
    pub fn read_scalar(self, place: &Place<'_>, json: &str) -> Option<String> {
        let sent = super::read_text(json)?;
        match place {
            Place::Integer => super::is_integer(&sent).then_some(sent),
            Place::Boolean => matches!(&*sent, "true" | "false").then_some(sent),
            Place::Choice(choices) if !choices.contains(&&*sent) => {
                self.spend(choices.len() * 8)?;
                let folded = fold(&sent);
                let mut equal = choices.iter().filter(|choice| fold(choice) == folded);
                let choice = equal.next().filter(|_| equal.next().is_none())?;
                Some(Value::from(*choice).to_string())
            }
            Place::Choice(_) | Place::List(_) | Place::Object(_) => None,
        }
    }

    /// Counts steps. Returns `None` if there are not so many left.
    fn spend(self, steps: usize) -> Option<()> {
        let left = self.left.get().saturating_sub(steps);
        self.left.set(left);
        (left > 0).then_some(())
    }

    /// Adds the places that `schema` allows. Returns `None` if it allows values that are not read, such as any text.
    fn collect(self, schema: &'a Value, steps: usize, found: &mut Vec<Place<'a>>) -> Option<()> {
        self.spend(4)?;
        let schema = schema.as_object().filter(|_| steps < MAX_STEPS)?;
        if schema.iter().any(|(word, value)| is_unread(word, value)) {
            return None;
        }
        let shape = ["$ref", "anyOf", "oneOf", "enum", "const", "type"];
        let mut shape = shape.into_iter().filter_map(|word| Some((word, schema.get(word)?)));
        let (word, value) = shape.next()?;
        let beside = shape.next().map(|(word, _)| word);
        match (word, value, beside) {
            ("$ref", Value::String(reference), None) => {
                let (_, target) = pointer::resolve(self.root, "", reference)?;
                self.collect(target, steps + 1, found)
            }
            ("anyOf" | "oneOf", Value::Array(members), None) if !schema.contains_key("properties") => {
                members.iter().try_for_each(|member| self.collect(member, steps + 1, found))
            }
            ("enum", Value::Array(values), None | Some("type")) => {
                self.spend(values.len())?;
                let is_integer = schema.get("type").is_some_and(|kind| kind == "integer");
                if is_integer && values.iter().all(Value::is_number) {
                    found.push(Place::Integer);
                    return Some(());
                }
                values.iter().try_for_each(|value| add_choice(value, found))
            }
            ("const", value, None | Some("type")) => add_choice(value, found),
            ("type", Value::String(kind), _) => add_kind(kind, schema, found),
            ("type", Value::Array(kinds), _) => {
                kinds.iter().try_for_each(|kind| add_kind(kind.as_str().unwrap_or_default(), schema, found))
            }
            _ => None,
        }
    }

    /// Returns whether the object of `members` has the tags of an object with `properties`. There must be at least one.
    fn has_tag(self, properties: &'a Map<String, Value>, members: &Map<String, Value>) -> bool {
        let mut tags = properties.iter().filter_map(|(name, schema)| Some((name, self.tag(schema)?))).peekable();
        tags.peek().is_some() && tags.all(|(name, tag)| members.get(name).and_then(Value::as_str) == Some(tag))
    }

    /// Returns the only valid text of `schema`.
    fn tag(self, schema: &'a Value) -> Option<&'a str> {
        match self.place(schema, "")? {
            Place::Choice(choices) if choices.len() == 1 => choices.first().copied(),
            _ => None,
        }
    }
}

/// Returns whether no value is read beside the keyword: it holds schemas that can change the kind of the valid values.
fn is_unread(word: &str, value: &Value) -> bool {
    let is_understood = matches!(
        word,
        "$defs"
            | "additionalProperties"
            | "anyOf"
            | "contentSchema"
            | "definitions"
            | "items"
            | "oneOf"
            | "properties"
            | "unevaluatedProperties"
    );
    matches!(word, "$dynamicRef" | "$recursiveRef") || !is_understood && places::holds(word, value) != Holds::Nothing
}

fn add_choice<'a>(value: &'a Value, found: &mut Vec<Place<'a>>) -> Option<()> {
    match value {
        Value::String(text) => found.push(Place::Choice(vec![text])),
        Value::Null => {}
        _ => return None,
    }
    Some(())
}

fn add_kind<'a>(kind: &str, schema: &'a Map<String, Value>, found: &mut Vec<Place<'a>>) -> Option<()> {
    let place = match kind {
        "null" => return Some(()),
        "integer" => Place::Integer,
        "boolean" => Place::Boolean,
        "array" => Place::List(schema.get("items").filter(|items| items.is_object())?),
        "object" => Place::Object(properties_of(schema)?),
        _ => return None,
    };
    found.push(place);
    Some(())
}

/// Returns the properties of an object that has no others, or `None` for a map and for an object with free names.
fn properties_of(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let is_closed = |word| schema.get(word) == Some(&Value::Bool(false));
    let properties = schema.get("properties")?.as_object()?;
    (is_closed("additionalProperties") || is_closed("unevaluatedProperties")).then_some(properties)
}

/// Returns a text without the differences that do not count: case, and spaces, `_` and `-` between letters. At other places, such a sign can
/// carry a meaning: `-created`, `UTC-5`.
pub fn fold(text: &str) -> String {
    let all: Vec<char> = text.chars().collect();
    let is_letter = |at: Option<usize>| at.and_then(|at| all.get(at)).is_some_and(|c| c.is_alphabetic());
    let is_dropped =
        |at: usize| matches!(all[at], ' ' | '_' | '-') && is_letter(at.checked_sub(1)) && is_letter(at.checked_add(1));
    (0..all.len()).filter(|at| !is_dropped(*at)).flat_map(|at| all[at].to_lowercase()).collect()
}
