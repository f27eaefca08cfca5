//! Problems of single keywords: about a value itself, the names and values of an object, and the items of a list.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{Walk, phrase};
use crate::feedback::{
    Problem, ProblemKind, quote_name, quote_names, quote_whole_name, suggest, summarize, truncate_name, write_whole,
};
use crate::schema::graph::{Check, Contains, NodeId};
use crate::schema::{evaluate, pointer::escape_token};

/// The maximum number of allowed values that a problem lists.
const MAX_LISTED: usize = 50;

/// Adds the problems that `value` has with the keywords of `id` about the value itself.
pub fn check(walk: &Walk<'_>, id: NodeId, value: &Value, out: &mut Vec<Problem>) {
    let graph = walk.graph;
    let mut failed = graph.node(id).checks.iter().filter(|check| !check.passes(value)).peekable();
    if failed.peek().is_none() {
        return;
    }
    // Several failed keywords of one scalar are one mistake. Report only the most basic keyword.
    let mut main: Option<ProblemKind> = None;
    for check in failed {
        match (check, value) {
            (Check::Enum(_) | Check::Const(_), _) => {
                out.push(not_allowed(walk, id, value, phrase::allowed_values(graph, id).unwrap_or_default()));
                return;
            }
            (Check::UniqueItems, Value::Array(items)) => out.push(repeated_item(walk, items)),
            (Check::MinItems(_) | Check::MaxItems(_) | Check::MinProperties(_) | Check::MaxProperties(_), _) => {
                let expected = phrase::describe_size(graph, id, value.is_array());
                out.push(walk.problem(ProblemKind::WrongLength, expected).got(summarize(value)));
            }
            (check, _) => {
                let kind = kind_of(check);
                if main.is_none_or(|main| importance(kind) < importance(main)) {
                    main = Some(kind);
                }
            }
        }
    }
    match main {
        Some(ProblemKind::WrongType) => out.push(wrong_type(walk, &[id], id, value)),
        Some(kind) => {
            let mut got = summarize(value);
            if let (ProblemKind::WrongLength, Value::String(text)) = (kind, value) {
                let length = phrase::count(text.chars().count() as u64, "character");
                got = format!("{got} of {length}");
            }
            let suggestion = match (kind, value) {
                (ProblemKind::NoMatch, Value::String(text)) => suggest_form(walk, id, text),
                _ => None,
            };
            let expected = match value {
                Value::String(text) => phrase::describe_for(graph, id, text),
                _ => phrase::describe(graph, id),
            };
            out.push(walk.problem(kind, expected).got(got).suggest(suggestion));
        }
        None => {}
    }
}

fn kind_of(check: &Check) -> ProblemKind {
    match check {
        Check::Type(..) => ProblemKind::WrongType,
        Check::Minimum(_) | Check::Maximum(_) | Check::ExclusiveMinimum(_) | Check::ExclusiveMaximum(_) => {
            ProblemKind::OutOfRange
        }
        Check::MinLength(_) | Check::MaxLength(_) => ProblemKind::WrongLength,
        Check::Pattern(_) | Check::Format(_) | Check::Content(_) => ProblemKind::NoMatch,
        #[cfg(feature = "jsonschema")]
        Check::Foreign(_) => ProblemKind::NoMatch,
        _ => ProblemKind::Invalid,
    }
}

/// Returns the rank of a kind of problem. The most basic kind has rank 0.
fn importance(kind: ProblemKind) -> usize {
    let order = [ProblemKind::WrongType, ProblemKind::OutOfRange, ProblemKind::WrongLength, ProblemKind::NoMatch];
    order.iter().position(|other| *other == kind).unwrap_or(order.len())
}

/// Returns the problem of a value that is not among the `allowed` ones.
pub fn not_allowed(walk: &Walk<'_>, id: NodeId, value: &Value, allowed: Vec<Value>) -> Problem {
    let expected = if allowed.is_empty() { phrase::describe(walk.graph, id) } else { phrase::one_of(&allowed) };
    let suggestion = suggest_value(value, &allowed);
    let problem = walk.problem(ProblemKind::NotAllowed, expected).got(summarize(value)).suggest(suggestion);
    if allowed.len() > MAX_LISTED { problem } else { problem.allowed(allowed) }
}

/// Returns the problem of a value whose type none of `ids` accepts. `whole` is the schema of their union.
pub fn wrong_type(walk: &Walk<'_>, ids: &[NodeId], whole: NodeId, value: &Value) -> Problem {
    let suggestion = ids.iter().find_map(|&id| convert(walk, id, value));
    let got = match value {
        Value::String(text) if suggestion.is_none() => describe_content(text).map_or_else(
            || summarize(value),
            |content| format!("{} (a string that contains {content})", summarize(value)),
        ),
        value => summarize(value),
    };
    walk.problem(ProblemKind::WrongType, phrase::describe(walk.graph, whole)).got(got).suggest(suggestion)
}

/// The maximum number of items that are compared to name two equal ones.
const MAX_COMPARED_ITEMS: usize = 200;

fn repeated_item(walk: &Walk<'_>, items: &[Value]) -> Problem {
    let problem = walk.problem(ProblemKind::Invalid, "a list whose items are all different");
    // The two items are only an example, so in a long list, only the first items are compared.
    let compared = &items[..items.len().min(MAX_COMPARED_ITEMS)];
    let twice = compared.iter().enumerate().find_map(|(index, item)| {
        let first = compared[..index].iter().position(|other| other == item)?;
        Some(format!("{} as items {first} and {index}", summarize(item)))
    });
    problem.got(twice.unwrap_or_else(|| "an item twice".to_owned()))
}

/// The maximum cost of one guess.
pub const MAX_GUESS_COST: usize = 1_000;

/// The maximum length of a suggested list or object, in bytes.
const MAX_SUGGESTION: usize = 60;

/// The maximum length of a string that is parsed as JSON for a suggestion, in bytes.
const MAX_PARSED: usize = 10_000;

/// Returns the value of `allowed` that is nearest to `value`, if it is short.
pub fn suggest_value(value: &Value, allowed: &[Value]) -> Option<String> {
    if value.is_array() || value.is_object() {
        return None;
    }
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let given = plain(value);
    let same = allowed.iter().find(|other| plain(other).eq_ignore_ascii_case(given.trim()));
    let near = || {
        let near = suggest::nearest(value.as_str()?, allowed.iter().filter_map(Value::as_str))?;
        allowed.iter().find(|other| other.as_str() == Some(near))
    };
    same.or_else(near).and_then(write_whole)
}

/// Returns `value` in another form that fits the schema `id`: parsed, as a text, in a list, or without the list around it.
fn convert(walk: &Walk<'_>, id: NodeId, value: &Value) -> Option<String> {
    let other = match value {
        Value::String(text) => parse_other(text),
        Value::Number(_) | Value::Bool(_) => Some(Value::from(value.to_string())),
        Value::Array(items) if items.len() == 1 => items.first().cloned(),
        _ => None,
    };
    let listed = (!value.is_array() && !value.is_null()).then(|| Value::Array(vec![value.clone()]));
    let fitting = other.into_iter().chain(listed).find(|other| walk.fits(id, other, MAX_GUESS_COST))?;
    let kind = match &fitting {
        Value::Array(_) => "list",
        Value::Object(_) => "object",
        scalar => return write_whole(scalar),
    };
    let whole = write_whole(&fitting).filter(|text| text.len() <= MAX_SUGGESTION);
    let instead =
        || if value.is_string() { format!("the {kind} itself, not as a string") } else { format!("a {kind} with it") };
    Some(whole.unwrap_or_else(instead))
}

/// Returns another form of `text` that fits the schema `id`: without white space around it, with escapes as in a URI, or the date
/// of a date and time. No other part of the text is left out.
fn suggest_form(walk: &Walk<'_>, id: NodeId, text: &str) -> Option<String> {
    let trimmed = text.trim();
    let forms = [Some(trimmed.to_owned()), escape_uri(trimmed), date_of(trimmed).map(str::to_owned)];
    let mut values = forms.into_iter().flatten().filter(|form| form != text && !form.is_empty()).map(Value::from);
    values.find(|value| walk.fits(id, value, MAX_GUESS_COST)).as_ref().and_then(write_whole)
}

/// Returns the address `text` with every character escaped that a URI cannot contain. Returns `None` for another text.
fn escape_uri(text: &str) -> Option<String> {
    let (scheme, _) = text.split_once("://")?;
    if text.len() > MAX_PARSED || !scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)) {
        return None;
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c) {
            escaped.push(c);
        } else {
            escaped.extend(c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("%{byte:02X}")));
        }
    }
    Some(escaped)
}

/// Returns the date at the beginning of `text`, if only a time of day follows it.
fn date_of(text: &str) -> Option<&str> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let is_time = time.contains(':') && time.chars().all(|c| c.is_ascii_digit() || ":.,+-Zz ".contains(c));
    let is_date = date.len() == 10 && date.chars().all(|c| c.is_ascii_digit() || c == '-');
    (is_date && is_time).then_some(date)
}

/// Returns a phrase for the list or object that `text` contains as JSON.
fn describe_content(text: &str) -> Option<String> {
    parse_other(text).filter(|value| value.is_object() || value.is_array()).map(|value| summarize(&value))
}

/// Returns the JSON value that `text` contains, unless it is a string. `True`, `False` and `None` count as JSON.
fn parse_other(text: &str) -> Option<Value> {
    let text = text.trim();
    match text {
        "True" => return Some(Value::Bool(true)),
        "False" => return Some(Value::Bool(false)),
        "None" => return Some(Value::Null),
        _ if text.len() > MAX_PARSED => return None,
        _ => {}
    }
    serde_json::from_str(text).ok().filter(|value: &Value| !value.is_string())
}

/// The maximum number of unknown names that are compared with a missing one.
const MAX_COMPARED_NAMES: usize = 100;

/// The cost of comparing two names.
const COST_OF_COMPARISON: usize = 10;

impl Walk<'_> {
    pub(super) fn check_object(&mut self, id: NodeId, value: &Value, map: &Map<String, Value>, out: &mut Vec<Problem>) {
        let graph = self.graph;
        let node = graph.node(id);
        for (key, schema) in &node.properties {
            if let Some(part) = map.get(key) {
                let found = self.visit_part(key, *schema, part);
                let optional = part.is_null() && !node.required.contains(key);
                out.extend(
                    found
                        .iter()
                        .map(|problem| if optional { self.add_omission(key, problem) } else { problem.clone() }),
                );
            }
        }
        for key in node.required.iter().filter(|key| !map.contains_key(*key)) {
            out.push(self.missing_name(id, key, map));
        }
        for (given, required) in node.dependent_required.iter().filter(|(given, _)| map.contains_key(given)) {
            for key in required.iter().filter(|key| !map.contains_key(*key)) {
                let mut problem = self.missing_name(id, key, map);
                problem.expected = format!("{} (required beside {})", problem.expected, quote_name(given));
                out.push(problem);
            }
        }
        for (_, schema) in node.dependent_schemas.iter().filter(|(given, _)| map.contains_key(given)) {
            out.extend_from_slice(&self.visit(*schema, value));
        }
        self.check_other_members(id, map, out);
        if let Some(schema) = node.unevaluated_properties
            && let Some(seen) = evaluate::find_evaluated_names(self, graph, id, value, map)
        {
            for (key, part) in map.iter().filter(|(key, _)| !seen.contains(key.as_str())) {
                if graph.is_false(schema) {
                    out.push(self.unknown_name(id, &graph.known_names(id), key, map));
                } else {
                    out.extend_from_slice(&self.visit_part(key, schema, part));
                }
            }
        }
    }

    /// Adds the problems of members that `properties` does not list.
    fn check_other_members(&mut self, id: NodeId, map: &Map<String, Value>, out: &mut Vec<Problem>) {
        let graph = self.graph;
        let node = graph.node(id);
        if node.pattern_properties.is_empty() && node.additional_properties.is_none() && node.property_names.is_none() {
            return;
        }
        let listed: HashSet<&str> = node.properties.iter().map(|(key, _)| key.as_str()).collect();
        for (key, part) in map {
            // The value has problems already, and many names may remain.
            if self.is_exhausted() && !out.is_empty() {
                return;
            }
            if let Some(schema) = node.property_names
                && !self.fits(schema, &Value::from(key.as_str()), usize::MAX)
            {
                let expected = format!("names that are each {}", phrase::describe(graph, schema));
                out.push(self.problem_at(&truncate_name(key), ProblemKind::Unknown, expected));
                continue;
            }
            self.spend(node.pattern_properties.len());
            let matched: Vec<NodeId> = graph.pattern_schemas(id, key).collect();
            for schema in &matched {
                out.extend_from_slice(&self.visit_part(key, *schema, part));
            }
            let Some(additional) =
                node.additional_properties.filter(|_| matched.is_empty() && !listed.contains(key.as_str()))
            else {
                continue;
            };
            if graph.is_false(additional) {
                let known: Vec<&str> = node.properties.iter().map(|(key, _)| key.as_str()).collect();
                out.push(self.unknown_name(id, &known, key, map));
            } else {
                out.extend_from_slice(&self.visit_part(key, additional, part));
            }
        }
    }

    fn missing_name(&self, id: NodeId, key: &str, map: &Map<String, Value>) -> Problem {
        let graph = self.graph;
        let places = graph.same_value_closure(id);
        let mut properties = places.iter().flat_map(|id| &graph.node(*id).properties);
        let schema = properties.find(|(other, _)| other == key).map(|(_, schema)| *schema);
        let expected = schema.map_or_else(|| "a value".to_owned(), |schema| phrase::describe(graph, schema));
        let allowed = schema.and_then(|schema| phrase::allowed_values(graph, schema)).unwrap_or_default();
        let mut problem = self.problem_at(key, ProblemKind::Missing, expected);
        if (2..=MAX_LISTED).contains(&allowed.len()) {
            problem = problem.allowed(allowed);
        }
        let known = graph.known_names(id);
        let strange = map.keys().map(String::as_str).filter(|other| !known.contains(other)).take(MAX_COMPARED_NAMES);
        self.spend(strange.clone().count() * COST_OF_COMPARISON);
        match suggest::nearest(key, strange) {
            Some(near) => problem.got(format!("the name {} instead", quote_name(near))),
            None => problem,
        }
    }

    fn unknown_name(&self, id: NodeId, known: &[&str], key: &str, map: &Map<String, Value>) -> Problem {
        let free: Vec<&str> = known.iter().copied().filter(|other| !map.contains_key(*other)).collect();
        let near = suggest::nearest(key, free.iter().copied()).or_else(|| suggest::nearest(key, known.iter().copied()));
        let patterns: Vec<&str> =
            self.graph.node(id).pattern_properties.iter().map(|(pattern, _)| pattern.as_str()).collect();
        let expected = match (known, free.as_slice()) {
            _ if !patterns.is_empty() => {
                let matching = format!("a name that matches {}", quote_names(patterns, "or"));
                if free.is_empty() { matching } else { format!("{} or {matching}", phrase::one_of_names(&free)) }
            }
            ([], _) => "an object without names".to_owned(),
            (known, []) => format!("no more than {}", quote_names(known.iter().copied(), "and")),
            (_, free) => phrase::one_of_names(free),
        };
        self.problem_at(&truncate_name(key), ProblemKind::Unknown, expected).suggest(near.and_then(quote_whole_name))
    }

    /// Returns `problem`, whose value is `null`, with a hint that the optional name `key` can be left out.
    fn add_omission(&self, key: &str, problem: &Problem) -> Problem {
        let mut problem = problem.clone();
        let here = problem.path.len() == self.path.len() + 1 + escape_token(key).len();
        if here && matches!(problem.kind, ProblemKind::WrongType | ProblemKind::NotAllowed) {
            problem.expected = format!("{}, or no {} at all", problem.expected, quote_name(key));
        }
        problem
    }
}

/// The maximum number of items of one list for which the same mistake is reported.
const MAX_ALIKE: usize = 3;

impl Walk<'_> {
    pub(super) fn check_list(&mut self, id: NodeId, value: &Value, items: &[Value], out: &mut Vec<Problem>) {
        let graph = self.graph;
        let node = graph.node(id);
        let mut found = Vec::new();
        let mut strange = 0;
        for (index, item) in items.iter().enumerate() {
            let Some(schema) = node.prefix_items.get(index).copied().or(node.items) else { continue };
            if index >= node.prefix_items.len() && graph.is_false(schema) {
                strange += 1;
            } else {
                found.extend_from_slice(&self.visit_part(&index.to_string(), schema, item));
            }
        }
        if let Some(contains) = node.contains {
            self.check_contains(contains, items, out);
        }
        if let Some(schema) = node.unevaluated_items
            && let Some(seen) = evaluate::find_evaluated_items(self, graph, id, value, items)
        {
            for (index, item) in items.iter().enumerate().filter(|(index, _)| !seen.contains(index)) {
                if graph.is_false(schema) {
                    strange += 1;
                } else {
                    found.extend_from_slice(&self.visit_part(&index.to_string(), schema, item));
                }
            }
        }
        if strange > 0 {
            let expected = format!("a list of at most {}", phrase::count((items.len() - strange) as u64, "item"));
            out.push(self.problem(ProblemKind::WrongLength, expected).got(summarize(value)));
        }
        out.extend(self.fold_alike(found));
    }

    fn check_contains(&mut self, contains: Contains, items: &[Value], out: &mut Vec<Problem>) {
        let matches =
            |(index, item): &(usize, &Value)| self.visit_part(&index.to_string(), contains.schema, item).is_empty();
        let count = items.iter().enumerate().filter(matches).count() as u64;
        let item = phrase::describe(self.graph, contains.schema);
        let expected = if count < contains.min {
            format!("a list with at least {} that is {item}", phrase::count(contains.min, "item"))
        } else if let Some(max) = contains.max.filter(|max| count > *max) {
            format!("a list with at most {} that is {item}", phrase::count(max, "item"))
        } else {
            return;
        };
        out.push(self.problem(ProblemKind::Invalid, expected).got(format!("{count} of {} items", items.len())));
    }

    /// Returns `found`, in which a repeated mistake is reported for the first items and counted for the others.
    fn fold_alike(&self, found: Vec<Problem>) -> Vec<Problem> {
        if found.len() <= MAX_ALIKE {
            return found;
        }
        let start = self.path.len() + 1;
        let mut alike: HashMap<(String, ProblemKind, String), Vec<usize>> = HashMap::new();
        let mut kept: Vec<Problem> = Vec::new();
        for problem in found {
            let inside = problem.path[start..].split_once('/').map_or("", |(_, inside)| inside).to_owned();
            let places = alike.entry((inside, problem.kind, problem.expected.clone())).or_default();
            // For further problems, only the number of `places` matters.
            places.push(kept.len());
            if places.len() <= MAX_ALIKE {
                kept.push(problem);
            }
        }
        for places in alike.values().filter(|places| places.len() > MAX_ALIKE) {
            let more = phrase::count((places.len() - MAX_ALIKE) as u64, "more item");
            let last = &mut kept[places[MAX_ALIKE - 1]];
            let got = last.got.take().map_or_else(String::new, |got| format!("{got} "));
            last.got = Some(format!("{got}(and the same mistake in {more})"));
        }
        kept
    }
}
