//! A model for who has none: an agent that goes by rules, from what its tools tell it and what the others say.
//!
//! All agents try the slots in the same order, and each says of each slot, once, whether it can come: by proposing it, or
//! by rejecting it. It leaves a slot as soon as it knows of somebody who cannot. What it can itself, it learns from its
//! tool, which refuses to propose anything else. So all come to the first slot at which all can, and no further.

use serde_json::json;
use tool_runtime::{
    Message,
    model::{FunctionModel, Turn},
};

use super::{
    knowledge::{Knowledge, Status},
    mail::Letter,
    slot::{Person, Slot},
    tools::Heard,
    word::Word,
};
use crate::conversation::{Answered, answered, prompts};

/// The agent of `me`.
pub fn rules(me: Person) -> FunctionModel {
    FunctionModel::new(move |request| next(me, request.messages))
}

fn next(me: Person, messages: &[Message]) -> Turn {
    let calls = answered(messages);
    let words: Vec<(Person, Word)> = heard(&calls, messages).collect();
    let mut known = noted(&calls);
    let mut said = Knowledge::default();
    for (person, word) in &words {
        if let Some((slot, status)) = word.fact() {
            said.note(*person, slot, status);
        }
    }
    let mut news =
        said.facts().filter(|(person, slot, status)| known.status(*person, *slot) != Some(*status)).peekable();
    if news.peek().is_some() {
        return news.fold(Turn::default(), |turn, (person, Slot { place, time }, status)| {
            let fact = json!({ "agent": person, "place": place, "time": time, "status": status });
            turn.then_call("update_knowledge", fact)
        });
    }
    if words.iter().any(|(_, word)| *word == Word::GiveUp) || calls.iter().any(|call| call.tool == "give_up") {
        return Turn::say("Then we do not meet.");
    }
    if let Some(slot) = calls.iter().filter(|call| call.tool == "confirm" && call.is_done()).find_map(slot_of) {
        return Turn::say(format!("I shall be there: {slot}."));
    }
    let called = |tool: &str, slot| calls.iter().find(|call| call.tool == tool && slot_of(call) == Some(slot));
    for slot in Slot::all() {
        let own = match (called("propose", slot), called("reject", slot)) {
            (_, Some(_)) => Some(Status::Cannot),
            (Some(proposed), None) if proposed.is_done() => Some(Status::Can),
            (Some(_), None) => return call("reject", slot),
            (None, None) => None,
        };
        if let Some(status) = own {
            known.note(me, slot, status);
        }
        if !known.those(slot, Some(Status::Cannot)).is_empty() {
            continue;
        }
        return match own {
            None => call("propose", slot),
            Some(_) if known.those(slot, None).is_empty() => call("confirm", slot),
            Some(_) => Turn::say(format!("I wait for what the others say to {slot}.")),
        };
    }
    Turn::call("give_up", json!({}))
}

fn call(tool: &str, Slot { place, time }: Slot) -> Turn {
    Turn::call(tool, json!({ "place": place, "time": time }))
}

/// Returns letters of the others: those between turns, and those that came while this one waited.
fn heard(calls: &[Answered<'_>], messages: &[Message]) -> impl Iterator<Item = (Person, Word)> {
    let told = calls.iter().filter(|call| call.tool == "propose" && call.is_done()).filter_map(Answered::told::<Heard>);
    let letters =
        told.flat_map(|heard| heard.messages).chain(prompts(messages).flat_map(str::lines).filter_map(letter));
    letters.filter_map(|letter| Some((letter.from, Word::read(&letter.content)?)))
}

/// A line of a prompt, if it is what somebody said.
fn letter(line: &str) -> Option<Letter> {
    let (name, content) = line.split_once(": ")?;
    let from = Person::ALL.into_iter().find(|person| person.to_string() == name)?;
    Some(Letter { from, content: content.to_owned() })
}

/// Returns entries that were put into the knowledge base.
fn noted(calls: &[Answered<'_>]) -> Knowledge {
    let mut known = Knowledge::default();
    for call in calls.iter().filter(|call| call.tool == "update_knowledge" && call.is_done()) {
        if let (Some(agent), Some(slot), Some(status)) =
            (call.argument("agent"), slot_of(call), call.argument("status"))
        {
            known.note(agent, slot, status);
        }
    }
    known
}

fn slot_of(call: &Answered<'_>) -> Option<Slot> {
    Some(Slot { place: call.argument("place")?, time: call.argument("time")? })
}
