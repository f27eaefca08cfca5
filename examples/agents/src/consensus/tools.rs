//! Tools of an agent.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_runtime::{Rejection, feedback::Report, tool};

use super::{
    knowledge::Status,
    mail::Letter,
    meeting::Seat,
    slot::{Person, Place, Slot, Time},
    word::{Word, names},
};

/// What came in.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Heard {
    /// What the others said.
    pub messages: Vec<Letter>,
}

/// Note in your knowledge base whether somebody can come.
#[tool(effect = write, idempotent, allow(undescribed))]
pub fn update_knowledge(
    /// Who it is about.
    agent: Option<Person>,
    place: Option<Place>,
    time: Option<Time>,
    status: Option<Status>,
    #[state] seat: &Seat,
) -> Result<(), Rejection> {
    let (Some(agent), Some(place), Some(time), Some(status)) = (agent, place, time, status) else {
        let reports = [given("agent", agent.is_some(), "Agent"), given("place", place.is_some(), "Place")];
        let more = [given("time", time.is_some(), "Time"), given("status", status.is_some(), "Status")];
        return Err(Rejection::reported(Vec::new(), reports.into_iter().chain(more).collect()));
    };
    seat.knowledge().note(agent, Slot { place, time }, status);
    Ok(())
}

/// Propose to meet at a place and time, to all others. Gives back what they said since, after waiting a moment for it.
#[tool(effect = write, allow(undescribed))]
pub async fn propose(place: Option<Place>, time: Option<Time>, #[state] seat: &Seat) -> Result<Heard, Rejection> {
    let slot = both(place, time)?;
    check(seat, slot, "propose")?;
    seat.meeting.mail.send(seat.me, Word::Propose(slot).to_string());
    Ok(Heard { messages: seat.meeting.mail.wait(seat.me, seat.patience).await })
}

/// Confirm a place and time, once you know that everybody can come. It is final.
#[tool(effect = write, allow(undescribed))]
pub fn confirm(place: Option<Place>, time: Option<Time>, #[state] seat: &Seat) -> Result<(), Rejection> {
    let slot = both(place, time)?;
    check(seat, slot, "confirm")?;
    let unknown = seat.knowledge().those(slot, None);
    if !unknown.is_empty() {
        let problem = format!("Cannot confirm: You don't know if {} can attend {slot}.", names(&unknown));
        let hint = "Propose it first and wait for responses to update your knowledge";
        return Err(Rejection::from_message(problem).instruct(hint));
    }
    seat.meeting.confirm(seat.me, slot);
    seat.meeting.mail.send(seat.me, Word::Confirm(slot).to_string());
    Ok(())
}

/// Tell all others that you cannot come to a place at a time.
#[tool(effect = write, allow(undescribed))]
pub fn reject(place: Option<Place>, time: Option<Time>, #[state] seat: &Seat) -> Result<(), Rejection> {
    let slot = both(place, time)?;
    seat.meeting.mail.send(seat.me, Word::Reject(slot).to_string());
    Ok(())
}

/// Give up, when there is no place and time at which everybody can come. It is final, and for everybody.
#[tool(effect = write, allow(undescribed))]
pub fn give_up(#[state] seat: &Seat) -> Result<(), GaveUp> {
    seat.meeting.mail.send(seat.me, Word::GiveUp.to_string());
    if seat.meeting.give_up(seat.me) { Err(GaveUp(seat.me)) } else { Ok(()) }
}

/// A participant gave up, as the first: the meeting has failed.
#[derive(Debug)]
pub struct GaveUp(Person);

impl fmt::Display for GaveUp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} gave up", self.0)
    }
}

/// Returns whether this agent may say `what` of `slot`, by all that it knows.
fn check(seat: &Seat, slot: Slot, what: &str) -> Result<(), Rejection> {
    let cannot = seat.knowledge().those(slot, Some(Status::Cannot));
    if cannot.contains(&seat.me) {
        return Err(Rejection::from_message(format!("You cannot {what} {slot} based on your constraints.")));
    }
    if !cannot.is_empty() {
        let who = names(&cannot);
        let problem = format!("Cannot {what}: {who} cannot attend {slot} according to your knowledge base.");
        return Err(Rejection::from_message(problem));
    }
    Ok(())
}

fn both(place: Option<Place>, time: Option<Time>) -> Result<Slot, Rejection> {
    if let (Some(place), Some(time)) = (place, time) {
        return Ok(Slot { place, time });
    }
    let reports = vec![given("place", place.is_some(), "Place"), given("time", time.is_some(), "Time")];
    Err(Rejection::reported(Vec::new(), reports).and("Both 'place' and 'time' are required"))
}

/// Returns the problem of a missing parameter.
fn given(name: &str, is_given: bool, title: &str) -> (String, Report) {
    let report = if is_given { Report::accepted() } else { Report::refused(format!("{title} is required")) };
    (name.to_owned(), report)
}
