//! What a person says while no form is open: which tool they mean, and what they already tell about it.

use serde_json::Value;

use super::fold::{Dialogue, Pause, Stage};
use super::form::Form;
use super::hunt::Found;
use super::intent::{self, Command, Guess};
use super::{ask, extract, question, scalar, words};

/// Longer texts are answers and contents, not requests in which words are looked for.
pub(super) const SENTENCE: usize = 2000;

impl Dialogue<'_> {
    /// Takes in what the person said.
    pub(super) fn said(&mut self, text: &str) {
        if text.is_empty() {
            self.tell("I did not get any text.");
            return;
        }
        match std::mem::take(&mut self.stage) {
            Stage::Idle => self.request(text),
            Stage::Choosing { offered, text: before, .. } => self.choose(offered, before, text),
            Stage::Filling(form) => {
                match self.shape_of(&form).map(|shape| form.doubt.is_none() && form.next(shape).is_none()) {
                    Some(false) => self.fill(form, text),
                    // The call could not be made when it was due, so it is not made unasked now.
                    Some(true) => self.decide(form, Pause::Whole, text),
                    None => self.request(text),
                }
            }
            Stage::Parked { form, why } => self.decide(form, why, text),
        }
    }

    /// A new request.
    fn request(&mut self, text: &str) {
        let said = words::fold(text);
        if let Some(tool) = (0..self.tools.len()).find(|tool| self.names(*tool).contains(&said)) {
            return self.start(tool, "");
        }
        match intent::command(text) {
            Some(Command::Thanks) => self.tell("You are welcome."),
            Some(Command::Cancel | Command::Back) => self.tell("There is nothing to take back."),
            Some(Command::Help | Command::Hello) => self.offer_all(""),
            Some(Command::Again) if self.last.is_some() => {
                if let Some(last) = self.last.take() {
                    self.stage = Stage::Filling(last);
                }
            }
            _ if self.forced => self.start(0, text),
            _ => self.guess(text),
        }
    }

    fn guess(&mut self, text: &str) {
        if let Some(about) = intent::help_about(text) {
            let offered = self.index().about(&about);
            if !offered.is_empty() {
                self.stage = Stage::Choosing { offered, text: String::new(), quiet: false };
                return;
            }
        }
        let guess = if text.len() > SENTENCE { Guess::Unknown } else { self.guessed(text) };
        match guess {
            Guess::One(tool) => self.start(tool, text),
            _ if self.follow(text) => {}
            Guess::Perhaps(offered) if matches!(offered[..], [tool] if self.finds(tool, text).0 > 0) => {
                self.start(offered[0], text);
            }
            Guess::Unknown if self.tools.len() == 1 && text.len() <= SENTENCE && self.finds(0, text).0 > 0 => {
                self.start(0, text);
            }
            Guess::Perhaps(offered) => {
                self.note = if offered.len() > 1 { "Which of these do you mean?".into() } else { String::new() };
                self.stage = Stage::Choosing { offered, text: text.to_owned(), quiet: false };
            }
            Guess::Unknown => {
                self.offer_all(text);
                self.tell("I am not sure what you mean.");
            }
        }
    }

    /// Which tool a sentence is about: by its words, and by how much of what a tool needs is in it.
    fn guessed(&self, text: &str) -> Guess {
        self.index().guess(text, |tool| {
            let (found, needed) = self.finds(tool, text);
            let share = [1.0, 1.3, 1.6, 1.9][found.min(3)];
            if found > 0 && found == needed { share + 0.4 } else { share }
        })
    }

    /// How many of the required parameters of a tool are in a sentence, and how many there are.
    fn finds(&self, tool: usize, text: &str) -> (usize, usize) {
        let root = self.shape(tool);
        let found = extract::extract(root, &Value::Null, &self.index().verbs(tool), text);
        let given = |name: &str| found.values.iter().any(|(pointer, _)| ask::parameter(pointer) == name);
        let required = root.fields().iter().filter(|field| field.required);
        (required.clone().filter(|field| given(&field.name)).count(), required.count())
    }

    fn offer_all(&mut self, text: &str) {
        self.stage = Stage::Choosing { offered: (0..self.tools.len()).collect(), text: text.to_owned(), quiet: false };
    }

    /// A choice from the tools that were shown.
    fn choose(&mut self, offered: Vec<usize>, before: String, text: &str) {
        let picked = match (scalar::place(text), &offered[..]) {
            (Some(place), _) => offered.get(place).copied(),
            (None, [one]) if scalar::yes_or_no(text) == Some(true) => Some(*one),
            _ => None,
        };
        let named = words::fold(text);
        let picked =
            picked.or_else(|| offered.iter().copied().find(|tool| words::fold(&self.tools[*tool].name) == named));
        let negative = words::fold(text).starts_with("none") || scalar::yes_or_no(text) == Some(false);
        match picked {
            Some(tool) => self.start(tool, &before),
            None if negative || intent::command(text) == Some(Command::Cancel) => {
                self.tell("All right. What would you like instead?");
            }
            None if scalar::place(text).is_some() || scalar::yes_or_no(text).is_some() => {
                self.tell(match offered.len() {
                    1 => "Shall I? Please say yes or no.".to_owned(),
                    count => format!("Which one? Please give a number from 1 to {count}."),
                });
                self.stage = Stage::Choosing { offered, text: before, quiet: true };
            }
            None => {
                // "book" may be unclear among all tools, and clear among those that were shown.
                let fits = match self.guessed(text) {
                    Guess::Perhaps(fits) => fits.into_iter().filter(|tool| offered.contains(tool)).collect(),
                    _ => Vec::new(),
                };
                if let ([one], true) = (&fits[..], offered.len() > 1 && words::tokens(text).len() < 2) {
                    return self.start(*one, &format!("{before} {text}"));
                }
                self.request(text);
                if let Stage::Choosing { offered: all, quiet, .. } = &mut self.stage
                    && intent::command(text).is_none()
                    && all.len() == self.tools.len()
                    && self.tools.len() > 1
                {
                    // The list was just shown.
                    (*all, *quiet) = (offered, true);
                    self.tell("I am not sure what you mean. Give a number, or say “help” for all I can do.");
                }
            }
        }
    }

    /// Opens the form of a tool with what the sentence tells.
    pub(super) fn start(&mut self, tool: usize, text: &str) {
        let mut form = Form::new(&self.tools[tool].name);
        if text.len() <= SENTENCE {
            let root = self.shape(tool);
            let found = match after_name(&self.names(tool), text) {
                Some(rest) => self.sole_text(tool, rest).unwrap_or_default(),
                None => extract::extract(root, &form.values, &self.index().verbs(tool), text),
            };
            self.take_in(&mut form, found);
        }
        let known = question::settled(&form.values);
        let complaints = std::mem::take(&mut self.note);
        let title = self.title(&form.tool);
        self.note = if known.is_empty() { format!("{title}.") } else { format!("{title} – {known}.") };
        if !complaints.is_empty() {
            self.tell(format!("{}\n{complaints}", self.note));
        }
        self.stage = Stage::Filling(form);
    }

    /// Settles what was found in a sentence, and notes what is wrong with it.
    pub(super) fn take_in(&mut self, form: &mut Form, found: Found) {
        for (pointer, value) in found.values {
            form.set(&pointer, value);
        }
        let mut complaints = found.complaints;
        for (at, pointer) in found.named.into_iter().enumerate() {
            if let Some(need) = form.lacks(&pointer) {
                let (later, first) = (ask::label(&pointer), ask::label(need));
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

    /// A request that goes on from the last one: "and in Rome?", "what about Rome?".
    fn follow(&mut self, text: &str) -> bool {
        let Some(last) = self.last.clone() else { return false };
        let Some(tool) = self.place(&last.tool) else { return false };
        let lower = text.to_lowercase();
        let leads = ["and ", "what about ", "how about ", "now ", "the same ", "same ", "again "];
        let Some(lead) = leads.iter().find(|lead| lower.starts_with(**lead) && text.is_char_boundary(lead.len()))
        else {
            return false;
        };
        let rest = text[lead.len()..].trim().trim_end_matches(['?', '.', '!']);
        let root = self.shape(tool);
        let mut found = extract::extract(root, &Value::Null, &self.index().verbs(tool), text);
        if found.values.is_empty() && rest.split(' ').count() <= 4 {
            found = self.sole_text(tool, rest).unwrap_or_default();
        }
        if found.values.is_empty() {
            return false;
        }
        let mut form = Form::new(&last.tool).with(last.values);
        self.take_in(&mut form, found);
        self.tell(format!("{} – {}.", self.title(&form.tool), question::settled(&form.values)));
        self.stage = Stage::Filling(form);
        true
    }

    /// The text as the value of the only required parameter, where there is one that takes any text.
    fn sole_text(&self, tool: usize, text: &str) -> Option<Found> {
        let mut required = self.shape(tool).fields().iter().filter(|field| field.required);
        let field = required.next().filter(|field| field.shape.is_free_text() && !text.is_empty())?;
        let value = Value::from(super::answer::unquoted(text).unwrap_or(text));
        let fits = required.next().is_none() && field.shape.check(&value).is_ok();
        fits.then(|| Found { values: vec![(ask::field("", &field.name), value)], ..Found::default() })
    }

    fn names(&self, tool: usize) -> Vec<String> {
        let spec = self.tools[tool];
        [Some(&spec.name), spec.title.as_ref()].into_iter().flatten().map(|name| words::fold(name)).collect()
    }

    /// Whether to go on with a form that is full.
    fn decide(&mut self, mut form: Form, why: Pause, text: &str) {
        let command = intent::command(text);
        let agreed = scalar::yes_or_no(text) == Some(true);
        if agreed && why == Pause::Denied {
            self.tell("Tell me what to change, or what else you need.");
            self.stage = Stage::Parked { form, why };
            return;
        }
        if agreed || command == Some(Command::Again) {
            form.mark();
            self.stage = Stage::Filling(form);
            return;
        }
        if scalar::yes_or_no(text) == Some(false)
            || matches!(command, Some(Command::Cancel | Command::Thanks | Command::Done))
        {
            self.tell("All right, I have left that undone.");
            return;
        }
        let Some(root) = self.shape_of(&form) else { return self.request(text) };
        if command == Some(Command::Back) {
            let back = form.back();
            self.note = if back { String::new() } else { "There is nothing to take back.".to_owned() };
            self.stage = if back { Stage::Filling(form) } else { Stage::Parked { form, why } };
            return;
        }
        let said = words::fold(text);
        let correction = extract::begins_with_pair(root, text) || extract::is_correction(text);
        if !correction && text.len() <= SENTENCE && matches!(self.guessed(text), Guess::One(_)) {
            return self.request(text);
        }
        let said = said.strip_prefix("change ").unwrap_or(&said).trim_start_matches("the ").to_owned();
        let names = root.fields().iter().map(|field| field.name.clone()).find(|name| words::fold(name) == said);
        let mut found = extract::explicit(root, text);
        found.named.extend(names.map(|name| ask::field("", &name)));
        if found == Found::default() && command.is_none() && text.len() <= SENTENCE {
            let verbs = self.place(&form.tool).map(|tool| self.index().verbs(tool)).unwrap_or_default();
            found = extract::extract(root, &Value::Null, &verbs, text);
        }
        if found == Found::default() {
            return match command {
                Some(Command::Help) => self.stage = Stage::Parked { form, why },
                _ => self.request(text),
            };
        }
        form.mark();
        let complains = !found.complaints.is_empty();
        self.take_in(&mut form, found);
        self.stage = if complains { Stage::Parked { form, why } } else { Stage::Filling(form) };
    }
}

/// What follows the name of a tool and a colon: `echo: hello`.
fn after_name<'t>(names: &[String], text: &'t str) -> Option<&'t str> {
    let (name, rest) = text.split_once(':')?;
    names.contains(&words::fold(name)).then(|| rest.trim()).filter(|rest| !rest.is_empty())
}
