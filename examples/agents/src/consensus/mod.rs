//! Four agents that have to agree on a place and a time, each with its own model, tools and knowledge base.
//!
//! None knows when the others can come. They talk by mail, and run at the same time. A tool refuses what its agent cannot
//! say by what it knows, and tells why; so an agent cannot confirm a meeting that somebody cannot come to.

mod knowledge;
mod mail;
mod meeting;
mod rules;
mod run;
mod slot;
mod tools;
mod word;

pub use knowledge::{Knowledge, Status};
pub use mail::{Letter, Mail};
pub use meeting::{Meeting, Seat};
pub use rules::rules;
pub use run::{Outcome, meet, tools};
pub use slot::{Person, Place, Slot, Time};
pub use tools::{GaveUp, Heard, confirm, give_up, propose, reject, update_knowledge};
pub use word::Word;

/// Returns whether `person` can come to `slot`: Alice not to the bar in the morning, Bob only in the evening,
/// Carol only to the museum, Dave always.
pub fn constraints(person: Person, slot: Slot) -> bool {
    match person {
        Person::Alice => slot != Slot { place: Place::Bar, time: Time::Morning },
        Person::Bob => slot.time == Time::Evening,
        Person::Carol => slot.place == Place::Museum,
        Person::Dave => true,
    }
}
