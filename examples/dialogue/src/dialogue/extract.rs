//! The search for unambiguous values of parameters in a sentence.

use std::ops::Range;

use serde_json::Value;

use super::answer::{self, ParsedAnswer};
use super::form::{self, FieldQuestion};
use super::shape::{Choice, Field, Kind, Shape};
use super::{phrase, scalar, words};
use tool_schema::schema::pointer;

/// Finds values of parameters of `root` in a sentence. Only `name: value` or `name=value` replaces one of the known `values`.
/// `name_stems` are the stems of the tool's own name, which are not values.
pub fn extract(root: &Shape, values: &Value, name_stems: &[String], text: &str) -> FoundValues {
    let mut extraction = Extraction::new(root, values, text);
    find_pairs(&mut extraction);
    find_named(&mut extraction);
    find_mentions(&mut extraction, name_stems);
    phrase::claim_by_form(&mut extraction);
    phrase::claim_month(&mut extraction);
    phrase::claim_from_to(&mut extraction);
    phrase::claim_places(&mut extraction);
    find_numbers(&mut extraction);
    phrase::claim_called(&mut extraction);
    phrase::claim_quoted(&mut extraction);
    phrase::claim_subject(&mut extraction);
    phrase::claim_lone_name(&mut extraction);
    extraction.found
}

/// Finds only explicit values: `name: value`, `name=value`, `change name to value`, `2 passengers`.
pub fn extract_explicit(root: &Shape, text: &str) -> FoundValues {
    let mut extraction = Extraction::new(root, &Value::Null, text);
    find_pairs(&mut extraction);
    find_changes(&mut extraction);
    find_named(&mut extraction);
    extraction.found
}

/// Returns whether the text begins with the name of a parameter and a colon or equals sign.
pub fn begins_with_pair(root: &Shape, text: &str) -> bool {
    let extraction = Extraction::new(root, &Value::Null, text);
    text.find([':', '=']).is_some_and(|at| {
        let is_plain = text[..at].chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/'));
        let name = words::fold(&text[..at]);
        is_plain && extraction.slots.iter().any(|slot| slot.names.contains(&name))
    })
}

/// Returns whether the text begins with a verb of change.
pub fn is_correction(text: &str) -> bool {
    let folded = words::fold(text);
    matches!(folded.split(' ').next(), Some("change" | "set" | "make" | "update" | "correct"))
}

/// Finds `name: value` and `name=value`.
fn find_pairs(extraction: &mut Extraction<'_>) {
    // The start of a name, the start of its value, and the index of its slot.
    let mut marks: Vec<(usize, usize, usize)> = Vec::new();
    for (at, mark) in extraction.text.match_indices([':', '=']) {
        let before = &extraction.text[..at];
        let names = words::word_ranges(before);
        for count in (1..=names.len().min(4)).rev() {
            let from = names[names.len() - count].start;
            // `"name":` is JSON, and belongs to the value around it.
            if before[..from].ends_with(['"', '\'']) {
                break;
            }
            let name = words::fold(&before[from..]);
            if let Some(slot) = extraction.slots.iter().position(|slot| slot.names.contains(&name)) {
                marks.push((from, at + mark.len(), slot));
                break;
            }
        }
    }
    for (index, &(from, start, slot)) in marks.iter().enumerate() {
        let next = marks.get(index + 1).map(|mark| mark.0);
        let end = next.filter(|next| *next >= start).unwrap_or(extraction.text.len());
        let Some(raw) = extraction.text.get(start..end) else { continue };
        let raw = raw.split('\n').find(|line| !line.trim().is_empty()).unwrap_or_default();
        let mut given = raw.trim().trim_end_matches([',', ';']).trim_end();
        if next.is_some() {
            given = given.strip_suffix(" and").unwrap_or(given).trim_end_matches([',', ';']).trim_end();
        }
        if given.is_empty() {
            extraction.ask_for(slot);
            continue;
        }
        // Texts and lists may contain a comma. If the whole is no value, read the part before the first comma.
        let whole = extraction.slots[slot].read(given);
        let read = whole.or_else(|reason| match given.split([',', ';']).next() {
            Some(first) if first.len() < given.len() => extraction.slots[slot].read(first.trim()),
            _ => Err(reason),
        });
        extraction.mark_taken(&(from..end));
        match read {
            Ok(value) => extraction.store_value(slot, value, 0..0),
            Err(reason) => complain(extraction, slot, &reason),
        }
    }
}

/// Finds `change name to value`, `set name to value` and `name is value`.
fn find_changes(extraction: &mut Extraction<'_>) {
    for at in 0..extraction.words.len() {
        let has_verb = matches!(extraction.folded[at].as_str(), "change" | "set" | "make" | "update" | "correct");
        let start = at + usize::from(has_verb);
        let start = start
            + usize::from(has_verb && extraction.folded.get(start).is_some_and(|word| word == "the" || word == "my"));
        let Some((slot, end)) = find_name_at(extraction, start) else { continue };
        let link = extraction.folded.get(end).map(String::as_str);
        let is_linked = (has_verb && link == Some("to")) || (at == 0 && link == Some("is"));
        if extraction.is_taken(start..end) || !(has_verb || is_linked) {
            continue;
        }
        let given =
            extraction.words.get(end + 1).map_or("", |word| extraction.text[word.start..].trim_end_matches(['.', '!']));
        if !is_linked || given.is_empty() {
            extraction.ask_for(slot);
        } else {
            match extraction.slots[slot].read(given) {
                Ok(value) => extraction.store_value(slot, value, start..extraction.words.len()),
                Err(reason) => complain(extraction, slot, &reason),
            }
        }
        return;
    }
}

/// Finds a name beside an unambiguous value: `unit fahrenheit`, `2 passengers`, `without details`.
fn find_named(extraction: &mut Extraction<'_>) {
    for at in 0..extraction.words.len() {
        let Some((slot, end)) = find_name_at(extraction, at) else { continue };
        if extraction.is_taken(at..end)
            || extraction.slots[slot].has_value
            || (end == at + 1 && words::is_stop_word(&extraction.folded[at]))
        {
            continue;
        }
        let mut after =
            (end + 1..=(end + 3).min(extraction.words.len())).rev().filter(|to| !extraction.is_taken(end..*to));
        if let Some((to, value)) =
            after.find_map(|to| Some((to, extraction.slots[slot].read_exact(extraction.span(end..to))?)))
        {
            extraction.store_value(slot, value, at..to);
            continue;
        }
        if let Some((value, span)) = phrase::read_after_name(extraction, slot, at, end) {
            extraction.store_value(slot, value, span);
            continue;
        }
        let before = at.checked_sub(1).filter(|before| !extraction.taken[*before]);
        let given = before.map(|before| extraction.folded[before].clone()).unwrap_or_default();
        let start = before.unwrap_or(at);
        match &extraction.slots[slot].shape.kind {
            Kind::Number(_) if extraction.slots[slot].shape.allowed.is_empty() => {
                // Here, "one" is a number, because it is beside a name. `find_numbers` ignores "one".
                let number = |word: usize| {
                    Some((scalar::parse_number(extraction.words.get(word).map(|_| extraction.word(word))?)?, word))
                };
                let beside = before.and_then(number).or_else(|| number(end).filter(|_| !extraction.taken[end]));
                let Some((number, word)) = beside else { continue };
                let span = word.min(at)..end.max(word + 1);
                match extraction.slots[slot].shape.check(&Value::Number(number.clone())) {
                    Ok(()) => extraction.store_value(slot, Value::Number(number), span),
                    Err(reason) => {
                        extraction.taken[span].fill(true);
                        complain(extraction, slot, &format!("That {reason}."));
                    }
                }
            }
            Kind::Bool if matches!(given.as_str(), "with" | "including") => {
                extraction.store_value(slot, true.into(), start..end);
            }
            Kind::Bool if matches!(given.as_str(), "without" | "no" | "not") => {
                extraction.store_value(slot, false.into(), start..end);
            }
            _ if given == "with" => extraction.ask_for(slot),
            _ => {}
        }
    }
}

/// Finds allowed values that fit exactly one parameter.
fn find_mentions(extraction: &mut Extraction<'_>, name_stems: &[String]) {
    let stems: Vec<(usize, String)> = (extraction.folded.iter().enumerate())
        .flat_map(|(at, word)| word.split(' ').map(move |part| (at, part.to_owned())))
        .collect();
    let mut claims = Vec::new();
    for (slot, known) in extraction.slots.iter().enumerate().filter(|(_, slot)| !slot.has_value) {
        let (choices, is_list) = match &known.shape.kind {
            Kind::List { item, .. } => (&item.allowed, true),
            _ => (&known.shape.allowed, false),
        };
        let mut hits = Vec::new();
        for choice in choices.iter().filter(|choice| choice.value.is_string()) {
            let folded = words::fold(&scalar::to_plain_text(&choice.value));
            let parts: Vec<&str> = folded.split(' ').collect();
            let is_empty = parts
                .iter()
                .all(|part| words::is_stop_word(part) || name_stems.contains(&words::stem(part)) || part.len() < 2);
            let place =
                stems.windows(parts.len()).position(|run| run.iter().zip(&parts).all(|((_, word), part)| word == part));
            if let Some(at) = place.filter(|_| !is_empty) {
                let span = stems[at].0..stems[at + parts.len() - 1].0 + 1;
                if !extraction.is_taken(span.clone()) {
                    hits.push((span, choice.value.clone()));
                }
            }
        }
        // Of two values in one place, prefer the longer name.
        let is_within = |one: &Range<usize>, other: &Range<usize>| {
            other.start <= one.start && one.end <= other.end && other.len() > one.len()
        };
        let kept: Vec<_> =
            hits.iter().filter(|hit| !hits.iter().any(|other| is_within(&hit.0, &other.0))).cloned().collect();
        match &kept[..] {
            [(span, value)] if !is_list => claims.push((slot, span.clone(), value.clone())),
            [(first, _), ..] if is_list => {
                let span = first.start..kept.iter().map(|hit| hit.0.end).max().unwrap_or(first.end);
                claims.push((slot, span, kept.into_iter().map(|hit| hit.1).collect()));
            }
            _ => {}
        }
    }
    for (slot, span, value) in &claims {
        let rivals = claims.iter().filter(|claim| claim.1.start < span.end && span.start < claim.1.end).count();
        if rivals == 1 && extraction.slots[*slot].shape.check(value).is_ok() {
            extraction.store_value(*slot, value.clone(), span.clone());
        }
    }
}

/// Finds a number, if there is only one and only one parameter for it, or if it is beside a word of the parameter's name.
fn find_numbers(extraction: &mut Extraction<'_>) {
    let is_numeric = |slot: &Slot<'_>| matches!(slot.shape.kind, Kind::Number(_)) && slot.shape.allowed.is_empty();
    let open: Vec<usize> = (0..extraction.slots.len())
        .filter(|&at| !extraction.slots[at].has_value && is_numeric(&extraction.slots[at]))
        .collect();
    let found: Vec<usize> = (0..extraction.words.len())
        .filter(|&at| !extraction.taken[at] && extraction.folded[at] != "one" && extraction.folded[at] != "zero")
        .filter(|&at| scalar::parse_number(extraction.word(at)).is_some())
        .collect();
    for &at in &found {
        let near: Vec<String> = [at.checked_sub(1), Some(at + 1)]
            .into_iter()
            .flatten()
            .filter_map(|at| extraction.folded.get(at))
            .map(|word| words::stem(word))
            .collect();
        let is_near = |slot: &usize| {
            extraction.slots[*slot].name_stems.iter().any(|term| near.contains(term) && !words::is_stop_word(term))
        };
        let beside: Vec<usize> = open.iter().copied().filter(is_near).collect();
        let slot = match (&beside[..], &open[..]) {
            (&[one], _) => one,
            (_, &[one]) if found.len() == 1 => one,
            _ => continue,
        };
        let Some(number) = scalar::parse_number(extraction.word(at)).map(Value::Number) else { continue };
        if !extraction.slots[slot].has_value && extraction.slots[slot].shape.check(&number).is_ok() {
            extraction.store_value(slot, number, at..at + 1);
        }
    }
}

/// Returns the parameter whose name begins at a word, and the index of the word after the name. The longest name wins.
fn find_name_at(extraction: &Extraction<'_>, at: usize) -> Option<(usize, usize)> {
    (at + 1..=(at + 4).min(extraction.words.len())).rev().find_map(|end| {
        let name = words::fold(extraction.span(at..end));
        Some((extraction.slots.iter().position(|slot| slot.names.contains(&name))?, end))
    })
}

/// Records a sentence about a parameter whose named value does not fit.
fn complain(extraction: &mut Extraction<'_>, slot: usize, reason: &str) {
    let label = words::capitalize(&form::label(&extraction.slots[slot].pointer));
    let complaint = match reason.strip_prefix("That ") {
        Some(rest) => format!("{label} {rest}"),
        None => format!("{label}: {reason}"),
    };
    extraction.found.complaints.push(complaint);
}

/// Returns the ranges of quoted texts in the sentence.
pub fn find_quotes(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut from = 0;
    while let Some(open) = text[from..].find(['"', '“', '`']).map(|at| at + from) {
        let mark = text[open..].chars().next().unwrap_or('"');
        let close = if mark == '“' { '”' } else { mark };
        let start = open + mark.len_utf8();
        let Some(end) = text[start..].find(close).map(|at| at + start) else { break };
        out.push(open..end + close.len_utf8());
        from = end + close.len_utf8();
    }
    out.retain(|range| answer::unquote(&text[range.clone()]).is_some_and(|inner| !inner.trim().is_empty()));
    out
}

/// The values that were found in a sentence.
#[derive(Debug, Default, PartialEq)]
pub struct FoundValues {
    /// Values by pointer.
    pub values: Vec<(String, Value)>,
    /// Parameters that were named without a value.
    pub named: Vec<String>,
    /// Sentences about parameters that were named with a value that does not fit.
    pub complaints: Vec<String>,
}

/// A parameter that can be found in a sentence.
pub struct Slot<'a> {
    /// The pointer of its value.
    pub pointer: String,
    pub names: Vec<String>,
    /// Stems of its name.
    pub name_stems: Vec<String>,
    /// Stems of the first sentence of its description.
    pub description_stems: Vec<String>,
    /// The values that it may have.
    pub shape: &'a Shape,
    pub is_required: bool,
    /// Set if it has a value already.
    pub has_value: bool,
}

/// The search for parameters in a sentence.
pub struct Extraction<'a> {
    /// The sentence.
    pub text: &'a str,
    /// The places of its words.
    pub words: Vec<Range<usize>>,
    /// The words, folded.
    pub folded: Vec<String>,
    /// For each word, set if it is used already.
    pub taken: Vec<bool>,
    /// The parameters that it looks for.
    pub slots: Vec<Slot<'a>>,
    /// The results so far.
    pub found: FoundValues,
}

impl<'a> Extraction<'a> {
    /// Creates a search for the parameters of `root`, of which `values` are known.
    pub fn new(root: &'a Shape, values: &Value, text: &'a str) -> Self {
        let mut slots = Vec::new();
        collect_slots(root.fields(), "", true, 0, values, &mut slots);
        // A parameter can be named by the last part of its path, if that part is unique.
        for at in 0..slots.len() {
            let short = words::fold(&form::last_label(&slots[at].pointer));
            let is_unused = slots.iter().filter(|slot| slot.names.contains(&short)).count() == 0;
            let twins = slots.iter().filter(|slot| words::fold(&form::last_label(&slot.pointer)) == short).count();
            if is_unused && twins == 1 {
                slots[at].names.push(short);
            }
        }
        let words = words::word_ranges(text);
        let folded = words.iter().map(|range| words::fold(&text[range.clone()])).collect();
        Self { text, taken: vec![false; words.len()], words, folded, slots, found: FoundValues::default() }
    }

    /// Returns the word at `at`, unchanged.
    pub fn word(&self, at: usize) -> &'a str {
        &self.text[self.words[at].clone()]
    }

    pub fn span(&self, words: Range<usize>) -> &'a str {
        match (self.words.get(words.start), words.end.checked_sub(1).and_then(|last| self.words.get(last))) {
            (Some(from), Some(to)) if from.start <= to.end => &self.text[from.start..to.end],
            _ => "",
        }
    }

    /// Returns whether only white space is between a word and the next.
    pub fn is_joined(&self, at: usize) -> bool {
        match (self.words.get(at), self.words.get(at + 1)) {
            (Some(one), Some(next)) => self.text[one.end..next.start].chars().all(char::is_whitespace),
            _ => false,
        }
    }

    /// Marks the words that overlap a range of the text as used.
    pub fn mark_taken(&mut self, range: &Range<usize>) {
        for (word, taken) in self.words.iter().zip(&mut self.taken) {
            *taken |= word.start < range.end && range.start < word.end;
        }
    }

    pub fn is_taken(&self, words: Range<usize>) -> bool {
        self.taken.get(words).is_none_or(|taken| taken.contains(&true))
    }

    /// Stores the value of a parameter, and marks the words as used.
    pub fn store_value(&mut self, slot: usize, value: Value, words: Range<usize>) {
        self.found.values.push((self.slots[slot].pointer.clone(), value));
        self.slots[slot].has_value = true;
        for taken in self.taken.iter_mut().take(words.end).skip(words.start) {
            *taken = true;
        }
    }

    /// Reads a text as the value of a parameter, and stores the value. Returns whether the text is a value of the parameter.
    pub fn claim(&mut self, slot: usize, text: &str, words: Range<usize>) -> bool {
        let value = self.slots[slot].read(text);
        value.map(|value| self.store_value(slot, value, words)).is_ok()
    }

    /// Returns whether a word begins with a capital.
    pub fn is_capital(&self, at: usize) -> bool {
        self.word(at).starts_with(char::is_uppercase)
    }

    /// Records a parameter that was named without a value.
    fn ask_for(&mut self, slot: usize) {
        self.found.named.push(self.slots[slot].pointer.clone());
    }

    /// Returns the only slot without a value that passes a test. If there are several, returns the only required one.
    pub fn find_only(&self, test: impl Fn(&Slot<'_>) -> bool) -> Option<usize> {
        let fits: Vec<usize> =
            (0..self.slots.len()).filter(|&at| !self.slots[at].has_value && test(&self.slots[at])).collect();
        if let [one] = fits[..] {
            return Some(one);
        }
        let mut required = fits.into_iter().filter(|&at| self.slots[at].is_required);
        required.next().filter(|_| required.next().is_none())
    }
}

impl Slot<'_> {
    /// Returns whether the parameter's name or description has one of these stems.
    pub fn is_like(&self, stems: &[&str]) -> bool {
        self.is_named(stems) || stems.iter().any(|stem| self.description_stems.iter().any(|known| known == stem))
    }

    /// Returns whether the parameter's name has one of these stems.
    pub fn is_named(&self, stems: &[&str]) -> bool {
        stems.iter().any(|stem| self.name_stems.iter().any(|known| known == stem))
    }

    /// Reads a text as a value of this parameter, without guessing. Fails with a sentence for the person.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        match answer::parse(&FieldQuestion::new(&self.pointer, self.shape), text) {
            ParsedAnswer::Value(value) => Ok(value),
            ParsedAnswer::Items { items, .. } => {
                let list = Value::Array(items);
                self.shape.check(&list).map(|()| list).map_err(|reason| format!("That {reason}."))
            }
            ParsedAnswer::Wrong(reason) => Err(reason),
            ParsedAnswer::Near(near) => {
                Err(format!("{} Did you mean {}?", answer::describe_unknown(text), scalar::to_plain_text(&near)))
            }
            ParsedAnswer::Several(_) => Err(answer::describe_unknown(text)),
        }
    }

    /// Returns the value that a text denotes exactly: an allowed value, a number, yes or no, or text of a format or pattern.
    pub fn read_exact(&self, text: &str) -> Option<Value> {
        let value = match &self.shape.kind {
            _ if !self.shape.allowed.is_empty() => {
                let folded = words::fold(text);
                let is_named = |choice: &&Choice| words::fold(&scalar::to_plain_text(&choice.value)) == folded;
                let mut fits = self.shape.allowed.iter().filter(is_named);
                fits.next().filter(|_| fits.next().is_none())?.value.clone()
            }
            Kind::Number(_) => Value::Number(scalar::parse_number(text)?),
            Kind::Bool => Value::Bool(scalar::parse_yes_or_no(text)?),
            Kind::Text(limits) if limits.format.as_deref() == Some("date") => Value::String(scalar::parse_date(text)?),
            Kind::Text(limits) if limits.format.is_some() || limits.pattern.is_some() => Value::from(text),
            _ => return None,
        };
        self.shape.check(&value).is_ok().then_some(value)
    }
}

fn collect_slots<'a>(
    fields: &'a [Field],
    pointer: &str,
    is_parent_required: bool,
    depth: usize,
    values: &Value,
    slots: &mut Vec<Slot<'a>>,
) {
    for field in fields {
        let pointer = pointer::join(pointer, &field.name);
        let is_required = is_parent_required && field.is_required;
        if field.shape.allowed.is_empty() && !field.shape.fields().is_empty() {
            if depth < 3 {
                collect_slots(field.shape.fields(), &pointer, is_required, depth + 1, values, slots);
            }
            continue;
        }
        let mut names = vec![words::fold(&form::label(&pointer))];
        names.extend(
            field.shape.title.as_deref().map(words::fold).filter(|title| *title != names[0] && !title.is_empty()),
        );
        slots.push(Slot {
            names,
            name_stems: words::fold(&form::last_label(&pointer)).split(' ').map(words::stem).collect(),
            description_stems: words::fold(words::first_sentence(&field.shape.description))
                .split(' ')
                .map(words::stem)
                .collect(),
            shape: &field.shape,
            is_required,
            has_value: values.pointer(&pointer).is_some(),
            pointer,
        });
    }
}
