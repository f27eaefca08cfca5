//! The desk as it is started: behind a pipe, in a terminal, with a model over HTTP.

#![cfg(unix)]
#[path = "../../tests/programs/kit/mod.rs"]
mod kit;

use std::net::TcpListener;

use kit::Run;

/// The program of an example.
fn program(name: &str) -> &'static str {
    match name {
        "airline" => env!("CARGO_BIN_EXE_airline"),
        other => panic!("there is no {other}"),
    }
}

#[test]
fn the_airline_books_available_flights() {
    let lines = "book a flight from berlin for 4 people\nnew york\n3\n2\n1\ny\nmy bookings\ncancel a booking\n1\ny\n";
    let run = Run::typed("airline", lines);
    run.ends_with(0);
    run.shows(&[
        r#"book_flight {"departure":"berlin","passengers":4} still needs arrival, date"#,
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
fn ctrl_c_stops_the_run_and_the_conversation_continues() {
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

mod real_model {
    use crate::kit::real_model::{calls, say, sound, start, tell};

    #[test]
    #[ignore = "needs a model"]
    fn airline() {
        let mut desk = start("airline");
        let shown = say(&mut desk, "Book a flight from Berlin to London for 2 people.");
        sound(&shown);
        tell("airline: it called book_flight", !calls(&shown, "book_flight").is_empty());
        let mut booked = shown.contains("(allowed)");
        tell("airline: it asked, or told what there is", booked || shown.contains("2026-12-"));
        if !booked {
            // A day that the desk has said.
            let day = shown
                .match_indices("2026-12-")
                .next()
                .map_or("2026-12-05", |(at, _)| shown.get(at..at + 10).unwrap_or("2026-12-05"));
            let shown = say(&mut desk, &format!("On {day}, please. Berlin to London, 2 people."));
            sound(&shown);
            booked = shown.contains("(allowed)");
        }
        tell("airline: a booking was asked for, and allowed", booked);
        let shown = say(&mut desk, "Show my bookings.");
        sound(&shown);
        tell("airline: it called my_bookings", !calls(&shown, "my_bookings").is_empty());
        desk.types("exit");
        let (status, _) = desk.ends();
        assert_eq!(status, Some(0));
    }
}
