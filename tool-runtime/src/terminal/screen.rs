//! Lines in and lines out.

use std::{
    io::{self, BufRead, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

use crate::agent::Event;
use crate::feedback::{Rejection, Report, escape, one_line};
use crate::run::CallResult;

/// Where text goes. A terminal that has gone away is no reason to stop a run, so errors of writing are ignored.
pub(super) struct Screen {
    state: Mutex<State>,
}

struct State {
    output: Box<dyn Write + Send>,
    /// Whether the last line is not ended yet.
    open: bool,
}

impl Screen {
    pub(super) fn new(output: impl Write + Send + 'static) -> Self {
        Self { state: Mutex::new(State { output: Box::new(output), open: false }) }
    }

    /// A line of its own.
    pub(super) fn line(&self, line: &str) {
        let mut state = self.lock();
        state.end_line();
        state.write(line);
        state.write("\n");
    }

    /// Ends the line, if it is not.
    pub(super) fn end_line(&self) {
        self.lock().end_line();
    }

    /// A question; the answer follows on the same line.
    pub(super) fn prompt(&self, question: &str) {
        let mut state = self.lock();
        state.end_line();
        state.write(question);
        state.open = false;
    }

    /// Something that happened in a run.
    pub(super) fn event(&self, event: Event<'_>) {
        match event {
            Event::Text(text) => self.lock().write(&escape(text)),
            Event::CallStarted(call) => {
                // Line breaks in accepted arguments are white space: those in texts are written out.
                let arguments = call.arguments().text.replace(['\n', '\r', '\t'], " ");
                self.line(&format!("· {} {}", one_line(&call.name), one_line(&arguments)));
            }
            Event::CallProgress(progress) => {
                let total = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
                let message = progress.message.as_deref().unwrap_or_default();
                self.line(&format!("  {}{total} {}", progress.done, one_line(message)));
            }
            Event::CallFinished { call, result, .. } if !result.is_success() => {
                let told = match result {
                    CallResult::Rejected { feedback } => refused(feedback, &call.arguments().text),
                    other => format!(": {}", other.for_people(&call.name, call.attempts > 0)),
                };
                let mut start = format!("· {}", one_line(&call.name));
                for line in told.lines() {
                    self.line(&format!("{start}{}", one_line(line)));
                    start = "  ".to_owned();
                }
            }
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn write(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let _ = self.output.write_all(text.as_bytes()).and_then(|()| self.output.flush());
        self.open = !text.ends_with('\n');
    }

    fn end_line(&mut self) {
        if self.open {
            self.write("\n");
        }
    }
}

/// What a person sees of a refusal: what is wrong with what was given, or else what the tool asks for. The model is told
/// the rest, and says it in its own words.
fn refused(feedback: &Rejection, arguments: &str) -> String {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let given = |name: &str| {
        let inside = || name.split('.').try_fold(&arguments, |value, step| value.get(step));
        arguments.get(name).or_else(inside).is_some()
    };
    let refused: Vec<_> = feedback.reports().iter().filter(|(_, report)| !report.is_valid()).collect();
    let judged = |report: &Report| report.refused.as_ref().is_some_and(|reasons| reasons.required().is_empty());
    let wrong = refused.iter().filter(|(name, report)| given(name) && judged(report));
    let wrong: Vec<_> = wrong.map(|report| (*report).clone()).collect();
    match (feedback.problems().is_empty() && !refused.is_empty(), wrong.is_empty()) {
        (true, true) => {
            let asked = refused.iter().map(|(name, _)| &**name).filter(|name| !given(name));
            format!(" {arguments} asks for {}", asked.collect::<Vec<_>>().join(", "))
        }
        (_, false) => format!(": {}", Rejection::distinct(feedback.problems().to_vec(), wrong)),
        (false, true) => format!(": {feedback}"),
    }
}

/// Where lines come from.
pub(super) struct Input {
    reader: Arc<Mutex<dyn BufRead + Send>>,
}

impl Input {
    pub(super) fn new(reader: impl BufRead + Send + 'static) -> Self {
        Self { reader: Arc::new(Mutex::new(reader)) }
    }

    /// The next line without its end; `None` when there is none.
    pub(super) async fn line(&mut self) -> io::Result<Option<String>> {
        let reader = Arc::clone(&self.reader);
        let read = move || {
            let mut line = Vec::new();
            let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
            let length = reader.read_until(b'\n', &mut line)?;
            // A byte that is no text is no reason to end a conversation.
            let line = String::from_utf8_lossy(&line);
            Ok((length > 0).then(|| line.trim_end_matches(['\n', '\r']).to_owned()))
        };
        tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}
