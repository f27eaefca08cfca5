//! History that comes from outside, made into one that providers accept.

mod mended;
mod read;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    mem,
};

pub use mended::Mended;
pub use read::read;

use super::{AssistantPart, Message, Part, ToolCall, ToolMessage};

/// What a model is told of a call that nobody answered.
const UNANSWERED: &str = "the call was interrupted; nobody knows what came of it";

/// A call of the history, and its answer.
struct Slot {
    id: String,
    name: String,
    /// The turn that it is in.
    turn: usize,
    at: usize,
    answer: Option<ToolMessage>,
}

enum Kept {
    Message(Message),
    /// A turn with calls, whose answers come right behind it.
    Turn(Vec<AssistantPart>),
}

/// Makes of `messages` a history that providers accept: each call has one answer, right behind its turn and in the order of
/// the calls; no two calls have one id; nobody says nothing, and neither the user nor the model twice in a row. A history
/// that is so already is not changed. What was mended is told, in the order in which it was found.
///
/// ```
/// use tool_runtime::message::{AssistantPart, Mended, Message, ToolCall, mend};
///
/// let call = ToolCall { id: "a".into(), name: "search".into(), arguments: "{}".into() };
/// let cut = vec![Message::user("?"), Message::Assistant { content: vec![AssistantPart::Call(call)] }, Message::user("!")];
/// let (whole, mended) = mend(cut);
/// assert_eq!(mended, [Mended::Dangling { at: 1, call_id: "a".into() }]);
/// assert!(matches!(&whole[2], Message::Tool(answer) if answer.call_id == "a" && answer.is_error));
/// ```
pub fn mend(messages: Vec<Message>) -> (Vec<Message>, Vec<Mended>) {
    let mut history = History::default();
    for (at, message) in messages.into_iter().enumerate() {
        history.take(at, message);
    }
    history.done()
}

#[derive(Default)]
struct History {
    kept: Vec<(usize, Kept)>,
    slots: Vec<Slot>,
    ids: HashSet<String>,
    /// The number that the next call gets whose id is taken already, by that id.
    next: HashMap<String, usize>,
    /// The calls without an answer, by the ids that they had: those of a turn together, the latest turn last.
    open: HashMap<String, Vec<VecDeque<usize>>>,
    turns: usize,
    /// Where the calls of the latest turn begin.
    first: usize,
    /// Whether nothing but answers came since the last turn, and how many of its calls are answered in their order.
    behind: Option<usize>,
    mended: Vec<Mended>,
}

impl History {
    fn take(&mut self, at: usize, message: Message) {
        match message {
            Message::Tool(answer) => self.answer(at, answer),
            Message::System { text } if text.trim().is_empty() => self.mended.push(Mended::Empty { at }),
            Message::User { content } => {
                let (said, empty): (Vec<Part>, Vec<Part>) = content.into_iter().partition(says);
                if !empty.is_empty() || said.is_empty() {
                    self.mended.push(Mended::Empty { at });
                }
                if !said.is_empty() {
                    self.behind = None;
                    self.kept.push((at, Kept::Message(Message::User { content: said })));
                }
            }
            Message::Assistant { content } => self.turn(at, content),
            Message::System { .. } => {
                self.behind = None;
                self.kept.push((at, Kept::Message(message)));
            }
        }
    }

    fn turn(&mut self, at: usize, content: Vec<AssistantPart>) {
        let before = content.len();
        let mut said: Vec<AssistantPart> = content.into_iter().filter(is_said).collect();
        if said.len() < before || before == 0 {
            self.mended.push(Mended::Empty { at });
        }
        if said.is_empty() {
            return;
        }
        let (mut has_calls, first) = (false, self.slots.len());
        for part in &mut said {
            if let AssistantPart::Call(call) = part {
                has_calls = true;
                self.call(at, call);
            }
        }
        self.behind = has_calls.then_some(0);
        if has_calls {
            (self.turns, self.first) = (self.turns + 1, first);
        }
        let kept = if has_calls { Kept::Turn(said) } else { Kept::Message(Message::Assistant { content: said }) };
        self.kept.push((at, kept));
    }

    fn call(&mut self, at: usize, call: &mut ToolCall) {
        let given = call.id.clone();
        if call.id.is_empty() || self.ids.contains(&call.id) {
            let base = if given.is_empty() { "call" } else { &given };
            let next = self.next.entry(base.to_owned()).or_insert(2);
            while call.id.is_empty() || self.ids.contains(&call.id) {
                call.id = format!("{base}_{next}");
                *next += 1;
            }
            self.mended.push(Mended::SameId { at, from: given.clone(), to: call.id.clone() });
        }
        self.ids.insert(call.id.clone());
        let name = fit(&call.name);
        if name != call.name {
            let from = mem::replace(&mut call.name, name);
            self.mended.push(Mended::Name { at, from, to: call.name.clone() });
        }
        let slot = Slot { id: call.id.clone(), name: call.name.clone(), turn: self.turns, at, answer: None };
        let turns = self.open.entry(given).or_default();
        match turns.last_mut().filter(|turn| turn.front().is_some_and(|at| self.slots[*at].turn == slot.turn)) {
            Some(turn) => turn.push_back(self.slots.len()),
            None => turns.push(VecDeque::from([self.slots.len()])),
        }
        self.slots.push(slot);
    }

    fn answer(&mut self, at: usize, answer: ToolMessage) {
        // Of several calls with one id it is the one that was made last: those before have had their chance.
        let turns = self.open.get_mut(&answer.call_id);
        let is_known = turns.is_some();
        let Some(place) = turns.and_then(first_of_latest) else {
            let call_id = answer.call_id;
            let told = if is_known { Mended::Duplicate { at, call_id } } else { Mended::Orphan { at, call_id } };
            return self.mended.push(told);
        };
        let is_next = self.behind.is_some_and(|answered| self.first + answered == place);
        self.behind = self.behind.map(|answered| answered + usize::from(is_next));
        let slot = &mut self.slots[place];
        if !is_next {
            self.mended.push(Mended::Late { at, call_id: slot.id.clone() });
        }
        if answer.tool != slot.name {
            self.mended.push(Mended::Name { at, from: answer.tool.clone(), to: slot.name.clone() });
        }
        slot.answer = Some(ToolMessage { call_id: slot.id.clone(), tool: slot.name.clone(), ..answer });
    }

    fn done(mut self) -> (Vec<Message>, Vec<Mended>) {
        let mut whole: Vec<Message> = Vec::with_capacity(self.kept.len() + self.slots.len());
        let mut slots = mem::take(&mut self.slots).into_iter().peekable();
        let mut turn = 0;
        for (at, kept) in mem::take(&mut self.kept) {
            let content = match kept {
                Kept::Message(message) => {
                    if let Some(message) = merged(&mut whole, message) {
                        whole.push(message);
                    } else {
                        self.mended.push(Mended::Merged { at });
                    }
                    continue;
                }
                Kept::Turn(content) => content,
            };
            if let Some(message) = merged(&mut whole, Message::Assistant { content }) {
                whole.push(message);
            } else {
                self.mended.push(Mended::Merged { at });
            }
            while let Some(slot) = slots.next_if(|slot| slot.turn == turn) {
                let Slot { id, name, at, answer, .. } = slot;
                whole.push(Message::Tool(answer.unwrap_or_else(|| {
                    self.mended.push(Mended::Dangling { at, call_id: id.clone() });
                    ToolMessage { call_id: id, tool: name, content: vec![Part::text(UNANSWERED)], is_error: true }
                })));
            }
            turn += 1;
        }
        (whole, self.mended)
    }
}

/// Removes the first call of the latest turn, and the turn with its last one.
fn first_of_latest(turns: &mut Vec<VecDeque<usize>>) -> Option<usize> {
    let latest = turns.last_mut()?;
    let place = latest.pop_front();
    if latest.is_empty() {
        turns.pop();
    }
    place
}

/// Adds what `message` says to the last one, if it has the same role; otherwise gives it back.
fn merged(whole: &mut [Message], message: Message) -> Option<Message> {
    match (whole.last_mut(), message) {
        (Some(Message::User { content }), Message::User { content: more }) => content.extend(more),
        (Some(Message::Assistant { content }), Message::Assistant { content: more }) => content.extend(more),
        (_, message) => return Some(message),
    }
    None
}

fn says(part: &Part) -> bool {
    part.as_text().is_none_or(|text| !text.trim().is_empty())
}

fn is_said(part: &AssistantPart) -> bool {
    match part {
        AssistantPart::Text { text } => !text.trim().is_empty(),
        AssistantPart::Reasoning { text, signature } => !text.trim().is_empty() || signature.is_some(),
        AssistantPart::Call(_) | AssistantPart::Provider(_) => true,
    }
}

/// `name` in the characters that providers allow.
fn fit(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let fits: String = name.chars().take(64).map(|c| if allowed(c) { c } else { '_' }).collect();
    if fits.is_empty() { "unknown".to_owned() } else { fits }
}
