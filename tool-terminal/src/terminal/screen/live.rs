//! Calls that report how far they are: a bar for each below everything else, or lines where nothing can be written over.

use std::time::{Duration, Instant};

use tool_runtime::feedback::{excerpt, one_line};
use tool_runtime::run::{Call, CallId};
use tool_runtime::tool::Progress;

/// How wide a bar is.
const WIDTH: usize = 20;

/// How many bars are shown.
const MOST: usize = 8;

/// How much of a preliminary output is shown.
const EXCERPT: usize = 100;

/// How often bars are drawn anew, at most. The last state of a call that pauses may therefore be one that it has left.
const PAUSE: Duration = Duration::from_millis(30);

/// The calls that run, in the order in which they were started.
pub(super) struct Live {
    is_terminal: bool,
    calls: Vec<Running>,
    /// How many lines are drawn.
    drawn: usize,
    last: Option<Instant>,
}

struct Running {
    id: CallId,
    name: String,
    progress: Option<Progress>,
    /// What was told last where lines are: which tenth, and of what.
    told: Option<(Option<u8>, String)>,
}

impl Live {
    pub(super) fn new(is_terminal: bool) -> Self {
        Self { is_terminal, calls: Vec::new(), drawn: 0, last: None }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_terminal
    }

    pub(super) fn started(&mut self, call: &Call) {
        self.ended(&call.id);
        self.calls.push(Running { id: call.id.clone(), name: one_line(&call.name), progress: None, told: None });
    }

    /// A call reports: the line to be written of it, where it is to be.
    pub(super) fn came(&mut self, progress: &Progress) -> Option<String> {
        let is_terminal = self.is_terminal;
        let call = self.calls.iter_mut().find(|call| call.id.as_str() == progress.call_id)?;
        call.progress = Some(progress.clone());
        if is_terminal {
            return None;
        }
        // A line for each would be too much of a tool that reports often.
        let said = said(progress);
        let tenth = fraction(progress).map(tenth);
        if call.told.as_ref().is_some_and(|(told, before)| *told == tenth && *before == said && tenth.is_some()) {
            return None;
        }
        let total = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let is_output = progress.preliminary.is_some() && progress.message.is_none();
        let line = if is_output { format!("  {said}") } else { format!("  {}{total} {said}", progress.done) };
        call.told = Some((tenth, said));
        Some(line)
    }

    /// Whether it is time to draw the bars anew.
    pub(super) fn is_due(&self) -> bool {
        self.is_terminal && self.last.is_none_or(|last| last.elapsed() >= PAUSE)
    }

    pub(super) fn ended(&mut self, call: &CallId) {
        self.calls.retain(|known| known.id != *call);
    }

    pub(super) fn over(&mut self) {
        self.calls.clear();
    }

    /// What takes the bars off the screen.
    pub(super) fn clear(&mut self) -> Option<String> {
        let drawn = std::mem::take(&mut self.drawn);
        (drawn > 0).then(|| format!("\r\u{1b}[{drawn}A\u{1b}[J"))
    }

    /// What puts them there. Each is a line that the terminal cuts at its edge, so that it stays one.
    pub(super) fn draw(&mut self) -> Option<String> {
        if !self.is_terminal || self.drawn > 0 {
            return None;
        }
        let reporting: Vec<_> = self.calls.iter().filter_map(|call| Some((call, call.progress.as_ref()?))).collect();
        if reporting.is_empty() {
            return None;
        }
        let more = reporting.len().saturating_sub(MOST);
        let mut lines: Vec<String> =
            reporting.iter().take(MOST).map(|(call, progress)| bar(&call.name, progress)).collect();
        if more > 0 {
            lines.push(format!("  and {more} more"));
        }
        self.drawn = lines.len();
        self.last = Some(Instant::now());
        Some(format!("\u{1b}[?7l{}\n\u{1b}[?7h", lines.join("\n")))
    }
}

/// What is done of all, from 0 to 1, where that is known.
fn fraction(progress: &Progress) -> Option<f64> {
    let total = progress.total.filter(|total| *total > 0.0)?;
    Some((progress.done / total).clamp(0.0, 1.0)).filter(|done| !done.is_nan())
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to 10")]
fn tenth(fraction: f64) -> u8 {
    (fraction * 10.0) as u8
}

/// What a call says it does, or has so far.
fn said(progress: &Progress) -> String {
    match (&progress.message, &progress.preliminary) {
        (Some(message), _) => one_line(message),
        (None, Some(output)) => one_line(&excerpt(&output.to_string(), EXCERPT)),
        (None, None) => String::new(),
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "small numbers"
)]
fn bar(name: &str, progress: &Progress) -> String {
    let said = said(progress);
    match fraction(progress) {
        Some(done) => {
            let full = (done * WIDTH as f64).round() as usize;
            let (full, rest) = ("━".repeat(full), "─".repeat(WIDTH - full));
            format!("  {name} {full}{rest} {:3.0} % {said}", done * 100.0)
        }
        None if progress.preliminary.is_some() && progress.message.is_none() => format!("  {name} … {said}"),
        None => format!("  {name} … {} {said}", progress.done),
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

    fn live(is_terminal: bool) -> Live {
        let mut live = Live::new(is_terminal);
        live.calls.push(Running { id: "c".into(), name: "t".into(), progress: None, told: None });
        live
    }

    #[test]
    fn a_bar_is_as_long_as_what_is_done() {
        assert_eq!(bar("t", &progress(5.0, Some(20.0), "x")), "  t ━━━━━─────────────── \u{20}25 % x");
        assert_eq!(bar("t", &progress(9.0, Some(3.0), "x")), "  t ━━━━━━━━━━━━━━━━━━━━ 100 % x");
        for odd in
            [progress(f64::NAN, Some(1.0), "x"), progress(1.0, Some(f64::NAN), "x"), progress(1.0, Some(0.0), "x")]
        {
            assert!(bar("t", &odd).starts_with("  t … "), "{odd:?}");
        }
    }

    #[test]
    fn bars_are_drawn_and_taken_away() {
        let mut live = live(true);
        assert_eq!((live.draw(), live.clear()), (None, None), "a call that reports nothing has none");
        assert_eq!(live.came(&progress(1.0, Some(2.0), "a")), None);
        let drawn = live.draw().unwrap();
        assert!(drawn.starts_with("\u{1b}[?7l  t ━") && drawn.ends_with("a\n\u{1b}[?7h"), "{drawn:?}");
        assert!(!live.is_due(), "not again at once");
        assert_eq!(live.clear().unwrap(), "\r\u{1b}[1A\u{1b}[J");
        live.ended(&"c".into());
        assert_eq!(live.draw(), None);
    }

    #[test]
    fn lines_are_only_written_when_there_is_something_new() {
        let mut live = live(false);
        let lines: Vec<_> =
            (0..1000).filter_map(|done| live.came(&progress(f64::from(done), Some(1000.0), "a"))).collect();
        assert_eq!(lines.len(), 10, "{lines:?}");
        assert_eq!(lines[1], "  100 of 1000 a");
        assert_eq!(live.came(&progress(999.0, Some(1000.0), "b")).as_deref(), Some("  999 of 1000 b"));
        let mut output = Progress::new("c", 0.0, None);
        output.preliminary = Some(serde_json::json!({"a": 1}));
        assert_eq!(live.came(&output).as_deref(), Some("  {\"a\":1}"));
    }
}
