//! Tests of the airline's desk as a program: behind a pipe, in a terminal, with a model over HTTP.

#![cfg(unix)]
#[path = "../../tests/programs/kit/mod.rs"]
mod kit;

use std::{fs, net::TcpListener};

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
    let lines = "search flights from Tokyo to Paris for 2 people\ncancel\n\
        book a flight from london to paris\n1\n1\n2\n1\ny\nmy bookings\ncancel a booking\nB1005\n1\ny\n";
    let run = Run::typed("airline", lines);
    run.assert_status(0);
    run.assert_shows(&[
        "Nothing is possible for date with from: Tokyo, to: Paris: no flight has 2 free seats.",
        r#"book_flights {"from":"london","to":"paris"} still needs passengers, flights, cabin, paid_bags, payments"#,
        "“london” is understood as London.",
        "  2. Mia Olsen 1988-05-04, Leo Olsen 2015-09-30",
        "  1. TA110 2026-12-02",
        "  1. card_7447 6000",
        r#"Book flights from "London" to "Paris" in "economy" for "mia_olsen"?"#,
        "bookings: B1001, B1005",
        "Booking B1005 is cancelled, 60.00 euros are paid back.",
    ]);
}

#[test]
fn a_recording_is_replayed_and_differences_end_the_program_with_an_error() {
    let folder = std::env::temp_dir().join(format!("airline-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (own, other) = (concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recording.jsonl"), folder.join("other.jsonl"));
    let run = Run::piped("airline", &["replay", own]);
    run.assert_status(0);
    run.assert_shows(&[fs::read_to_string(own).unwrap().trim_end()]);
    let line = r#"{"name":"cancel_booking","arguments":{"booking":"B1001","reason":"plans"},"outcome":{"rejected":["booking"]}}"#;
    fs::write(&other, line).unwrap();
    let run = Run::piped("airline", &["replay", other.to_str().unwrap()]);
    run.assert_status(1);
    run.assert_shows(&[
        r#""outcome":{"rejected":["reason"]}}"#,
        r#"call 1: expected {"rejected":["booking"]}, got: booking: ok"#,
        "1 of 1 outcomes differ",
    ]);
    fs::remove_dir_all(&folder).unwrap();
}

/// Starts the desk in a terminal, and continues to the question about an approval.
fn at_an_approval() -> kit::TerminalSession {
    let mut desk = Run::start_in_terminal(&[], "airline", &[]);
    for line in ["book a flight from london to paris", "1", "1", "2", "1"] {
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
    desk.wait_for("look_up_customer {");
    desk.wait_for("\n> ");
    desk.press_ctrl_c();
    desk.wait_for("(Ctrl-C again ends the conversation)");
    desk.press_ctrl_c();
    let (status, screen) = desk.wait_for_end();
    assert_eq!(status, Some(0), "{screen}");
    assert!(!screen.contains("B1005"), "nothing was booked: {screen}");
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
        let shown =
            say(&mut desk, "Book me a flight from Berlin to London in economy, only for me, Mia. My card pays.");
        assert_sound(&shown);
        report("airline: it called book_flights", !calls(&shown, "book_flights").is_empty());
        let mut booked = shown.contains("(allowed)");
        report("airline: it asked, or told what there is", booked || shown.contains("2026-12-"));
        if !booked {
            // A day that the desk has offered.
            let day = shown
                .match_indices("2026-12-")
                .next()
                .map_or("2026-12-05", |(at, _)| shown.get(at..at + 10).unwrap_or("2026-12-05"));
            let shown = say(&mut desk, &format!("On {day}, please, from Berlin to London. I am born on 1988-05-04."));
            assert_sound(&shown);
            booked = shown.contains("(allowed)");
        }
        report("airline: a booking was asked for, and allowed", booked);
        let shown = say(&mut desk, "Show my bookings.");
        assert_sound(&shown);
        report("airline: it called look_up_customer", !calls(&shown, "look_up_customer").is_empty());
        desk.type_line("exit");
        let (status, _) = desk.wait_for_end();
        assert_eq!(status, Some(0));
    }
}
