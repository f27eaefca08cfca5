//! A dialogue between a person and the tools: what the person says, what the tools answer, and the next question.

use serde_json::{Map, Value};

use super::form::Form;
use super::text;
use tool_run::message::{AssistantPart, Message, Part, ToolCall, ToolMessage};
use tool_runtime::tool::ToolSpec;
use tool_schema::feedback::{Answer, RejectedAnswer};

/// A dialogue, after the messages that were read.
pub struct Dialogue<'a> {
    /// The tools that may be called.
    tools: Vec<&'a ToolSpec>,
    /// The form that is being filled. When it is complete, the model makes the call.
    form: Option<Form>,
    /// The calls without a result, and the forms that led to them.
    calls: Vec<(String, Form)>,
    /// The text before the next question.
    note: String,
    /// Set if the note is the result of a call.
    has_result: bool,
    /// Set if the last message is the person's.
    is_prompted: bool,
    call_ids: Vec<&'a str>,
}

/// The outcome of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A text for the person.
    Say(String),
    Call(ToolCall),
}

impl<'a> Dialogue<'a> {
    /// Reads a conversation.
    pub fn read(tools: Vec<&'a ToolSpec>, messages: &'a [Message]) -> Self {
        let mut dialogue = Self {
            tools,
            form: None,
            calls: Vec::new(),
            note: String::new(),
            has_result: false,
            is_prompted: matches!(messages.last(), Some(Message::User { .. })),
            call_ids: messages.iter().flat_map(calls).map(|call| call.id.as_str()).collect(),
        };
        // A call that succeeded ends its form, so nothing before it matters.
        let is_success = |message: &Message| match message {
            Message::Tool(result) => !result.is_error && rejection(&result.content).is_none(),
            _ => false,
        };
        let begin = messages.iter().rposition(is_success).unwrap_or(0);
        messages[begin..].iter().for_each(|message| dialogue.read_message(message));
        dialogue
    }

    fn read_message(&mut self, message: &Message) {
        if !matches!(message, Message::Tool(_)) {
            self.note.clear();
        }
        self.has_result = matches!(message, Message::Tool(_));
        match message {
            Message::User { content } => self.read_prompt(texts(content).trim()),
            Message::Assistant { .. } => calls(message).for_each(|call| self.read_call(call)),
            Message::Tool(result) => self.read_result(result),
            Message::System { .. } => {}
        }
    }

    fn read_prompt(&mut self, text: &str) {
        match self.form.take() {
            Some(form) => self.read_answer(form, text),
            None => self.open_form(text),
        }
    }

    /// Opens the form of the tool that the person names.
    fn open_form(&mut self, text: &str) {
        let named = self.find_tool(text);
        let Some((spec, rest)) = named.or_else(|| Some((*self.tools.first().filter(|_| self.tools.len() == 1)?, text)))
        else {
            return;
        };
        let form = Form::new(&spec.name, Map::new());
        let takes_any_text = || {
            let question = form.next_question(spec.input.neutral());
            let required = spec.input.neutral()["required"].as_array().map_or(0, Vec::len);
            required == 1 && question.is_some_and(|question| question.is_free_text())
        };
        let is_answer = if named.is_some() { !rest.is_empty() } else { !is_help(text) && takes_any_text() };
        if is_answer {
            self.read_answer(form, rest);
        } else if named.is_some() || !is_help(text) {
            self.note = format!("{}.", text::title(spec));
            self.form = Some(form);
        }
    }

    /// Returns the tool that the person names by its number, its name or its title, and what follows a colon after that.
    fn find_tool<'t>(&self, text: &'t str) -> Option<(&'a ToolSpec, &'t str)> {
        if let Ok(number) = text.trim_end_matches('.').parse::<usize>() {
            return Some((self.tools.get(number.checked_sub(1)?)?, ""));
        }
        let folded = text::request(text);
        let names = self
            .tools
            .iter()
            .flat_map(|spec| [(*spec, text::request(&spec.name)), (*spec, text::request(&text::title(spec)))]);
        let named = names.filter(|(_, name)| {
            folded.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        let (spec, name) = named.max_by_key(|(_, name)| name.len())?;
        let rest = text.split_once(':').filter(|(before, _)| text::request(before) == name);
        Some((spec, rest.map_or("", |(_, rest)| rest.trim())))
    }

    /// Reads an answer to the form's question, or a command.
    fn read_answer(&mut self, mut form: Form, answer: &str) {
        let Some(spec) = self.spec(&form.tool) else { return };
        let root = spec.input.neutral();
        if text::fold(answer) == "cancel" && !answer.starts_with('"') {
            self.note = format!("I have dropped “{}”.\n", text::title(spec));
            return;
        }
        if is_help(answer) {
            let names = root["properties"].as_object().into_iter().flatten().map(|(name, _)| name);
            let known = names.map(|name| {
                let value = form.values.get(name).map(text::inline).unwrap_or_default();
                format!("\n{}: {value}", text::label(name))
            });
            self.note = format!(
                "{}{}\nSay “cancel” to drop it, or “name: value” to set a parameter.",
                describe(spec),
                known.collect::<String>()
            );
            self.form = Some(form);
            return;
        }
        let named = answer.split_once(':').and_then(|(name, value)| {
            let names = root["properties"].as_object()?.keys();
            let name = names.into_iter().find(|known| text::fold(known) == text::fold(name))?;
            Some((form.question_about(root, name), value))
        });
        let is_change = named.is_some();
        let Some((question, answer)) = named.or_else(|| Some((form.next_question(root)?, answer))) else {
            self.form = Some(form);
            return;
        };
        if question.is_optional && text::fold(answer) == "skip" {
            form.skip(&question);
        } else {
            match question.read(answer) {
                Ok(value) => {
                    if is_change {
                        let label = text::capitalize(&text::label(&question.name));
                        self.note = format!("{label}: {}.", text::inline(&value));
                        form.forget_reports();
                    }
                    form.answer(&question, value);
                }
                Err(why) => self.note = why,
            }
        }
        self.form = Some(form);
    }

    /// Reads a call, with the form that led to it.
    fn read_call(&mut self, call: &ToolCall) {
        let form = self.form.take().filter(|form| form.tool == call.name);
        let form = form.unwrap_or_else(|| {
            let values = serde_json::from_str(&call.arguments).unwrap_or_default();
            Form::new(&call.name, values)
        });
        self.calls.push((call.id.clone(), form));
    }

    /// Reads the result of a call. After a rejection, its form goes on.
    fn read_result(&mut self, result: &ToolMessage) {
        let at = self.calls.iter().position(|(id, _)| *id == result.call_id);
        let form = at.map(|at| self.calls.remove(at).1);
        let text = texts(&result.content);
        let note = match rejection(&result.content) {
            Some(rejected) => self.read_rejection(form, &rejected),
            None if text.starts_with("the call was denied") => "I did not do it.".to_owned(),
            None if result.is_error => format!("That did not work: {text}"),
            None => match text::render(&result.content) {
                shown if shown.trim().is_empty() => "Done.".to_owned(),
                shown => shown,
            },
        };
        if !self.note.is_empty() {
            self.note.push_str("\n\n");
        }
        self.note.push_str(&note);
    }

    fn read_rejection(&mut self, form: Option<Form>, rejected: &RejectedAnswer) -> String {
        let Some((mut form, spec)) =
            form.and_then(|form| Some((self.spec(&form.tool)?, form))).map(|(spec, form)| (form, spec))
        else {
            return rejected.to_text();
        };
        let (why, may_succeed) = form.apply(spec.input.neutral(), rejected);
        // Without a question, the same call would fail again.
        self.form = Some(form).filter(|form| may_succeed && form.next_question(spec.input.neutral()).is_some());
        why
    }

    fn spec(&self, name: &str) -> Option<&'a ToolSpec> {
        self.tools.iter().find(|spec| spec.name == name).copied()
    }

    /// Returns the reply: the call of a complete form if `may_call` is set and the person spoke last, otherwise a text.
    pub fn reply(self, may_call: bool) -> Reply {
        let form = self.form.as_ref().and_then(|form| Some((form, self.spec(&form.tool)?)));
        let next = match form {
            Some((form, spec)) => match form.next_question(spec.input.neutral()) {
                Some(question) => question.text(),
                None if may_call && self.is_prompted => return Reply::Call(self.make_call(form)),
                None => format!("Shall I go on with “{}”?", text::title(spec)),
            },
            None if self.has_result => String::new(),
            None => self.list_tools(),
        };
        let gap = if self.note.is_empty() || next.is_empty() { "" } else { "\n" };
        let text = text::printable(&format!("{}{gap}{next}", self.note));
        // A turn must not be empty, even if nothing in its text is printable.
        Reply::Say(if text.trim().is_empty() { "Done.".to_owned() } else { text })
    }

    fn list_tools(&self) -> String {
        match &self.tools[..] {
            [] => "There are no tools here, so there is nothing that I can do.".to_owned(),
            [one] => format!("This is what I can do: {}.", describe(one)),
            all => format!(
                "This is what I can do:\n{}\nGive a name or a number.",
                text::numbered(all.iter().map(|spec| describe(spec)))
            ),
        }
    }

    /// Returns the call of a form, with a new id.
    fn make_call(&self, form: &Form) -> ToolCall {
        let numbers = self.call_ids.len() + 1..;
        let id = numbers.map(|number| format!("call_{number}")).find(|id| !self.call_ids.contains(&id.as_str()));
        let arguments = Value::Object(form.values.clone()).to_string();
        ToolCall { id: id.unwrap_or_default(), name: form.tool.clone(), arguments }
    }
}

fn describe(spec: &ToolSpec) -> String {
    format!("{} – {}", text::title(spec), text::first_sentence(&spec.description))
}

fn is_help(text: &str) -> bool {
    !text.starts_with('"') && (text == "?" || text::fold(text) == "help")
}

/// Returns the calls of a message.
fn calls(message: &Message) -> impl Iterator<Item = &ToolCall> {
    let content = match message {
        Message::Assistant { content } => &content[..],
        _ => &[],
    };
    content.iter().filter_map(|part| match part {
        AssistantPart::Call(call) => Some(call),
        _ => None,
    })
}

fn texts(content: &[Part]) -> String {
    content.iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n")
}

/// Returns the rejection that a result is.
fn rejection(content: &[Part]) -> Option<RejectedAnswer> {
    match serde_json::from_str(&texts(content)) {
        Ok(Answer::Rejected(rejected)) => Some(rejected),
        _ => None,
    }
}
