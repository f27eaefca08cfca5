//! The events of a run, to be asserted.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Grammar, Misplaced, Seen};
use crate::agent::{Event, Observer};

/// Everything that happened, in order. Clones share it.
///
/// It is an observer ([`Agent::observer`](crate::Agent::observer)). An observer of your own hands its events to
/// [`Events::event`](Observer::event).
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
/// Whether the events come in an order that they can have is checked by a [`Grammar`]: when they do not, the test fails when
/// the last clone is dropped. That is for one run at a time; see [`Events::unchecked`].
#[derive(Clone)]
pub struct Events {
    log: Arc<Log>,
}

struct Log {
    seen: Mutex<Vec<Seen>>,
    /// The grammar of the order, and the first event that did not fit; `None` where the order is not checked.
    order: Mutex<Option<(Grammar, Option<Misplaced>)>>,
}

impl Drop for Log {
    fn drop(&mut self) {
        let order = self.order.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, Some(misplaced))) = order
            && !std::thread::panicking()
        {
            let seen = self.seen.get_mut().unwrap_or_else(PoisonError::into_inner);
            let lines: Vec<String> = seen.iter().map(ToString::to_string).collect();
            panic!("{misplaced}; what happened:\n{}", marked(&lines, &[]));
        }
    }
}

impl Events {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::of(Vec::new(), Some((Grammar::new(), None)))
    }

    /// Nothing yet, and any order is accepted: for several runs at once, or one that several drive, or that breaks off in the
    /// middle, as a process does that is killed.
    pub fn unchecked() -> Self {
        Self::of(Vec::new(), None)
    }

    fn of(seen: Vec<Seen>, order: Option<(Grammar, Option<Misplaced>)>) -> Self {
        Self { log: Arc::new(Log { seen: Mutex::new(seen), order: Mutex::new(order) }) }
    }

    /// Says that the drive came to its end without an event: see [`Grammar::broke_off`].
    pub fn broke_off(&self) {
        if let Some((grammar, _)) = &mut *self.log.order.lock().unwrap_or_else(PoisonError::into_inner) {
            grammar.broke_off();
        }
    }

    /// The first event that did not fit where it came, if there was one. It is not held against the test any more.
    pub fn take_misplaced(&self) -> Option<Misplaced> {
        self.log.order.lock().unwrap_or_else(PoisonError::into_inner).as_mut()?.1.take()
    }

    /// Returns the events so far.
    pub fn all(&self) -> Vec<Seen> {
        self.lock().clone()
    }

    /// Returns a line for each event so far.
    pub fn lines(&self) -> Vec<String> {
        self.lock().iter().map(ToString::to_string).collect()
    }

    /// Returns the events of the call `id`.
    pub fn of_call(&self, id: &str) -> Self {
        self.filtered(|seen| seen.call() == Some(id))
    }

    /// Returns the events of all calls of the tool `name`.
    pub fn of_tool(&self, name: &str) -> Self {
        let announced = |seen: &Seen| match seen {
            Seen::CallAnnounced { id, name: called } if called == name => Some(id.to_string()),
            Seen::CallAccepted(call) | Seen::CallStarted(call) | Seen::CallFinished { call, .. }
                if call.name == name =>
            {
                Some(call.id.to_string())
            }
            _ => None,
        };
        let ids: Vec<String> = self.lock().iter().filter_map(announced).collect();
        self.filtered(|seen| seen.call().is_some_and(|id| ids.iter().any(|known| known == id)))
    }

    /// All text that the model said.
    pub fn text(&self) -> String {
        let text = |seen: &Seen| match seen {
            Seen::Text(text) => Some(text.clone()),
            _ => None,
        };
        self.lock().iter().filter_map(text).collect()
    }

    /// Forgets what happened so far.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Asserts that there are events whose lines contain `parts`, in this order; others may be in between.
    ///
    /// # Panics
    ///
    /// When there are not: with all lines, and the part that none contains where it should.
    #[track_caller]
    pub fn assert_order(&self, parts: &[&str]) {
        let lines = self.lines();
        let mut found = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let start = found.last().map_or(0, |at| at + 1);
            match lines[start..].iter().position(|line| line.contains(part)) {
                Some(at) => found.push(start + at),
                None => panic!("{}", explained(&lines, &found, parts, number)),
            }
        }
    }

    /// Asserts that no event's line contains `part`.
    ///
    /// # Panics
    ///
    /// When one does: with all lines.
    #[track_caller]
    pub fn assert_none(&self, part: &str) {
        let lines = self.lines();
        let found = lines.iter().position(|line| line.contains(part));
        assert!(found.is_none(), "{part:?} is in an event:\n{}", marked(&lines, found.as_slice()));
    }

    fn filtered(&self, keep: impl Fn(&Seen) -> bool) -> Self {
        let kept = self.lock().iter().filter(|seen| keep(seen)).cloned().collect();
        Self::of(kept, None)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Seen>> {
        self.log.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Events {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for Events {
    fn event(&self, event: Event<'_>) {
        if let Some((grammar, misplaced)) = &mut *self.log.order.lock().unwrap_or_else(PoisonError::into_inner)
            && let Err(wrong) = grammar.event(&event)
        {
            misplaced.get_or_insert(wrong);
        }
        self.lock().push(event.into());
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(&*self.lock()).finish()
    }
}

/// Why an order is not there.
fn explained(lines: &[String], found: &[usize], parts: &[&str], number: usize) -> String {
    let part = parts[number];
    let after = match number.checked_sub(1).map(|before| parts[before]) {
        Some(before) => format!(" after {before:?}"),
        None => String::new(),
    };
    let earlier = lines.iter().position(|line| line.contains(part));
    let hint = earlier.map_or(String::new(), |at| format!(" (it is in line {})", at + 1));
    format!("no event with {part:?}{after}{hint}; what happened:\n{}", marked(lines, found))
}

/// The lines with their numbers, those that were found with a mark.
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
