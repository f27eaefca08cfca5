//! The examples as they are started: behind a pipe, in a terminal, with a model over HTTP.

#![cfg(unix)]
mod kit;

use std::net::TcpListener;

use kit::{Run, chat_server};

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
fn the_airline_books_what_there_is() {
    let lines = "book a flight from berlin for 4 people\nnew york\n3\n2\n1\ny\nmy bookings\ncancel a booking\n1\ny\n";
    let run = Run::typed("airline", lines);
    run.ends_with(0);
    run.shows(&[
        r#"book_flight {"departure":"berlin","passengers":4} asks for arrival, date"#,
        "“berlin” is understood as Berlin.",
        "Nothing is possible for date with departure: Berlin, arrival: New York, passengers: 4: no flight has 4 free seats.",
        "1. 2026-12-03 – Thursday, 3 December",
        r#"Book 2 seat(s) from "Berlin" to "New York" on "2026-12-03"?"#,
        "TA201-1",
        "Booking TA201-1 is cancelled, 820 euros are paid back.",
    ]);
}

/// An approval at the airline's desk.
fn at_an_approval() -> kit::Sitting {
    let mut desk = Run::sitting(&[], "airline", &[]);
    for line in ["book a flight from berlin for 2 people", "new york", "1"] {
        desk.sees("\n> ");
        desk.types(line);
    }
    desk
}

#[test]
fn ctrl_c_stops_what_runs_and_the_conversation_goes_on() {
    let mut desk = at_an_approval();
    desk.sees("Allow it? [y]es, [n]o, [e]dit: ");
    desk.interrupts();
    desk.sees("(stopped; Ctrl-C again ends the conversation)");
    desk.sees("\n> ");
    desk.types("my bookings");
    desk.sees("my_bookings {}");
    desk.sees("\n> ");
    desk.interrupts();
    desk.sees("(Ctrl-C again ends the conversation)");
    desk.interrupts();
    let (status, screen) = desk.ends();
    assert_eq!(status, Some(0), "{screen}");
    assert!(!screen.contains("TA201-1"), "nothing was booked: {screen}");
}

#[test]
fn ctrl_c_stops_a_model_that_does_not_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let mut desk = Run::sitting(&[("OPENAI_BASE_URL", &url), ("OPENAI_MODEL", "mute")], "airline", &[]);
    desk.sees("\n> ");
    desk.types("hello?");
    // Once the model is asked, somebody connects.
    let asked = listener.accept().unwrap();
    desk.interrupts();
    desk.sees("(stopped;");
    desk.sees("\n> ");
    desk.interrupts();
    let (status, screen) = desk.ends();
    assert_eq!(status, Some(0), "{screen}");
    drop(asked);
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
    for (answer, status, said) in [("302", 0, "Right."), ("It is 301.", 1, "Wrong: it is 302.")] {
        let (url, asked) = chat_server(vec![search.to_owned(), format!(r#"{{"content":"{answer}"}}"#)]);
        let run = Run::with(&[("OPENAI_BASE_URL", &url), ("OPENAI_MODEL", "parrot")], "censorship", &[]);
        run.ends_with(status);
        run.shows(&["(model: parrot)", r#"search {"q":"puny"}"#, answer, said]);
        let asked = asked.join().unwrap();
        assert!(asked[0].contains("\\\"little\\\"") && asked[0].contains("Exact-match search"), "{}", asked[0]);
        assert!(asked[1].contains("diminutive puny DOC_ID: 302"), "{}", asked[1]);
    }
}

#[test]
fn consensus_comes_to_a_meeting() {
    for run in [Run::piped("consensus", &[]), Run::in_terminal("consensus", &[])] {
        run.ends_with(0);
        run.shows(&["What was said (", "SUCCESS: everybody meets at the museum in the evening."]);
        for name in ["Alice", "Bob", "Carol", "Dave"] {
            run.shows(&[&format!("  {name}: I propose we meet at museum in the evening.")]);
            run.shows(&[&format!("  {name}: I confirm: museum at evening")]);
        }
        run.shows(&["You cannot propose bar at morning based on your constraints."]);
    }
}

#[test]
fn consensus_says_whose_model_failed() {
    // Each of the four asks once, and is answered with an error.
    let (url, asked) = chat_server(vec![String::new(); 4]);
    let run = Run::with(&[("OPENAI_BASE_URL", &url), ("OPENAI_MODEL", "parrot")], "consensus", &[]);
    run.ends_with(1);
    run.shows(&["Alice's model failed: ", "Dave's model failed: ", "FAILURE: there is no meeting."]);
    let asked = asked.join().unwrap();
    let carol = asked.iter().find(|request| request.contains("You are Carol.")).expect("she has a model of her own");
    assert!(carol.contains("museum: morning: can, evening: can"), "{carol}");
}
