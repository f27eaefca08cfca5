//! The wrong calls of `tests/wrong_calls.txt`, with the answers of the desk. `BLESS=1` writes them anew.

use std::{env, fs};

use serde_json::{Value, json};

use crate::{Fixture, with};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wrong_calls.txt");

#[tokio::test]
async fn each_wrong_call_has_its_answer() {
    let text = fs::read_to_string(FILE).unwrap();
    let (mut principal, mut right) = (None, (String::new(), json!({})));
    let mut answered = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with("  ")) {
        answered.push(line.to_owned());
        match line.split_once(' ').unwrap_or_default() {
            ("as", customer) => principal = Some(customer),
            ("right", call) => {
                let (tool, arguments) = call.split_once(' ').unwrap();
                right = (tool.to_owned(), serde_json::from_str::<Value>(arguments).unwrap());
                let done = Fixture::new().call_for(principal, &right.0, right.1.clone()).await;
                assert!(done.is_ok(), "{line}\n{done:?}");
            }
            ("with", changes) => {
                let desk = Fixture::new();
                let before = desk.books();
                let arguments = with(right.1.clone(), serde_json::from_str(changes).unwrap());
                let answer = desk.call_for(principal, &right.0, arguments).await.expect_err(line);
                assert_eq!(desk.books(), before, "{line} changes the data");
                let problems = answer.lines().filter(|line| !line.ends_with(": ok"));
                answered.extend(problems.map(|problem| format!("  {problem}")));
            }
            _ => {}
        }
    }
    if env::var_os("BLESS").is_some() {
        fs::write(FILE, answered.join("\n") + "\n").unwrap();
        return;
    }
    for (line, (known, now)) in text.lines().zip(&answered).enumerate() {
        assert_eq!(known, now, "line {} of wrong_calls.txt", line + 1);
    }
    assert_eq!(text.lines().count(), answered.len());
}

#[test]
fn the_readme_has_the_first_answer() {
    let (calls, readme) = (fs::read_to_string(FILE).unwrap(), include_str!("../../../README.md"));
    let lines = calls.lines().skip_while(|line| !line.starts_with("  ")).take_while(|line| line.starts_with("  "));
    let answer: Vec<&str> = lines.map(str::trim_start).collect();
    assert!(answer.len() > 5 && readme.contains(&answer.join("\n")), "{}", answer.join("\n"));
}
