//! The examples as they are started: behind a pipe, in a terminal, with a model over HTTP.

#![cfg(unix)]
mod kit;

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
