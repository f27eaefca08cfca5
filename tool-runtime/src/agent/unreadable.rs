//! Parts that a model cannot take, such as sound: the request describes them, or the model is not asked.

use std::sync::Arc;

use super::Agent;
use crate::message::{Message, Part, SourceRef};
use crate::model::{Model, ModelError, ModelErrorKind};

/// The choice about a part that the model cannot take ([`Model::takes`]), such as a document in a chat that a model of another
/// provider continues. In both cases, the stored conversation keeps the part.
///
/// No model gets bytes that are not base64, or an address that is not one of `https` or of a bucket (`gs`): a provider refuses the
/// whole request because of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnreadableParts {
    /// The request has a short description ([`Part::in_words`]) in place of the part, and the observer receives
    /// [`Event::PartDescribed`](crate::agent::Event::PartDescribed). This is the default: a part stays in the conversation, so an error
    /// would return in each later turn, and the chat could not go on.
    #[default]
    Describe,
    /// The model is not asked. Its turn fails with [`ModelErrorKind::Refused`], and the next [fallback](crate::Agent::fallback) takes
    /// over if there is one.
    Refuse,
}

/// The place of a part in a conversation: the number of the message, and that of the part in it.
pub type Place = (usize, usize);

/// The parts of a request that are described in words: a conversation, and the place of each.
#[derive(Default)]
pub struct DescribedParts {
    pub messages: Arc<Vec<Message>>,
    places: Vec<Place>,
}

impl DescribedParts {
    /// Returns the parts, each with the id of the call whose result has it.
    pub fn iter(&self) -> impl Iterator<Item = (&Part, Option<&str>)> {
        self.places.iter().map(|(message, part)| {
            let message = &self.messages[*message];
            let call = match message {
                Message::Tool(result) => Some(result.call_id.as_str()),
                _ => None,
            };
            (&parts_of(message)[*part], call)
        })
    }
}

impl Agent {
    /// Returns the parts of a prompt's content that neither the agent's model nor a [fallback](Agent::fallback) takes. With
    /// [`Agent::prepare_step`], a step may have another model; then only the parts that no model gets count.
    pub fn unreadable_in<'a>(&self, content: &'a [Part]) -> Vec<&'a Part> {
        let setup = &self.setup;
        let models = || std::iter::once(&setup.model).chain(setup.fallbacks.iter());
        let is_taken = |part: &Part| {
            let may_be_taken = !setup.prepare.is_empty() || models().any(|model| model.takes(part));
            part.as_text().is_some() || (is_usable(part) && may_be_taken)
        };
        content.iter().filter(|part| !is_taken(part)).collect()
    }

    /// Returns the choice about parts that the model cannot take ([`Agent::unreadable_parts`]).
    pub fn choice_of_unreadable_parts(&self) -> UnreadableParts {
        self.setup.unreadable_parts
    }
}

/// Returns whether a model may get the part: the bytes of a file are base64, and its address is one of `https` or of a bucket.
fn is_usable(part: &Part) -> bool {
    part.as_media().is_none_or(|media| match media.source {
        SourceRef::Url(url) if url.starts_with("gs://") => true,
        SourceRef::Url(url) => url.starts_with("https://") && media.is_well_formed(),
        _ => media.is_well_formed(),
    })
}

/// Returns the places of the parts that are no text, in the messages from number `from` on.
pub fn places_of_media(messages: &[Message], from: usize) -> impl Iterator<Item = Place> {
    messages.iter().enumerate().skip(from).flat_map(|(message, content)| {
        let parts = parts_of(content).iter().enumerate();
        parts.filter(|(_, part)| part.as_text().is_none()).map(move |(part, _)| (message, part))
    })
}

/// Replaces the parts of `messages` that `model` cannot take by words, and returns them. `media` are the places of all parts that
/// are no text.
///
/// Fails if there are such parts, and they must not be replaced.
pub fn describe_parts(
    model: &dyn Model,
    messages: &mut Arc<Vec<Message>>,
    media: impl IntoIterator<Item = Place>,
    choice: UnreadableParts,
) -> Result<DescribedParts, ModelError> {
    let at = |(message, part): Place| &parts_of(&messages[message])[part];
    let is_unreadable = |place: &Place| !(is_usable(at(*place)) && model.takes(at(*place)));
    let places: Vec<Place> = media.into_iter().filter(is_unreadable).collect();
    let Some((message, part)) = places.first() else { return Ok(DescribedParts::default()) };
    if choice == UnreadableParts::Refuse {
        let (model, content) = (model.name(), at((*message, *part)).in_words());
        let message = format!(
            "the model `{model}` cannot take part {} of message {}: {content}; remove it, use a model that takes it, or let the \
             agent describe such parts (`Agent::unreadable_parts`)",
            part + 1,
            message + 1,
        );
        return Err(ModelError::new(ModelErrorKind::Refused, message));
    }
    let messages = std::mem::replace(messages, Arc::new(with_words(messages, &places)));
    Ok(DescribedParts { messages, places })
}

/// Returns the messages with words in the given places, which are in order. Only parts that stay are copied.
fn with_words(messages: &[Message], places: &[Place]) -> Vec<Message> {
    let mut places = places.iter().copied().peekable();
    let mut convert = |at: usize, content: &[Part]| -> Vec<Part> {
        let mut convert = |(number, part): (usize, &Part)| match places.next_if_eq(&(at, number)) {
            Some(_) => Part::text(part.in_words()),
            None => part.clone(),
        };
        content.iter().enumerate().map(&mut convert).collect()
    };
    let convert = |(at, message): (usize, &Message)| match message {
        Message::User { content } => Message::User { content: convert(at, content) },
        Message::Tool(result) => {
            let content = convert(at, &result.content);
            Message::Tool(crate::message::ToolMessage {
                call_id: result.call_id.clone(),
                tool: result.tool.clone(),
                content,
                is_error: result.is_error,
            })
        }
        other => other.clone(),
    };
    messages.iter().enumerate().map(convert).collect()
}

/// Returns the parts of a prompt or of a result.
fn parts_of(message: &Message) -> &[Part] {
    match message {
        Message::User { content } => content,
        Message::Tool(result) => &result.content,
        Message::System { .. } | Message::Assistant { .. } => &[],
    }
}
