//! The screen: it shows texts and calls line by line. In a terminal, bars of running calls are below them.

use std::{
    io::Write,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;

use tool_runtime::agent::Event;
use tool_runtime::feedback::{Rejection, Report, escape, one_line};
use tool_runtime::run::{Call, CallId, CallResult};
use tool_runtime::tool::Progress;
use tool_schema::feedback::excerpt;

/// The width of a bar, in characters.
const BAR_WIDTH: usize = 20;

/// The maximum number of bars.
const MAX_BARS: usize = 8;

/// The maximum length of a shown preliminary output, in characters.
const MAX_EXCERPT: usize = 100;

/// The minimum time between redraws for progress reports. A report within this time appears with the next redraw, or never.
const MIN_REDRAW_INTERVAL: Duration = Duration::from_millis(30);

/// The screen. It ignores write errors, because a closed terminal must not stop a run.
pub struct Screen {
    state: Mutex<State>,
}

struct State {
    output: Box<dyn Write + Send>,
    /// Set if the last line is not ended yet.
    is_line_open: bool,
    running: RunningCalls,
    /// The text that has arrived while a question is open in a terminal. The screen shows the text after the answer, so that it
    /// does not disturb the typing.
    buffered: Option<String>,
}

impl Screen {
    /// Creates a screen. `is_terminal` is set if output can be overwritten.
    pub fn new(output: impl Write + Send + 'static, is_terminal: bool) -> Self {
        let state = State {
            output: Box::new(output),
            is_line_open: false,
            running: RunningCalls::new(is_terminal),
            buffered: None,
        };
        Self { state: Mutex::new(state) }
    }

    /// Writes a separate line.
    pub fn write_line(&self, line: &str) {
        self.lock().write_line(line);
    }

    /// Ends the current line, if it is open.
    pub fn end_line(&self) {
        self.lock().end_line();
    }

    /// Writes a question. The answer follows on the same line. In a terminal, the screen holds back all other output until the
    /// returned guard is dropped.
    pub fn ask(&self, question: &str) -> OpenQuestion<'_> {
        let mut state = self.lock();
        state.clear();
        state.end_line();
        state.write(question);
        state.is_line_open = false;
        if state.running.draws_bars() {
            state.buffered = Some(String::new());
        }
        OpenQuestion { screen: self, is_answered: false }
    }

    /// Shows an event of a run.
    pub fn show_event(&self, event: Event<'_>) {
        let mut state = self.lock();
        match event {
            Event::Text(text) => {
                state.clear();
                state.write(&escape(text));
                state.draw();
            }
            Event::TurnFailed { error, again: true } => {
                state.write_line(&format!(
                    "! {}; the model is asked again, and its partial answer is dropped",
                    one_line(error)
                ));
            }
            Event::CallStarted(call) => {
                // A line break in accepted arguments is white space between values: inside strings, JSON escapes it.
                let arguments = call.arguments().text.replace(['\n', '\r', '\t'], " ");
                state.write_line(&format!("· {} {}", one_line(&call.name), one_line(&arguments)));
                state.running.start(call);
            }
            Event::CallProgress(progress) => {
                if let Some(line) = state.running.report(progress) {
                    state.write_line(&line);
                } else if state.running.is_due() {
                    state.clear();
                    state.draw();
                }
            }
            Event::CallEnded { call, result, .. } => {
                state.clear();
                state.running.end(&call.id);
                if !result.is_success() {
                    state.write_failure(call, result);
                }
                state.draw();
            }
            Event::RunAtRest(_) => {
                state.clear();
                state.running.end_all();
            }
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open question.
pub struct OpenQuestion<'a> {
    screen: &'a Screen,
    is_answered: bool,
}

impl OpenQuestion<'_> {
    /// Ends the question after the person has ended the line.
    pub fn end(mut self) {
        self.is_answered = true;
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let mut state = self.screen.lock();
        let buffered = state.buffered.take();
        if !self.is_answered && buffered.is_some() {
            state.write("\n");
        }
        state.write(&buffered.unwrap_or_default());
        state.draw();
    }
}

impl State {
    fn write_line(&mut self, line: &str) {
        self.clear();
        self.end_line();
        self.write(line);
        self.write("\n");
        self.draw();
    }

    fn write_failure(&mut self, call: &Call, result: &CallResult) {
        let name = &call.name;
        let text = match result {
            CallResult::Rejected { feedback } => describe_rejection(feedback, &call.arguments().text),
            other => format!(": {}", other.for_people(name, call.extent())),
        };
        let mut start = format!("· {}", one_line(name));
        for line in text.lines() {
            self.write_line(&format!("{start}{}", one_line(line)));
            start = "  ".to_owned();
        }
    }

    fn write(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.is_line_open = !text.ends_with('\n');
        match &mut self.buffered {
            Some(buffered) => buffered.push_str(text),
            None => self.write_now(text),
        }
    }

    fn write_now(&mut self, text: &str) {
        let _ = self.output.write_all(text.as_bytes()).and_then(|()| self.output.flush());
    }

    fn end_line(&mut self) {
        if self.is_line_open {
            self.write("\n");
        }
    }

    /// Removes the bars from the screen.
    fn clear(&mut self) {
        if let Some(codes) = self.running.clear() {
            self.write_now(&codes);
        }
    }

    /// Draws the bars, unless a line or a question is open.
    fn draw(&mut self) {
        if self.is_line_open || self.buffered.is_some() {
            return;
        }
        if let Some(codes) = self.running.draw() {
            self.write_now(&codes);
        }
    }
}

/// Returns the part of a rejection that the person sees: the problems of the given values, or the names of missing parameters.
/// The model receives the whole rejection, and explains it in its own words.
fn describe_rejection(feedback: &Rejection, arguments: &str) -> String {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let is_given = |name: &str| {
        let inside = || arguments.pointer(&format!("/{}", name.replace('.', "/")));
        arguments.get(name).or_else(inside).is_some()
    };
    let refused: Vec<_> = feedback.reports().filter(|(_, report)| !report.is_valid()).collect();
    let is_judged = |report: &Report| report.rejected.as_ref().is_some_and(|reasons| reasons.required().is_empty());
    let wrong = refused.iter().filter(|(name, report)| is_given(name) && is_judged(report));
    let wrong: Vec<_> = wrong.map(|(name, report)| ((*name).to_owned(), (*report).clone())).collect();
    match (feedback.problems().is_empty() && !refused.is_empty(), wrong.is_empty()) {
        (true, true) => {
            let asked = refused.iter().map(|(name, _)| *name).filter(|name| !is_given(name));
            format!(" {arguments} still needs {}", asked.collect::<Vec<_>>().join(", "))
        }
        (_, false) => format!(": {}", Rejection::reported(feedback.problems().to_vec(), wrong)),
        (false, true) => format!(": {feedback}"),
    }
}

/// The running calls, in the order of their starts.
pub struct RunningCalls {
    is_terminal: bool,
    calls: Vec<RunningCall>,
    /// The number of lines that are drawn.
    drawn_lines: usize,
    last_draw: Option<Instant>,
}

struct RunningCall {
    id: CallId,
    name: String,
    progress: Option<Progress>,
    /// The last progress line: the completed tenths, and the message.
    last_line: Option<(Option<u8>, String)>,
}

impl RunningCalls {
    pub fn new(is_terminal: bool) -> Self {
        Self { is_terminal, calls: Vec::new(), drawn_lines: 0, last_draw: None }
    }

    pub fn draws_bars(&self) -> bool {
        self.is_terminal
    }

    pub fn start(&mut self, call: &Call) {
        self.end(&call.id);
        self.calls.push(RunningCall {
            id: call.id.clone(),
            name: one_line(&call.name),
            progress: None,
            last_line: None,
        });
    }

    /// Receives a call's progress. Returns the line to write, if any.
    pub fn report(&mut self, progress: &Progress) -> Option<String> {
        let is_terminal = self.is_terminal;
        let call = self.calls.iter_mut().find(|call| call.id.as_str() == progress.call_id)?;
        call.progress = Some(progress.clone());
        if is_terminal {
            return None;
        }
        // A tool may report often. If the total is known, only another tenth or another message makes a line.
        let message = message_of(progress);
        let tenth = fraction(progress).map(tenth);
        if call
            .last_line
            .as_ref()
            .is_some_and(|(shown, before)| *shown == tenth && *before == message && tenth.is_some())
        {
            return None;
        }
        let total = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let is_output = progress.preliminary.is_some() && progress.message.is_none();
        let line = if is_output { format!("  {message}") } else { format!("  {}{total} {message}", progress.done) };
        call.last_line = Some((tenth, message));
        Some(line)
    }

    /// Returns whether the bars should be redrawn.
    pub fn is_due(&self) -> bool {
        self.is_terminal && self.last_draw.is_none_or(|last_draw| last_draw.elapsed() >= MIN_REDRAW_INTERVAL)
    }

    pub fn end(&mut self, call: &CallId) {
        self.calls.retain(|known| known.id != *call);
    }

    pub fn end_all(&mut self) {
        self.calls.clear();
    }

    /// Returns the control codes that remove the bars.
    pub fn clear(&mut self) -> Option<String> {
        let drawn_lines = std::mem::take(&mut self.drawn_lines);
        (drawn_lines > 0).then(|| format!("\r\u{1b}[{drawn_lines}A\u{1b}[J"))
    }

    /// Returns the control codes that draw the bars. The terminal cuts each at its edge, so that a bar is one line.
    pub fn draw(&mut self) -> Option<String> {
        if !self.is_terminal || self.drawn_lines > 0 {
            return None;
        }
        let reporting: Vec<_> = self.calls.iter().filter_map(|call| Some((call, call.progress.as_ref()?))).collect();
        if reporting.is_empty() {
            return None;
        }
        let more = reporting.len().saturating_sub(MAX_BARS);
        let mut lines: Vec<String> =
            reporting.iter().take(MAX_BARS).map(|(call, progress)| render_bar(&call.name, progress)).collect();
        if more > 0 {
            lines.push(format!("  and {more} more"));
        }
        self.drawn_lines = lines.len();
        self.last_draw = Some(Instant::now());
        Some(format!("\u{1b}[?7l{}\n\u{1b}[?7h", lines.join("\n")))
    }
}

/// Returns the completed fraction, from 0 to 1, if it is known.
fn fraction(progress: &Progress) -> Option<f64> {
    let total = progress.total.filter(|total| *total > 0.0)?;
    Some((progress.done / total).clamp(0.0, 1.0)).filter(|done| !done.is_nan())
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to 10")]
fn tenth(fraction: f64) -> u8 {
    (fraction * 10.0) as u8
}

/// Returns the message of a call's progress, or its preliminary output.
fn message_of(progress: &Progress) -> String {
    match (&progress.message, &progress.preliminary) {
        (Some(message), _) => one_line(message),
        (None, Some(output)) => one_line(&excerpt(&output.to_string(), MAX_EXCERPT)),
        (None, None) => String::new(),
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "small numbers"
)]
fn render_bar(name: &str, progress: &Progress) -> String {
    let message = message_of(progress);
    match fraction(progress) {
        Some(done) => {
            let full = (done * BAR_WIDTH as f64).round() as usize;
            let (full, rest) = ("━".repeat(full), "─".repeat(BAR_WIDTH - full));
            format!("  {name} {full}{rest} {:3.0} % {message}", done * 100.0)
        }
        None if progress.preliminary.is_some() && progress.message.is_none() => format!("  {name} … {message}"),
        None => format!("  {name} … {} {message}", progress.done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(done: f64, total: Option<f64>, message: &str) -> Progress {
        let mut progress = Progress::new("c", done, total);
        progress.message = Some(message.into());
        progress
    }

    fn running(is_terminal: bool) -> RunningCalls {
        let mut running = RunningCalls::new(is_terminal);
        running.calls.push(RunningCall { id: "c".into(), name: "t".into(), progress: None, last_line: None });
        running
    }

    #[test]
    fn the_length_of_a_bar_is_the_completed_part() {
        assert_eq!(render_bar("t", &progress(5.0, Some(20.0), "x")), "  t ━━━━━─────────────── \u{20}25 % x");
        assert_eq!(render_bar("t", &progress(9.0, Some(3.0), "x")), "  t ━━━━━━━━━━━━━━━━━━━━ 100 % x");
        for odd in
            [progress(f64::NAN, Some(1.0), "x"), progress(1.0, Some(f64::NAN), "x"), progress(1.0, Some(0.0), "x")]
        {
            assert!(render_bar("t", &odd).starts_with("  t … "), "{odd:?}");
        }
    }

    #[test]
    fn bars_are_drawn_and_removed() {
        let mut running = running(true);
        assert_eq!((running.draw(), running.clear()), (None, None), "a call without progress has no bar");
        assert_eq!(running.report(&progress(1.0, Some(2.0), "a")), None);
        let drawn = running.draw().unwrap();
        assert!(drawn.starts_with("\u{1b}[?7l  t ━") && drawn.ends_with("a\n\u{1b}[?7h"), "{drawn:?}");
        assert!(!running.is_due(), "a redraw at once is not due");
        assert_eq!(running.clear().unwrap(), "\r\u{1b}[1A\u{1b}[J");
        running.end(&"c".into());
        assert_eq!(running.draw(), None);
    }

    #[test]
    fn a_line_is_written_only_for_new_progress() {
        let mut running = running(false);
        let lines: Vec<_> =
            (0..1000).filter_map(|done| running.report(&progress(f64::from(done), Some(1000.0), "a"))).collect();
        assert_eq!(lines.len(), 10, "{lines:?}");
        assert_eq!(lines[1], "  100 of 1000 a");
        assert_eq!(running.report(&progress(999.0, Some(1000.0), "b")).as_deref(), Some("  999 of 1000 b"));
        let mut output = Progress::new("c", 0.0, None);
        output.preliminary = Some(serde_json::json!({"a": 1}));
        assert_eq!(running.report(&output).as_deref(), Some("  {\"a\":1}"));
    }
}
