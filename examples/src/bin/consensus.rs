//! Four agents that agree on a place and a time to meet.
//!
//! `cargo run -p examples --bin consensus`
//!
//! Without a configured model, each agent follows rules. The exit status is 0 if they agree.

use std::{process::ExitCode, sync::Arc, time::Duration};

use example_agents::consensus::{Outcome, Person, Slot, constraints, meet, rules};
use examples::Transcript;
use tool_runtime::{Agent, feedback::one_line, model::Model};

#[tokio::main]
async fn main() -> ExitCode {
    let named: Option<Arc<dyn Model>> = examples::named_model().map(Arc::from);
    let model = |me: Person| named.clone().unwrap_or_else(|| Arc::new(rules(me)));
    let patience = Duration::from_secs(2);
    let agent = |me| Agent::new(model(me)).observer(Transcript::of(format!("{me:<5}")));
    let outcome = meet(agent, constraints, patience).await;
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
