//! A model without a network and without a language model: it fills in the parameters of tools by asking for them.
//!
//! Everything it knows comes from the specs of the tools on offer and from the conversation. Each turn it goes through
//! the messages anew ([`fold`]), finds out where the dialogue stands, and answers with one text or one call, so nothing
//! is lost between turns, processes or machines.
//!
//! How a sentence travels: [`fold`] takes the messages in; [`said`] finds the tool that is meant ([`intent`]), opens a
//! [`form`], takes from the sentence what is certain ([`extract`]) and reads answers ([`answer`]); [`refusal`] takes in
//! what a tool refused; [`speak`] puts the next question, or [`render`]s a result.

mod answer;
mod choose;
mod extract;
mod fold;
mod form;
mod intent;
mod phrase;
mod refusal;
mod render;
mod said;
mod scalar;
mod shape;
mod speak;
mod words;

#[cfg(test)]
mod tests;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};

use fold::Reply;
use tool_runtime::model::{Delta, FinishReason, Model, ModelError, Request, Usage};

/// A model that needs nothing: it asks the person for what a tool needs, offers what is allowed, and calls the tool.
///
/// It works with any tools, in whatever language their descriptions are; its own words are English. A person says what
/// they want ("weather in Paris", the name of a tool, or its number after "help"), answers its questions, and can say
/// "back", "cancel", "help" or `name: value` at any time. When a tool refuses its arguments with structured feedback,
/// only what was refused is asked again, with the values that the tool offers.
///
/// It holds no state: a turn depends on the request alone, and the ids of its calls are numbered through the
/// conversation. It makes at most one call in a turn, and only right after the person said something, so it cannot call
/// a tool again and again by itself.
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
    /// The model.
    pub fn new() -> Self {
        Self {}
    }
}

impl Model for NegotiatingModel {
    fn name(&self) -> &'static str {
        "negotiating"
    }

    /// Fails only where the tool that must be called is not on offer.
    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let deltas = match fold::reply(request) {
            Ok(reply) => deltas(reply).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        stream::iter(deltas).boxed()
    }
}

/// The deltas of a reply: a text word by word, or a call.
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
