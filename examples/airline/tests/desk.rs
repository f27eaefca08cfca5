//! Tests of the airline's desk as a program: behind a pipe, in a terminal, with a model over HTTP.

#![cfg(unix)]
#[path = "../../tests/programs/kit/mod.rs"]
mod kit;

use std::net::TcpListener;

use kit::Run;

/// Returns the program of an example.
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
    run.assert_status(0);
    run.assert_shows(&[
        r#"book_flight {"departure":"berlin","passengers":4} still needs arrival, date"#,
        "“berlin” is understood as Berlin.",
        "Nothing is possible for date with departure: Berlin, arrival: New York, passengers: 4: no flight has 4 free seats.",
        "1. 2026-12-03 – Thursday, 3 December",
        r#"Book 2 seat(s) from "Berlin" to "New York" on "2026-12-03"?"#,
        "TA201-1",
        "Booking TA201-1 is cancelled, 820 euros are paid back.",
    ]);
}

/// Starts the desk in a terminal, and continues to the question about an approval.
fn at_an_approval() -> kit::TerminalSession {
    let mut desk = Run::start_in_terminal(&[], "airline", &[]);
    for line in ["book a flight from berlin for 2 people", "new york", "1"] {
        desk.wait_for("\n> ");
        desk.type_line(line);
    }
    desk
}

#[test]
fn ctrl_c_stops_the_run_and_the_conversation_continues() {
    let mut desk = at_an_approval();
    desk.wait_for("Allow it? [y]es, [n]o, [e]dit: ");
    desk.press_ctrl_c();
    desk.wait_for("(stopped; Ctrl-C again ends the conversation)");
    desk.wait_for("\n> ");
    desk.type_line("my bookings");
    desk.wait_for("my_bookings {}");
    desk.wait_for("\n> ");
    desk.press_ctrl_c();
    desk.wait_for("(Ctrl-C again ends the conversation)");
    desk.press_ctrl_c();
    let (status, screen) = desk.wait_for_end();
    assert_eq!(status, Some(0), "{screen}");
    assert!(!screen.contains("TA201-1"), "nothing was booked: {screen}");
}

#[test]
fn ctrl_c_stops_a_model_that_does_not_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let mut desk = Run::start_in_terminal(&[("OPENAI_BASE_URL", &url), ("OPENAI_MODEL", "mute")], "airline", &[]);
    desk.wait_for("\n> ");
    desk.type_line("hello?");
    // The program connects when it asks the model.
    let asked = listener.accept().unwrap();
    desk.press_ctrl_c();
    desk.wait_for("(stopped;");
    desk.wait_for("\n> ");
    desk.press_ctrl_c();
    let (status, screen) = desk.wait_for_end();
    assert_eq!(status, Some(0), "{screen}");
    drop(asked);
}

mod real_model {
    use crate::kit::real_model::{assert_sound, calls, report, say, start};

    #[test]
    #[ignore = "needs a model"]
    fn airline() {
        let mut desk = start("airline");
        let shown = say(&mut desk, "Book a flight from Berlin to London for 2 people.");
        assert_sound(&shown);
        report("airline: it called book_flight", !calls(&shown, "book_flight").is_empty());
        let mut booked = shown.contains("(allowed)");
        report("airline: it asked, or told what there is", booked || shown.contains("2026-12-"));
        if !booked {
            // A day that the desk has offered.
            let day = shown
                .match_indices("2026-12-")
                .next()
                .map_or("2026-12-05", |(at, _)| shown.get(at..at + 10).unwrap_or("2026-12-05"));
            let shown = say(&mut desk, &format!("On {day}, please. Berlin to London, 2 people."));
            assert_sound(&shown);
            booked = shown.contains("(allowed)");
        }
        report("airline: a booking was asked for, and allowed", booked);
        let shown = say(&mut desk, "Show my bookings.");
        assert_sound(&shown);
        report("airline: it called my_bookings", !calls(&shown, "my_bookings").is_empty());
        desk.type_line("exit");
        let (status, _) = desk.wait_for_end();
        assert_eq!(status, Some(0));
    }
}
