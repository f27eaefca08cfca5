//! The scripted model: what it does stands in the user's last message, a line for each thing.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use futures_util::{Stream, StreamExt, stream};
use tool_runtime::{
    Message, Part,
    model::{Asked, Delta, FinishReason, ModelError, ModelErrorKind},
};

/// How many characters a piece of text has.
const PIECE: usize = 12;

/// How many pieces long texts and arguments come in: clients copy all of it for each.
const PIECES: usize = 64;

/// How long `slow` waits between words.
const PAUSE: Duration = Duration::from_millis(120);

/// What a model is told of calls that have no result. No client sent these.
const NO_RESULT: [&str; 2] =
    ["the application gave no result of the call", "the conversation holds no result of this call"];

/// One thing that the model does.
enum Step {
    Delta(Delta),
    Pause,
    Crash,
}

/// The next turn of the script, a piece at a time.
#[allow(clippy::needless_pass_by_value, reason = "a model is asked like this")]
pub(crate) fn play(asked: Asked) -> impl Stream<Item = Result<Delta, ModelError>> + Send + 'static {
    stream::iter(turn(&asked.messages)).filter_map(|step| async {
        match step {
            Step::Delta(delta) => {
                tokio::task::yield_now().await;
                Some(Ok(delta))
            }
            Step::Pause => {
                tokio::time::sleep(PAUSE).await;
                None
            }
            Step::Crash => Some(Err(ModelError::new(ModelErrorKind::Script, "the script says so"))),
        }
    })
}

fn turn(messages: &[Message]) -> Vec<Step> {
    let heard: Vec<_> = messages.iter().flat_map(heard).collect();
    let last = heard.iter().rposition(|heard| matches!(heard, Heard::Said(_)));
    let said = last.map(|at| heard[at].text()).unwrap_or_default();
    let since = last.map_or(&heard[..], |at| &heard[at + 1..]);
    let results: Vec<_> = since.iter().map(Heard::text).collect();
    let mut turn = Turn::default();
    if results.is_empty() {
        said.lines().for_each(|line| turn.line(line));
        if turn.steps.is_empty() {
            turn.say("(no script)");
        }
    } else {
        turn.say(&format!("tool results: {}", results.join(" | ")));
    }
    let finish = if turn.calls > 0 { FinishReason::ToolCalls } else { FinishReason::Stop };
    turn.steps.push(Step::Delta(Delta::Finish(finish)));
    turn.steps
}

#[derive(Default)]
struct Turn {
    steps: Vec<Step>,
    calls: usize,
}

impl Turn {
    fn line(&mut self, line: &str) {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb {
            "say" => self.say(rest),
            "slow" => {
                for piece in rest.split_inclusive(' ').flat_map(pieces) {
                    self.delta(Delta::Text(piece));
                    self.steps.push(Step::Pause);
                }
            }
            "call" | "rawcall" => {
                let (tool, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
                self.call(tool, arguments);
            }
            "crash" => self.steps.push(Step::Crash),
            _ => {}
        }
    }

    fn say(&mut self, text: &str) {
        pieces(text).for_each(|piece| self.delta(Delta::Text(piece)));
    }

    fn call(&mut self, tool: &str, arguments: &str) {
        let index = self.calls;
        self.calls += 1;
        self.delta(Delta::CallStart { index, id: new_id(), name: tool.to_owned() });
        for text in pieces(arguments) {
            self.delta(Delta::CallArguments { index, text });
        }
        self.delta(Delta::CallEnd { index });
    }

    fn delta(&mut self, delta: Delta) {
        self.steps.push(Step::Delta(delta));
    }
}

/// An id that no other call has, whatever the conversation is.
fn new_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("call_{:x}_{}", since.as_micros(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// What the model takes from a message. What several messages said may stand in one.
enum Heard {
    Said(String),
    Result(String),
}

impl Heard {
    fn text(&self) -> &str {
        match self {
            Self::Said(text) | Self::Result(text) => text,
        }
    }
}

fn heard(message: &Message) -> Vec<Heard> {
    let texts = |content: &[Part]| content.iter().filter_map(Part::as_text).map(str::to_owned).collect::<Vec<_>>();
    match message {
        Message::User { content } => texts(content).into_iter().filter_map(of_user).collect(),
        Message::Tool(answer) => {
            let text = texts(&answer.content).join("\n");
            if NO_RESULT.contains(&text.as_str()) { Vec::new() } else { vec![Heard::Result(text)] }
        }
        _ => Vec::new(),
    }
}

/// Something in a message of the user's: said, or sent along by the client.
fn of_user(text: String) -> Option<Heard> {
    const STRAY: [&str; 2] = ["Result of the call ", ", which nothing waits for, as the client sent it: "];
    if text.starts_with("Instructions, as the client sent them: ") {
        return None;
    }
    let result = text.strip_prefix(STRAY[0]).and_then(|rest| rest.split_once(STRAY[1]));
    Some(result.map(|(_, result)| Heard::Result(result.to_owned())).unwrap_or(Heard::Said(text)))
}

fn pieces(text: &str) -> impl Iterator<Item = String> + use<> {
    let all: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = all.chunks(PIECE.max(text.len() / PIECES)).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}
