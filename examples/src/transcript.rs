//! A conversation as it is shown.

use std::{
    io::Write as _,
    sync::{Mutex, PoisonError},
};

use tool_runtime::{
    Part,
    agent::{Event, Observer},
    feedback::{escape, one_line},
    run::{Call, CallResult},
};

/// Shows what an agent says and does, and what its tools tell it, on standard output. Nobody is asked anything.
///
/// Each line begins with the agent's name and is written at once, so several agents can talk at a time.
#[derive(Debug)]
pub struct Transcript {
    name: String,
    /// The text of the model's turn so far.
    said: Mutex<String>,
}

impl Transcript {
    /// A transcript of the agent called `name`.
    pub fn of(name: impl Into<String>) -> Self {
        Self { name: name.into(), said: Mutex::default() }
    }

    /// Shows a message to the agent.
    pub fn heard(&self, text: &str) {
        self.lines("<", text);
    }

    fn lines(&self, sign: &str, text: &str) {
        let mut out = std::io::stdout().lock();
        for line in escape(text).lines() {
            // Nobody reads any more? That is no reason to stop.
            let _ = writeln!(out, "{} {sign} {line}", self.name);
        }
        let _ = out.flush();
    }

    fn call(&self, call: &Call) {
        self.lines("·", &format!("{} {}", one_line(&call.name), one_line(&call.arguments().text)));
    }

    fn result(&self, call: &Call, result: &CallResult) {
        let told = result.for_model(&call.name, call.attempts > 0);
        let told: Vec<&str> = told.iter().filter_map(Part::as_text).collect();
        let (sign, told) = match result.is_success() {
            // The output of a tool that has none.
            true if told == ["null"] => ("  =", "done".to_owned()),
            true => ("  =", told.join("\n")),
            false => ("  !", told.join("\n")),
        };
        self.lines(sign, &format!("{} {told}", one_line(&call.name)));
    }
}

impl Observer for Transcript {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::Text(text) => self.said.lock().unwrap_or_else(PoisonError::into_inner).push_str(text),
            Event::StepFinished { .. } => {
                let said = std::mem::take(&mut *self.said.lock().unwrap_or_else(PoisonError::into_inner));
                self.lines(">", &said);
            }
            Event::CallStarted(call) => self.call(call),
            Event::CallFinished { call, result, .. } => {
                if call.attempts == 0 {
                    self.call(call);
                }
                self.result(call, result);
            }
            _ => {}
        }
    }
}
