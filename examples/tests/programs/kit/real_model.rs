//! The examples with a real language model behind the chat completions protocol: `scripts/real-model URL [MODEL]`. It runs only
//! by hand, because models are slow and unpredictable. It fails only because of our side, and prints what the model did.

use std::{env, time::Duration};

use super::{Run, Sitting};

const APPROVAL: &str = "Allow it? [y]es, [n]o, [e]dit: ";
const PROMPT: &str = "\n> ";

/// Sends a line, waits for the model's answer, and approves its calls. Returns the screen.
pub(crate) fn say(desk: &mut Sitting, line: &str) -> String {
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

pub(crate) fn start(program: &str) -> Sitting {
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

/// Prints whether a check succeeded.
pub(crate) fn tell(what: &str, held: bool) {
    println!("{} {what}", if held { "held  " } else { "MISSED" });
}

/// Asserts what must hold for any answer of the model: the adapter understands it, and the program continues.
pub(crate) fn sound(shown: &str) {
    println!("{}", shown.trim().replace('\r', ""));
    assert!(!shown.contains("! the model failed"), "the turn failed");
    assert!(!shown.contains("panicked"), "something panicked");
}

/// Returns the calls of a tool, including refused ones.
pub(crate) fn calls<'a>(shown: &'a str, tool: &str) -> Vec<&'a str> {
    let call = |line: &str| line.strip_prefix("· ")?.strip_prefix(tool)?.starts_with([' ', ':']).then_some(());
    shown.lines().filter(|line| call(line).is_some()).collect()
}
