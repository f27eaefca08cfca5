//! What is shown, a line at a time; in a terminal with what runs below it.

mod live;
mod refused;

use std::{
    io::Write,
    sync::{Mutex, MutexGuard, PoisonError},
};

use live::Live;
use tool_runtime::agent::Event;
use tool_runtime::feedback::{escape, one_line};
use tool_runtime::run::CallResult;

/// Where text goes. A terminal that has gone away is no reason to stop a run, so errors of writing are ignored.
pub(super) struct Screen {
    state: Mutex<State>,
}

struct State {
    output: Box<dyn Write + Send>,
    /// Whether the last line is not ended yet.
    open: bool,
    live: Live,
    /// What came while a question is open, where the person types below it.
    held: Option<String>,
}

impl Screen {
    /// `is_terminal` says whether what was written can be written over.
    pub(super) fn new(output: impl Write + Send + 'static, is_terminal: bool) -> Self {
        let state = State { output: Box::new(output), open: false, live: Live::new(is_terminal), held: None };
        Self { state: Mutex::new(state) }
    }

    /// A line of its own.
    pub(super) fn line(&self, line: &str) {
        self.lock().line(line);
    }

    /// Ends the line, if it is not.
    pub(super) fn end_line(&self) {
        self.lock().end_line();
    }

    /// A question; the answer follows on the same line. Until what is given back is dropped, nothing is shown that would get
    /// in the way of who types.
    pub(super) fn ask(&self, question: &str) -> Asking<'_> {
        let mut state = self.lock();
        state.clear();
        state.end_line();
        state.write(question);
        state.open = false;
        if state.live.is_on() {
            state.held = Some(String::new());
        }
        Asking { screen: self, is_answered: false }
    }

    /// Something that happened in a run.
    pub(super) fn event(&self, event: Event<'_>) {
        let mut state = self.lock();
        match event {
            Event::Text(text) => {
                state.clear();
                state.write(&escape(text));
                state.draw();
            }
            Event::StepFailed { error, again: true } => {
                state.line(&format!("! {}; what it said does not count, asking again", one_line(error)));
            }
            Event::CallStarted(call) => {
                // Line breaks in accepted arguments are white space: those in texts are written out.
                let arguments = call.arguments().text.replace(['\n', '\r', '\t'], " ");
                state.line(&format!("· {} {}", one_line(&call.name), one_line(&arguments)));
                state.live.started(call);
            }
            Event::CallProgress(progress) => {
                if let Some(line) = state.live.came(progress) {
                    state.line(&line);
                } else if state.live.is_due() {
                    state.clear();
                    state.draw();
                }
            }
            Event::CallFinished { call, result, .. } => {
                state.clear();
                state.live.ended(&call.id);
                if !result.is_success() {
                    state.failed(&call.name, result, &call.arguments().text, call.attempts > 0);
                }
                state.draw();
            }
            Event::RunPaused(_) => {
                state.clear();
                state.live.over();
            }
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that is open.
pub(super) struct Asking<'a> {
    screen: &'a Screen,
    is_answered: bool,
}

impl Asking<'_> {
    /// The person has ended the line.
    pub(super) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut state = self.screen.lock();
        let held = state.held.take();
        if !self.is_answered && held.is_some() {
            state.write("\n");
        }
        state.write(&held.unwrap_or_default());
        state.draw();
    }
}

impl State {
    fn line(&mut self, line: &str) {
        self.clear();
        self.end_line();
        self.write(line);
        self.write("\n");
        self.draw();
    }

    fn failed(&mut self, name: &str, result: &CallResult, arguments: &str, started: bool) {
        let told = match result {
            CallResult::Rejected { feedback } => refused::told(feedback, arguments),
            other => format!(": {}", other.for_people(name, started)),
        };
        let mut start = format!("· {}", one_line(name));
        for line in told.lines() {
            self.line(&format!("{start}{}", one_line(line)));
            start = "  ".to_owned();
        }
    }

    fn write(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.open = !text.ends_with('\n');
        match &mut self.held {
            Some(held) => held.push_str(text),
            None => self.put(text),
        }
    }

    fn put(&mut self, text: &str) {
        let _ = self.output.write_all(text.as_bytes()).and_then(|()| self.output.flush());
    }

    fn end_line(&mut self) {
        if self.open {
            self.write("\n");
        }
    }

    /// Takes what runs off the screen.
    fn clear(&mut self) {
        if let Some(codes) = self.live.clear() {
            self.put(&codes);
        }
    }

    /// Puts it there again, unless it would get in the way of an open line.
    fn draw(&mut self) {
        if self.open || self.held.is_some() {
            return;
        }
        if let Some(codes) = self.live.draw() {
            self.put(&codes);
        }
    }
}
