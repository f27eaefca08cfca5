//! The words of a turn: what there is to tell, and the next question.

use super::ask::{self, Ask};
use super::fold::{Dialogue, Pause, Reply, Stage};
use super::form::{Doubt, Form};
use super::shape::{Choice, Shape};
use super::{question, render, scalar, words};

/// As many tools are listed at once.
const LISTED: usize = 15;

impl Dialogue<'_> {
    /// The turn: one text, or one call if the person just spoke and calls are allowed.
    pub(super) fn speak(mut self, may_call: bool) -> Reply {
        let stage = std::mem::take(&mut self.stage);
        let text = match &stage {
            Stage::Filling(form) => match self.shape_of(form) {
                Some(root) if form.doubt.is_none() => match form.next(root) {
                    Some(ask) => next_question(form, &ask),
                    None if may_call => return Reply::Call(self.call(&form.tool, &form.arguments(root))),
                    None => self.go_on(form, Pause::Whole),
                },
                Some(root) => self.doubt(form, root),
                None => String::new(),
            },
            Stage::Parked { form, why } => self.go_on(form, *why),
            Stage::Choosing { quiet: true, .. } if !self.note.is_empty() => String::new(),
            Stage::Choosing { offered, .. } => self.list(offered),
            Stage::Idle if self.note.is_empty() => self.list(&self.all()),
            Stage::Idle if self.note.ends_with('?') || !self.told => String::new(),
            Stage::Idle => "Anything else?".to_owned(),
        };
        let long = self.note.contains('\n') || text.contains('\n') || self.note.chars().count() > 60;
        let gap = match (self.note.is_empty() || text.is_empty(), &stage, long) {
            (true, ..) => "",
            (_, Stage::Idle, _) => "\n\n",
            _ if long || self.told => "\n",
            _ => " ",
        };
        let said = render::printable(&format!("{}{gap}{text}", self.note));
        // Whatever was left out as not printable: a turn is never empty.
        Reply::Say(if said.trim().is_empty() { self.list(&self.all()) } else { said })
    }

    fn doubt(&self, form: &Form, root: &Shape) -> String {
        match &form.doubt {
            Some(Doubt::Meant { pointer, value }) => {
                let value = words::shorten(&scalar::plain(value), 80);
                let label = ask::label(pointer);
                format!("Did you mean “{value}” as {label}? (yes or no)")
            }
            Some(Doubt::Which { pointer, values }) => {
                let choices: Vec<Choice> = values.iter().map(Choice::plain).collect();
                let list = question::choices(&choices, ask::numbered(values.iter()));
                format!("Which {} do you mean?\n{list}", ask::last(pointer))
            }
            Some(Doubt::Change { pointers }) => {
                let known = |pointer: &String| form.values.pointer(pointer).map(scalar::plain).unwrap_or_default();
                let options: Vec<String> =
                    pointers.iter().map(|pointer| format!("{}: {}", ask::label(pointer), known(pointer))).collect();
                format!("{}\nOr say “cancel”.", question::which("What would you like to change?", &options))
            }
            Some(Doubt::Switch { tool, .. }) => {
                let other = self.tools.get(*tool).map(|spec| self.title(&spec.name)).unwrap_or_default();
                let own = self.title(&form.tool);
                format!("Shall I drop “{own}” and go to “{other}”? (yes or no)")
            }
            None => form.next(root).map(|ask| question::question(&ask)).unwrap_or_default(),
        }
    }

    /// Whether to go on with a form that is full.
    fn go_on(&self, form: &Form, why: Pause) -> String {
        let example =
            self.shape_of(form).and_then(|root| root.fields().first()).map(|field| format!("“{}: …”", field.name));
        let change = example.map(|example| format!("or change something, such as {example}")).unwrap_or_default();
        if why == Pause::Denied {
            return if self.told { format!("Anything else? ({change})") } else { String::new() };
        }
        let change = if change.is_empty() { change } else { format!(", {change}") };
        if why == Pause::Failed {
            return format!("Shall I try again? (yes or no{change})");
        }
        let known = question::settled(&form.values);
        let known = if known.is_empty() { known } else { format!(" with {known}") };
        format!("Shall I go ahead with “{}”{known}? (yes or no{change})", self.title(&form.tool))
    }

    fn all(&self) -> Vec<usize> {
        (0..self.tools.len()).collect()
    }

    /// The tools that a person can choose from.
    fn list(&self, offered: &[usize]) -> String {
        if self.tools.is_empty() {
            return "There are no tools here, so there is nothing that I can do.".to_owned();
        }
        if let [one] = offered {
            if self.tools.len() == 1 {
                return format!("I can do one thing: {}. Shall I? (yes or no)", self.line(*one));
            }
            return format!("Do you mean this: {}? (yes or no)", self.line(*one));
        }
        let mut lines: Vec<String> = (offered.iter().take(LISTED).enumerate())
            .map(|(at, tool)| format!("{:>3}. {}", at + 1, self.line(*tool)))
            .collect();
        if offered.len() > LISTED {
            lines.push(format!("     … and {} more: say a word of what you need", offered.len() - LISTED));
        }
        match self.note.ends_with('?') {
            true => {}
            false if offered.len() == self.tools.len() => {
                lines.insert(0, "This is what I can do:".to_owned());
                lines.push("Tell me what you need, or give a number.".to_owned());
            }
            false => lines.insert(0, "Which of these?".to_owned()),
        }
        lines.join("\n")
    }

    /// A tool in one line.
    pub(super) fn line(&self, tool: usize) -> String {
        let spec = self.tools[tool];
        let (title, about) = (self.title(&spec.name), words::first_sentence(&spec.description));
        let line = if words::tokens(about) == words::tokens(&title) {
            title
        } else {
            format!("{title} – {}", words::shorten(about, 90))
        };
        render::printable(line.trim_end_matches([' ', '–', '.']))
    }
}

/// The next question of a form.
fn next_question(form: &Form, ask: &Ask) -> String {
    if form.open.as_ref() == Some(&ask.pointer) && form.is_enough(ask) {
        return format!("What else for {}? (“done” when that is all)", ask::label(&ask.pointer));
    }
    if form.values.pointer(&ask.pointer).and_then(|value| value.as_array()).is_some_and(|list| !list.is_empty()) {
        return format!("More are needed. {}", question::question(ask));
    }
    question::question(ask)
}
