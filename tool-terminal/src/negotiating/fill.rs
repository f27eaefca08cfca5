//! What a person says while a form is open: an answer, a correction, a word of command.

use serde_json::Value;

use super::answer::{self, Answer};
use super::ask::Ask;
use super::fold::{Dialogue, Pause, Stage};
use super::form::{Doubt, Form};
use super::hunt::Found;
use super::intent::{self, Command};
use super::said::SENTENCE;
use super::shape::{Kind, Shape};
use super::{ask, calendar, choose, extract, phrase, question, scalar, words};

impl Dialogue<'_> {
    /// Takes in what was said to the question of a form.
    pub(super) fn fill(&mut self, mut form: Form, text: &str) {
        let Some(root) = self.shape_of(&form).cloned() else { return };
        // An allowed value may be a word of command elsewhere: `stop`, `default`.
        let chosen = form.next(&root).is_some_and(|ask| ask.names(text));
        let command = intent::command(text).filter(|_| !chosen);
        match command {
            Some(Command::Cancel) => {
                self.tell(format!("I have dropped “{}”. What else can I do for you?", self.title(&form.tool)));
                return;
            }
            Some(Command::Back) => {
                if !form.back() {
                    self.tell("This is the first question; say “cancel” to drop it.");
                }
                self.stage = Stage::Filling(form);
                return;
            }
            Some(Command::Help) => {
                self.note = self.explain(&form);
                self.stage = Stage::Filling(form);
                return;
            }
            _ => {}
        }
        if let Some(doubt) = form.doubt.take()
            && self.clear(&mut form, &root, doubt, text)
        {
            return self.resume(form);
        }
        let Some(ask) = form.next(&root) else {
            self.stage = Stage::Parked { form, why: Pause::Whole };
            return;
        };
        let short = text.len() <= SENTENCE;
        let correction = extract::begins_with_pair(&root, text) || extract::is_correction(text);
        if short && correction {
            let found = extract::explicit(&root, text);
            if found != Found::default() {
                return self.adopt(form, found);
            }
        }
        if self.command(&mut form, &ask, command) {
            return self.resume(form);
        }
        self.answer(form, &root, &ask, text);
    }

    /// Reads the answer to the question.
    fn answer(&mut self, mut form: Form, root: &Shape, ask: &Ask, text: &str) {
        let tool = self.place(&form.tool).unwrap_or_default();
        let several = text.contains(char::is_whitespace) && text.len() <= SENTENCE && !text.starts_with(['{', '[']);
        let found = if several {
            extract::extract(root, &form.values, &self.index().verbs(tool), text)
        } else {
            Found::default()
        };
        let (mut text, mut also) = (text, Vec::new());
        if ask.shape.is_free_text() && several && ask.choices.is_empty() {
            // A text is taken as it is, unless it is a name among small words: "from Paris to Rome", "in Oslo".
            let lead = text.split(char::is_whitespace).next().unwrap_or_default().to_lowercase();
            let small = matches!(lead.as_str(), "in" | "at" | "from" | "to" | "near" | "for");
            if small && found.values.iter().any(|(pointer, _)| *pointer == ask.pointer) {
                return self.adopt(form, found);
            }
            if small && text.split_whitespace().count() <= 5 && phrase::is_place(root, &ask.pointer) {
                text = text[lead.len()..].trim_start();
            }
            if let Some((head, tail)) = text.rsplit_once(" with ")
                && tail.split(' ').count() <= 4
            {
                let rest = format!("with {tail}");
                also = extract::extract(root, &Value::Null, &[], &rest).values;
                also.retain(|(pointer, _)| {
                    *pointer != ask.pointer && root.at(pointer).is_some_and(|s| !s.is_free_text())
                });
                text = if also.is_empty() { text } else { head };
            }
        } else if !choose::is_name(&ask.choices, text) && calendar::date(text).is_none() {
            also = found.values.iter().filter(|(pointer, _)| *pointer != ask.pointer).cloned().collect();
        }
        let parsed = answer::parse(ask, text);
        let unsure = match &parsed {
            Answer::Wrong(_) => found.values.is_empty(),
            _ => ask.shape.is_free_text() && text.split_whitespace().count() <= 10 && answer::unquoted(text).is_none(),
        };
        if let Some(tool) = self.other(&form, text).filter(|_| unsure && several) {
            form.doubt = Some(Doubt::Switch { tool, text: text.to_owned() });
            return self.resume(form);
        }
        let parsed = match parsed {
            Answer::Items { items, more } => Self::items(&mut form, root, ask, items, more),
            Answer::Value(value) => {
                form.mark();
                form.set(&ask.pointer, value);
                Ok(())
            }
            other => Err(other),
        };
        match parsed {
            Ok(()) => {
                let mut told = vec![said_back(&form, ask)];
                for (pointer, value) in also {
                    told.push(format!("{}: {}", ask::label(&pointer), scalar::plain(&value)));
                    form.set(&pointer, value);
                }
                told.retain(|text| !text.is_empty());
                self.note = words::capital(&told.join(", "));
                self.note.push_str(if told.is_empty() { "" } else { "." });
            }
            Err(_) if !found.values.is_empty() => return self.adopt(form, found),
            Err(Answer::Near(value)) => form.doubt = Some(Doubt::Meant { pointer: ask.pointer.clone(), value }),
            Err(Answer::Several(values)) => form.doubt = Some(Doubt::Which { pointer: ask.pointer.clone(), values }),
            Err(Answer::Wrong(reason)) => self.note = reason,
            Err(_) => {}
        }
        self.stage = Stage::Filling(form);
    }

    /// Adds items to a list; `Err` says why they cannot be added.
    fn items(form: &mut Form, root: &Shape, ask: &Ask, items: Vec<Value>, more: bool) -> Result<(), Answer> {
        let Kind::List { least, .. } = ask.shape.kind else { return Ok(()) };
        let mut list = form.values.pointer(&ask.pointer).and_then(Value::as_array).cloned().unwrap_or_default();
        list.extend(items);
        let enough = list.len() >= least;
        let list = Value::Array(list);
        if enough && let Err(reason) = ask.shape.check(&list) {
            return Err(Answer::Wrong(format!("That {reason}.")));
        }
        form.mark();
        form.set(&ask.pointer, list);
        let required = root.at(&ask.pointer).is_some_and(|shape| matches!(shape.kind, Kind::List { .. }));
        // Where too few are there, what is required is asked for again anyway, and “done” would be no answer.
        let goes_on = if enough { more } else { !required };
        if goes_on {
            form.open = Some(ask.pointer.clone());
        }
        Ok(())
    }

    /// Carries out a command that is about the value itself; whether it was one.
    fn command(&mut self, form: &mut Form, ask: &Ask, command: Option<Command>) -> bool {
        let open = form.open.as_ref() == Some(&ask.pointer);
        match command {
            Some(Command::Done | Command::Thanks | Command::Skip) if open => {
                let list = form.values.pointer(&ask.pointer).cloned().unwrap_or_default();
                match ask.shape.check(&list) {
                    Ok(()) => form.open = None,
                    Err(reason) => self.note = format!("That {reason}."),
                }
            }
            Some(Command::Default) if ask.shape.default.is_some() => {
                let value = ask.shape.default.clone().unwrap_or_default();
                form.mark();
                form.set(&ask.pointer, value);
                self.note = words::capital(&said_back(form, ask));
                self.note.push('.');
            }
            Some(Command::Skip) if ask.optional => {
                form.mark();
                form.wanted.retain(|wanted| *wanted != ask.pointer);
            }
            Some(Command::Skip) if ask.shape.nullable => {
                form.mark();
                form.set(&ask.pointer, Value::Null);
            }
            Some(Command::Skip) => self.tell("I cannot go on without this one; “cancel” drops it all."),
            _ => return false,
        }
        true
    }

    /// Another tool that a text is surely about.
    fn other(&self, form: &Form, text: &str) -> Option<usize> {
        if self.forced { None } else { self.index().surely(text, &form.tool) }
    }

    /// Settles several values at once.
    fn adopt(&mut self, mut form: Form, found: Found) {
        form.mark();
        let told: Vec<String> = (found.values.iter())
            .map(|(pointer, value)| format!("{}: {}", ask::label(pointer), words::shorten(&scalar::plain(value), 60)))
            .collect();
        self.take_in(&mut form, found);
        if !told.is_empty() {
            let complaints = std::mem::take(&mut self.note);
            self.tell(format!("{}.\n{complaints}", words::capital(&told.join(", "))).trim_end().to_owned());
        }
        self.stage = Stage::Filling(form);
    }

    fn resume(&mut self, form: Form) {
        self.stage = Stage::Filling(form);
    }

    /// What this is all about.
    fn explain(&self, form: &Form) -> String {
        let about = self.place(&form.tool).map(|tool| self.line(tool)).unwrap_or_default();
        let known = question::settled(&form.values);
        let known = if known.is_empty() { known } else { format!("\nSo far: {known}.") };
        let words = "Say “back” to take the last answer back, “cancel” to drop it, “name: value” to set something.";
        format!("{about}.{known}\n{words}")
    }
}

/// The value that was settled, said back so that a misunderstanding is seen.
pub(super) fn said_back(form: &Form, ask: &Ask) -> String {
    match form.values.pointer(&ask.pointer) {
        Some(Value::Array(items)) if items.iter().any(Value::is_object) => String::new(),
        Some(value) => {
            let shown = scalar::plain(value);
            let shown = if shown.is_empty() { "none".to_owned() } else { words::shorten(&shown, 60) };
            format!("{}: {shown}", ask::label(&ask.pointer))
        }
        None => String::new(),
    }
}
