//! The recorded events of a run, with assertions about them.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use super::{Grammar, MisplacedEvent};
use crate::agent::{Event, EventKind, Observer};
use crate::sync::lock;

/// An observer that records the events of a run and checks their order. Clones share the events.
///
/// [`Agent::observer`](crate::Agent::observer) sets it. An observer of your own can pass its events to
/// [`Events::on_event`](Observer::on_event).
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use tool_runtime::{Agent, model::{ScriptedModel, Turn}, test::Events, tool, toolset};
///
/// /// Adds two numbers.
/// #[tool(effect = read_only)]
/// fn add(/** The first. */ a: i64, /** The second. */ b: i64) -> i64 {
///     a + b
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let model = ScriptedModel::new([Turn::call("add", r#"{"a":1,"b":2}"#), Turn::say("It is 3.")]);
/// let events = Events::new();
/// Agent::new(model).tools(toolset!(add)).observer(events.clone()).run("What is 1 + 2?").await.unwrap();
/// events.assert_order(&["step 1", "started call_1_0 add", "succeeded: 3", "step 2", "It is 3."]);
/// assert_eq!(events.of_tool("add").lines().len(), 5);
/// # });
/// # }
/// ```
///
/// A [`Grammar`] checks the order of the events. If the order is wrong, the last clone panics when it is dropped. The check is
/// for one run at a time; see [`Events::unchecked`].
#[derive(Clone)]
pub struct Events {
    log: Arc<Mutex<Log>>,
}

struct Log {
    seen: Vec<EventKind>,
    /// The grammar, and the first event that did not fit; `None` if the order is not checked.
    order: Option<(Grammar, Option<MisplacedEvent>)>,
}

impl Drop for Log {
    fn drop(&mut self) {
        if let Some((_, Some(misplaced))) = &self.order
            && !std::thread::panicking()
        {
            let lines: Vec<String> = self.seen.iter().map(ToString::to_string).collect();
            panic!("{misplaced}; what happened:\n{}", marked(&lines, &[]));
        }
    }
}

impl Events {
    /// Creates a recording without events.
    pub fn new() -> Self {
        Self::of(Vec::new(), Some((Grammar::new(), None)))
    }

    /// Creates a recording that accepts any order: for several runs at once, for a run with several drivers, or for a run that
    /// breaks off in the middle, like a killed process.
    pub fn unchecked() -> Self {
        Self::of(Vec::new(), None)
    }

    fn of(seen: Vec<EventKind>, order: Option<(Grammar, Option<MisplacedEvent>)>) -> Self {
        Self { log: Arc::new(Mutex::new(Log { seen, order })) }
    }

    /// Records that the drive ended without an event: see [`Grammar::broke_off`].
    pub fn broke_off(&self) {
        if let Some((grammar, _)) = &mut lock(&self.log).order {
            grammar.broke_off();
        }
    }

    /// Takes the first event that did not fit at its place, if there was one. The test no longer fails because of it.
    pub fn take_misplaced(&self) -> Option<MisplacedEvent> {
        lock(&self.log).order.as_mut()?.1.take()
    }

    /// Returns the events so far.
    pub fn all(&self) -> Vec<EventKind> {
        lock(&self.log).seen.clone()
    }

    /// Returns a line for each event so far.
    pub fn lines(&self) -> Vec<String> {
        lock(&self.log).seen.iter().map(ToString::to_string).collect()
    }

    /// Returns the events of the call `id`.
    pub fn of_call(&self, id: &str) -> Self {
        self.filtered(|seen| seen.call() == Some(id))
    }

    /// Returns the events of all calls of the tool `name`.
    pub fn of_tool(&self, name: &str) -> Self {
        let announced = |seen: &EventKind| match seen {
            EventKind::CallAnnounced { id, name: called } if called == name => Some(id.to_string()),
            EventKind::CallAccepted(call) | EventKind::CallStarted(call) | EventKind::CallEnded { call, .. }
                if call.name == name =>
            {
                Some(call.id.to_string())
            }
            _ => None,
        };
        let ids: Vec<String> = lock(&self.log).seen.iter().filter_map(announced).collect();
        self.filtered(|seen| seen.call().is_some_and(|id| ids.iter().any(|known| known == id)))
    }

    /// Returns all text of the model.
    pub fn text(&self) -> String {
        let text = |seen: &EventKind| match seen {
            EventKind::Text(text) => Some(text.clone()),
            _ => None,
        };
        lock(&self.log).seen.iter().filter_map(text).collect()
    }

    /// Removes the events so far.
    pub fn clear(&self) {
        lock(&self.log).seen.clear();
    }

    /// Asserts that there are events whose lines contain `parts`, in this order; others may be in between.
    ///
    /// # Panics
    ///
    /// If a part is missing after the one before. The message has all lines, and that part.
    #[track_caller]
    pub fn assert_order(&self, parts: &[&str]) {
        let lines = self.lines();
        let mut found = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let start = found.last().map_or(0, |at| at + 1);
            match lines[start..].iter().position(|line| line.contains(part)) {
                Some(at) => found.push(start + at),
                None => panic!("{}", explain_order(&lines, &found, parts, number)),
            }
        }
    }

    /// Asserts that no event's line contains `part`.
    ///
    /// # Panics
    ///
    /// If there is such an event. The message has all lines.
    #[track_caller]
    pub fn assert_none(&self, part: &str) {
        let lines = self.lines();
        let found = lines.iter().position(|line| line.contains(part));
        assert!(found.is_none(), "{part:?} is in an event:\n{}", marked(&lines, found.as_slice()));
    }

    fn filtered(&self, keep: impl Fn(&EventKind) -> bool) -> Self {
        let kept = lock(&self.log).seen.iter().filter(|seen| keep(seen)).cloned().collect();
        Self::of(kept, None)
    }
}

impl Default for Events {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for Events {
    fn on_event(&self, event: Event<'_>) {
        let mut log = lock(&self.log);
        if let Some((grammar, misplaced)) = &mut log.order
            && let Err(wrong) = grammar.check(&event)
        {
            misplaced.get_or_insert(wrong);
        }
        log.seen.push(event.into());
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(&lock(&self.log).seen).finish()
    }
}

fn explain_order(lines: &[String], found: &[usize], parts: &[&str], number: usize) -> String {
    let part = parts[number];
    let after = match number.checked_sub(1).map(|before| parts[before]) {
        Some(before) => format!(" after {before:?}"),
        None => String::new(),
    };
    let earlier = lines.iter().position(|line| line.contains(part));
    let hint = earlier.map_or(String::new(), |at| format!(" (it is in line {})", at + 1));
    format!("no event with {part:?}{after}{hint}; what happened:\n{}", marked(lines, found))
}

fn marked(lines: &[String], found: &[usize]) -> String {
    if lines.is_empty() {
        return "  nothing".to_owned();
    }
    let line = |(at, line): (usize, &String)| {
        let mark = if found.contains(&at) { '>' } else { ' ' };
        format!("{mark} {:3} {line}", at + 1)
    };
    lines.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}
