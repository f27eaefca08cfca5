//! The rules that every provider has for a conversation: each call is answered directly after its turn, and has an id and a name of
//! a certain form. Nothing is empty.
//!
//! A run's own conversation may break them. A prompt may be blank, a turn may end without content, and a model may call a tool by an
//! invalid name. Each request follows the rules anyway, and the stored conversation stays as it is.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, VecDeque},
    ops::RangeInclusive,
};

use tool_run::{
    message::{AssistantPart, Message, Part, ToolCall, repair},
    tool::is_valid_name,
};

/// The user's message before a conversation that begins with the assistant.
pub const OPENING: &str = "Hello.";

/// The user's message after a conversation that ends with the assistant. Most servers do not continue an assistant's message.
pub const CONTINUATION: &str = "Go on.";

/// The text of a result without content.
#[cfg(any(feature = "gemini", feature = "openai"))]
pub const NO_CONTENT: &str = "(no content)";

/// The assistant's message between a result and the user's next message, for servers that need one.
#[cfg(any(feature = "gemini", feature = "openai"))]
pub const FILLER: &str = "OK.";

/// The text of an error without content.
pub const NO_REASON: &str = "(no reason given)";

/// Returns a conversation in which results directly follow their calls, in the same order, and each call has a valid name and an id
/// of its own. That is `messages` itself, or a repaired copy.
pub fn pair_calls(messages: &[Message]) -> Cow<'_, [Message]> {
    if are_calls_paired(messages) { Cow::Borrowed(messages) } else { Cow::Owned(repair(messages.to_vec()).0) }
}

fn are_calls_paired(messages: &[Message]) -> bool {
    let mut ids = HashSet::new();
    let mut unanswered = VecDeque::new();
    for message in messages {
        if let Message::Tool(result) = message {
            if unanswered.pop_front() != Some(result.call_id.as_str()) {
                return false;
            }
            continue;
        }
        if !unanswered.is_empty() {
            return false;
        }
        for call in calls_of(message) {
            if call.id.is_empty() || !ids.insert(call.id.as_str()) || !is_valid_name(&call.name) {
                return false;
            }
            unanswered.push_back(call.id.as_str());
        }
    }
    unanswered.is_empty()
}

fn calls_of(message: &Message) -> impl Iterator<Item = &ToolCall> {
    let content = match message {
        Message::Assistant { content } => content.as_slice(),
        _ => &[],
    };
    content.iter().filter_map(|part| match part {
        AssistantPart::Call(call) => Some(call),
        _ => None,
    })
}

pub fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Returns the part in words, or `None` if it has none.
pub fn words_of(part: &Part) -> Option<Cow<'_, str>> {
    Some(part.in_words()).filter(|words| !is_blank(words))
}

/// Returns whether a model of Google is older than Gemini 3. From then on, the API refuses a call without a signature. An unknown name
/// counts as newer.
#[cfg(any(feature = "gemini", feature = "openai"))]
pub fn is_before_gemini_3(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or_default();
    ["gemini-1", "gemini-2"]
        .iter()
        .any(|old| name.strip_prefix(old).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-'])))
}

/// A provider's rule for the ids of calls. An id has only ASCII characters.
pub struct IdRule {
    lengths: RangeInclusive<usize>,
    is_allowed: fn(char) -> bool,
    /// The character in place of one that is not allowed. Without it, the others stay.
    substitute: Option<char>,
}

/// Anthropic's rule for ids.
#[cfg(feature = "anthropic")]
pub const ANTHROPIC_IDS: IdRule = IdRule {
    lengths: 1..=64,
    is_allowed: |c| c.is_ascii_alphanumeric() || c == '_' || c == '-',
    substitute: Some('_'),
};

/// A rule for ids that Gemini accepts. Google documents none; its own ids, and the others that recordings have, follow this one.
#[cfg(feature = "gemini")]
pub const GEMINI_IDS: IdRule = IdRule { lengths: 1..=64, is_allowed: |c| c.is_ascii_graphic(), substitute: Some('_') };

/// OpenAI's rule for ids.
#[cfg(feature = "openai")]
pub const OPENAI_IDS: IdRule = IdRule { lengths: 1..=40, is_allowed: |c| c.is_ascii_graphic(), substitute: Some('_') };

/// The rule of OpenAI's Responses API for ids.
#[cfg(feature = "openai")]
pub const RESPONSES_IDS: IdRule =
    IdRule { lengths: 1..=64, is_allowed: |c| c.is_ascii_graphic(), substitute: Some('_') };

/// Mistral's rule for ids.
#[cfg(feature = "openai")]
pub const MISTRAL_IDS: IdRule = IdRule { lengths: 9..=9, is_allowed: |c| c.is_ascii_alphanumeric(), substitute: None };

impl IdRule {
    fn accepts(&self, id: &str) -> bool {
        self.lengths.contains(&id.len()) && id.chars().all(self.is_allowed)
    }

    /// Returns the end of `id`, where ids differ most, in the form of the rule.
    fn convert(&self, id: &str) -> String {
        let convert = |c| if (self.is_allowed)(c) { Some(c) } else { self.substitute };
        let mut new: String = id.chars().filter_map(convert).collect();
        new.drain(..new.len().saturating_sub(*self.lengths.end()));
        new.extend(std::iter::repeat_n('0', self.lengths.start().saturating_sub(new.len())));
        new
    }

    fn with_number(&self, id: &str, number: usize) -> String {
        let number = number.to_string();
        let kept = id.len().min(self.lengths.end() - number.len());
        format!("{}{number}", &id[..kept])
    }
}

/// The ids of calls in a request. Ids that the provider refuses are replaced, always by the same ones.
pub struct CallIds<'a>(HashMap<&'a str, String>);

impl<'a> CallIds<'a> {
    pub fn new(messages: &'a [Message], rule: &IdRule) -> Self {
        let ids = || messages.iter().flat_map(calls_of).map(|call| call.id.as_str());
        let mut replaced = HashMap::new();
        if ids().all(|id| rule.accepts(id)) {
            return Self(replaced);
        }
        let (accepted, refused): (Vec<_>, Vec<_>) = ids().partition(|id| rule.accepts(id));
        let mut used: HashSet<String> = accepted.into_iter().map(str::to_owned).collect();
        let mut number = 1;
        for id in refused {
            let wanted = rule.convert(id);
            let mut new = wanted.clone();
            while !used.insert(new.clone()) {
                number += 1;
                new = rule.with_number(&wanted, number);
            }
            replaced.insert(id, new);
        }
        Self(replaced)
    }

    /// Keeps the ids with which LiteLLM signs calls of Gemini, for a host that may be LiteLLM. It reads the signature from the id.
    #[cfg(feature = "openai")]
    pub fn except_signed(mut self) -> Self {
        self.0.retain(|id, _| !id.contains("__thought__"));
        self
    }

    pub fn get<'b>(&'b self, id: &'b str) -> &'b str {
        self.0.get(id).map_or(id, String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(ids: &[&str]) -> Message {
        let call =
            |id: &&str| AssistantPart::Call(ToolCall { id: (*id).into(), name: "f".into(), arguments: "{}".into() });
        Message::Assistant { content: ids.iter().map(call).collect() }
    }

    #[test]
    fn ids_that_become_equal_stay_apart() {
        let messages = [asked(&["a.b", "a:b", "a_b", "a/b", "ok"])];
        let ids = CallIds::new(&messages, &ANTHROPIC_IDS);
        assert_eq!(["a.b", "a:b", "a_b", "a/b", "ok"].map(|id| ids.get(id)), ["a_b2", "a_b3", "a_b", "a_b4", "ok"]);
    }

    #[test]
    fn ids_of_a_fixed_length() {
        let messages = [asked(&["call_0fypS1hVX", "x0fypS1hVX", "é", "abcdefghi"])];
        let ids = CallIds::new(&messages, &MISTRAL_IDS);
        let expected = ["0fypS1hVX", "0fypS1hV2", "000000000", "abcdefghi"];
        assert_eq!(["call_0fypS1hVX", "x0fypS1hVX", "é", "abcdefghi"].map(|id| ids.get(id)), expected);
    }

    #[test]
    fn a_sound_conversation_is_not_copied() {
        let result = |id: &str| {
            Message::Tool(tool_run::message::ToolMessage {
                call_id: id.into(),
                tool: "f".into(),
                content: vec![],
                is_error: false,
            })
        };
        let sound = [Message::user(""), Message::user("x"), asked(&["a", "b"]), result("a"), result("b")];
        assert!(matches!(pair_calls(&sound), Cow::Borrowed(_)));
        for unsound in [&sound[..3], &sound[..4], &sound[3..], &[asked(&[""]), result("")]] {
            assert!(matches!(pair_calls(unsound), Cow::Owned(_)), "{unsound:?}");
        }
    }
}
