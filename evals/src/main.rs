//! Measurements of the answers to wrong calls: see the README.

mod answers;
mod lenient;
mod make;
mod model;
mod peers;
mod random;
mod real;
mod report;
mod tools;
mod variants;

use std::{env, fs, path::Path, process::ExitCode};

use answers::Case;

/// The sample that the repository keeps.
const SAMPLE: &str = include_str!("../data/wrong.jsonl");

/// Calls from a data set, with the requests of people.
const REAL_SAMPLE: &str = include_str!("../data/real.jsonl");

const USAGE: &str = "usage:
  tool-evals ours [CASES.jsonl]                                  measures the answers
  tool-evals lenient CASES.jsonl                                 counts the wrong calls of the own tools that `lenient` reads
  tool-evals make SEED COUNT                                     writes wrong calls of the own tools
  tool-evals make-real BFCL.jsonl SEED COUNT                     writes wrong calls from a data set
  tool-evals make-dynamic BFCL.jsonl SEED COUNT                  writes such calls with a dynamic parameter
  tool-evals model URL CASES.jsonl RESULTS.jsonl COUNT [VARIANT ..]  asks a model at URL, such as http://127.0.0.1:8091/v1
  tool-evals report CASES.jsonl RESULTS.jsonl [VARIANT]               prints what the model did
  tool-evals peers DIRECTORY                                     compares with the answers that peers/run has written";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["ours"] => both(ours(SAMPLE).await, ours(REAL_SAMPLE).await),
        ["lenient", file] => {
            let measure = async |text: String| {
                let cases = read(&text).map_err(|error| format!("a case cannot be read: {error}"))?;
                println!("{}", lenient::measure(&cases).await);
                Ok(ExitCode::SUCCESS)
            };
            with_file(file, measure).await
        }
        ["ours", file] => with_file(file, async |text| Ok(ours(&text).await)).await,
        ["make", seed, count] => match (seed.parse(), count.parse()) {
            (Ok(seed), Ok(count)) => {
                print!("{}", write(&make::cases(seed, count)));
                ExitCode::SUCCESS
            }
            _ => fail(USAGE),
        },
        ["make-dynamic", file, seed, count] => match (seed.parse(), count.parse()) {
            (Ok(seed), Ok(count)) => {
                let make = async |records: String| {
                    print!("{}", write(&real::dynamic_cases(&records, seed, count).await?));
                    Ok(ExitCode::SUCCESS)
                };
                with_file(file, make).await
            }
            _ => fail(USAGE),
        },
        ["make-real", file, seed, count] => match (seed.parse(), count.parse()) {
            (Ok(seed), Ok(count)) => {
                let make = async |records: String| {
                    print!("{}", write(&real::cases(&records, seed, count).await?));
                    Ok(ExitCode::SUCCESS)
                };
                with_file(file, make).await
            }
            _ => fail(USAGE),
        },
        ["model", url, file, results, count, ref wanted @ ..] => match count.parse::<usize>() {
            Ok(count) if wanted.iter().all(|variant| variants::VARIANTS.contains(variant)) => {
                let wanted = if wanted.is_empty() { &variants::VARIANTS[..6] } else { wanted };
                let name = env::var("MODEL").unwrap_or_else(|_| "any".to_owned());
                let calls = match env::var("CALLS_IN_TEXT").as_deref() {
                    Ok("1") => model::Calls::InText,
                    _ => model::Calls::InProtocol,
                };
                let ask = async |text: String| {
                    let cases = read(&text).map_err(|error| format!("a case cannot be read: {error}"))?;
                    let cases = &cases[..count.min(cases.len())];
                    model::ask(url, &name, calls, cases, wanted, Path::new(results)).await?;
                    Ok(ExitCode::SUCCESS)
                };
                with_file(file, ask).await
            }
            _ => fail(USAGE),
        },
        ["report", file, results, ref base @ ..] if base.len() <= 1 => {
            let base = base.first().copied().unwrap_or(variants::DEFAULT);
            let report = async |text: String| {
                let cases = read(&text).map_err(|error| format!("a case cannot be read: {error}"))?;
                let answered = fs::read_to_string(results).map_err(|error| format!("{results}: {error}"))?;
                print!("{}", report::table(&cases, &model::read(answered.as_bytes())?, base));
                Ok(ExitCode::SUCCESS)
            };
            with_file(file, report).await
        }
        ["peers", directory] => match read(SAMPLE) {
            Ok(cases) => match peers::table(&cases, Path::new(directory)).await {
                Ok(table) => {
                    print!("{table}");
                    ExitCode::SUCCESS
                }
                Err(error) => fail(&error),
            },
            Err(error) => fail(&format!("a case cannot be read: {error}")),
        },
        _ => fail(USAGE),
    }
}

/// Calls `work` with the text of a file, and reports its error.
async fn with_file(file: &str, work: impl AsyncFnOnce(String) -> Result<ExitCode, String>) -> ExitCode {
    let done = match fs::read_to_string(file) {
        Ok(text) => work(text).await,
        Err(error) => Err(format!("{file}: {error}")),
    };
    done.unwrap_or_else(|error| fail(&error))
}

fn both(one: ExitCode, other: ExitCode) -> ExitCode {
    if one == ExitCode::SUCCESS { other } else { one }
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
        for (sample, calls) in [(SAMPLE, 300), (REAL_SAMPLE, 300)] {
            let cases = read(sample).expect("the sample is readable");
            let targets = answers::measure(&cases).await;
            let missed: Vec<String> =
                targets.iter().filter(|target| !target.is_met()).map(ToString::to_string).collect();
            assert!(missed.is_empty() && cases.len() == calls, "{} cases: {}", cases.len(), missed.join("\n"));
        }
    }

    /// A value is read only if it has one meaning. An item for a list of several is the one that is read otherwise.
    #[tokio::test]
    async fn what_is_read_in_another_form_is_what_was_meant() {
        let cases = read(SAMPLE).expect("the sample is readable");
        let readings = lenient::measure(&cases).await;
        assert_eq!((readings.as_meant > 10, readings.as_meant + readings.otherwise + readings.rejected), (true, 300));
        let (items, others): (Vec<_>, Vec<_>) =
            cases.into_iter().partition(|case| case.mistakes.iter().any(|mistake| mistake.class == "item-for-array"));
        assert_eq!(lenient::measure(&others).await.otherwise, 0);
        assert_eq!(lenient::measure(&items).await.otherwise, readings.otherwise);
    }

    /// The variants of an answer are parts of it, and differ where their names say so.
    #[tokio::test]
    async fn variants_of_an_answer_differ_in_one_part() {
        let cases = read(SAMPLE).expect("the sample is readable");
        let case = &cases[3];
        let tools = case.tools(&tools::all());
        let mut texts = std::collections::HashMap::new();
        for variant in variants::VARIANTS {
            texts.insert(variant, variants::text(variant, &tools, case).await.expect("it has an answer"));
        }
        assert_eq!(
            texts["types"],
            "The call was rejected. Correct these problems and call again:\n\
             size: expected one of \"small\", \"medium\", \"large\", got \"whatever fits\"\n\
             tip: expected a number or null, got \"a few\"\n\
             Call it like this: {\"name\": \"order_pizza\", \"arguments\": {\"size\": \"<small|medium|large>\", \
             \"toppings\": [\"<string>\"], \"address\": {\"city\": \"<string>\", \"street\": \"<string>\"}, \"tip\": <number>}}"
        );
        let form = texts["default"].lines().last().expect("it has lines");
        assert_eq!(
            form,
            "Call it like this: {\"name\": \"order_pizza\", \"arguments\": {\"size\": \"<small|medium|large>\", \
             \"toppings\": [\"vidunsha\",\"fiduntun\",\"melviolo\"], \"address\": {\"city\":\"melrotun\",\"street\":\"bremelqui\"}, \
             \"tip\": <number>}}"
        );
        let lines = |variant: &str| texts[variant].lines().count();
        let counts = ["sentence", "problems", "form", "first", "plain", "unlisted"].map(lines);
        assert_eq!(counts, [3, 2, 2, 3, 4, 4]);
        assert!(texts["unlisted"].contains("size: expected another value, got"), "{}", texts["unlisted"]);
    }

    /// A call counts by its values, as the data set allows them.
    #[test]
    fn a_next_call_is_judged_by_its_values() {
        let cases = read(REAL_SAMPLE).expect("the sample is readable");
        let case = &cases[0];
        let judge = |text: &str| model::judge(case, text);
        let right = "Sure:\n```json\n{\"name\": \"math_hypot\", \"arguments\": {\"x\": 4.0, \"y\": 5}}\n```";
        assert_eq!(judge(right), model::Outcome::Right);
        assert_eq!(judge(r#"{"name": "math_hypot", "arguments": {"x": 4, "y": 5, "z": 0}}"#), model::Outcome::Right);
        assert_eq!(judge(r#"{"name": "math_hypot", "arguments": {"x": "a few"}}"#), model::Outcome::Repeated);
        for other in [
            r#"{"name": "math_hypot", "arguments": {"x": 4}}"#,
            r#"{"name": "hypot", "arguments": {"x": 4, "y": 5}}"#,
            "4",
        ] {
            assert_eq!(judge(other), model::Outcome::Other, "{other}");
        }
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
