//! The agents at work, all at the same time.

use std::{sync::Arc, time::Duration};

use futures_util::{TryFutureExt, future::join_all};
use tool_runtime::{Agent, AgentError, Toolset, toolset};

use super::{
    knowledge::Knowledge,
    mail::Letter,
    meeting::{Meeting, Seat},
    slot::{Person, Slot},
    tools::{confirm, give_up, propose, reject, update_knowledge},
    word::names,
};

/// The number of times that an agent looks for mail before it is sent home.
const ROUNDS: usize = 40;

/// The result of a meeting.
#[derive(Debug)]
pub struct Outcome {
    /// The place and time that everybody confirmed.
    pub agreed: Option<Slot>,
    /// The people who gave up.
    pub gave_up: Vec<Person>,
    /// All letters, oldest first.
    pub letters: Vec<Letter>,
    /// Each agent's knowledge at the end, for people to read.
    pub knowledge: Vec<String>,
    /// Whose model failed.
    pub failures: Vec<(Person, AgentError)>,
}

/// The tools of the agent who sits at `seat`.
pub fn tools(seat: Arc<Seat>) -> Toolset {
    toolset!(seat; update_knowledge, propose, confirm, reject, give_up)
}

/// Lets everybody meet, each with the agent that `agent` gives them. `can` says who can come where and when, and `patience`
/// how long they wait for mail.
pub async fn meet(agent: impl Fn(Person) -> Agent, can: impl Fn(Person, Slot) -> bool, patience: Duration) -> Outcome {
    let meeting = Arc::new(Meeting::default());
    let seats = Person::ALL.map(|me| {
        let knowledge = Knowledge::of(me, |slot| can(me, slot));
        Arc::new(Seat::new(me, knowledge, Arc::clone(&meeting), patience))
    });
    let tasks = seats.iter().map(|seat| {
        let agent = agent(seat.me).instructions(instructions(seat));
        let tools = tools(Arc::clone(seat));
        attend(agent.tools(tools), seat).inspect_err(|_| seat.meeting.break_off())
    });
    let ends = join_all(tasks).await;
    Outcome {
        agreed: meeting.agreed(),
        gave_up: meeting.gave_up(),
        letters: meeting.mail.sent(),
        knowledge: seats.iter().map(|seat| seat.written()).collect(),
        failures: Person::ALL.into_iter().zip(ends).filter_map(|(me, end)| Some((me, end.err()?))).collect(),
    }
}

/// Runs an agent until it has confirmed, or somebody gave up. Between its turns it receives its mail.
async fn attend(agent: Agent, seat: &Seat) -> Result<(), AgentError> {
    let mut session = agent.session();
    let mut prompt = "Find a place and a time at which everybody can come.".to_owned();
    for _ in 0..ROUNDS {
        session.send(prompt).await?;
        if seat.is_done() {
            break;
        }
        let letters = seat.meeting.mail.wait(seat.me, seat.patience).await;
        let lines: Vec<String> = letters.iter().map(|letter| format!("{}: {}", letter.from, letter.content)).collect();
        prompt = if lines.is_empty() { "There is no new mail.".to_owned() } else { lines.join("\n") };
    }
    Ok(())
}

fn instructions(seat: &Seat) -> String {
    let others: Vec<Person> = Person::ALL.into_iter().filter(|person| *person != seat.me).collect();
    format!(
        "You are {}. You have to agree with {} on a place and a time to meet. Nobody knows when the others can come.\n\n\
         - Propose a place and a time at which you can come. The others hear it.\n\
         - When you hear a proposal of another, answer it: propose the same if you can come, else reject it.\n\
         - Whoever proposes or confirms something can come; whoever rejects it cannot. Note it with update_knowledge.\n\
         - As soon as you know of a place and a time at which everybody can come, confirm it. That ends your work.\n\
         - Give up only if your knowledge base says that there is none.\n\
         - When you have to wait for the others, say so in a few words. You will be told what they say.\n\n{}",
        seat.me,
        names(&others),
        seat.written()
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tool_runtime::model::{FunctionModel, Model, ModelError, ModelErrorKind};

    use super::*;
    use crate::consensus::{constraints, rules};

    /// Longer than any test takes: what works waits for mail that comes.
    const PATIENCE: Duration = Duration::from_mins(1);

    async fn met(can: impl Fn(Person, Slot) -> bool) -> Outcome {
        let outcome = meet(|me| Agent::new(rules(me)), can, PATIENCE).await;
        assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
        outcome
    }

    #[tokio::test]
    async fn they_agree_on_the_museum_in_the_evening() {
        let outcome = met(constraints).await;
        let slot = outcome.agreed.expect("there is one");
        assert_eq!(slot.to_string(), "museum at evening");
        assert!(outcome.gave_up.is_empty());
        for me in Person::ALL {
            let said = |content: &str| outcome.letters.iter().any(|one| one.from == me && one.content == content);
            assert!(
                said("I propose we meet at museum in the evening.") && said("I confirm: museum at evening"),
                "{me}"
            );
        }
        for known in &outcome.knowledge {
            let can = known.lines().filter(|line| line.contains("museum: ") && line.ends_with("evening: can"));
            assert_eq!(can.count(), 4, "{known}");
        }
    }

    #[tokio::test]
    async fn they_give_up_where_there_is_nothing() {
        let outcome = met(|me, slot| me != Person::Carol && constraints(me, slot)).await;
        assert_eq!(outcome.agreed, None);
        assert!(!outcome.gave_up.is_empty());
    }

    #[tokio::test]
    async fn one_whose_model_fails_ends_it_for_all() {
        let model = |me| -> Box<dyn Model> {
            let broken = || ModelError::new(ModelErrorKind::Unavailable, "down");
            if me == Person::Dave { Box::new(FunctionModel::new(move |_| broken())) } else { Box::new(rules(me)) }
        };
        let outcome = meet(|me| Agent::new(model(me)), constraints, Duration::from_millis(50)).await;
        assert_eq!((outcome.agreed, outcome.failures.len()), (None, 1));
        assert_eq!(outcome.failures[0].0, Person::Dave);
        assert!(outcome.gave_up.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// Runs a meeting with rules for models: agents find the first slot at which all can, or give up.
        #[test]
        fn agents_find_a_common_slot_or_give_up(table in any::<[[bool; 4]; 4]>()) {
            let place = |slot| Slot::all().position(|known| known == slot).unwrap();
            let can = |me: Person, slot| table[me as usize][place(slot)];
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
            let outcome = runtime.block_on(met(can));
            let first = Slot::all().find(|slot| Person::ALL.into_iter().all(|me| can(me, *slot)));
            prop_assert_eq!(outcome.agreed, first);
            prop_assert_eq!(outcome.gave_up.is_empty(), first.is_some());
        }
    }
}
