//! A search with a policy that denies some words and suggests what to do instead.
//!
//! `cargo run -p examples --bin censorship [WORD]`
//!
//! Without a configured model, a small embedded one searches; the tool's feedback leads it to the answer. The exit
//! status is 0 if the answer is right.

use std::process::ExitCode;

use clap::Parser;
use example_agents::censorship::{Library, agent, question, searcher};
use examples::Transcript;

/// Finds the number of the document that contains a word.
#[derive(Parser)]
struct Cli {
    /// The word.
    #[arg(default_value = "little")]
    word: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Cli { word } = Cli::parse();
    let library = Library::default();
    let Some(right) = library.id_of(&word).map(str::to_owned) else {
        eprintln!("no document contains the word {word:?}");
        return ExitCode::from(2);
    };
    let model = examples::model_or(searcher());
    let transcript = Transcript::of("agent");
    transcript.heard(&question(&word));
    match agent(model, library).observer(transcript).run(question(&word)).await {
        Ok(reply) if reply.text.trim() == right => {
            println!("Right.");
            ExitCode::SUCCESS
        }
        Ok(_) => {
            println!("Wrong: it is {right}.");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
