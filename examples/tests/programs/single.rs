//! Tests of examples that are one process: behind a pipe, in a terminal, with a model over HTTP.

use crate::kit::{Run, chat_server};

/// Returns the program of an example.
pub fn program(name: &str) -> &'static str {
    match name {
        "censorship" => env!("CARGO_BIN_EXE_censorship"),
        "consensus" => env!("CARGO_BIN_EXE_consensus"),
        "weather" => env!("CARGO_BIN_EXE_weather"),
        "trace" => env!("CARGO_BIN_EXE_trace"),
        other => panic!("there is no example {other}"),
    }
}

#[test]
fn censorship_learns_from_refusals_and_finds_the_document() {
    for run in [Run::piped("censorship", &[]), Run::in_terminal("censorship", &[])] {
        run.assert_status(0);
        let refused = "search The call was rejected. Correct these problems and call again:";
        run.assert_shows(&[
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
fn trace_replaces_its_progress_bars_by_a_tree() {
    let run = Run::piped("trace", &[]);
    run.assert_status(0);
    run.assert_shows(&[
        "\n  0 of 70 tart\n",
        "· cook: ",
        "└─ invoke_agent cook  ",
        "\n   ├─ execute_tool choose_wine  ",
        "\n   │  └─ invoke_agent sommelier  ",
        "\n   │     └─ chat scripted  ",
        "· message = the arguments were rejected; the call did not run",
        "gen_ai.usage.input_tokens = 610",
    ]);
    run.assert_lacks(&["\u{1b}", "Riesling.\"", "gen_ai.input.messages"]);
    Run::piped("trace", &["--content"])
        .assert_shows(&["gen_ai.tool.call.arguments = {\"dish\":\"soup\",\"minutes\":40}"]);

    let run = Run::in_terminal("trace", &[]);
    run.assert_status(0);
    run.assert_shows(&["  cook ━━━━━━━━━━", "\u{1b}[1A\u{1b}[J", "Dinner is served", "└─ invoke_agent cook  "]);
    run.assert_lacks(&["0 of 70"]);
}

#[test]
fn censorship_finds_other_words() {
    let run = Run::piped("censorship", &["tardy"]);
    run.assert_status(0);
    run.assert_shows(&[r#"search {"q":"tardy"}"#, "> 202", "Right."]);
    let run = Run::piped("censorship", &["nowhere"]);
    run.assert_status(2);
    run.assert_shows(&["no document contains the word \"nowhere\""]);
}

#[test]
fn censorship_uses_the_configured_model() {
    let search =
        r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"search","arguments":"{\"q\":\"puny\"}"}}]}"#;
    for (answer, status, expected) in [("302", 0, "Right."), ("It is 301.", 1, "Wrong: it is 302.")] {
        let (url, asked) = chat_server(&[search.to_owned(), format!(r#"{{"content":"{answer}"}}"#)]);
        let run = Run::with(&[("OPENAI_BASE_URL", &url), ("OPENAI_MODEL", "parrot")], "censorship", &[]);
        run.assert_status(status);
        run.assert_shows(&["(model: parrot)", r#"search {"q":"puny"}"#, answer, expected]);
        let asked = asked.join().unwrap();
        assert!(asked[0].contains("\\\"little\\\"") && asked[0].contains("Exact-match search"), "{}", asked[0]);
        assert!(asked[1].contains("diminutive puny DOC_ID: 302"), "{}", asked[1]);
    }
}

#[test]
fn consensus_agrees_on_a_meeting() {
    for run in [Run::piped("consensus", &[]), Run::in_terminal("consensus", &[])] {
        run.assert_status(0);
        run.assert_shows(&["The letters (", "SUCCESS: everybody meets at the museum in the evening."]);
        for name in ["Alice", "Bob", "Carol", "Dave"] {
            run.assert_shows(&[&format!("  {name}: I propose we meet at museum in the evening.")]);
            run.assert_shows(&[&format!("  {name}: I confirm: museum at evening")]);
        }
        run.assert_shows(&["You cannot propose bar at morning based on your constraints."]);
    }
}

#[test]
fn consensus_names_the_person_whose_model_failed() {
    // Each of the four asks the model once, and receives an error.
    let (url, asked) = chat_server(&[const { String::new() }; 4]);
    let run = Run::with(&[("OPENAI_BASE_URL", &url), ("OPENAI_MODEL", "parrot")], "consensus", &[]);
    run.assert_status(1);
    run.assert_shows(&["Alice's model failed: ", "Dave's model failed: ", "FAILURE: there is no meeting."]);
    let asked = asked.join().unwrap();
    let carol = asked.iter().find(|request| request.contains("You are Carol.")).expect("Carol has a model of her own");
    assert!(carol.contains("museum: morning: can, evening: can"), "{carol}");
}

mod real_model {
    use crate::kit::real_model::{assert_sound, calls, report, say, start};

    #[test]
    #[ignore = "needs a model"]
    fn weather_answers_with_a_real_model() {
        let mut session = start("weather");
        let shown = say(&mut session, "How warm is Oslo in July?");
        assert_sound(&shown);
        let called = calls(&shown, "get_climate");
        report("weather: the model called get_climate", !called.is_empty());
        report(
            "weather: a call was for Oslo in July",
            called.iter().any(|call| call.contains("Oslo") && call.contains('7')),
        );
        let text: String = shown.lines().filter(|line| !line.starts_with('·')).collect();
        report("weather: the answer contains 17", text.contains("17"));
        report("weather: the model called at most twice", called.len() <= 2);
        let shown = say(&mut session, "And Cairo in January?");
        assert_sound(&shown);
        let called = calls(&shown, "get_climate");
        report("weather: the next prompt led to a call for Cairo", called.iter().any(|call| call.contains("Cairo")));
    }
}
