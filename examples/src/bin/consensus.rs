//! Four agents that agree on a place and a time to meet.
//!
//! `cargo run -p examples --bin consensus`
//!
//! Without a configured model, each agent goes by rules. The exit status says whether they agreed.

use std::{process::ExitCode, sync::Arc, time::Duration};

use example_agents::consensus::{Outcome, Person, Slot, constraints, meet, rules};
use examples::Transcript;
use tool_runtime::{feedback::one_line, model::Model};

#[tokio::main]
async fn main() -> ExitCode {
    let named: Option<Arc<dyn Model>> = examples::named_model().map(Arc::from);
    let model = |me: Person| named.clone().unwrap_or_else(|| Arc::new(rules(me)));
    let patience = Duration::from_secs(2);
    let outcome = meet(model, |me| Transcript::of(format!("{me:<5}")), constraints, patience).await;
    summary(&outcome);
    if outcome.agreed.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn summary(outcome: &Outcome) {
    println!("\nWhat was said ({} messages):", outcome.letters.len());
    for letter in &outcome.letters {
        println!("  {}: {}", letter.from, one_line(&letter.content));
    }
    for (person, error) in &outcome.failures {
        println!("{person}'s model failed: {}", one_line(&error.to_string()));
    }
    match outcome.agreed {
        Some(Slot { place, time }) => println!("\nSUCCESS: everybody meets at the {place} in the {time}."),
        None => {
            for (person, knowledge) in Person::ALL.into_iter().zip(&outcome.knowledge) {
                if outcome.gave_up.contains(&person) {
                    println!("\n{knowledge}");
                }
            }
            println!("\nFAILURE: there is no meeting.");
        }
    }
}

#[cfg(test)]
mod tests {
    use example_agents::consensus::{Knowledge, Meeting, Seat, tools};

    use super::*;

    fn seat() -> Arc<Seat> {
        Arc::new(Seat::new(Person::Bob, Knowledge::default(), Arc::new(Meeting::default()), Duration::ZERO))
    }

    #[test]
    fn decoder_and_schema_accept_the_same() {
        tool_tests::agreement::check(&tools(seat()), 2000);
    }

    #[test]
    fn types_are_current() {
        tool_tests::types::check("consensus", &tools(seat()));
    }
}
