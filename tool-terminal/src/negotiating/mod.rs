//! The negotiating model: a program that stands for a language model, and asks the person for the parameters of tools.
//!
//! In each turn, [`Dialogue`] reads the conversation again, and returns one text or one call. So the model keeps nothing between
//! turns, and any process can continue a conversation.

mod dialogue;
mod form;
mod text;

#[cfg(test)]
mod tests;

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};

use dialogue::{Dialogue, Reply};
use tool_runtime::feedback::FeedbackFormat;
use tool_runtime::message::Part;
use tool_runtime::model::{Delta, FinishReason, Model, ModelError, ModelErrorKind, Request, ToolChoice, Usage};

/// A model without a network: it asks the person for a tool's parameters, one after the other, and calls the tool.
///
/// The person chooses a tool by its name or its number, and answers the questions. Values can be chosen from a list by their
/// number. `tool: value` also answers the first question, and `parameter: value` sets any parameter. "help" and "cancel" work at any
/// time; a text in quotation marks is always a value. If a tool rejects arguments with structured feedback,
/// the model asks again only for the rejected ones, and lists the values that the tool offers. Parameters that are not required are
/// asked for only then. Objects are answered as JSON.
///
/// It has no state: a turn depends only on the request. The model makes at most one call in a turn, and only directly after a
/// message of the person. So it cannot call a tool repeatedly by itself.
///
/// ```
/// use futures_util::{FutureExt, StreamExt};
/// use tool_runtime::{message::Message, model::{Model, Request, Turn}, toolset::ToolList};
/// use tool_terminal::NegotiatingModel;
///
/// let (messages, tools) = ([Message::user("hello")], ToolList::default());
/// let model = NegotiatingModel::new();
/// let deltas: Vec<_> = model.stream(Request::new(&messages, &tools)).collect().now_or_never().expect("it never waits");
/// let mut turn = Turn::default();
/// for delta in deltas {
///     turn.push(delta.expect("it needs nothing that could fail"));
/// }
/// assert!(turn.text().starts_with("There are no tools here"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NegotiatingModel {}

impl NegotiatingModel {
    /// Creates the model.
    pub fn new() -> Self {
        Self {}
    }
}

impl Model for NegotiatingModel {
    fn name(&self) -> &'static str {
        "negotiating"
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
        let deltas = match reply(&request) {
            Ok(reply) => deltas(reply).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        stream::iter(deltas).boxed()
    }
}

/// Returns the reply to a request, as a pure function of the request.
fn reply(request: &Request<'_>) -> Result<Reply, ModelError> {
    let specs = request.tools.specs().iter().map(|spec| &**spec);
    let tools: Vec<_> = match request.tool_choice {
        ToolChoice::Tool(name) => specs.filter(|spec| spec.name == *name).collect(),
        _ => specs.collect(),
    };
    if let (ToolChoice::Tool(name), true) = (request.tool_choice, tools.is_empty()) {
        let text = format!("the tool `{name}` must be called, but it is not on offer; add it to the toolset");
        return Err(ModelError::new(ModelErrorKind::Refused, text));
    }
    Ok(Dialogue::read(tools, request.messages).reply(*request.tool_choice != ToolChoice::None))
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
