//! A program that stands for a language model in the examples. It understands some sentences, and asks the person for the parameters
//! of tools. `tool_terminal::NegotiatingModel` is a small one of its kind for applications.
//!
//! It uses only the specs of the offered tools and the conversation. In each turn, [`reply`] reads the conversation again,
//! derives the state of the dialogue, and returns one text or one call. The model keeps nothing between turns, so any process
//! can continue a conversation.
//!
//! The path of a sentence: [`reply`] reads the messages. [`read`] finds the intended tool ([`intent`]), opens a [`form`],
//! extracts the unambiguous values ([`extract`]) and reads answers ([`answer`]). [`rejection`] reads the rejections of tools.
//! [`render`] turns results into text. [`speak`] asks the next question.

mod answer;
mod extract;
mod form;
mod intent;
mod phrase;
mod read;
mod rejection;
mod render;
mod scalar;
mod shape;
mod speak;
mod words;

#[cfg(test)]
mod tests;

use std::cell::OnceCell;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use serde_json::Value;

use form::Form;
use intent::WordIndex;
use shape::Shape;
use tool_runtime::feedback::FeedbackFormat;
use tool_runtime::message::{AssistantPart, Message, Part, ToolCall, ToolMessage};
use tool_runtime::model::{Delta, FinishReason, Model, ModelError, ModelErrorKind, Request, ToolChoice, Usage};
use tool_runtime::tool::ToolSpec;

/// A model without a network: it asks the person for a tool's parameters, offers the allowed values, and calls the tool.
///
/// It works with tools whose descriptions are in any language. Its own texts are English. A person types a request ("weather in
/// Paris", the name of a tool, or its number after "help") and answers the questions. The person can type "back", "cancel",
/// "help" or `name: value` at any time. If a tool rejects arguments with structured feedback, the model asks again only for the
/// rejected arguments, and lists the values that the tool offers.
///
/// It has no state: a turn depends only on the request. The ids of calls are numbered through the conversation. The model makes
/// at most one call in a turn, and only directly after a message of the person. So it cannot call a tool repeatedly by itself.
///
/// ```
/// use futures_util::{FutureExt, StreamExt};
/// use tool_runtime::{message::Message, model::{Model, Request, Turn}, toolset::ToolList};
/// use example_dialogue::DialogueModel;
///
/// let (messages, tools) = ([Message::user("hello")], ToolList::default());
/// let model = DialogueModel::new();
/// let deltas: Vec<_> = model.stream(Request::new(&messages, &tools)).collect().now_or_never().expect("it never waits");
/// let mut turn = Turn::default();
/// for delta in deltas {
///     turn.push(delta.expect("it needs nothing that could fail"));
/// }
/// assert!(turn.text().starts_with("There are no tools here"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DialogueModel {}

impl DialogueModel {
    /// Creates the model.
    pub fn new() -> Self {
        Self {}
    }
}

impl Model for DialogueModel {
    fn name(&self) -> &'static str {
        "dialogue"
    }

    fn takes(&self, _: &Part) -> bool {
        false
    }

    /// The model reads the problems of each parameter from JSON.
    fn feedback_format(&self) -> FeedbackFormat {
        FeedbackFormat::Json
    }

    /// Streams a text or one call. Fails with [`ModelErrorKind::Refused`] if the request demands a tool that is not offered.
    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let deltas = match reply(request) {
            Ok(reply) => deltas(reply).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        stream::iter(deltas).boxed()
    }
}

/// Returns the deltas of a reply: a text word by word, or a call.
fn deltas(reply: Reply) -> Vec<Delta> {
    let (mut deltas, finish) = match reply {
        Reply::Say(text) => {
            let words = text.split_inclusive(char::is_whitespace).map(|word| Delta::Text(word.to_owned()));
            (words.collect::<Vec<_>>(), FinishReason::Stop)
        }
        Reply::Call(call) => {
            let start = Delta::CallStart { index: 0, id: call.id, name: call.name };
            let arguments = Delta::CallArguments { index: 0, text: call.arguments };
            (vec![start, arguments, Delta::CallEnd { index: 0 }], FinishReason::ToolCalls)
        }
    };
    deltas.extend([Delta::Usage(Usage::default()), Delta::Finish(finish)]);
    deltas
}

/// A dialogue between a person and the tools.
pub struct Dialogue<'a> {
    /// The tools that may be called.
    pub tools: Vec<&'a ToolSpec>,
    /// Set if the request demands a call, and only one tool may be called.
    pub must_call: bool,
    /// The state of the dialogue.
    pub state: DialogueState,
    /// The text before the next question.
    pub note: String,
    /// Set if the note is the result of a call.
    pub has_result: bool,
    /// The form of the last call that succeeded.
    pub last_form: Option<Form>,
    word_index: OnceCell<WordIndex>,
    shapes: Vec<OnceCell<Shape>>,
    pending_calls: Vec<(String, Form)>,
    call_ids: Vec<&'a str>,
}

/// The state of a dialogue.
#[derive(Clone, Debug, Default)]
pub enum DialogueState {
    /// Nothing is in progress.
    #[default]
    Idle,
    /// The model has offered these tools after the request `text`. `is_shown` is set if it need not list them again.
    Choosing { offered: Vec<usize>, text: String, is_shown: bool },
    /// A form is being filled. When it is complete, the model makes the call.
    Filling(Form),
    /// A form is complete, and the person must confirm the call.
    Confirming { form: Form, reason: ConfirmationReason },
}

/// The reason why a complete form needs a confirmation before its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfirmationReason {
    /// The call was not possible when the form became complete.
    NotCalled,
    Failed,
    /// A person denied the call.
    Denied,
}

/// The outcome of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A text for the person.
    Say(String),
    Call(ToolCall),
}

/// Returns the reply to a request, as a pure function of the request.
pub fn reply(request: Request<'_>) -> Result<Reply, ModelError> {
    let is_prompted = matches!(request.messages.last(), Some(Message::User { .. }));
    Ok(read_dialogue(request)?.speak(is_prompted && *request.tool_choice != ToolChoice::None))
}

/// Returns the dialogue after all messages of a request.
pub fn read_dialogue(request: Request<'_>) -> Result<Dialogue<'_>, ModelError> {
    let specs = request.tools.specs().iter().map(|spec| &**spec);
    let tools: Vec<&ToolSpec> = match request.tool_choice {
        ToolChoice::Tool(name) => specs.filter(|spec| spec.name == *name).collect(),
        _ => specs.collect(),
    };
    if let (ToolChoice::Tool(name), true) = (request.tool_choice, tools.is_empty()) {
        let text = format!("the tool `{name}` must be called, but it is not on offer; add it to the toolset");
        return Err(ModelError::new(ModelErrorKind::Refused, text));
    }
    let must_call = matches!(request.tool_choice, ToolChoice::Tool(_) | ToolChoice::Required) && tools.len() == 1;
    let mut dialogue = Dialogue::new(tools, must_call);
    let last_other = request.messages.iter().rposition(|message| !matches!(message, Message::Tool(_)));
    for message in request.messages {
        if let Message::Assistant { content } = message {
            dialogue.call_ids.extend(content.iter().filter_map(as_call).map(|call| call.id.as_str()));
        }
    }
    for (at, message) in request.messages.iter().enumerate().skip(find_first_relevant(request.messages)) {
        dialogue.read_message(message, last_other.is_none_or(|last| at > last));
    }
    Ok(dialogue)
}

/// Returns the index of the first relevant message: the last turn whose calls have all succeeded, or else the first message.
fn find_first_relevant(messages: &[Message]) -> usize {
    let is_done = |at: &usize| {
        let Message::Assistant { content } = &messages[*at] else { return false };
        let calls: Vec<&ToolCall> = content.iter().filter_map(as_call).collect();
        let results = messages[at + 1..].iter().map_while(|message| match message {
            Message::Tool(result) => Some(result),
            _ => None,
        });
        let succeeded = results.filter(|result| {
            let is_known = calls.iter().any(|call| call.id == result.call_id);
            is_known && !result.is_error && rejection::read(&join_texts(&result.content)).is_none()
        });
        !calls.is_empty() && succeeded.count() == calls.len()
    };
    (0..messages.len()).rev().find(is_done).unwrap_or(0)
}

fn as_call(part: &AssistantPart) -> Option<&ToolCall> {
    match part {
        AssistantPart::Call(call) => Some(call),
        _ => None,
    }
}

fn join_texts(content: &[Part]) -> String {
    content.iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n")
}

impl<'a> Dialogue<'a> {
    fn new(tools: Vec<&'a ToolSpec>, must_call: bool) -> Self {
        Self {
            shapes: tools.iter().map(|_| OnceCell::new()).collect(),
            tools,
            must_call,
            state: DialogueState::Idle,
            note: String::new(),
            has_result: false,
            last_form: None,
            word_index: OnceCell::new(),
            pending_calls: Vec::new(),
            call_ids: Vec::new(),
        }
    }

    /// Reads a message. `must_show` is set if the person has not seen the message's result yet.
    fn read_message(&mut self, message: &Message, must_show: bool) {
        self.has_result = matches!(message, Message::Tool(_));
        match message {
            Message::User { content } => {
                self.note.clear();
                self.read_sentence(join_texts(content).trim());
            }
            Message::Assistant { content } => {
                self.note.clear();
                content.iter().filter_map(as_call).for_each(|call| self.record_call(call));
            }
            Message::Tool(result) => self.record_result(result, must_show),
            Message::System { .. } => {}
        }
    }

    /// Records a call, with the form that led to it.
    fn record_call(&mut self, call: &ToolCall) {
        let mut form = Form::from_call(&call.name, &call.arguments);
        if let DialogueState::Filling(own) | DialogueState::Confirming { form: own, .. } = &mut self.state
            && own.tool == call.name
        {
            form = std::mem::take(own).with_values(form.values);
            form.wanted.clear();
        }
        self.state = DialogueState::Idle;
        self.pending_calls.push((call.id.clone(), form));
    }

    /// Records the result of a call, and derives the next state from it.
    fn record_result(&mut self, result: &ToolMessage, must_show: bool) {
        let position = self.pending_calls.iter().position(|(id, _)| *id == result.call_id);
        let mut form =
            position.map_or_else(|| Form::new(&result.tool), |position| self.pending_calls.remove(position).1);
        let text = join_texts(&result.content);
        let tool = self.tool_index(&form.tool);
        let (report, state) = if let Some(rejection) = rejection::read(&text) {
            match tool {
                Some(tool) => {
                    let root = self.shape(tool).clone();
                    let (report, may_succeed) = rejection::apply(&mut form, &root, &rejection);
                    let has_question = form.clarification.is_some() || form.next_question(&root).is_some();
                    let state = match (may_succeed, has_question) {
                        (false, _) => DialogueState::Idle,
                        (true, true) => DialogueState::Filling(form),
                        (true, false) => DialogueState::Confirming { form, reason: ConfirmationReason::Failed },
                    };
                    (report, state)
                }
                None => (rejection::read_failure_reason(&text), DialogueState::Idle),
            }
        } else if let Some(report) = rejection::describe_denial(&text).filter(|_| result.is_error) {
            (
                report,
                if tool.is_some() {
                    DialogueState::Confirming { form, reason: ConfirmationReason::Denied }
                } else {
                    DialogueState::Idle
                },
            )
        } else if result.is_error {
            let report = format!("That did not work: {}.", rejection::read_failure_reason(&text).trim_end_matches('.'));
            (
                report,
                if tool.is_some() {
                    DialogueState::Confirming { form, reason: ConfirmationReason::Failed }
                } else {
                    DialogueState::Idle
                },
            )
        } else {
            self.last_form = tool.map(|_| form);
            let report = if must_show { render::render_content(&result.content) } else { String::new() };
            (if report.is_empty() { "Done.".to_owned() } else { report }, DialogueState::Idle)
        };
        if !self.note.is_empty() {
            self.note.push_str("\n\n");
        }
        self.note.push_str(&render::printable(&report));
        // Of several results, the last one that needs the person determines the next state.
        if !matches!(state, DialogueState::Idle)
            || !matches!(self.state, DialogueState::Filling(_) | DialogueState::Confirming { .. })
        {
            self.state = state;
        }
    }

    /// Sets the text before the next question.
    pub fn say(&mut self, text: impl Into<String>) {
        self.note = text.into();
    }

    /// Returns the index of a tool in the list.
    pub fn tool_index(&self, name: &str) -> Option<usize> {
        self.tools.iter().position(|spec| spec.name == name)
    }

    pub fn shape(&self, tool: usize) -> &Shape {
        self.shapes[tool].get_or_init(|| Shape::of(self.tools[tool].input.neutral()))
    }

    /// Returns the shape of a form's arguments, or `None` if its tool is no longer offered.
    pub fn shape_of(&self, form: &Form) -> Option<&Shape> {
        self.tool_index(&form.tool).map(|tool| self.shape(tool))
    }

    /// Returns the name of a tool for people.
    pub fn title(&self, name: &str) -> String {
        let title = self.tool_index(name).and_then(|tool| self.tools[tool].title.clone());
        render::printable(&title.unwrap_or_else(|| words::capitalize(&words::humanize(name))))
    }

    /// Returns the index of the tools' words.
    pub fn word_index(&self) -> &WordIndex {
        self.word_index.get_or_init(|| WordIndex::new(&self.tools))
    }

    /// Returns a call with a new id.
    pub fn make_call(&self, name: &str, arguments: &Value) -> ToolCall {
        let mut number = self.call_ids.len() + 1;
        while self.call_ids.iter().any(|id| *id == format!("call_{number}")) {
            number += 1;
        }
        ToolCall { id: format!("call_{number}"), name: name.to_owned(), arguments: arguments.to_string() }
    }
}
