//! Conversion of a history from outside into one that providers accept.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt, mem,
};

use serde_json::Value;

use crate::message::{AssistantPart, Message, Part, ToolCall, ToolMessage};
use crate::name::{is_valid_name, to_valid_name};

/// The text of the answer to a call that the history does not answer.
const UNANSWERED: &str = "the call was interrupted; its outcome is unknown";

/// A call of the history, and its answer.
struct HistoryCall {
    id: String,
    name: String,
    turn: usize,
    at: usize,
    answer: Option<ToolMessage>,
}

/// Converts `messages` into a history that providers accept.
///
/// Each call has one answer, directly after its turn and in the order of the calls. No two calls have the same id. Each name is
/// valid, and no message of the user or the model is empty. Neither the user nor the model has two messages in a row. A history that already has these
/// properties is not changed. Returns the history, and the repairs in the order in which they were made.
///
/// ```
/// use tool_run::message::{AssistantPart, Message, Repair, ToolCall, repair};
///
/// let call = ToolCall { id: "a".into(), name: "search".into(), arguments: "{}".into() };
/// let cut = vec![Message::user("?"), Message::Assistant { content: vec![AssistantPart::Call(call)] }, Message::user("!")];
/// let (whole, repaired) = repair(cut);
/// assert_eq!(repaired, [Repair::Dangling { at: 1, call_id: "a".into() }]);
/// assert!(matches!(&whole[2], Message::Tool(answer) if answer.call_id == "a" && answer.is_error));
/// ```
pub fn repair(messages: Vec<Message>) -> (Vec<Message>, Vec<Repair>) {
    let mut history = History::default();
    for (at, message) in messages.into_iter().enumerate() {
        history.add(at, message);
    }
    history.finish()
}

/// The history so far, and the calls that wait for an answer.
#[derive(Default)]
struct History {
    /// The messages except answers: position, message, and whether it has calls, whose answers follow it directly.
    kept: Vec<(usize, Message, bool)>,
    slots: Vec<HistoryCall>,
    ids: HashSet<String>,
    /// The next number to append to an id that another call has, by that id.
    next: HashMap<String, usize>,
    /// The calls without an answer, by their original ids. Calls of one turn are in one queue, and the latest turn is last.
    open: HashMap<String, Vec<VecDeque<usize>>>,
    turns: usize,
    /// The position in `slots` of the first call of the latest turn with calls.
    first: usize,
    /// The number of answers to the latest turn that came in order; `None` if another message came since.
    answered_in_order: Option<usize>,
    repaired: Vec<Repair>,
}

impl History {
    fn add(&mut self, at: usize, message: Message) {
        match message {
            Message::Tool(answer) => self.add_answer(at, answer),
            Message::System { text } if text.trim().is_empty() => self.repaired.push(Repair::Empty { at }),
            Message::User { content } => {
                let (kept, empty): (Vec<Part>, Vec<Part>) = content.into_iter().partition(|part| !part.is_blank());
                if !empty.is_empty() || kept.is_empty() {
                    self.repaired.push(Repair::Empty { at });
                }
                if !kept.is_empty() {
                    self.answered_in_order = None;
                    self.kept.push((at, Message::User { content: kept }, false));
                }
            }
            Message::Assistant { content } => self.add_turn(at, content),
            Message::System { .. } => {
                self.answered_in_order = None;
                self.kept.push((at, message, false));
            }
        }
    }

    fn add_turn(&mut self, at: usize, content: Vec<AssistantPart>) {
        let before = content.len();
        let mut kept: Vec<AssistantPart> = content.into_iter().filter(is_kept).collect();
        if kept.len() < before || before == 0 {
            self.repaired.push(Repair::Empty { at });
        }
        if kept.is_empty() {
            return;
        }
        let (mut has_calls, first) = (false, self.slots.len());
        for part in &mut kept {
            if let AssistantPart::Call(call) = part {
                has_calls = true;
                self.add_call(at, call);
            }
        }
        self.answered_in_order = has_calls.then_some(0);
        if has_calls {
            (self.turns, self.first) = (self.turns + 1, first);
        }
        self.kept.push((at, Message::Assistant { content: kept }, has_calls));
    }

    fn add_call(&mut self, at: usize, call: &mut ToolCall) {
        let given = call.id.clone();
        if call.id.is_empty() || self.ids.contains(&call.id) {
            let base = if given.is_empty() { "call" } else { &given };
            let next = self.next.entry(base.to_owned()).or_insert(2);
            while call.id.is_empty() || self.ids.contains(&call.id) {
                call.id = format!("{base}_{next}");
                *next += 1;
            }
            self.repaired.push(Repair::SameId { at, from: given.clone(), to: call.id.clone() });
        }
        self.ids.insert(call.id.clone());
        if !is_valid_name(&call.name) {
            let name = to_valid_name(&call.name).into_owned();
            let from = mem::replace(&mut call.name, name);
            self.repaired.push(Repair::Name { at, from, to: call.name.clone() });
        }
        let slot = HistoryCall { id: call.id.clone(), name: call.name.clone(), turn: self.turns, at, answer: None };
        let turns = self.open.entry(given).or_default();
        match turns.last_mut().filter(|turn| turn.front().is_some_and(|at| self.slots[*at].turn == slot.turn)) {
            Some(turn) => turn.push_back(self.slots.len()),
            None => turns.push(VecDeque::from([self.slots.len()])),
        }
        self.slots.push(slot);
    }

    fn add_answer(&mut self, at: usize, answer: ToolMessage) {
        // If several calls have one id, the answer belongs to the latest turn in which such a call has no answer yet.
        let turns = self.open.get_mut(&answer.call_id);
        let is_known = turns.is_some();
        let Some(place) = turns.and_then(pop_first_of_latest) else {
            let call_id = answer.call_id;
            let repair = if is_known { Repair::Duplicate { at, call_id } } else { Repair::Orphan { at, call_id } };
            return self.repaired.push(repair);
        };
        let is_next = self.answered_in_order.is_some_and(|answered| self.first + answered == place);
        self.answered_in_order = self.answered_in_order.map(|answered| answered + usize::from(is_next));
        let slot = &mut self.slots[place];
        if !is_next {
            self.repaired.push(Repair::Late { at, call_id: slot.id.clone() });
        }
        if answer.tool != slot.name {
            self.repaired.push(Repair::Name { at, from: answer.tool.clone(), to: slot.name.clone() });
        }
        slot.answer = Some(ToolMessage { call_id: slot.id.clone(), tool: slot.name.clone(), ..answer });
    }

    fn finish(mut self) -> (Vec<Message>, Vec<Repair>) {
        let mut whole: Vec<Message> = Vec::with_capacity(self.kept.len() + self.slots.len());
        let mut slots = mem::take(&mut self.slots).into_iter().peekable();
        let mut turn = 0;
        for (at, message, has_calls) in mem::take(&mut self.kept) {
            match merge_into_last(&mut whole, message) {
                Some(message) => whole.push(message),
                None => self.repaired.push(Repair::Merged { at }),
            }
            if !has_calls {
                continue;
            }
            while let Some(slot) = slots.next_if(|slot| slot.turn == turn) {
                let HistoryCall { id, name, at, answer, .. } = slot;
                whole.push(Message::Tool(answer.unwrap_or_else(|| {
                    self.repaired.push(Repair::Dangling { at, call_id: id.clone() });
                    ToolMessage { call_id: id, tool: name, content: vec![Part::text(UNANSWERED)], is_error: true }
                })));
            }
            turn += 1;
        }
        (whole, self.repaired)
    }
}

/// Removes and returns the first call of the latest turn. Removes the turn if this was its last call.
fn pop_first_of_latest(turns: &mut Vec<VecDeque<usize>>) -> Option<usize> {
    let latest = turns.last_mut()?;
    let place = latest.pop_front();
    if latest.is_empty() {
        turns.pop();
    }
    place
}

/// Appends the content of `message` to the last message if both have the same role. Otherwise returns `message`.
fn merge_into_last(whole: &mut [Message], message: Message) -> Option<Message> {
    match (whole.last_mut(), message) {
        (Some(Message::User { content }), Message::User { content: more }) => content.extend(more),
        (Some(Message::Assistant { content }), Message::Assistant { content: more }) => content.extend(more),
        (_, message) => return Some(message),
    }
    None
}

fn is_kept(part: &AssistantPart) -> bool {
    match part {
        AssistantPart::Text { text } => !text.trim().is_empty(),
        AssistantPart::Reasoning { text, signature } => !text.trim().is_empty() || signature.is_some(),
        AssistantPart::Call(_) | AssistantPart::Provider(_) => true,
    }
}

/// Reads messages from JSON. Leaves out messages and parts that it cannot read, such as a message of an unknown role or a part
/// of an unknown kind. Returns the messages, and a [`Repair::Unread`] for each omission. [`repair`] then repairs the messages.
///
/// ```
/// use serde_json::json;
/// use tool_run::message::{Message, parse_history};
///
/// let (messages, unread) = parse_history(&[
///     json!({"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "smell", "data": "rose"}]}),
///     json!({"role": "oracle", "text": "42"}),
/// ]);
/// assert_eq!(messages, [Message::user("hi")]);
/// assert_eq!(unread.len(), 2);
/// ```
pub fn parse_history(messages: &[Value]) -> (Vec<Message>, Vec<Repair>) {
    let (mut whole, mut unread) = (Vec::with_capacity(messages.len()), Vec::new());
    for (at, value) in messages.iter().enumerate() {
        let mut left_out = |what: String| unread.push(Repair::Unread { at, what });
        let mut value = value.clone();
        let is_assistant = value.get("role").and_then(Value::as_str) == Some("assistant");
        if let Some(Value::Array(content)) = value.get_mut("content") {
            content.retain(|part| {
                let read = if is_assistant {
                    serde_json::from_value::<AssistantPart>(part.clone()).err()
                } else {
                    serde_json::from_value::<Part>(part.clone()).err()
                };
                let is_read = read.is_none();
                if let Some(error) = read {
                    left_out(format!("a part: {error}"));
                }
                is_read
            });
        }
        match serde_json::from_value(value) {
            Ok(message) => whole.push(message),
            Err(error) => left_out(error.to_string()),
        }
    }
    (whole, unread)
}

/// A repair of a history. Positions are those in the original history, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repair {
    /// A call had no answer. It now has an error as its answer, which states that the outcome is unknown.
    Dangling {
        /// The position of the message with the call.
        at: usize,
        /// The present id of the call.
        call_id: String,
    },
    /// An answer was not directly after its turn, or not in the order of the calls. It was moved to its place.
    Late {
        /// The position of the answer.
        at: usize,
        /// The present id of the call.
        call_id: String,
    },
    /// A call had two answers. The later answer was removed.
    Duplicate {
        /// The position of the answer.
        at: usize,
        /// The call's id in the answer.
        call_id: String,
    },
    /// An answer belonged to no earlier call. The answer was removed.
    Orphan {
        /// The position of the answer.
        at: usize,
        /// The call's id in the answer.
        call_id: String,
    },
    /// A call had no id, or the id of an earlier call. The call and its answer have a new id now.
    SameId {
        /// The position of the message with the call.
        at: usize,
        /// The old id.
        from: String,
        /// The new id.
        to: String,
    },
    /// A call had a name that no tool can have, or an answer had another name than its call. The name was replaced.
    Name {
        /// The position of the message.
        at: usize,
        /// The old name.
        from: String,
        /// The new name.
        to: String,
    },
    /// A message, or a part of one, was empty. It was removed.
    Empty {
        /// The position of the message.
        at: usize,
    },
    /// A message followed another message of the same role. The two were merged.
    Merged {
        /// The position of the second message.
        at: usize,
    },
    /// This version cannot read a message, or a part of a message. It was removed.
    Unread {
        /// The position of the message.
        at: usize,
        /// The text of the error.
        what: String,
    },
}

impl fmt::Display for Repair {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dangling { at, call_id } => write!(out, "message {at}: the call {call_id} had no answer"),
            Self::Late { at, call_id } => {
                write!(out, "message {at}: the answer to {call_id} did not directly follow its turn")
            }
            Self::Duplicate { at, call_id } => write!(out, "message {at}: {call_id} had an answer already"),
            Self::Orphan { at, call_id } => {
                write!(out, "message {at}: it answers {call_id}, but there is no such call")
            }
            Self::SameId { at, from, to } => write!(out, "message {at}: the call `{from}` is now {to}"),
            Self::Name { at, from, to } => write!(out, "message {at}: the name `{from}` is now {to}"),
            Self::Empty { at } => write!(out, "message {at}: it was empty"),
            Self::Merged { at } => write!(out, "message {at}: it was merged into the previous message"),
            Self::Unread { at, what } => write!(out, "message {at}: it cannot be read: {what}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn call(id: &str) -> AssistantPart {
        AssistantPart::Call(ToolCall { id: id.into(), name: "t".into(), arguments: "{}".into() })
    }

    fn calls(ids: &[&str]) -> Message {
        Message::Assistant { content: ids.iter().map(|id| call(id)).collect() }
    }

    fn answer(id: &str, text: &str) -> Message {
        Message::Tool(ToolMessage {
            call_id: id.into(),
            tool: "t".into(),
            content: vec![Part::text(text)],
            is_error: false,
        })
    }

    /// Returns the reason why providers would refuse a history, if there is one.
    fn refused(messages: &[Message]) -> Option<String> {
        let mut ids = HashSet::new();
        let mut at = 0;
        let mut last = "";
        while at < messages.len() {
            let role = match &messages[at] {
                Message::System { text } => {
                    if text.trim().is_empty() {
                        return Some("an empty system message".into());
                    }
                    "system"
                }
                Message::User { content } => {
                    if content.is_empty() || content.iter().any(Part::is_blank) {
                        return Some("an empty user message".into());
                    }
                    "user"
                }
                Message::Assistant { content } => {
                    if content.is_empty() {
                        return Some("an empty turn".into());
                    }
                    let asked = content.iter().filter_map(|part| match part {
                        AssistantPart::Call(call) => Some(call),
                        _ => None,
                    });
                    for call in asked {
                        if call.id.is_empty() || !ids.insert(call.id.clone()) {
                            return Some(format!("two calls have the id `{}`", call.id));
                        }
                        if !is_valid_name(&call.name) {
                            return Some(format!("a call of `{}`", call.name));
                        }
                        at += 1;
                        match messages.get(at) {
                            Some(Message::Tool(answer)) if answer.call_id == call.id && answer.tool == call.name => {}
                            other => return Some(format!("{} is followed by {other:?}", call.id)),
                        }
                    }
                    "assistant"
                }
                Message::Tool(answer) => return Some(format!("{} answers nothing", answer.call_id)),
            };
            let follows = matches!(messages[at], Message::Tool(_));
            if role == last && role != "system" {
                return Some(format!("twice in a row: {role}"));
            }
            last = if follows { "tool" } else { role };
            at += 1;
        }
        None
    }

    #[test]
    fn each_mistake_is_repaired_and_reported() {
        let history = vec![
            Message::user("go"),
            calls(&["a", "b", "a"]),
            answer("b", "B"),
            answer("a", "A"),
            Message::Assistant { content: vec![] },
            Message::user("and"),
            Message::user("on"),
            answer("a", "second A"),
            answer("a", "A again"),
            answer("x", "X"),
            calls(&[""]),
        ];
        let (whole, repaired) = repair(history);
        assert_eq!(refused(&whole), None);
        let expected = [
            Message::user("go"),
            calls(&["a", "b", "a_2"]),
            answer("a", "A"),
            answer("b", "B"),
            answer("a_2", "second A"),
            Message::User { content: vec![Part::text("and"), Part::text("on")] },
            calls(&["call_2"]),
        ];
        assert_eq!(whole[..7], expected);
        assert!(matches!(&whole[7], Message::Tool(answer) if answer.is_error && answer.call_id == "call_2"));
        assert_eq!(whole.len(), 8);
        let id = |id: &str| id.to_owned();
        assert_eq!(
            repaired,
            [
                Repair::SameId { at: 1, from: id("a"), to: id("a_2") },
                Repair::Late { at: 2, call_id: id("b") },
                Repair::Empty { at: 4 },
                Repair::Late { at: 7, call_id: id("a_2") },
                Repair::Duplicate { at: 8, call_id: id("a") },
                Repair::Orphan { at: 9, call_id: id("x") },
                Repair::SameId { at: 10, from: id(""), to: id("call_2") },
                Repair::Merged { at: 6 },
                Repair::Dangling { at: 10, call_id: id("call_2") },
            ]
        );
    }

    #[test]
    fn a_call_without_an_answer_does_not_get_that_of_a_later_call() {
        let history = vec![calls(&["a"]), Message::user("again"), calls(&["a"]), answer("a", "now")];
        let (whole, _) = repair(history);
        assert!(matches!(&whole[1], Message::Tool(answer) if answer.is_error));
        assert_eq!(whole[4], answer("a_2", "now"));
    }

    fn message() -> impl Strategy<Value = Message> {
        let id = || prop_oneof![Just(""), Just("a"), Just("b"), Just("a_2"), Just("c")];
        let name = || prop_oneof![Just("t"), Just("other"), Just("a b"), Just("")];
        let text = || prop_oneof![Just(""), Just(" "), Just("x")].prop_map(str::to_owned);
        let part = prop_oneof![
            text().prop_map(|text| AssistantPart::Text { text }),
            text().prop_map(|text| AssistantPart::Reasoning { text, signature: None }),
            (id(), name()).prop_map(|(id, name)| {
                AssistantPart::Call(ToolCall { id: id.into(), name: name.into(), arguments: "{}".into() })
            }),
        ];
        prop_oneof![
            text().prop_map(|text| Message::System { text }),
            prop::collection::vec(text().prop_map(Part::text), 0..3).prop_map(|content| Message::User { content }),
            prop::collection::vec(part, 0..4).prop_map(|content| Message::Assistant { content }),
            (id(), name()).prop_map(|(id, name)| {
                Message::Tool(ToolMessage { call_id: id.into(), tool: name.into(), content: vec![], is_error: false })
            }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_history_is_repaired_for_providers(history in prop::collection::vec(message(), 0..16)) {
            let (whole, repaired) = repair(history.clone());
            prop_assert_eq!(refused(&whole), None, "{:?}", whole);
            prop_assert_eq!(repaired.is_empty(), whole == history, "{:?}", repaired);
            let (again, nothing) = repair(whole.clone());
            prop_assert_eq!(again, whole);
            prop_assert_eq!(nothing, vec![]);
        }
    }
}
