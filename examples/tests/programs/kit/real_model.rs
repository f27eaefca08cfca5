//! Helpers that run examples with a real language model behind the chat completions protocol: `scripts/real-model URL [MODEL]`.
//!
//! These tests run only by hand, because models are slow and unpredictable. They fail if the program fails, and print whether the
//! model succeeded.

use std::{env, time::Duration};

use super::{Run, TerminalSession};

const APPROVAL: &str = "Allow it? [y]es, [n]o, [e]dit: ";
const PROMPT: &str = "\n> ";

/// Sends a line, waits for the model's answer, and approves its calls. Returns the screen.
pub(crate) fn say(session: &mut TerminalSession, line: &str) -> String {
    session.type_line(line);
    let mut shown = String::new();
    loop {
        let (which, text) = session.wait_for_first(&[APPROVAL, PROMPT], patience());
        shown.push_str(&text);
        if which == 1 {
            return shown;
        }
        shown.push_str("(allowed)\n");
        session.type_line("y");
    }
}

fn patience() -> Duration {
    let seconds = env::var("REAL_MODEL_PATIENCE").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(600))
}

pub(crate) fn start(program: &str) -> TerminalSession {
    let var = |name: &str, from: &str| env::var(from).ok().map(|value| (name.to_owned(), value));
    let vars = [
        var("OPENAI_BASE_URL", "REAL_MODEL_URL"),
        var("OPENAI_MODEL", "REAL_MODEL"),
        var("OPENAI_API_KEY", "OPENAI_API_KEY"),
    ];
    let vars: Vec<_> = vars.iter().flatten().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert!(vars.len() >= 2, "`scripts/real-model URL` runs this test");
    let mut session = Run::start_in_terminal(&vars, program, &[]);
    session.wait_for_first(&[PROMPT], patience());
    session
}

/// Prints whether a check succeeded.
pub(crate) fn report(check: &str, held: bool) {
    println!("{} {check}", if held { "held  " } else { "MISSED" });
}

/// Asserts that the adapter has read the model's answer, and the program continues.
pub(crate) fn assert_sound(shown: &str) {
    println!("{}", shown.trim().replace('\r', ""));
    assert!(!shown.contains("! the model failed"), "the turn failed");
    assert!(!shown.contains("panicked"), "the program panicked");
}

/// Returns the calls of a tool, including refused ones.
pub(crate) fn calls<'a>(shown: &'a str, tool: &str) -> Vec<&'a str> {
    let call = |line: &str| line.strip_prefix("· ")?.strip_prefix(tool)?.starts_with([' ', ':']).then_some(());
    shown.lines().filter(|line| call(line).is_some()).collect()
}
