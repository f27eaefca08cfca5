//! Measurements of the answers to wrong calls: see the README.

mod answers;
mod make;
mod tools;

use std::{env, fs, process::ExitCode};

use answers::Case;

/// The sample that the repository keeps.
const SAMPLE: &str = include_str!("../data/wrong.jsonl");

const USAGE: &str = "usage: tool-evals ours [FILE.jsonl] | tool-evals make SEED COUNT";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["ours"] => ours(SAMPLE).await,
        ["ours", file] => match fs::read_to_string(file) {
            Ok(text) => ours(&text).await,
            Err(error) => fail(&format!("{file}: {error}")),
        },
        ["make", seed, count] => match (seed.parse(), count.parse()) {
            (Ok(seed), Ok(count)) => {
                print!("{}", write(&make::cases(seed, count)));
                ExitCode::SUCCESS
            }
            _ => fail(USAGE),
        },
        _ => fail(USAGE),
    }
}

fn fail(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::FAILURE
}

/// Prints the targets for our answers to the cases in `text`. Fails when one is missed.
async fn ours(text: &str) -> ExitCode {
    let cases = match read(text) {
        Ok(cases) => cases,
        Err(error) => return fail(&format!("a case cannot be read: {error}")),
    };
    let targets = answers::measure(&cases).await;
    for target in &targets {
        println!("{target}");
    }
    if targets.iter().all(answers::Target::is_met) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Reads cases, one a line.
fn read(text: &str) -> serde_json::Result<Vec<Case>> {
    text.lines().map(serde_json::from_str).collect()
}

/// Writes cases, one a line.
fn write(cases: &[Case]) -> String {
    cases.iter().map(|case| format!("{}\n", serde_json::json!(case))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_sample_meets_each_target() {
        let targets = answers::measure(&read(SAMPLE).expect("the sample is readable")).await;
        let missed: Vec<String> = targets.iter().filter(|target| !target.is_met()).map(ToString::to_string).collect();
        assert!(missed.is_empty(), "{}", missed.join("\n"));
    }

    #[test]
    fn the_sample_is_that_of_its_seed() {
        let made = write(&make::cases(1, 300));
        let differs = made.lines().zip(SAMPLE.lines()).find(|(made, kept)| made != kept);
        assert_eq!((differs, made.lines().count()), (None, SAMPLE.lines().count()));
    }

    #[tokio::test]
    async fn a_large_sample_of_another_seed_has_no_wrong_call_that_runs() {
        let cases = make::cases(2, 3000);
        let targets = answers::measure(&cases).await;
        assert!(cases.len() == 3000 && targets.iter().all(answers::Target::is_met), "{targets:?}");
    }
}
