//! A sentence in which parameters are looked for: its words, and which of them are used up.

use std::ops::Range;

use serde_json::Value;

use super::answer::{self, Answer};
use super::ask::{self, Ask};
use super::shape::{Choice, Field, Kind, Shape};
use super::{calendar, scalar, words};

/// What was found in a sentence.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Found {
    /// Values by pointer.
    pub(super) values: Vec<(String, Value)>,
    /// Parameters that were named without a value.
    pub(super) named: Vec<String>,
    /// What was named with a value that does not fit: sentences.
    pub(super) complaints: Vec<String>,
}

/// A parameter that can be found in a sentence.
pub(super) struct Slot<'a> {
    /// Where its value goes.
    pub(super) pointer: String,
    /// What it is called, folded.
    pub(super) names: Vec<String>,
    /// Stems of its name.
    pub(super) terms: Vec<String>,
    /// Stems of the first sentence of its description.
    pub(super) about: Vec<String>,
    /// What it may be.
    pub(super) shape: &'a Shape,
    /// Whether it must be given.
    pub(super) required: bool,
    /// Whether it has a value already.
    pub(super) settled: bool,
}

/// A sentence in which parameters are looked for.
pub(super) struct Hunt<'a> {
    /// The sentence.
    pub(super) text: &'a str,
    /// The places of its words.
    pub(super) words: Vec<Range<usize>>,
    /// The words, folded.
    pub(super) folded: Vec<String>,
    /// Which words are used up.
    pub(super) taken: Vec<bool>,
    /// What is looked for.
    pub(super) slots: Vec<Slot<'a>>,
    /// What was found.
    pub(super) found: Found,
}

impl<'a> Hunt<'a> {
    /// A hunt for the parameters of `root`, of which `values` are settled.
    pub(super) fn new(root: &'a Shape, values: &Value, text: &'a str) -> Self {
        let mut slots = Vec::new();
        gather(root.fields(), "", true, 0, values, &mut slots);
        // The last name alone is enough where only one parameter bears it.
        for at in 0..slots.len() {
            let short = words::fold(&ask::last(&slots[at].pointer));
            let alone = slots.iter().filter(|slot| slot.names.contains(&short)).count() == 0;
            let twins = slots.iter().filter(|slot| words::fold(&ask::last(&slot.pointer)) == short).count();
            if alone && twins == 1 {
                slots[at].names.push(short);
            }
        }
        let words = words::words(text);
        let folded = words.iter().map(|range| words::fold(&text[range.clone()])).collect();
        Self { text, taken: vec![false; words.len()], words, folded, slots, found: Found::default() }
    }

    /// The word at `at`, as it was written.
    pub(super) fn word(&self, at: usize) -> &'a str {
        &self.text[self.words[at].clone()]
    }

    /// The text from one word to another, the latter not included.
    pub(super) fn span(&self, words: Range<usize>) -> &'a str {
        match (self.words.get(words.start), words.end.checked_sub(1).and_then(|last| self.words.get(last))) {
            (Some(from), Some(to)) if from.start <= to.end => &self.text[from.start..to.end],
            _ => "",
        }
    }

    /// Whether nothing but space is between a word and the next.
    pub(super) fn joined(&self, at: usize) -> bool {
        match (self.words.get(at), self.words.get(at + 1)) {
            (Some(one), Some(next)) => self.text[one.end..next.start].chars().all(char::is_whitespace),
            _ => false,
        }
    }

    /// Marks the words that touch a range of the text as used up.
    pub(super) fn take(&mut self, range: &Range<usize>) {
        for (word, taken) in self.words.iter().zip(&mut self.taken) {
            *taken |= word.start < range.end && range.start < word.end;
        }
    }

    /// Whether any of the words is used up.
    pub(super) fn is_taken(&self, words: Range<usize>) -> bool {
        self.taken.get(words).is_none_or(|taken| taken.contains(&true))
    }

    /// Settles a parameter, and uses the words up.
    pub(super) fn settle(&mut self, slot: usize, value: Value, words: Range<usize>) {
        self.found.values.push((self.slots[slot].pointer.clone(), value));
        self.slots[slot].settled = true;
        for taken in self.taken.iter_mut().take(words.end).skip(words.start) {
            *taken = true;
        }
    }

    /// The only slot that passes a test and has no value yet; of several, the only required one.
    pub(super) fn sole(&self, test: impl Fn(&Slot<'_>) -> bool) -> Option<usize> {
        let fits: Vec<usize> =
            (0..self.slots.len()).filter(|&at| !self.slots[at].settled && test(&self.slots[at])).collect();
        if let [one] = fits[..] {
            return Some(one);
        }
        let mut required = fits.into_iter().filter(|&at| self.slots[at].required);
        required.next().filter(|_| required.next().is_none())
    }
}

impl Slot<'_> {
    /// Whether its name, or failing that its description, has one of these stems.
    pub(super) fn is_like(&self, stems: &[&str]) -> bool {
        self.is_named(stems) || stems.iter().any(|stem| self.about.iter().any(|known| known == stem))
    }

    /// Whether its name has one of these stems.
    pub(super) fn is_named(&self, stems: &[&str]) -> bool {
        stems.iter().any(|stem| self.terms.iter().any(|known| known == stem))
    }

    /// The format that its texts must have.
    pub(super) fn format(&self) -> Option<&str> {
        match &self.shape.kind {
            Kind::Text(text) => text.format.as_deref(),
            _ => None,
        }
    }

    /// The value that a text is for this parameter, without guessing; a sentence where it is none.
    pub(super) fn read(&self, text: &str) -> Result<Value, String> {
        match answer::parse(&Ask::new(&self.pointer, self.shape), text) {
            Answer::Value(value) => Ok(value),
            Answer::Items { items, .. } => {
                let list = Value::Array(items);
                self.shape.check(&list).map(|()| list).map_err(|reason| format!("That {reason}."))
            }
            Answer::Wrong(reason) => Err(reason),
            Answer::Near(near) => Err(format!("{} Did you mean {}?", answer::unknown(text), scalar::plain(&near))),
            Answer::Several(_) => Err(answer::unknown(text)),
        }
    }

    /// The value that a text is as it stands: a number, a date, an allowed value, yes or no.
    pub(super) fn exact(&self, text: &str) -> Option<Value> {
        let value = match &self.shape.kind {
            _ if !self.shape.allowed.is_empty() => {
                let said = words::fold(text);
                let named = |choice: &&Choice| words::fold(&scalar::plain(&choice.value)) == said;
                let mut fits = self.shape.allowed.iter().filter(named);
                fits.next().filter(|_| fits.next().is_none())?.value.clone()
            }
            Kind::Number(_) => Value::Number(scalar::number(text)?),
            Kind::Bool => Value::Bool(scalar::yes_or_no(text)?),
            Kind::Text(limits) if limits.format.as_deref() == Some("date") => Value::String(calendar::date(text)?),
            Kind::Text(limits) if limits.format.is_some() || limits.pattern.is_some() => Value::from(text),
            _ => return None,
        };
        self.shape.check(&value).is_ok().then_some(value)
    }
}

fn gather<'a>(
    fields: &'a [Field],
    pointer: &str,
    needed: bool,
    depth: usize,
    values: &Value,
    slots: &mut Vec<Slot<'a>>,
) {
    for field in fields {
        let pointer = ask::field(pointer, &field.name);
        let required = needed && field.required;
        if field.shape.allowed.is_empty() && !field.shape.fields().is_empty() {
            if depth < 3 {
                gather(field.shape.fields(), &pointer, required, depth + 1, values, slots);
            }
            continue;
        }
        let mut names = vec![words::fold(&ask::label(&pointer))];
        names.extend(
            field.shape.title.as_deref().map(words::fold).filter(|title| *title != names[0] && !title.is_empty()),
        );
        slots.push(Slot {
            names,
            terms: words::fold(&ask::last(&pointer)).split(' ').map(words::stem).collect(),
            about: words::fold(words::first_sentence(&field.shape.description)).split(' ').map(words::stem).collect(),
            shape: &field.shape,
            required,
            settled: values.pointer(&pointer).is_some(),
            pointer,
        });
    }
}
