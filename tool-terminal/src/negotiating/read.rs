//! The person's messages: requests, answers to questions, corrections and commands.

use serde_json::Value;

use super::answer::{self, ParsedAnswer};
use super::extract::{self, Found};
use super::form::{self, Doubt, FieldQuestion, Form};
use super::intent::{self, Command, Guess};
use super::shape::{Choice, Kind, Shape};
use super::{Dialogue, Pause, Stage};
use super::{phrase, scalar, words};
use tool_schema::schema::pointer;

/// The maximum length of a request. Longer texts are answers, and are not searched for words.
const MAX_REQUEST_LENGTH: usize = 2000;

impl Dialogue<'_> {
    /// Reads a message of the person.
    pub fn read_sentence(&mut self, text: &str) {
        if text.is_empty() {
            return self.say("I did not get any text.");
        }
        self.stage = match std::mem::take(&mut self.stage) {
            Stage::Idle => self.request(text),
            Stage::Choosing { offered, text: before, .. } => self.choose(offered, before, text),
            Stage::Filling(form) => {
                match self.shape_of(&form).map(|shape| form.doubt.is_none() && form.next(shape).is_none()) {
                    Some(false) => self.fill(form, text),
                    // The call was not possible when the form became complete, so the person must confirm it now.
                    Some(true) => self.decide(form, Pause::Whole, text),
                    None => self.request(text),
                }
            }
            Stage::Parked { form, why } => self.decide(form, why, text),
        };
    }

    /// Sets the text of the reply, and drops the form or the list in progress.
    fn leave(&mut self, text: impl Into<String>) -> Stage {
        self.say(text);
        Stage::Idle
    }

    /// Reads a new request.
    fn request(&mut self, text: &str) -> Stage {
        let folded = words::fold(text);
        if let Some(tool) = (0..self.tools.len()).find(|tool| self.names(*tool).contains(&folded)) {
            return self.start(tool, "");
        }
        match intent::command(text) {
            Some(Command::Thanks) => self.leave("You are welcome."),
            Some(Command::Cancel | Command::Back) => self.leave("There is nothing to take back."),
            Some(Command::Help | Command::Hello) => self.offer_all(""),
            Some(Command::Again) if self.last.is_some() => self.last.take().map_or(Stage::Idle, Stage::Filling),
            _ if self.forced => self.start(0, text),
            _ => self.guess(text),
        }
    }

    fn guess(&mut self, text: &str) -> Stage {
        if let Some(about) = intent::help_about(text) {
            let offered = self.index().about(&about);
            if !offered.is_empty() {
                return Stage::Choosing { offered, text: String::new(), quiet: false };
            }
        }
        let short = text.len() <= MAX_REQUEST_LENGTH;
        let guess = if short { self.guess_tool(text) } else { Guess::Unknown };
        if !matches!(guess, Guess::One(_))
            && let Some(stage) = self.follow(text)
        {
            return stage;
        }
        match guess {
            Guess::One(tool) => self.start(tool, text),
            Guess::Perhaps(offered) if matches!(offered[..], [tool] if self.finds(tool, text).0 > 0) => {
                self.start(offered[0], text)
            }
            Guess::Unknown if self.tools.len() == 1 && short && self.finds(0, text).0 > 0 => self.start(0, text),
            Guess::Perhaps(offered) => {
                self.note = if offered.len() > 1 { "Which of these do you mean?".into() } else { String::new() };
                Stage::Choosing { offered, text: text.to_owned(), quiet: false }
            }
            Guess::Unknown => {
                self.say("I am not sure what you mean.");
                self.offer_all(text)
            }
        }
    }

    /// Guesses the tool that a sentence is about, by its words and by the required parameters that it contains.
    fn guess_tool(&self, text: &str) -> Guess {
        self.index().guess(text, |tool| {
            let (found, needed) = self.finds(tool, text);
            let share = [1.0, 1.3, 1.6, 1.9][found.min(3)];
            if found > 0 && found == needed { share + 0.4 } else { share }
        })
    }

    /// Returns the number of a tool's required parameters that a sentence contains, and their total number.
    fn finds(&self, tool: usize, text: &str) -> (usize, usize) {
        let root = self.shape(tool);
        let found = extract::extract(root, &Value::Null, &self.index().verbs(tool), text);
        let given = |name: &str| found.values.iter().any(|(pointer, _)| form::parameter(pointer) == name);
        let required = root.fields().iter().filter(|field| field.required);
        (required.clone().filter(|field| given(&field.name)).count(), required.count())
    }

    fn offer_all(&self, text: &str) -> Stage {
        Stage::Choosing { offered: (0..self.tools.len()).collect(), text: text.to_owned(), quiet: false }
    }

    /// Reads a choice from the tools that were shown.
    fn choose(&mut self, offered: Vec<usize>, before: String, text: &str) -> Stage {
        let (named, place, agreed) = (words::fold(text), scalar::list_index(text), scalar::yes_or_no(text));
        let picked = match (place, &offered[..]) {
            (Some(place), _) => offered.get(place).copied(),
            (None, [one]) if agreed == Some(true) => Some(*one),
            _ => None,
        };
        let by_name = |tool: &usize| words::fold(&self.tools[*tool].name) == named;
        let picked = picked.or_else(|| offered.iter().copied().find(by_name));
        match picked {
            Some(tool) => self.start(tool, &before),
            None if named.starts_with("none")
                || agreed == Some(false)
                || intent::command(text) == Some(Command::Cancel) =>
            {
                self.leave("All right. What would you like instead?")
            }
            None if place.is_some() || agreed.is_some() => {
                self.say(match offered.len() {
                    1 => "Shall I? Please say yes or no.".to_owned(),
                    count => format!("Which one? Please give a number from 1 to {count}."),
                });
                Stage::Choosing { offered, text: before, quiet: true }
            }
            None => {
                // "book" may be unclear among all tools, and clear among those that were shown.
                let fits = match self.guess_tool(text) {
                    Guess::Perhaps(fits) => fits.into_iter().filter(|tool| offered.contains(tool)).collect(),
                    _ => Vec::new(),
                };
                if let ([one], true) = (&fits[..], offered.len() > 1 && words::tokens(text).len() < 2) {
                    return self.start(*one, &format!("{before} {text}"));
                }
                let stage = self.request(text);
                let count = self.tools.len();
                match stage {
                    // The list was just shown.
                    Stage::Choosing { offered: all, text: before, .. }
                        if intent::command(text).is_none() && all.len() == count && count > 1 =>
                    {
                        self.say("I am not sure what you mean. Give a number, or say “help” for all I can do.");
                        Stage::Choosing { offered, text: before, quiet: true }
                    }
                    stage => stage,
                }
            }
        }
    }

    /// Opens the form of a tool with the values in the sentence.
    fn start(&mut self, tool: usize, text: &str) -> Stage {
        let mut form = Form::new(&self.tools[tool].name);
        if text.len() <= MAX_REQUEST_LENGTH {
            let root = self.shape(tool);
            let found = match after_name(&self.names(tool), text) {
                Some(rest) => self.sole_text(tool, rest).unwrap_or_default(),
                None => extract::extract(root, &form.values, &self.index().verbs(tool), text),
            };
            self.take_in(&mut form, found);
        }
        let (title, known) = (self.title(&form.tool), form.settled());
        self.say_first(if known.is_empty() { format!("{title}.") } else { format!("{title} – {known}.") });
        Stage::Filling(form)
    }

    /// Puts a text before the complaints about a sentence.
    fn say_first(&mut self, text: String) {
        self.note = if self.note.is_empty() { text } else { format!("{text}\n{}", self.note) };
    }

    /// Stores the values that were found in a sentence, and adds the complaints to the reply.
    fn take_in(&mut self, form: &mut Form, found: Found) {
        for (pointer, value) in found.values {
            form.set(&pointer, value);
        }
        let mut complaints = found.complaints;
        for (at, pointer) in found.named.into_iter().enumerate() {
            if let Some(need) = form.lacks(&pointer) {
                let (later, first) = (form::label(&pointer), form::label(need));
                complaints.push(format!("{} comes after {first}.", words::capital(&later)));
                continue;
            }
            form.unset(&pointer);
            form.wanted.retain(|wanted| *wanted != pointer);
            form.wanted.insert(at.min(form.wanted.len()), pointer);
        }
        if !complaints.is_empty() {
            self.note = complaints.join("\n");
        }
    }

    /// Reads a request that refers to the last one: "and in Rome?", "what about Rome?".
    fn follow(&mut self, text: &str) -> Option<Stage> {
        let last = self.last.clone()?;
        let tool = self.place(&last.tool)?;
        let lower = text.to_lowercase();
        let leads = ["and ", "what about ", "how about ", "now ", "the same ", "same ", "again "];
        let lead = leads.iter().find(|lead| lower.starts_with(**lead) && text.is_char_boundary(lead.len()))?;
        let rest = text[lead.len()..].trim().trim_end_matches(['?', '.', '!']);
        let root = self.shape(tool);
        let mut found = extract::extract(root, &Value::Null, &self.index().verbs(tool), text);
        if found.values.is_empty() && rest.split(' ').count() <= 4 {
            found = self.sole_text(tool, rest).unwrap_or_default();
        }
        if found.values.is_empty() {
            return None;
        }
        let mut form = Form::new(&last.tool).with(last.values);
        self.take_in(&mut form, found);
        self.say(format!("{} – {}.", self.title(&form.tool), form.settled()));
        Some(Stage::Filling(form))
    }

    /// Returns the text as the value of the only required parameter, if that accepts any text.
    fn sole_text(&self, tool: usize, text: &str) -> Option<Found> {
        let mut required = self.shape(tool).fields().iter().filter(|field| field.required);
        let field = required.next().filter(|field| field.shape.is_free_text() && !text.is_empty())?;
        let value = Value::from(answer::unquoted(text).unwrap_or(text));
        let fits = required.next().is_none() && field.shape.check(&value).is_ok();
        fits.then(|| Found { values: vec![(pointer::push("", &field.name), value)], ..Found::default() })
    }

    fn names(&self, tool: usize) -> Vec<String> {
        let spec = self.tools[tool];
        [Some(&spec.name), spec.title.as_ref()].into_iter().flatten().map(|name| words::fold(name)).collect()
    }

    /// Reads the answer to the question whether to make the call of a complete form.
    fn decide(&mut self, mut form: Form, why: Pause, text: &str) -> Stage {
        let (command, agreed) = (intent::command(text), scalar::yes_or_no(text));
        if agreed == Some(true) && why == Pause::Denied {
            self.say("Tell me what to change, or what else you need.");
            return Stage::Parked { form, why };
        }
        if agreed == Some(true) || command == Some(Command::Again) {
            form.mark();
            return Stage::Filling(form);
        }
        if agreed == Some(false) || matches!(command, Some(Command::Cancel | Command::Thanks | Command::Done)) {
            return self.leave("All right, I did not do it.");
        }
        let Some(root) = self.shape_of(&form) else { return self.request(text) };
        if command == Some(Command::Back) {
            if form.back() {
                return Stage::Filling(form);
            }
            self.say("There is nothing to take back.");
            return Stage::Parked { form, why };
        }
        let short = text.len() <= MAX_REQUEST_LENGTH;
        let correction = extract::begins_with_pair(root, text) || extract::is_correction(text);
        if !correction && short && matches!(self.guess_tool(text), Guess::One(_)) {
            return self.request(text);
        }
        let folded = what_to_change(text);
        let names = root.fields().iter().map(|field| field.name.clone()).find(|name| words::fold(name) == folded);
        let mut found = extract::explicit(root, text);
        found.named.extend(names.map(|name| pointer::push("", &name)));
        if found == Found::default() && command.is_none() && short {
            let verbs = self.place(&form.tool).map(|tool| self.index().verbs(tool)).unwrap_or_default();
            found = extract::extract(root, &Value::Null, &verbs, text);
        }
        if found == Found::default() {
            return match command {
                Some(Command::Help) => Stage::Parked { form, why },
                _ => self.request(text),
            };
        }
        form.mark();
        let complains = !found.complaints.is_empty();
        self.take_in(&mut form, found);
        if complains { Stage::Parked { form, why } } else { Stage::Filling(form) }
    }
}

/// Returns the folded name in a request for a change: "change the city" names `city`.
fn what_to_change(text: &str) -> String {
    let folded = words::fold(text);
    folded.strip_prefix("change ").unwrap_or(&folded).trim_start_matches("the ").to_owned()
}

/// Returns what follows the name of a tool and a colon: `echo: hello`.
fn after_name<'t>(names: &[String], text: &'t str) -> Option<&'t str> {
    let (name, rest) = text.split_once(':')?;
    names.contains(&words::fold(name)).then(|| rest.trim()).filter(|rest| !rest.is_empty())
}

impl Dialogue<'_> {
    /// Reads a message while a form is open.
    fn fill(&mut self, mut form: Form, text: &str) -> Stage {
        let Some(root) = self.shape_of(&form).cloned() else { return Stage::Idle };
        // An allowed value may look like a command: `stop`, `default`.
        let chosen = form.next(&root).is_some_and(|ask| ask.names(text));
        let command = intent::command(text).filter(|_| !chosen);
        match command {
            Some(Command::Cancel) => {
                return self.leave(format!("I have dropped “{}”. What else can I do for you?", self.title(&form.tool)));
            }
            Some(Command::Back) => {
                if !form.back() {
                    self.say("This is the first question; say “cancel” to drop it.");
                }
                return Stage::Filling(form);
            }
            Some(Command::Help) => {
                self.note = self.explain(&form);
                return Stage::Filling(form);
            }
            _ => {}
        }
        if let Some(doubt) = form.doubt.take()
            && let Some(stage) = self.clear(&mut form, &root, doubt, text)
        {
            return stage;
        }
        let Some(ask) = form.next(&root) else { return Stage::Parked { form, why: Pause::Whole } };
        let correction = extract::begins_with_pair(&root, text) || extract::is_correction(text);
        if text.len() <= MAX_REQUEST_LENGTH && correction {
            let found = extract::explicit(&root, text);
            if found != Found::default() {
                return self.adopt(form, found);
            }
        }
        if self.command(&mut form, &ask, command) {
            return Stage::Filling(form);
        }
        self.answer(form, &root, &ask, text)
    }

    /// Reads the answer to the question.
    fn answer(&mut self, mut form: Form, root: &Shape, ask: &FieldQuestion, text: &str) -> Stage {
        let tool = self.place(&form.tool).unwrap_or_default();
        let several =
            text.contains(char::is_whitespace) && text.len() <= MAX_REQUEST_LENGTH && !text.starts_with(['{', '[']);
        let found = if several {
            extract::extract(root, &form.values, &self.index().verbs(tool), text)
        } else {
            Found::default()
        };
        let (mut text, mut also) = (text, Vec::new());
        if ask.shape.is_free_text() && several && ask.choices.is_empty() {
            // A text stays unchanged, except a place name after a preposition: "from Paris to Rome", "in Oslo".
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
        } else if !answer::is_name(&ask.choices, text) && scalar::date(text).is_none() {
            also = found.values.iter().filter(|(pointer, _)| *pointer != ask.pointer).cloned().collect();
        }
        let parsed = answer::parse(ask, text);
        let unsure = match &parsed {
            ParsedAnswer::Wrong(_) => found.values.is_empty(),
            _ => ask.shape.is_free_text() && text.split_whitespace().count() <= 10 && answer::unquoted(text).is_none(),
        };
        let doubtful = unsure && several && !self.forced;
        if let Some(tool) = self.index().surely(text, &form.tool).filter(|_| doubtful) {
            form.doubt = Some(Doubt::Switch { tool, text: text.to_owned() });
            return Stage::Filling(form);
        }
        let parsed = match parsed {
            ParsedAnswer::Items { items, more } => Self::items(&mut form, root, ask, items, more),
            ParsedAnswer::Value(value) => {
                form.mark();
                form.set(&ask.pointer, value);
                Ok(())
            }
            other => Err(other),
        };
        match parsed {
            Ok(()) => {
                let mut changes = vec![form.repeat(ask)];
                for (pointer, value) in also {
                    changes.push(format!("{}: {}", form::label(&pointer), scalar::plain(&value)));
                    form.set(&pointer, value);
                }
                changes.retain(|text| !text.is_empty());
                self.note = words::capital(&changes.join(", "));
                self.note.push_str(if changes.is_empty() { "" } else { "." });
            }
            Err(_) if !found.values.is_empty() => return self.adopt(form, found),
            Err(ParsedAnswer::Near(value)) => form.doubt = Some(Doubt::Meant { pointer: ask.pointer.clone(), value }),
            Err(ParsedAnswer::Several(values)) => {
                form.doubt = Some(Doubt::Which { pointer: ask.pointer.clone(), values });
            }
            Err(ParsedAnswer::Wrong(reason)) => self.note = reason,
            Err(_) => {}
        }
        Stage::Filling(form)
    }

    /// Adds items to a list. Fails with the reason if they cannot be added.
    fn items(
        form: &mut Form,
        root: &Shape,
        ask: &FieldQuestion,
        items: Vec<Value>,
        more: bool,
    ) -> Result<(), ParsedAnswer> {
        let Kind::List { least, .. } = ask.shape.kind else { return Ok(()) };
        let mut list = form.values.pointer(&ask.pointer).and_then(Value::as_array).cloned().unwrap_or_default();
        list.extend(items);
        let enough = list.len() >= least;
        let list = Value::Array(list);
        if enough && let Err(reason) = ask.shape.check(&list) {
            return Err(ParsedAnswer::Wrong(format!("That {reason}.")));
        }
        form.mark();
        form.set(&ask.pointer, list);
        let required = root.at(&ask.pointer).is_some_and(|shape| matches!(shape.kind, Kind::List { .. }));
        // A required list with too few items is asked for again in any case. It is not left open, because “done” would not be a
        // valid answer.
        let goes_on = if enough { more } else { !required };
        if goes_on {
            form.open = Some(ask.pointer.clone());
        }
        Ok(())
    }

    /// Executes `command` if it concerns the value in question. Returns whether it did.
    fn command(&mut self, form: &mut Form, ask: &FieldQuestion, command: Option<Command>) -> bool {
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
                self.settle(form, ask, value);
            }
            Some(Command::Skip) if ask.optional => {
                form.mark();
                form.wanted.retain(|wanted| *wanted != ask.pointer);
            }
            Some(Command::Skip) if ask.shape.nullable => {
                form.mark();
                form.set(&ask.pointer, Value::Null);
            }
            Some(Command::Skip) => self.say("I need this value. Say “cancel” to drop the request."),
            _ => return false,
        }
        true
    }

    /// Stores several values as one answer, which “back” takes back as a whole.
    fn adopt(&mut self, mut form: Form, found: Found) -> Stage {
        form.mark();
        let changes: Vec<String> = (found.values.iter())
            .map(|(pointer, value)| format!("{}: {}", form::label(pointer), scalar::brief(value)))
            .collect();
        self.take_in(&mut form, found);
        if !changes.is_empty() {
            self.say_first(format!("{}.", words::capital(&changes.join(", "))));
        }
        Stage::Filling(form)
    }

    /// Stores the value of a question, and repeats it to the person.
    fn settle(&mut self, form: &mut Form, ask: &FieldQuestion, value: Value) {
        form.mark();
        form.set(&ask.pointer, value);
        self.say(format!("{}.", words::capital(&form.repeat(ask))));
    }

    /// Explains the purpose of a form, and the possible inputs.
    fn explain(&self, form: &Form) -> String {
        let about = self.place(&form.tool).map(|tool| self.line(tool)).unwrap_or_default();
        let known = form.settled();
        let known = if known.is_empty() { known } else { format!("\nSo far: {known}.") };
        let words = "Say “back” to take the last answer back, “cancel” to drop it, “name: value” to set something.";
        format!("{about}.{known}\n{words}")
    }
}

impl Dialogue<'_> {
    /// Reads the answer to a doubt. Returns `None` if the text does not answer it. The caller then reads it as an answer to the
    /// question itself.
    fn clear(&mut self, form: &mut Form, root: &Shape, doubt: Doubt, text: &str) -> Option<Stage> {
        match (doubt, scalar::yes_or_no(text)) {
            (Doubt::Meant { pointer, value }, Some(true)) => {
                let ask = form.ask(root, &pointer);
                match ask.shape.check(&value) {
                    Ok(()) => self.settle(form, &ask, value),
                    Err(reason) => self.say(format!("That {reason}.")),
                }
            }
            (Doubt::Meant { .. }, Some(false)) => self.say("All right."),
            (Doubt::Which { pointer, values }, _) => {
                let choices: Vec<Choice> = values.iter().map(Choice::plain).collect();
                let chosen = answer::choose(&choices, form::numbered(values.iter()), text);
                let Some(ParsedAnswer::Value(value)) = chosen else { return None };
                let ask = form.ask(root, &pointer);
                self.settle(form, &ask, value);
            }
            (Doubt::Change { pointers }, _) => self.change(form, root, pointers, text),
            (Doubt::Switch { tool, text: sentence }, Some(true)) => return Some(self.start(tool, &sentence)),
            (Doubt::Switch { text: sentence, .. }, Some(false)) => {
                let value = Value::from(answer::unquoted(&sentence).unwrap_or(&sentence));
                match form.next(root).filter(|ask| ask.shape.is_free_text() && ask.shape.check(&value).is_ok()) {
                    Some(ask) => self.settle(form, &ask, value),
                    None => self.say("All right, we go on."),
                }
            }
            (Doubt::Meant { .. } | Doubt::Switch { .. }, None) => return None,
        }
        Some(Stage::Filling(std::mem::take(form)))
    }

    /// Reads the choice of the parameter to change.
    fn change(&mut self, form: &mut Form, root: &Shape, pointers: Vec<String>, text: &str) {
        let folded = what_to_change(text);
        let place = scalar::list_index(text).filter(|place| *place < pointers.len());
        let named = || pointers.iter().position(|pointer| words::fold(&form::label(pointer)) == folded);
        if let Some(place) = place.or_else(named) {
            form.mark();
            form.unset(&pointers[place]);
            form.wanted.insert(0, pointers[place].clone());
            return;
        }
        let mut found = extract::explicit(root, text);
        if found == Found::default() && text.contains(char::is_whitespace) && text.len() <= MAX_REQUEST_LENGTH {
            // "from Berlin", "for 2 people".
            found = extract::extract(root, &Value::Null, &[], text);
        }
        if found.values.is_empty() && found.named.is_empty() {
            self.note = found.complaints.join("\n");
            form.doubt = Some(Doubt::Change { pointers });
        } else {
            form.mark();
            self.take_in(form, found);
        }
    }
}
