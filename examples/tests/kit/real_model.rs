//! The examples with a real language model behind the chat completions protocol: `scripts/real-model URL [MODEL]`. By hand
//! only: models are slow, and no two say the same. It fails where our side is to blame, and tells what the model made of it.

use std::{env, time::Duration};

use super::{Run, Sitting};

const APPROVAL: &str = "Allow it? [y]es, [n]o, [e]dit: ";
const PROMPT: &str = "\n> ";

/// Talks until the model has answered, and allows what it wants to do. What was shown of it.
fn say(desk: &mut Sitting, line: &str) -> String {
    desk.types(line);
    let mut shown = String::new();
    loop {
        let (which, text) = desk.first(&[APPROVAL, PROMPT], patience());
        shown.push_str(&text);
        if which == 1 {
            return shown;
        }
        shown.push_str("(allowed)\n");
        desk.types("y");
    }
}

fn patience() -> Duration {
    let seconds = env::var("REAL_MODEL_PATIENCE").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(600))
}

fn start(program: &str) -> Sitting {
    let var = |name: &str, from: &str| env::var(from).ok().map(|value| (name.to_owned(), value));
    let vars = [
        var("OPENAI_BASE_URL", "REAL_MODEL_URL"),
        var("OPENAI_MODEL", "REAL_MODEL"),
        var("OPENAI_API_KEY", "OPENAI_API_KEY"),
    ];
    let vars: Vec<_> = vars.iter().flatten().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert!(vars.len() >= 2, "run it by `scripts/real-model URL`");
    let mut desk = Run::sitting(&vars, program, &[]);
    desk.first(&[PROMPT], patience());
    desk
}

/// What came of one thing.
fn tell(what: &str, held: bool) {
    println!("{} {what}", if held { "held  " } else { "MISSED" });
}

/// What must hold whatever the model says: the adapter understands it, and the program lives on.
fn sound(shown: &str) {
    println!("{}", shown.trim().replace('\r', ""));
    assert!(!shown.contains("! the model failed"), "the turn failed");
    assert!(!shown.contains("panicked"), "something panicked");
}

/// The calls of a tool, with those that were refused.
fn calls<'a>(shown: &'a str, tool: &str) -> Vec<&'a str> {
    let call = |line: &str| line.strip_prefix("· ")?.strip_prefix(tool)?.starts_with([' ', ':']).then_some(());
    shown.lines().filter(|line| call(line).is_some()).collect()
}

#[test]
#[ignore = "needs a model"]
fn weather() {
    let mut desk = start("weather");
    let shown = say(&mut desk, "How warm is Oslo in July?");
    sound(&shown);
    let called = calls(&shown, "get_climate");
    tell("weather: it called get_climate", !called.is_empty());
    tell("weather: for Oslo in July", called.iter().any(|call| call.contains("Oslo") && call.contains('7')));
    let said: String = shown.lines().filter(|line| !line.starts_with('·')).collect();
    tell("weather: it says 17", said.contains("17"));
    tell("weather: it called no more than twice", called.len() <= 2);
    let shown = say(&mut desk, "And Paris in January, in Fahrenheit?");
    sound(&shown);
    tell("weather: the next prompt led to a call with `fahrenheit`", shown.contains("fahrenheit"));
}

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
