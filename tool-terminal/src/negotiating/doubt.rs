//! What a person says to a question about their last answer: was this meant, which of these, what shall change?

use serde_json::Value;

use super::answer;
use super::choose::{self, Chosen};
use super::fill::said_back;
use super::fold::{Dialogue, Stage};
use super::form::{Doubt, Form};
use super::hunt::Found;
use super::said::SENTENCE;
use super::shape::{Choice, Shape};
use super::{ask, extract, scalar, words};

impl Dialogue<'_> {
    /// Reads the answer to a doubt; `false` where it is none, so that it is read as an answer to the question itself.
    pub(super) fn clear(&mut self, form: &mut Form, root: &Shape, doubt: Doubt, text: &str) -> bool {
        match doubt {
            Doubt::Meant { pointer, value } => match scalar::yes_or_no(text) {
                Some(true) => {
                    let ask = form.ask(root, &pointer);
                    if let Err(reason) = ask.shape.check(&value) {
                        self.tell(format!("That {reason}."));
                        return true;
                    }
                    form.mark();
                    form.set(&pointer, value);
                    self.tell(format!("{}.", words::capital(&said_back(form, &ask))));
                    true
                }
                Some(false) => {
                    self.tell("All right.");
                    true
                }
                None => false,
            },
            Doubt::Which { pointer, values } => {
                let choices: Vec<Choice> = values.iter().map(Choice::plain).collect();
                match choose::choose(&choices, ask::numbered(values.iter()), text) {
                    Chosen::One(value) => {
                        form.mark();
                        form.set(&pointer, value);
                        self.tell(format!("{}.", words::capital(&said_back(form, &form.ask(root, &pointer)))));
                        true
                    }
                    _ => false,
                }
            }
            Doubt::Change { pointers } => {
                let said = words::fold(text);
                let said = said.strip_prefix("change ").unwrap_or(&said).trim_start_matches("the ").to_owned();
                let place = scalar::place(text).filter(|place| *place < pointers.len());
                let named = || pointers.iter().position(|pointer| words::fold(&ask::label(pointer)) == said);
                if let Some(place) = place.or_else(named) {
                    form.mark();
                    form.unset(&pointers[place]);
                    form.wanted.insert(0, pointers[place].clone());
                    return true;
                }
                let mut found = extract::explicit(root, text);
                if found == Found::default() && text.contains(char::is_whitespace) && text.len() <= SENTENCE {
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
                true
            }
            Doubt::Switch { tool, text: sentence } => match scalar::yes_or_no(text) {
                Some(true) => {
                    self.start(tool, &sentence);
                    if let Stage::Filling(other) = std::mem::take(&mut self.stage) {
                        *form = other;
                    }
                    true
                }
                Some(false) => {
                    let value = Value::from(answer::unquoted(&sentence).unwrap_or(&sentence));
                    match form.next(root).filter(|ask| ask.shape.is_free_text() && ask.shape.check(&value).is_ok()) {
                        Some(ask) => {
                            form.mark();
                            form.set(&ask.pointer, value);
                            self.tell(format!("{}.", words::capital(&said_back(form, &ask))));
                        }
                        None => self.tell("All right, we go on."),
                    }
                    true
                }
                None => false,
            },
        }
    }
}
