//! The person's messages: requests, answers to questions, corrections and commands.

use serde_json::Value;

use super::answer::{self, ParsedAnswer};
use super::extract::{self, FoundValues};
use super::form::{self, Clarification, FieldQuestion, Form};
use super::intent::{self, Command, Guess};
use super::shape::{Choice, Kind, Shape};
use super::{ConfirmationReason, Dialogue, DialogueState};
use super::{phrase, scalar, words};
use tool_schema::schema::pointer;

/// The maximum length, in bytes, of a text that is searched for a tool and values. A longer one can only be an answer.
const MAX_REQUEST_LENGTH: usize = 2000;

impl Dialogue<'_> {
    /// Reads a message of the person.
    pub fn read_sentence(&mut self, text: &str) {
        if text.is_empty() {
            return self.say("I did not get any text.");
        }
        self.state = match std::mem::take(&mut self.state) {
            DialogueState::Idle => self.read_request(text),
            DialogueState::Choosing { offered, text: request, .. } => self.read_choice(offered, request, text),
            DialogueState::Filling(form) => {
                match self
                    .shape_of(&form)
                    .map(|shape| form.clarification.is_none() && form.next_question(shape).is_none())
                {
                    Some(false) => self.read_form_message(form, text),
                    // The form is complete, but its call was not made. The person must confirm it.
                    Some(true) => self.read_confirmation(form, ConfirmationReason::NotCalled, text),
                    None => self.read_request(text),
                }
            }
            DialogueState::Confirming { form, reason } => self.read_confirmation(form, reason, text),
        };
    }

    /// Replies with `text`, and drops the current form or list.
    fn reply_and_reset(&mut self, text: impl Into<String>) -> DialogueState {
        self.say(text);
        DialogueState::Idle
    }

    /// Reads a new request.
    fn read_request(&mut self, text: &str) -> DialogueState {
        let folded = words::fold(text);
        if let Some(tool) = (0..self.tools.len()).find(|tool| self.folded_names(*tool).contains(&folded)) {
            return self.open_form(tool, "");
        }
        match intent::read_command(text) {
            Some(Command::Thanks) => self.reply_and_reset("You are welcome."),
            Some(Command::Cancel | Command::Back) => self.reply_and_reset("There is nothing to take back."),
            Some(Command::Help | Command::Hello) => self.offer_all(""),
            Some(Command::Again) if self.last_form.is_some() => {
                self.last_form.take().map_or(DialogueState::Idle, DialogueState::Filling)
            }
            _ if self.must_call => self.open_form(0, text),
            _ => self.guess(text),
        }
    }

    fn guess(&mut self, text: &str) -> DialogueState {
        if let Some(about) = intent::find_help_topic(text) {
            let offered = self.word_index().find_related(&about);
            if !offered.is_empty() {
                return DialogueState::Choosing { offered, text: String::new(), is_shown: false };
            }
        }
        let is_short = text.len() <= MAX_REQUEST_LENGTH;
        let guess = if is_short { self.guess_tool(text) } else { Guess::Unknown };
        if !matches!(guess, Guess::One(_))
            && let Some(state) = self.read_follow_up(text)
        {
            return state;
        }
        match guess {
            Guess::One(tool) => self.open_form(tool, text),
            Guess::Perhaps(offered) if matches!(offered[..], [tool] if self.count_required_found(tool, text).0 > 0) => {
                self.open_form(offered[0], text)
            }
            Guess::Unknown if self.tools.len() == 1 && is_short && self.count_required_found(0, text).0 > 0 => {
                self.open_form(0, text)
            }
            Guess::Perhaps(offered) => {
                self.note = if offered.len() > 1 { "Which of these do you mean?".into() } else { String::new() };
                DialogueState::Choosing { offered, text: text.to_owned(), is_shown: false }
            }
            Guess::Unknown => {
                self.say("I am not sure what you mean.");
                self.offer_all(text)
            }
        }
    }

    /// Guesses the tool that a sentence is about, by its words and by the required parameters that it contains.
    fn guess_tool(&self, text: &str) -> Guess {
        self.word_index().guess(text, |tool| {
            let (found, required) = self.count_required_found(tool, text);
            let share = [1.0, 1.3, 1.6, 1.9][found.min(3)];
            if found > 0 && found == required { share + 0.4 } else { share }
        })
    }

    /// Returns the number of a tool's required parameters that a sentence contains, and their total number.
    fn count_required_found(&self, tool: usize, text: &str) -> (usize, usize) {
        let root = self.shape(tool);
        let found = extract::extract(root, &Value::Null, &self.word_index().name_stems(tool), text);
        let is_given = |name: &str| found.values.iter().any(|(pointer, _)| form::parameter_of(pointer) == name);
        let required = root.fields().iter().filter(|field| field.is_required);
        (required.clone().filter(|field| is_given(&field.name)).count(), required.count())
    }

    fn offer_all(&self, text: &str) -> DialogueState {
        DialogueState::Choosing { offered: (0..self.tools.len()).collect(), text: text.to_owned(), is_shown: false }
    }

    /// Reads a choice from the tools that were shown.
    fn read_choice(&mut self, offered: Vec<usize>, request: String, text: &str) -> DialogueState {
        let (named, index, agreed) = (words::fold(text), scalar::parse_list_index(text), scalar::parse_yes_or_no(text));
        let picked = match (index, &offered[..]) {
            (Some(index), _) => offered.get(index).copied(),
            (None, [one]) if agreed == Some(true) => Some(*one),
            _ => None,
        };
        let is_named = |tool: &usize| words::fold(&self.tools[*tool].name) == named;
        let picked = picked.or_else(|| offered.iter().copied().find(is_named));
        match picked {
            Some(tool) => self.open_form(tool, &request),
            None if named.starts_with("none")
                || agreed == Some(false)
                || intent::read_command(text) == Some(Command::Cancel) =>
            {
                self.reply_and_reset("All right. What would you like instead?")
            }
            None if index.is_some() || agreed.is_some() => {
                self.say(match offered.len() {
                    1 => "Shall I? Please say yes or no.".to_owned(),
                    count => format!("Which one? Please give a number from 1 to {count}."),
                });
                DialogueState::Choosing { offered, text: request, is_shown: true }
            }
            None => {
                // "book" may be unclear among all tools, and clear among those that were shown.
                let candidates = match self.guess_tool(text) {
                    Guess::Perhaps(candidates) => {
                        candidates.into_iter().filter(|tool| offered.contains(tool)).collect()
                    }
                    _ => Vec::new(),
                };
                if let ([one], true) = (&candidates[..], offered.len() > 1 && words::tokens(text).len() < 2) {
                    return self.open_form(*one, &format!("{request} {text}"));
                }
                let state = self.read_request(text);
                let count = self.tools.len();
                match state {
                    // The person has just seen the list, so the reply does not repeat it.
                    DialogueState::Choosing { offered: all, text: request, .. }
                        if intent::read_command(text).is_none() && all.len() == count && count > 1 =>
                    {
                        self.say("I am not sure what you mean. Give a number, or say “help” for all I can do.");
                        DialogueState::Choosing { offered, text: request, is_shown: true }
                    }
                    state => state,
                }
            }
        }
    }

    /// Opens the form of a tool with the values in the sentence.
    fn open_form(&mut self, tool: usize, text: &str) -> DialogueState {
        let mut form = Form::new(&self.tools[tool].name);
        if text.len() <= MAX_REQUEST_LENGTH {
            let root = self.shape(tool);
            let found = match strip_tool_name(&self.folded_names(tool), text) {
                Some(rest) => self.read_sole_text(tool, rest).unwrap_or_default(),
                None => extract::extract(root, &form.values, &self.word_index().name_stems(tool), text),
            };
            self.store_found(&mut form, found);
        }
        let (title, known) = (self.title(&form.tool), form.describe_values());
        self.prepend_note(if known.is_empty() { format!("{title}.") } else { format!("{title} – {known}.") });
        DialogueState::Filling(form)
    }

    /// Puts `text` before the current note.
    fn prepend_note(&mut self, text: String) {
        self.note = if self.note.is_empty() { text } else { format!("{text}\n{}", self.note) };
    }

    /// Stores the values found in a sentence, marks the parameters to ask for, and sets the note to the complaints, if any.
    fn store_found(&mut self, form: &mut Form, found: FoundValues) {
        for (pointer, value) in found.values {
            form.set(&pointer, value);
        }
        let mut complaints = found.complaints;
        for (at, pointer) in found.named.into_iter().enumerate() {
            if let Some(dependency) = form.find_missing_dependency(&pointer) {
                let (later, first) = (form::label(&pointer), form::label(dependency));
                complaints.push(format!("{} comes after {first}.", words::capitalize(&later)));
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
    fn read_follow_up(&mut self, text: &str) -> Option<DialogueState> {
        let last = self.last_form.clone()?;
        let tool = self.tool_index(&last.tool)?;
        let lower = text.to_lowercase();
        let leads = ["and ", "what about ", "how about ", "now ", "the same ", "same ", "again "];
        let lead = leads.iter().find(|lead| lower.starts_with(**lead) && text.is_char_boundary(lead.len()))?;
        let rest = text[lead.len()..].trim().trim_end_matches(['?', '.', '!']);
        let root = self.shape(tool);
        let mut found = extract::extract(root, &Value::Null, &self.word_index().name_stems(tool), text);
        if found.values.is_empty() && rest.split(' ').count() <= 4 {
            found = self.read_sole_text(tool, rest).unwrap_or_default();
        }
        if found.values.is_empty() {
            return None;
        }
        let mut form = Form::new(&last.tool).with_values(last.values);
        self.store_found(&mut form, found);
        self.say(format!("{} – {}.", self.title(&form.tool), form.describe_values()));
        Some(DialogueState::Filling(form))
    }

    /// Returns the text as the value of the only required parameter, if that parameter accepts any text.
    fn read_sole_text(&self, tool: usize, text: &str) -> Option<FoundValues> {
        let mut required = self.shape(tool).fields().iter().filter(|field| field.is_required);
        let field = required.next().filter(|field| field.shape.is_free_text() && !text.is_empty())?;
        let value = Value::from(answer::unquote(text).unwrap_or(text));
        let is_allowed = required.next().is_none() && field.shape.check(&value).is_ok();
        is_allowed
            .then(|| FoundValues { values: vec![(pointer::join("", &field.name), value)], ..FoundValues::default() })
    }

    fn folded_names(&self, tool: usize) -> Vec<String> {
        let spec = self.tools[tool];
        [Some(&spec.name), spec.title.as_ref()].into_iter().flatten().map(|name| words::fold(name)).collect()
    }

    /// Reads the person's message about a complete form, such as the answer to “Shall I go ahead?”.
    fn read_confirmation(&mut self, mut form: Form, reason: ConfirmationReason, text: &str) -> DialogueState {
        let (command, agreed) = (intent::read_command(text), scalar::parse_yes_or_no(text));
        if agreed == Some(true) && reason == ConfirmationReason::Denied {
            self.say("Tell me what to change, or what else you need.");
            return DialogueState::Confirming { form, reason };
        }
        if agreed == Some(true) || command == Some(Command::Again) {
            form.save();
            return DialogueState::Filling(form);
        }
        if agreed == Some(false) || matches!(command, Some(Command::Cancel | Command::Thanks | Command::Done)) {
            return self.reply_and_reset("All right, I did not do it.");
        }
        let Some(root) = self.shape_of(&form) else { return self.read_request(text) };
        if command == Some(Command::Back) {
            if form.go_back() {
                return DialogueState::Filling(form);
            }
            self.say("There is nothing to take back.");
            return DialogueState::Confirming { form, reason };
        }
        let is_short = text.len() <= MAX_REQUEST_LENGTH;
        let is_correction = extract::begins_with_pair(root, text) || extract::is_correction(text);
        if !is_correction && is_short && matches!(self.guess_tool(text), Guess::One(_)) {
            return self.read_request(text);
        }
        let folded = read_name_to_change(text);
        let names = root.fields().iter().map(|field| field.name.clone()).find(|name| words::fold(name) == folded);
        let mut found = extract::extract_explicit(root, text);
        found.named.extend(names.map(|name| pointer::join("", &name)));
        if found == FoundValues::default() && command.is_none() && is_short {
            let name_stems =
                self.tool_index(&form.tool).map(|tool| self.word_index().name_stems(tool)).unwrap_or_default();
            found = extract::extract(root, &Value::Null, &name_stems, text);
        }
        if found == FoundValues::default() {
            return match command {
                Some(Command::Help) => DialogueState::Confirming { form, reason },
                _ => self.read_request(text),
            };
        }
        form.save();
        let has_complaints = !found.complaints.is_empty();
        self.store_found(&mut form, found);
        if has_complaints { DialogueState::Confirming { form, reason } } else { DialogueState::Filling(form) }
    }
}

/// Returns the folded name in a request for a change: "change the city" names `city`.
fn read_name_to_change(text: &str) -> String {
    let folded = words::fold(text);
    folded.strip_prefix("change ").unwrap_or(&folded).trim_start_matches("the ").to_owned()
}

/// Returns the text after a tool's name and a colon, as in `echo: hello`.
fn strip_tool_name<'t>(names: &[String], text: &'t str) -> Option<&'t str> {
    let (name, rest) = text.split_once(':')?;
    names.contains(&words::fold(name)).then(|| rest.trim()).filter(|rest| !rest.is_empty())
}

impl Dialogue<'_> {
    /// Reads a message while a form is open.
    fn read_form_message(&mut self, mut form: Form, text: &str) -> DialogueState {
        let Some(root) = self.shape_of(&form).cloned() else { return DialogueState::Idle };
        // An allowed value may look like a command: `stop`, `default`.
        let is_choice = form.next_question(&root).is_some_and(|question| question.has_choice(text));
        let command = intent::read_command(text).filter(|_| !is_choice);
        match command {
            Some(Command::Cancel) => {
                return self.reply_and_reset(format!(
                    "I have dropped “{}”. What else can I do for you?",
                    self.title(&form.tool)
                ));
            }
            Some(Command::Back) => {
                if !form.go_back() {
                    self.say("This is the first question; say “cancel” to drop it.");
                }
                return DialogueState::Filling(form);
            }
            Some(Command::Help) => {
                self.note = self.explain(&form);
                return DialogueState::Filling(form);
            }
            _ => {}
        }
        if let Some(clarification) = form.clarification.take()
            && let Some(state) = self.read_clarification(&mut form, &root, clarification, text)
        {
            return state;
        }
        let Some(question) = form.next_question(&root) else {
            return DialogueState::Confirming { form, reason: ConfirmationReason::NotCalled };
        };
        let is_correction = extract::begins_with_pair(&root, text) || extract::is_correction(text);
        if text.len() <= MAX_REQUEST_LENGTH && is_correction {
            let found = extract::extract_explicit(&root, text);
            if found != FoundValues::default() {
                return self.store_several(form, found);
            }
        }
        if self.execute_command(&mut form, &question, command) {
            return DialogueState::Filling(form);
        }
        self.read_answer(form, &root, &question, text)
    }

    /// Reads the answer to the question.
    fn read_answer(&mut self, mut form: Form, root: &Shape, question: &FieldQuestion, text: &str) -> DialogueState {
        let tool = self.tool_index(&form.tool).unwrap_or_default();
        let may_have_several =
            text.contains(char::is_whitespace) && text.len() <= MAX_REQUEST_LENGTH && !text.starts_with(['{', '[']);
        let found = if may_have_several {
            extract::extract(root, &form.values, &self.word_index().name_stems(tool), text)
        } else {
            FoundValues::default()
        };
        let (mut text, mut other_values) = (text, Vec::new());
        if question.shape.is_free_text() && may_have_several && question.choices.is_empty() {
            // A text stays unchanged, with two exceptions: a place after a preposition ("from Paris to Rome", "in Oslo"), and
            // other values at the end ("Paris with unit celsius").
            let first_word = text.split(char::is_whitespace).next().unwrap_or_default().to_lowercase();
            let is_preposition = matches!(first_word.as_str(), "in" | "at" | "from" | "to" | "near" | "for");
            if is_preposition && found.values.iter().any(|(pointer, _)| *pointer == question.pointer) {
                return self.store_several(form, found);
            }
            if is_preposition && text.split_whitespace().count() <= 5 && phrase::is_place(root, &question.pointer) {
                text = text[first_word.len()..].trim_start();
            }
            if let Some((head, tail)) = text.rsplit_once(" with ")
                && tail.split(' ').count() <= 4
            {
                let rest = format!("with {tail}");
                other_values = extract::extract(root, &Value::Null, &[], &rest).values;
                other_values.retain(|(pointer, _)| {
                    *pointer != question.pointer && root.at(pointer).is_some_and(|s| !s.is_free_text())
                });
                text = if other_values.is_empty() { text } else { head };
            }
        } else if !answer::is_choice_name(&question.choices, text) && scalar::parse_date(text).is_none() {
            other_values = found.values.iter().filter(|(pointer, _)| *pointer != question.pointer).cloned().collect();
        }
        let parsed = answer::parse(question, text);
        let is_unsure = match &parsed {
            ParsedAnswer::Wrong(_) => found.values.is_empty(),
            _ => {
                question.shape.is_free_text()
                    && text.split_whitespace().count() <= 10
                    && answer::unquote(text).is_none()
            }
        };
        let may_switch = is_unsure && may_have_several && !self.must_call;
        if let Some(tool) = self.word_index().find_certain(text, &form.tool).filter(|_| may_switch) {
            form.clarification = Some(Clarification::Switch { tool, text: text.to_owned() });
            return DialogueState::Filling(form);
        }
        let parsed = match parsed {
            ParsedAnswer::Items { items, has_more } => Self::add_items(&mut form, root, question, items, has_more),
            ParsedAnswer::Value(value) => {
                form.save();
                form.set(&question.pointer, value);
                Ok(())
            }
            other => Err(other),
        };
        match parsed {
            Ok(()) => {
                let mut changes = vec![form.describe_value(question)];
                for (pointer, value) in other_values {
                    changes.push(format!("{}: {}", form::label(&pointer), scalar::to_plain_text(&value)));
                    form.set(&pointer, value);
                }
                changes.retain(|text| !text.is_empty());
                self.note = words::capitalize(&changes.join(", "));
                self.note.push_str(if changes.is_empty() { "" } else { "." });
            }
            Err(_) if !found.values.is_empty() => return self.store_several(form, found),
            Err(ParsedAnswer::Near(value)) => {
                form.clarification = Some(Clarification::Meant { pointer: question.pointer.clone(), value });
            }
            Err(ParsedAnswer::Several(values)) => {
                form.clarification = Some(Clarification::Which { pointer: question.pointer.clone(), values });
            }
            Err(ParsedAnswer::Wrong(reason)) => self.note = reason,
            Err(_) => {}
        }
        DialogueState::Filling(form)
    }

    /// Adds items to a list. Fails with the reason if they cannot be added.
    fn add_items(
        form: &mut Form,
        root: &Shape,
        question: &FieldQuestion,
        items: Vec<Value>,
        has_more: bool,
    ) -> Result<(), ParsedAnswer> {
        let Kind::List { least, .. } = question.shape.kind else { return Ok(()) };
        let mut list = form.values.pointer(&question.pointer).and_then(Value::as_array).cloned().unwrap_or_default();
        list.extend(items);
        let has_enough = list.len() >= least;
        let list = Value::Array(list);
        if has_enough && let Err(reason) = question.shape.check(&list) {
            return Err(ParsedAnswer::Wrong(format!("That {reason}.")));
        }
        form.save();
        form.set(&question.pointer, list);
        let is_required = root.at(&question.pointer).is_some_and(|shape| matches!(shape.kind, Kind::List { .. }));
        // If the tool's schema has the list, the form asks for more items by itself, so a short list need not stay open.
        let stays_open = if has_enough { has_more } else { !is_required };
        if stays_open {
            form.open_list = Some(question.pointer.clone());
        }
        Ok(())
    }

    /// Executes `command` if it concerns the value in question. Returns whether it did.
    fn execute_command(&mut self, form: &mut Form, question: &FieldQuestion, command: Option<Command>) -> bool {
        let is_open = form.open_list.as_ref() == Some(&question.pointer);
        match command {
            Some(Command::Done | Command::Thanks | Command::Skip) if is_open => {
                let list = form.values.pointer(&question.pointer).cloned().unwrap_or_default();
                match question.shape.check(&list) {
                    Ok(()) => form.open_list = None,
                    Err(reason) => self.note = format!("That {reason}."),
                }
            }
            Some(Command::Default) if question.shape.default.is_some() => {
                let value = question.shape.default.clone().unwrap_or_default();
                self.store_and_repeat(form, question, value);
            }
            Some(Command::Skip) if question.is_optional => {
                form.save();
                form.wanted.retain(|wanted| *wanted != question.pointer);
            }
            Some(Command::Skip) if question.shape.is_nullable => {
                form.save();
                form.set(&question.pointer, Value::Null);
            }
            Some(Command::Skip) => self.say("I need this value. Say “cancel” to drop the request."),
            _ => return false,
        }
        true
    }

    /// Stores several values as one answer, which “back” takes back as a whole.
    fn store_several(&mut self, mut form: Form, found: FoundValues) -> DialogueState {
        form.save();
        let changes: Vec<String> = (found.values.iter())
            .map(|(pointer, value)| format!("{}: {}", form::label(pointer), scalar::to_short_text(value)))
            .collect();
        self.store_found(&mut form, found);
        if !changes.is_empty() {
            self.prepend_note(format!("{}.", words::capitalize(&changes.join(", "))));
        }
        DialogueState::Filling(form)
    }

    /// Stores the value of a question, and repeats it to the person.
    fn store_and_repeat(&mut self, form: &mut Form, question: &FieldQuestion, value: Value) {
        form.save();
        form.set(&question.pointer, value);
        self.say(format!("{}.", words::capitalize(&form.describe_value(question))));
    }

    /// Explains the purpose of a form, and the possible inputs.
    fn explain(&self, form: &Form) -> String {
        let about = self.tool_index(&form.tool).map(|tool| self.describe_tool(tool)).unwrap_or_default();
        let known = form.describe_values();
        let known = if known.is_empty() { known } else { format!("\nSo far: {known}.") };
        let words = "Say “back” to take the last answer back, “cancel” to drop it, “name: value” to set something.";
        format!("{about}.{known}\n{words}")
    }
}

impl Dialogue<'_> {
    /// Resolves `clarification`. Returns `None` if the text answers the original question instead.
    fn read_clarification(
        &mut self,
        form: &mut Form,
        root: &Shape,
        clarification: Clarification,
        text: &str,
    ) -> Option<DialogueState> {
        match (clarification, scalar::parse_yes_or_no(text)) {
            (Clarification::Meant { pointer, value }, Some(true)) => {
                let question = form.question_about(root, &pointer);
                match question.shape.check(&value) {
                    Ok(()) => self.store_and_repeat(form, &question, value),
                    Err(reason) => self.say(format!("That {reason}.")),
                }
            }
            (Clarification::Meant { .. }, Some(false)) => self.say("All right."),
            (Clarification::Which { pointer, values }, _) => {
                let choices: Vec<Choice> = values.iter().map(Choice::without_label).collect();
                let chosen = answer::choose(&choices, form::may_be_numbered(values.iter()), text);
                let Some(ParsedAnswer::Value(value)) = chosen else { return None };
                let question = form.question_about(root, &pointer);
                self.store_and_repeat(form, &question, value);
            }
            (Clarification::Change { pointers }, _) => self.read_change(form, root, pointers, text),
            (Clarification::Switch { tool, text: sentence }, Some(true)) => {
                return Some(self.open_form(tool, &sentence));
            }
            (Clarification::Switch { text: sentence, .. }, Some(false)) => {
                let value = Value::from(answer::unquote(&sentence).unwrap_or(&sentence));
                match form
                    .next_question(root)
                    .filter(|question| question.shape.is_free_text() && question.shape.check(&value).is_ok())
                {
                    Some(question) => self.store_and_repeat(form, &question, value),
                    None => self.say("All right, we go on."),
                }
            }
            (Clarification::Meant { .. } | Clarification::Switch { .. }, None) => return None,
        }
        Some(DialogueState::Filling(std::mem::take(form)))
    }

    /// Reads the choice of the parameter to change.
    fn read_change(&mut self, form: &mut Form, root: &Shape, pointers: Vec<String>, text: &str) {
        let folded = read_name_to_change(text);
        let index = scalar::parse_list_index(text).filter(|index| *index < pointers.len());
        let named = || pointers.iter().position(|pointer| words::fold(&form::label(pointer)) == folded);
        if let Some(index) = index.or_else(named) {
            form.save();
            form.unset(&pointers[index]);
            form.wanted.insert(0, pointers[index].clone());
            return;
        }
        let mut found = extract::extract_explicit(root, text);
        if found == FoundValues::default() && text.contains(char::is_whitespace) && text.len() <= MAX_REQUEST_LENGTH {
            // "from Berlin", "for 2 people".
            found = extract::extract(root, &Value::Null, &[], text);
        }
        if found.values.is_empty() && found.named.is_empty() {
            self.note = found.complaints.join("\n");
            form.clarification = Some(Clarification::Change { pointers });
        } else {
            form.save();
            self.store_found(form, found);
        }
    }
}
