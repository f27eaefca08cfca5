//! The arguments of one call while they are being gathered.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::ask::{self, Ask};
use super::gaps;
use super::shape::Shape;

/// As many answers can be taken back.
const TRAIL: usize = 32;

/// The arguments of one call while they are being gathered.
#[derive(Clone, Debug, Default)]
pub(super) struct Form {
    /// The name of the tool.
    pub(super) tool: String,
    /// What is settled: an object, perhaps with gaps.
    pub(super) values: Value,
    /// What the tool said about its parameters when it refused a call.
    pub(super) offers: BTreeMap<String, Offer>,
    /// What has to be asked though it is not required, by pointer, the next one first.
    pub(super) wanted: Vec<String>,
    /// A list that may get more items.
    pub(super) open: Option<String>,
    /// A question about the last answer.
    pub(super) doubt: Option<Doubt>,
    /// The form before each answer, the latest last.
    trail: Vec<Form>,
}

/// What a tool said about a parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Offer {
    /// All values that are possible now.
    pub(super) allowed: Option<Vec<Value>>,
    /// Some values that are possible now.
    pub(super) suggested: Vec<Value>,
    /// What the parameter looks like now.
    pub(super) shape: Option<Shape>,
    /// Whether the tool accepted its value.
    pub(super) accepted: bool,
    /// Whether the tool needs it: it refused a call without it, or others depend on it.
    pub(super) must: bool,
    /// The parameters that it depends on, by pointer.
    pub(super) needs: Vec<String>,
}

/// A question about the last answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Doubt {
    /// Is this value meant?
    Meant { pointer: String, value: Value },
    /// Which of these values is meant?
    Which { pointer: String, values: Vec<Value> },
    /// Which of these parameters shall be changed?
    Change { pointers: Vec<String> },
    /// Shall another tool take over, with this sentence?
    Switch { tool: usize, text: String },
}

impl Form {
    /// An empty form for a tool.
    pub(super) fn new(tool: &str) -> Self {
        Self { tool: tool.to_owned(), values: Value::Object(Map::new()), ..Self::default() }
    }

    /// A form with the arguments of a call.
    pub(super) fn of_call(tool: &str, arguments: &str) -> Self {
        match serde_json::from_str(arguments) {
            Ok(values @ Value::Object(_)) => Self::new(tool).with(values),
            _ => Self::new(tool),
        }
    }

    /// The form with these values instead of its own.
    pub(super) fn with(mut self, values: Value) -> Self {
        self.values = values;
        self
    }

    /// What to ask next; `None` when the call can be made.
    pub(super) fn next(&self, root: &Shape) -> Option<Ask> {
        if let Some(pointer) = &self.open {
            return Some(self.ask(root, pointer));
        }
        let wanted = self.wanted.iter().find_map(|pointer| {
            let known = self.values.pointer(pointer);
            gaps::gap(root.at(pointer)?, known, pointer)
        });
        wanted.or_else(|| gaps::gaps(root, &self.values, "")).map(|pointer| self.ask(root, &pointer))
    }

    /// The question about one parameter, with what the tool said about it.
    pub(super) fn ask(&self, root: &Shape, pointer: &str) -> Ask {
        let offer = self.offers.get(pointer);
        let fallback = Shape::default();
        let shape = offer.and_then(|offer| offer.shape.as_ref()).or_else(|| root.at(pointer)).unwrap_or(&fallback);
        let mut ask = Ask::new(pointer, shape);
        ask.optional = !is_required(root, pointer) && !offer.is_some_and(|offer| offer.must);
        match offer {
            Some(Offer { allowed: Some(values), .. }) if !values.is_empty() => ask.offering(values, true),
            Some(Offer { suggested, .. }) if !suggested.is_empty() => ask.offering(suggested, false),
            _ => ask,
        }
    }

    /// Whether what is settled can stay as it is: a list may still have too few items.
    pub(super) fn is_enough(&self, ask: &Ask) -> bool {
        self.values.pointer(&ask.pointer).is_some_and(|value| ask.shape.check(value).is_ok())
    }

    /// Remembers the form as it is, to come back to.
    pub(super) fn mark(&mut self) {
        if self.trail.len() == TRAIL {
            self.trail.remove(0);
        }
        let before = Self { trail: Vec::new(), doubt: None, ..self.clone() };
        self.trail.push(before);
    }

    /// Goes back to the form before the last answer; whether there was one.
    pub(super) fn back(&mut self) -> bool {
        let Some(before) = self.trail.pop() else { return false };
        let trail = std::mem::take(&mut self.trail);
        *self = Self { trail, ..before };
        true
    }

    /// Takes a value of the person's.
    pub(super) fn set(&mut self, pointer: &str, value: Value) {
        let accepted = self.offers.get(pointer).is_some_and(|offer| offer.accepted);
        self.settle(pointer, value);
        self.wanted.retain(|wanted| wanted != pointer);
        self.open = self.open.take().filter(|open| open != pointer);
        self.doubt = None;
        self.forget_dependents(pointer);
        // The tool looks at the change first: what it needs besides may not be the same any more, and it will say so. Only
        // what waited says on what it depends, so after a change of what was accepted it may be anything.
        let offers = &self.offers;
        let depends = |offer: &Offer| accepted || offer.needs.iter().any(|need| related(need, pointer));
        self.wanted.retain(|wanted| offers.get(wanted).is_none_or(|offer| !offer.must || !depends(offer)));
    }

    /// What has to be known before a parameter can be asked for.
    pub(super) fn lacks(&self, pointer: &str) -> Option<&str> {
        let needs = &self.offers.get(pointer)?.needs;
        needs.iter().find(|need| self.values.pointer(need).is_none()).map(String::as_str)
    }

    /// Puts a value in its place.
    pub(super) fn settle(&mut self, pointer: &str, value: Value) {
        let mut place = &mut self.values;
        for step in pointer.split('/').skip(1) {
            let index = step.parse::<usize>().unwrap_or(usize::MAX);
            let item = place.as_array().is_some_and(|items| index < items.len());
            if !item && !place.is_object() {
                *place = Value::Object(Map::new());
            }
            place = match place {
                Value::Array(items) => &mut items[index],
                Value::Object(map) => map.entry(ask::name(step)).or_insert(Value::Null),
                _ => return,
            };
        }
        *place = value;
    }

    /// Takes a value out, so that it is asked for again.
    pub(super) fn unset(&mut self, pointer: &str) {
        let Some((parent, step)) = pointer.rsplit_once('/') else { return };
        if let Some(Value::Object(map)) = self.values.pointer_mut(parent) {
            map.remove(&ask::name(step));
        }
        self.forget_dependents(pointer);
    }

    /// What the tool said about a parameter no longer holds once something that it depends on changes.
    fn forget_dependents(&mut self, pointer: &str) {
        let depends = |offer: &&mut Offer| offer.needs.iter().any(|need| related(need, pointer));
        for offer in self.offers.values_mut().filter(depends) {
            *offer = Offer { needs: std::mem::take(&mut offer.needs), must: offer.must, ..Offer::default() };
        }
    }

    /// The arguments of the call, in the order of the schema, with what can only be one value filled in.
    pub(super) fn arguments(&self, root: &Shape) -> Value {
        gaps::filled(root, &self.values)
    }
}

/// Whether two pointers point to the same, or one into what the other points to.
fn related(one: &str, other: &str) -> bool {
    let within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    within(one, other) || within(other, one)
}

/// Whether what a pointer points to must be given once what holds it is there.
fn is_required(root: &Shape, pointer: &str) -> bool {
    let Some((parent, step)) = pointer.rsplit_once('/') else { return true };
    let name = ask::name(step);
    root.at(parent).is_none_or(|holder| holder.fields().iter().all(|field| field.name != name || field.required))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shape() -> Shape {
        Shape::of(&json!({"type": "object", "required": ["kind", "who", "stops"], "properties": {
            "note": {"type": "string"},
            "stops": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["city"],
                "properties": {"city": {"type": "string"}}}},
            "kind": {"const": "trip"},
            "who": {"type": "object", "required": ["first", "last"], "properties": {
                "first": {"type": "string"}, "last": {"type": "string"}}}
        }}))
    }

    fn next(form: &Form) -> Option<String> {
        form.next(&shape()).map(|ask| ask.pointer)
    }

    #[test]
    fn asks_for_gaps_and_fills_what_can_only_be_one() {
        let mut form = Form::new("plan");
        for (pointer, value) in [
            ("/stops", json!([{}, {}])),
            ("/stops/0/city", json!("Rome")),
            ("/stops/1/city", json!("Bari")),
            ("/who/first", json!("Ada")),
            ("/who/last", json!("L")),
        ] {
            assert_eq!(next(&form).as_deref(), Some(pointer));
            form.set(pointer, value);
        }
        assert_eq!(next(&form), None);
        let expected = r#"{"stops":[{"city":"Rome"},{"city":"Bari"}],"kind":"trip","who":{"first":"Ada","last":"L"}}"#;
        assert_eq!(form.arguments(&shape()).to_string(), expected);
    }

    #[test]
    fn goes_back_answer_by_answer() {
        let mut form = Form::new("plan");
        assert!(!form.back());
        form.mark();
        form.set("/stops", json!([{}]));
        form.mark();
        form.set("/stops/0/city", json!("Rome"));
        assert!(form.back() && next(&form).as_deref() == Some("/stops/0/city"));
        assert!(form.back() && next(&form).as_deref() == Some("/stops"));
        assert!(!form.back());
    }

    #[test]
    fn what_is_wanted_comes_first_and_offers_age() {
        let mut form = Form::new("plan");
        form.wanted.push("/note".into());
        assert!(form.next(&shape()).is_some_and(|ask| ask.pointer == "/note" && ask.optional));
        let offer = Offer { allowed: Some(vec![json!("x")]), needs: vec!["/who".into()], ..Offer::default() };
        form.offers.insert("/note".into(), offer);
        assert!(form.next(&shape()).is_some_and(|ask| ask.strict && ask.choices.len() == 1));
        form.set("/who/first", json!("Ada"));
        assert!(form.next(&shape()).is_some_and(|ask| !ask.strict));
    }

    #[test]
    fn setting_never_needs_what_holds_it() {
        let mut form = Form::of_call("plan", "[1]");
        form.set("/a/0/b", json!(1));
        assert_eq!(form.values, json!({"a": {"0": {"b": 1}}}));
        form.set("/a", json!(1));
        form.set("/a/b", json!(2));
        assert_eq!(form.values, json!({"a": {"b": 2}}));
        form.unset("/a/b");
        form.unset("");
        assert_eq!(form.values, json!({"a": {}}));
    }
}
