//! The examples as programs: behind a pipe, in a terminal, with a model over HTTP.

use crate::kit::{Run, chat_server};

/// Returns the program of an example.
pub fn program(name: &str) -> &'static str {
    match name {
        "censorship" => env!("CARGO_BIN_EXE_censorship"),
        "consensus" => env!("CARGO_BIN_EXE_consensus"),
        "weather" => env!("CARGO_BIN_EXE_weather"),
        "trace" => env!("CARGO_BIN_EXE_trace"),
        other => panic!("there is no {other}"),
    }
}

#[test]
fn censorship_learns_and_is_right() {
    for run in [Run::piped("censorship", &[]), Run::in_terminal("censorship", &[])] {
        run.ends_with(0);
        let refused = r#"search {"ok":false,"validationResults":{"q":{"valid":false,"#;
        run.shows(&[
            r#"search {"q":"little"}"#,
            refused,
            "synonymous to little",
            r#"{"q":"minute"}"#,
            "> 302",
            "Right.",
        ]);
    }
}

#[test]
fn a_trace_is_a_tree_behind_bars_that_are_gone() {
    let run = Run::piped("trace", &[]);
    run.ends_with(0);
    run.shows(&[
        "\n  0 of 70 tart\n",
        "· cook: ",
        "└─ invoke_agent cook  ",
        "\n   ├─ execute_tool choose_wine  ",
        "\n   │  └─ invoke_agent sommelier  ",
        "\n   │     └─ chat scripted  ",
        "· message = did not run: rejected",
        "gen_ai.usage.input_tokens = 610",
    ]);
    run.lacks(&["\u{1b}", "Riesling.\"", "gen_ai.input.messages"]);
    Run::piped("trace", &["--content"]).shows(&["gen_ai.tool.call.arguments = {\"dish\":\"soup\",\"minutes\":40}"]);

    let run = Run::in_terminal("trace", &[]);
    run.ends_with(0);
    run.shows(&["  cook ━━━━━━━━━━", "\u{1b}[1A\u{1b}[J", "Dinner is served", "└─ invoke_agent cook  "]);
    run.lacks(&["0 of 70"]);
}

#[test]
fn censorship_finds_other_words() {
    let run = Run::piped("censorship", &["tardy"]);
    run.ends_with(0);
    run.shows(&[r#"search {"q":"tardy"}"#, "> 202", "Right."]);
    let run = Run::piped("censorship", &["nowhere"]);
    run.ends_with(2);
    run.shows(&["no document contains the word \"nowhere\""]);
}

#[test]
fn censorship_asks_the_model_that_is_named() {
    let search =
        r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"search","arguments":"{\"q\":\"puny\"}"}}]}"#;
    for (answer, status, expected) in [("302", 0, "Right."), ("It is 301.", 1, "Wrong: it is 302.")] {
        let (url, asked) = chat_server(vec![search.to_owned(), format!(r#"{{"content":"{answer}"}}"#)]);
        let run = Run::with(&[("OPENAI_BASE_URL", &url), ("OPENAI_MODEL", "parrot")], "censorship", &[]);
        run.ends_with(status);
        run.shows(&["(model: parrot)", r#"search {"q":"puny"}"#, answer, expected]);
        let asked = asked.join().unwrap();
        assert!(asked[0].contains("\\\"little\\\"") && asked[0].contains("Exact-match search"), "{}", asked[0]);
        assert!(asked[1].contains("diminutive puny DOC_ID: 302"), "{}", asked[1]);
    }
}

#[test]
fn consensus_comes_to_a_meeting() {
    for run in [Run::piped("consensus", &[]), Run::in_terminal("consensus", &[])] {
        run.ends_with(0);
        run.shows(&["The letters (", "SUCCESS: everybody meets at the museum in the evening."]);
        for name in ["Alice", "Bob", "Carol", "Dave"] {
            run.shows(&[&format!("  {name}: I propose we meet at museum in the evening.")]);
            run.shows(&[&format!("  {name}: I confirm: museum at evening")]);
        }
        run.shows(&["You cannot propose bar at morning based on your constraints."]);
    }
}

#[test]
fn consensus_names_the_person_whose_model_failed() {
    // Each of the four asks the model once, and receives an error.
    let (url, asked) = chat_server(vec![String::new(); 4]);
    let run = Run::with(&[("OPENAI_BASE_URL", &url), ("OPENAI_MODEL", "parrot")], "consensus", &[]);
    run.ends_with(1);
    run.shows(&["Alice's model failed: ", "Dave's model failed: ", "FAILURE: there is no meeting."]);
    let asked = asked.join().unwrap();
    let carol = asked.iter().find(|request| request.contains("You are Carol.")).expect("she has a model of her own");
    assert!(carol.contains("museum: morning: can, evening: can"), "{carol}");
}

mod real_model {
    use crate::kit::real_model::{calls, say, sound, start, tell};

    #[test]
    #[ignore = "needs a model"]
    fn weather() {
        let mut desk = start("weather");
        let shown = say(&mut desk, "How warm is Oslo in July?");
        sound(&shown);
        let called = calls(&shown, "get_climate");
        tell("weather: it called get_climate", !called.is_empty());
        tell("weather: for Oslo in July", called.iter().any(|call| call.contains("Oslo") && call.contains('7')));
        let text: String = shown.lines().filter(|line| !line.starts_with('·')).collect();
        tell("weather: it says 17", text.contains("17"));
        tell("weather: it called no more than twice", called.len() <= 2);
        let shown = say(&mut desk, "And Paris in January, in Fahrenheit?");
        sound(&shown);
        tell("weather: the next prompt led to a call with `fahrenheit`", shown.contains("fahrenheit"));
    }
}
