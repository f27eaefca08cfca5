//! Reading of a schema as shapes. Schemas that must hold at the same time are merged, and then read for each kind of value.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};

use super::{
    Array, At, Form, Kind, Limit, Notes, Object, Property, Rest, Scalar, Shape, are_disjoint,
    cycles::break_cycles,
    find_count,
    limits::limits_of,
    refs::{Combining, Refs},
    size::Sizes,
};
use crate::schema::{
    data,
    draft::Draft,
    losses::{Losses, Severity},
    places, pointer,
};

/// The maximum number of shapes that one lowering reads. Without a maximum, inlining could multiply shapes without end. A small
/// schema may have [`BASE_SHAPES`], and [`SHAPES_PER_OBJECT`] more for each of its JSON objects.
const MAX_SHAPES: usize = 20_000;
const BASE_SHAPES: usize = 1_000;
const SHAPES_PER_OBJECT: usize = 4;

/// The maximum number of visited places in the search for cycles. Beyond this number, a reference counts as cyclic.
const MAX_VISITS: usize = 200_000;

/// The maximum length of a hint about the branches of a union, in bytes.
const MAX_HINT: usize = 120;

/// The maximum nesting of shapes. A shape takes two levels of JSON, and `serde_json` reads 128.
const MAX_NESTING: usize = 54;

/// A reader of the schema at `root`.
#[derive(Debug)]
pub struct Reader<'a> {
    root: &'a Value,
    draft: Draft,
    refs: Refs,
    combining: Combining,
    losses: Losses,
    /// The number of shapes that may still be read.
    remaining_shapes: usize,
    /// The references that led to the current place, outermost first.
    stack: Vec<At>,
    /// The targets of the references that stay. A target without a shape is still to be read, and in `unread`.
    targets: BTreeMap<At, Option<Shape>>,
    unread: Vec<At>,
    /// The targets of references. The value is set if the target leads back to itself.
    cyclic: HashMap<At, bool>,
    remaining_visits: usize,
    sizes: Sizes,
}

/// The shapes and losses that [`Reader::read`] found.
#[derive(Debug)]
pub struct Reading {
    pub shape: Shape,
    /// The shapes of the targets of the remaining references.
    pub targets: BTreeMap<At, Shape>,
    pub losses: Losses,
    /// Set if the schema was cut because it has too many shapes.
    pub is_cut: bool,
}

impl<'a> Reader<'a> {
    pub fn new(root: &'a Value, refs: Refs, combining: Combining, losses: Losses) -> Self {
        let draft = Draft::of(root);
        let remaining_shapes = (BASE_SHAPES + SHAPES_PER_OBJECT * count_objects(root)).min(MAX_SHAPES);
        Self {
            root,
            draft,
            refs,
            combining,
            losses,
            remaining_shapes,
            stack: Vec::new(),
            targets: BTreeMap::new(),
            unread: Vec::new(),
            cyclic: HashMap::new(),
            remaining_visits: MAX_VISITS,
            sizes: Sizes::default(),
        }
    }

    /// Reads the schema and all targets of references that stay.
    pub fn read(mut self) -> Reading {
        let root: At = "".into();
        let shape = self.read_shape(root.clone(), vec![Item::Whole(self.root, root)], 0);
        while let Some(at) = self.unread.pop() {
            let schema = self.root.pointer(&at).expect("a target was found at this place");
            self.stack = vec![at.clone()];
            let target = self.read_shape(at.clone(), vec![Item::Whole(schema, at.clone())], 1);
            self.targets.insert(at, Some(target));
        }
        let mut targets = self.targets.into_iter().filter_map(|(at, shape)| Some((at, shape?))).collect();
        break_cycles(&mut targets, &mut self.losses);
        Reading { shape, targets, losses: self.losses, is_cut: self.remaining_shapes == 0 }
    }

    fn read_shape(&mut self, at: At, items: Vec<Item<'a>>, level: usize) -> Shape {
        if self.remaining_shapes == 0 || level > MAX_NESTING {
            self.losses.add(&at, "", Severity::Weakened, "the schema is too deep or too large: cut here");
            return Shape::new(at, Form::Cut(Kind::Object));
        }
        self.remaining_shapes -= 1;
        let mut facts = Facts::default();
        self.gather(items, &mut facts);
        let has_assertions = facts.has_assertions();
        if let [reference, ..] = facts.references.as_slice()
            && (facts.references.len() == 1 && !has_assertions || self.combining == Combining::Linear)
        {
            let reference = reference.clone();
            if let Some(form) = self.keep_reference(&reference, &facts, level) {
                if has_assertions || facts.references.len() > 1 {
                    self.losses.add(&reference.from, "$ref", Severity::Weakened, "constraints beside it were left out");
                }
                let notes = self.merge_notes(&facts);
                return Shape { at, notes, form };
            }
        }
        let before = self.stack.len();
        if facts.references.iter().any(|reference| self.is_cut(reference)) {
            return self.cut(at, &facts);
        }
        let followed = self.follow(&mut facts);
        self.stack.extend(followed);
        let shape = self.read_combined(at, facts, level);
        self.stack.truncate(before);
        shape
    }

    /// Returns a form that keeps the reference. Returns `None` if the reference must be followed.
    fn keep_reference(&mut self, reference: &Reference<'a>, facts: &Facts<'a>, level: usize) -> Option<Form> {
        let cyclic = self.is_cyclic(reference);
        let has_no_notes = facts.plain.iter().all(|(schema, ..)| !schema.keys().any(|word| places::is_note(word)));
        let size = || self.sizes.of_target(self.root, &reference.target, reference.schema).schemas;
        let stays = level > 0 && self.refs.stays(cyclic, has_no_notes, size);
        stays.then(|| {
            self.keep_target(&reference.target);
            Form::Ref(reference.target.clone())
        })
    }

    fn keep_target(&mut self, target: &At) {
        if !self.targets.contains_key(target) {
            self.targets.insert(target.clone(), None);
            self.unread.push(target.clone());
        }
    }

    /// Returns whether the reader stops at `reference`, because it is already inside the target as often as a cycle may turn.
    fn is_cut(&self, reference: &Reference<'_>) -> bool {
        let turns = if self.refs == Refs::Inline { 2 } else { 1 };
        self.stack.iter().filter(|at| **at == reference.target).count() >= turns
    }

    fn cut(&mut self, at: At, facts: &Facts<'a>) -> Shape {
        let reference = facts.references.iter().find(|reference| self.is_cut(reference)).expect("one is cut").clone();
        if self.refs.keeps_cycles() {
            let note = "keywords beside this recursive reference were left out";
            self.losses.add(&reference.from, "$ref", Severity::Weakened, note);
            self.keep_target(&reference.target);
            return Shape { at, notes: self.merge_notes(facts), form: Form::Ref(reference.target) };
        }
        let kind = reference.schema.as_object().and_then(data::named_kinds).and_then(|kinds| kinds.first().copied());
        let severity = if self.refs == Refs::Inline { Severity::Weakened } else { Severity::Inexpressible };
        self.losses.add(&reference.from, "$ref", severity, "a recursive schema: cut here");
        let mut notes = self.merge_notes(facts);
        let name = pointer::last(&reference.target);
        notes.hints.push(if name.is_empty() {
            "the same schema as the whole input".to_owned()
        } else {
            format!("again a {name}")
        });
        Shape { at, notes, form: Form::Cut(kind.unwrap_or(Kind::Object)) }
    }

    /// Returns whether the target of `reference` leads back to itself.
    fn is_cyclic(&mut self, reference: &Reference<'a>) -> bool {
        if let Some(&known) = self.cyclic.get(&reference.target) {
            return known;
        }
        let mut seen = HashSet::new();
        let mut todo = vec![(reference.target.to_string(), reference.schema)];
        let mut cyclic = false;
        while let Some((at, schema)) = todo.pop() {
            self.remaining_visits = self.remaining_visits.saturating_sub(1);
            if cyclic || self.remaining_visits == 0 {
                cyclic = true;
                break;
            }
            if let Some(link) = schema.get("$ref").and_then(Value::as_str)
                && let Some((target, schema)) = pointer::resolve(self.root, &at, link)
            {
                cyclic |= *target == *reference.target;
                if seen.insert(target.clone()) {
                    todo.push((target, schema));
                }
            }
            let inside = places::children(schema, &at).into_iter().filter(|(word, ..)| !places::is_structure(word));
            todo.extend(inside.map(|(_, at, schema)| (at, schema)));
        }
        self.cyclic.insert(reference.target.clone(), cyclic);
        cyclic
    }

    fn read_combined(&mut self, at: At, mut facts: Facts<'a>, level: usize) -> Shape {
        let mut notes = self.merge_notes(&facts);
        if facts.never {
            return Shape { at, notes, form: Form::Never };
        }
        if self.combining == Combining::Typed || level == 0 {
            facts.unions.retain(|(members, place, _)| !self.only_constrains(members, place, &mut notes));
        }
        let is_pure = facts.unions.len() == 1 && facts.plain.iter().all(|(schema, ..)| !has_own_assertion(schema));
        if self.combining == Combining::Linear && !is_pure {
            for (members, place, _) in std::mem::take(&mut facts.unions) {
                self.leave_out(members, &place, &mut notes);
            }
        }
        if facts.unions.is_empty() {
            let plain: Vec<_> = facts.plain.iter().map(|(schema, at, _)| (*schema, at.clone())).collect();
            let form = self.read_plain(&at, &plain, &mut notes, level);
            return Shape { at, notes, form };
        }
        let (members, place, one_of) = facts.unions.remove(0);
        let mut rest: Vec<Item<'a>> =
            facts.plain.into_iter().map(|(schema, at, _)| Item::Plain(schema, at, false)).collect();
        rest.extend(facts.unions.into_iter().map(|(members, at, one_of)| Item::Union(members, at, one_of)));
        let mut shapes = Vec::new();
        for (i, member) in members.iter().enumerate() {
            let branch: At = format!("{place}/{i}").into();
            let mut items = vec![Item::Whole(member, branch.clone())];
            items.extend(rest.iter().cloned());
            shapes.push(self.read_shape(branch, items, level + 1));
        }
        if one_of && !all_disjoint(&shapes) {
            let note = "several branches can match: replaced by `anyOf`";
            self.losses.add(place.rsplit_once('/').map_or("", |(at, _)| at), "oneOf", Severity::Weakened, note);
        }
        let union = Shape::union(&at, shapes);
        notes.hints.extend(union.notes.hints);
        notes.description = join_texts(notes.description, union.notes.description);
        notes.title = notes.title.or(union.notes.title);
        notes.default = notes.default.or(union.notes.default);
        notes.examples = notes.examples.or(union.notes.examples);
        Shape { at, notes, form: union.form }
    }

    /// Records that the union of `members` is left out, with a hint if it is short.
    fn leave_out(&mut self, members: &[Value], place: &str, notes: &mut Notes) {
        let (at, word) = place.rsplit_once('/').unwrap_or(("", place));
        let names = |member: &Value| {
            let required = member.get("required").and_then(Value::as_array).map(|all| all.iter().collect::<Vec<_>>());
            let names: Vec<String> = match required.filter(|all| !all.is_empty()) {
                Some(all) => all.into_iter().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect(),
                None => member.get("properties")?.as_object()?.keys().map(|name| format!("`{name}`")).collect(),
            };
            Some(names.join(" and "))
        };
        if let Some(choices) = members.iter().map(names).collect::<Option<Vec<_>>>() {
            let choices = choices.join(" or ");
            if choices.len() <= MAX_HINT {
                notes.hints.push(format!("with {choices}"));
            }
        }
        self.losses.add(at, word, Severity::Weakened, "too large with all that stands beside it: left out");
    }

    /// Returns whether `members` only constrain siblings, as in `anyOf: [{required: [a]}, …]`. If so, adds hints and a loss.
    fn only_constrains(&mut self, members: &[Value], place: &str, notes: &mut Notes) -> bool {
        let constrains = |member: &Value| {
            let words = ["required", "not", "minProperties", "maxProperties", "description", "title"];
            member
                .as_object()
                .is_some_and(|map| !map.is_empty() && map.keys().all(|word| words.contains(&word.as_str())))
        };
        if members.is_empty() || !members.iter().all(constrains) {
            return false;
        }
        let (at, word) = place.rsplit_once('/').unwrap_or(("", place));
        let required = |member: &Value| {
            let names = member.get("required")?.as_array()?.iter().filter_map(Value::as_str);
            Some(names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and "))
                .filter(|text| !text.is_empty())
        };
        if let Some(choices) = members.iter().map(required).collect::<Option<Vec<_>>>() {
            notes.hints.push(format!("needs {}", choices.join(" or ")));
        }
        self.losses.add(at, word, Severity::Weakened, "conditions on properties that belong together: left out");
        true
    }

    /// Merges the notes of all schemas in `facts`, the outermost first. Records the loss of other annotations.
    fn merge_notes(&mut self, facts: &Facts<'a>) -> Notes {
        let mut notes = Notes::default();
        for (schema, at, counts) in &facts.plain {
            if *counts {
                let text = |word: &str| schema.get(word).and_then(Value::as_str).map(str::to_owned);
                notes.title = notes.title.or_else(|| text("title"));
                notes.description = join_texts(notes.description, text("description"));
                let value = |word: &str| Some((at.clone(), schema.get(word)?.clone()));
                notes.default = notes.default.or_else(|| value("default"));
                notes.examples = notes.examples.or_else(|| value("examples"));
                self.lose_annotations(schema, at);
            }
        }
        notes
    }

    fn lose_annotations(&mut self, schema: &Map<String, Value>, at: &At) {
        for word in schema.keys() {
            if matches!(
                word.as_str(),
                "deprecated" | "readOnly" | "writeOnly" | "contentEncoding" | "contentMediaType" | "contentSchema"
            ) {
                self.losses.add(at, word, Severity::Annotation, "left out");
            }
        }
    }
}

fn all_disjoint(shapes: &[Shape]) -> bool {
    shapes.iter().enumerate().all(|(i, one)| shapes[..i].iter().all(|other| are_disjoint(one, other)))
}

/// Joins both texts, unless the first contains the second.
fn join_texts(first: Option<String>, second: Option<String>) -> Option<String> {
    match (first, second) {
        (Some(first), Some(second)) if first.contains(&second) => Some(first),
        (Some(first), Some(second)) => Some(format!("{first}\n\n{second}")),
        (first, second) => first.or(second),
    }
}

fn has_own_assertion(schema: &Map<String, Value>) -> bool {
    schema.keys().any(|word| is_assertion(word) && word != "type")
}

/// Returns the number of objects in `value`, including `value`. Every schema that is not a boolean is an object.
fn count_objects(value: &Value) -> usize {
    match value {
        Value::Object(map) => 1 + map.values().map(count_objects).sum::<usize>(),
        Value::Array(list) => list.iter().map(count_objects).sum(),
        _ => 0,
    }
}

/// A constraint that must hold.
#[derive(Clone, Debug)]
pub enum Item<'a> {
    /// A complete schema.
    Whole(&'a Value, At),
    /// A schema whose references and combinations are handled elsewhere. The flag is set if its notes count.
    Plain(&'a Map<String, Value>, At, bool),
    /// Members, at least one of which must hold. The flag is set for `oneOf`.
    Union(&'a [Value], At, bool),
}

/// Schemas that must hold at the same time, split by their keywords.
#[derive(Debug, Default)]
pub struct Facts<'a> {
    /// Schemas whose references and combinations are in the other lists. The flag is set if their notes count.
    pub plain: Vec<(&'a Map<String, Value>, At, bool)>,
    pub unions: Vec<(&'a [Value], At, bool)>,
    pub references: Vec<Reference<'a>>,
    pub never: bool,
}

/// A `$ref` that was not followed yet: the place of the reference, and its target.
#[derive(Clone, Debug)]
pub struct Reference<'a> {
    pub from: At,
    pub target: At,
    pub schema: &'a Value,
}

impl Facts<'_> {
    /// Returns whether there is an assertion besides references.
    pub fn has_assertions(&self) -> bool {
        self.never
            || !self.unions.is_empty()
            || self.plain.iter().any(|(schema, ..)| schema.keys().any(|word| is_assertion(word)))
    }
}

fn is_assertion(word: &str) -> bool {
    Kind::of_word(word).is_some() || matches!(word, "type" | "enum" | "const" | "not" | "if")
}

pub fn is_combination(word: &str) -> bool {
    matches!(word, "$ref" | "$dynamicRef" | "$recursiveRef" | "allOf" | "anyOf" | "oneOf")
}

impl<'a> Reader<'a> {
    /// Follows all references of `facts`, and the references in their targets. Returns the places of the targets.
    fn follow(&mut self, facts: &mut Facts<'a>) -> Vec<At> {
        let mut followed = HashSet::new();
        let mut order = Vec::new();
        while !facts.references.is_empty() {
            for reference in std::mem::take(&mut facts.references) {
                if followed.insert(reference.target.clone()) {
                    order.push(reference.target.clone());
                    self.gather(vec![Item::Whole(reference.schema, reference.target)], facts);
                }
            }
        }
        order
    }

    /// Adds `items` to `facts`, split by their keywords. Does not follow references.
    fn gather(&mut self, items: Vec<Item<'a>>, facts: &mut Facts<'a>) {
        let mut queue = VecDeque::from(items);
        while let Some(item) = queue.pop_front() {
            match item {
                Item::Whole(Value::Bool(true), _) => {}
                Item::Whole(Value::Bool(false), _) => facts.never = true,
                Item::Whole(Value::Object(schema), at) => self.split(schema, &at, facts, &mut queue),
                Item::Whole(_, at) => {
                    self.losses.add(
                        &at,
                        "",
                        Severity::Annotation,
                        "not a schema: replaced by one that accepts everything",
                    );
                }
                Item::Plain(schema, at, notes) => facts.plain.push((schema, at, notes)),
                Item::Union(members, at, one_of) => facts.unions.push((members, at, one_of)),
            }
        }
    }

    fn split(
        &mut self,
        schema: &'a Map<String, Value>,
        at: &At,
        facts: &mut Facts<'a>,
        queue: &mut VecDeque<Item<'a>>,
    ) {
        let mut has_reference = false;
        for word in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let Some(reference) = schema.get(word) else { continue };
            let found = reference.as_str().and_then(|reference| pointer::resolve(self.root, at, reference));
            if let Some((target, schema)) = found {
                has_reference = true;
                facts.references.push(Reference { from: at.clone(), target: target.into(), schema });
            } else {
                let note = format!("{reference} has no target in this schema, and nothing is fetched: left out");
                self.losses.add(at, word, Severity::Weakened, note);
            }
        }
        let ignored = has_reference && !self.draft.reference_has_siblings();
        if ignored && schema.keys().any(|word| word != "$ref" && !places::is_annotation(word)) {
            return;
        }
        facts.plain.push((schema, at.clone(), true));
        for (word, one_of) in [("anyOf", false), ("oneOf", true)] {
            if let Some(members) = schema.get(word).and_then(Value::as_array) {
                facts.unions.push((members, pointer::join(at, word).into(), one_of));
            }
        }
        let all = schema.get("allOf").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (i, member) in all.iter().enumerate().rev() {
            queue.push_front(Item::Whole(member, format!("{at}/allOf/{i}").into()));
        }
    }
}

/// Schemas without references and combinations, and their places.
type Plain<'a> = [(&'a Map<String, Value>, At)];

impl<'a> Reader<'a> {
    fn read_plain(&mut self, at: &At, plain: &Plain<'a>, notes: &mut Notes, level: usize) -> Form {
        for (schema, at) in plain {
            self.lose_unsupported(schema, at, notes);
        }
        let types =
            plain.iter().filter_map(|(schema, _)| data::named_kinds(schema)).reduce(|a, b| data::common_kinds(&a, &b));
        if let Some(mut values) = common_values(plain) {
            if let Some(types) = &types {
                values.retain(|value| types.iter().any(|kind| Kind::of(value).is_a(*kind)));
            }
            let shapes = values.iter().map(|value| literal(at, value)).collect();
            let union = Shape::union(at, shapes);
            notes.hints.extend(union.notes.hints);
            return union.form;
        }
        let mut kinds = match types {
            Some(types) => data::simplify_kinds(types),
            None => match self.assume_kinds(at, plain) {
                Some(kinds) => kinds,
                None => return Form::Any,
            },
        };
        // Null comes last, because the other kinds carry more information.
        kinds.sort_by_key(|kind| *kind == Kind::Null);
        let mut forms: Vec<Form> = kinds.into_iter().map(|kind| self.read_kind(kind, at, plain, level)).collect();
        match forms.len() {
            0 => Form::Never,
            1 => forms.remove(0),
            _ => Shape::union(at, forms.into_iter().map(|form| Shape::new(at.clone(), form)).collect()).form,
        }
    }

    /// Returns the kinds of value that the keywords constrain, for schemas without `type`. Returns `None` if there are none.
    fn assume_kinds(&mut self, at: &At, plain: &Plain<'a>) -> Option<Vec<Kind>> {
        let mut found = Vec::new();
        for kind in plain.iter().flat_map(|(schema, _)| schema.keys()).filter_map(|word| Kind::of_word(word)) {
            if !found.contains(&kind) {
                found.push(kind);
            }
        }
        if found.is_empty() {
            return None;
        }
        let is_clear = matches!(found.as_slice(), [Kind::Object | Kind::Array]);
        if self.combining != Combining::Typed && !is_clear {
            return Some(Kind::all_values());
        }
        let names = found.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" or ");
        self.losses.add(at, "type", Severity::Narrowed, format!("missing: assumed to be {names}"));
        Some(found)
    }

    fn read_kind(&mut self, kind: Kind, at: &At, plain: &Plain<'a>, level: usize) -> Form {
        let limits = limits_of(kind, plain, self.draft, &mut self.losses);
        match kind {
            Kind::Object => self.read_object(at, plain, limits, level),
            Kind::Array => self.read_array(at, plain, limits, level),
            _ => Form::Scalar(Scalar { kind, values: None, limits }),
        }
    }

    fn read_array(&mut self, at: &At, plain: &Plain<'a>, limits: Vec<Limit>, level: usize) -> Form {
        let tuples: Vec<Option<&'a Vec<Value>>> = plain.iter().map(|(schema, _)| tuple(schema)).collect();
        let rest = |i: usize| -> Option<Item<'a>> {
            let (schema, at) = &plain[i];
            let word = if schema.get("items").is_some_and(Value::is_array) { "additionalItems" } else { "items" };
            Some(Item::Whole(schema.get(word)?, pointer::join(at, word).into()))
        };
        let max = find_count(&limits, "maxItems").unwrap_or(u64::MAX);
        let length = tuples.iter().flatten().map(|list| list.len()).max().unwrap_or(0);
        let length = length.min(usize::try_from(max).unwrap_or(usize::MAX));
        let mut prefix = Vec::new();
        for place in 0..length {
            let items: Vec<_> = (0..plain.len())
                .filter_map(|i| match tuples[i].and_then(|list| list.get(place)) {
                    Some(item) => {
                        let word = if plain[i].0.contains_key("prefixItems") { "prefixItems" } else { "items" };
                        Some(Item::Whole(item, format!("{}/{word}/{place}", plain[i].1).into()))
                    }
                    None => rest(i),
                })
                .collect();
            prefix.push(self.read_shape(place_of(&items, at), items, level + 1));
        }
        let items: Vec<_> = (0..plain.len()).filter_map(rest).collect();
        let items = self.read_shape(place_of(&items, at), items, level + 1);
        Form::Array(Array { prefix, items: Box::new(items), limits })
    }

    /// Records the losses of keywords without a place in a shape.
    fn lose_unsupported(&mut self, schema: &Map<String, Value>, at: &At, notes: &mut Notes) {
        for (word, value) in schema {
            match word.as_str() {
                "not" => {
                    if let Some(values) = value.as_object().filter(|not| not.len() == 1).and_then(listed_values) {
                        notes.hints.push(format!(
                            "not {}",
                            values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
                        ));
                    }
                    self.losses.add(at, word, Severity::Weakened, "left out");
                }
                "propertyNames" | "patternProperties" => {
                    let patterns: Vec<&str> = match value.get("pattern").and_then(Value::as_str) {
                        Some(pattern) if word == "propertyNames" => vec![pattern],
                        _ if word == "patternProperties"
                            && schema.get("additionalProperties") == Some(&false.into()) =>
                        {
                            value.as_object().into_iter().flatten().map(|(pattern, _)| pattern.as_str()).collect()
                        }
                        _ => Vec::new(),
                    };
                    let patterns = patterns.join(" or ");
                    if !patterns.is_empty() && patterns.len() <= MAX_HINT {
                        notes.hints.push(format!("names match {patterns}"));
                    }
                    if word == "propertyNames" {
                        self.losses.add(at, word, Severity::Weakened, "left out");
                    }
                }
                "if" | "contains" | "minContains" | "maxContains" | "dependentRequired" | "dependentSchemas"
                | "dependencies" | "unevaluatedItems" => {
                    self.losses.add(at, word, Severity::Weakened, "left out");
                }
                "type" | "enum" | "const" | "then" | "else" => {}
                _ if Kind::of_word(word).is_some() || places::is_annotation(word) || is_combination(word) => {}
                _ => self.losses.add(at, word, Severity::Annotation, "not a known keyword: left out"),
            }
        }
    }
}

fn tuple(schema: &Map<String, Value>) -> Option<&Vec<Value>> {
    schema.get("prefixItems").or_else(|| schema.get("items")).and_then(Value::as_array)
}

/// Returns the place of the first item. Without items, returns `at`.
fn place_of(items: &[Item<'_>], at: &At) -> At {
    match items.first() {
        Some(Item::Whole(_, at) | Item::Plain(_, at, _) | Item::Union(_, at, _)) => at.clone(),
        None => at.clone(),
    }
}

/// Returns the values that `enum` and `const` list.
fn listed_values(schema: &Map<String, Value>) -> Option<Vec<Value>> {
    match (schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(values)), None) => Some(values.clone()),
        (Some(Value::Array(values)), Some(only)) => {
            Some(values.iter().filter(|value| data::are_equal(value, only)).cloned().collect())
        }
        (_, Some(only)) => Some(vec![only.clone()]),
        _ => None,
    }
}

/// Returns the values that all listing schemas have in common.
fn common_values(plain: &Plain<'_>) -> Option<Vec<Value>> {
    plain.iter().filter_map(|(schema, _)| listed_values(schema)).reduce(|mut a, b| {
        a.retain(|value| b.iter().any(|other| data::are_equal(value, other)));
        a
    })
}

/// Returns the shape of one value.
fn literal(at: &At, value: &Value) -> Shape {
    let form = match value {
        Value::Array(list) => Form::Array(Array {
            prefix: list.iter().map(|item| literal(at, item)).collect(),
            items: Box::new(Shape::new(at.clone(), Form::Never)),
            limits: ["minItems", "maxItems"]
                .map(|word| Limit { at: at.clone(), word, value: list.len().into() })
                .into(),
        }),
        Value::Object(map) => Form::Object(Object {
            properties: map
                .iter()
                .map(|(name, value)| Property { name: name.clone(), required: true, shape: literal(at, value) })
                .collect(),
            declared: true,
            rest: Rest::None,
            limits: Vec::new(),
        }),
        Value::Null => Form::Scalar(Scalar { kind: Kind::Null, values: None, limits: Vec::new() }),
        scalar => {
            Form::Scalar(Scalar { kind: Kind::of(scalar), values: Some(vec![scalar.clone()]), limits: Vec::new() })
        }
    };
    Shape::new(at.clone(), form)
}

impl<'a> Reader<'a> {
    fn read_object(&mut self, at: &At, plain: &Plain<'a>, limits: Vec<Limit>, level: usize) -> Form {
        let mut names: Vec<(&'a str, bool)> = Vec::new();
        let mut declared = false;
        for (schema, _) in plain {
            let known = schema.get("properties").and_then(Value::as_object);
            declared |= known.is_some();
            let required =
                schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            let known = known.into_iter().flat_map(|known| known.keys()).map(|name| (name.as_str(), false));
            for (name, needed) in known.chain(required.map(|name| (name, true))) {
                match names.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, required)) => *required |= needed,
                    None => names.push((name, needed)),
                }
            }
        }
        let mut properties = Vec::new();
        for (name, required) in names {
            let items = plain.iter().filter_map(|(schema, at)| property_schema(schema, at, name)).collect::<Vec<_>>();
            let shape = self.read_shape(place_of(&items, at), items, level + 1);
            if shape.form == Form::Never {
                self.losses.add(
                    &shape.at,
                    "properties",
                    Severity::Weakened,
                    "a property without a valid value: left out",
                );
            } else {
                properties.push(Property { name: name.to_owned(), required, shape });
            }
        }
        let rest = self.read_rest(at, plain, level);
        for (schema, at) in plain {
            if patterns(schema).is_some() {
                let note = "names that match a pattern: any name is accepted";
                self.losses.add(at, "patternProperties", Severity::Weakened, note);
            }
        }
        Form::Object(Object { properties, declared, rest, limits })
    }

    fn read_rest(&mut self, at: &At, plain: &Plain<'a>, level: usize) -> Rest {
        let schemas: Vec<_> = plain.iter().filter_map(|(schema, at)| additional_properties(schema, at)).collect();
        if schemas.is_empty() {
            return Rest::Unspecified;
        }
        if schemas.iter().any(|item| matches!(item, Item::Whole(Value::Bool(false), _))) {
            return self.read_patterns(at, plain, level);
        }
        let place = place_of(&schemas, at);
        let mut shapes = vec![self.read_shape(place.clone(), schemas, level + 1)];
        for (schema, at) in plain {
            shapes.extend(self.read_pattern_shapes(schema, at, level));
        }
        let shape = Shape::union(&place, shapes);
        match shape.form {
            Form::Any => Rest::Open,
            Form::Never => Rest::None,
            _ => Rest::Of(Box::new(shape)),
        }
    }

    /// Returns the rule for the rest of a closed object: the union of the shapes of its patterns for names.
    fn read_patterns(&mut self, at: &At, plain: &Plain<'a>, level: usize) -> Rest {
        let closed = plain.iter().filter(|(schema, at)| {
            matches!(additional_properties(schema, at), Some(Item::Whole(Value::Bool(false), _)))
        });
        let all: Vec<_> = closed.collect();
        if all.iter().any(|(schema, _)| patterns(schema).is_none()) {
            return Rest::None;
        }
        let mut shapes = Vec::new();
        for (schema, at) in all {
            shapes.extend(self.read_pattern_shapes(schema, at, level));
        }
        match Shape::union(at, shapes) {
            Shape { form: Form::Any, .. } => Rest::Open,
            Shape { form: Form::Never, .. } => Rest::None,
            shape => Rest::Of(Box::new(shape)),
        }
    }
}

impl<'a> Reader<'a> {
    /// Returns the shapes of the properties whose names match a pattern.
    fn read_pattern_shapes(&mut self, schema: &'a Map<String, Value>, at: &At, level: usize) -> Vec<Shape> {
        let at = pointer::join(at, "patternProperties");
        let read = |(pattern, schema): (&String, &'a Value)| {
            let at: At = pointer::join(&at, pattern).into();
            self.read_shape(at.clone(), vec![Item::Whole(schema, at)], level + 1)
        };
        patterns(schema).into_iter().flatten().map(read).collect()
    }
}

fn patterns(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    schema.get("patternProperties").and_then(Value::as_object).filter(|patterns| !patterns.is_empty())
}

fn property_schema<'a>(schema: &'a Map<String, Value>, at: &At, name: &str) -> Option<Item<'a>> {
    if let Some(own) = schema.get("properties").and_then(|known| known.get(name)) {
        return Some(Item::Whole(own, pointer::join(&pointer::join(at, "properties"), name).into()));
    }
    // A pattern may allow the name. Then the schema of additional properties does not apply.
    if patterns(schema).is_some() {
        return None;
    }
    additional_properties(schema, at).filter(|_| schema.contains_key("additionalProperties"))
}

/// Returns the schema of additional or unevaluated properties.
fn additional_properties<'a>(schema: &'a Map<String, Value>, at: &At) -> Option<Item<'a>> {
    let word = ["additionalProperties", "unevaluatedProperties"].into_iter().find(|word| schema.contains_key(*word))?;
    Some(Item::Whole(&schema[word], pointer::join(at, word).into()))
}
