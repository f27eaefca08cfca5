//! Recorded spans, as a tree.

use std::{
    collections::HashMap,
    fmt::{self, Debug},
    sync::{Arc, Mutex},
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_core::span::Current;

use crate::sync::lock;

/// A subscriber that keeps spans and events as a tree: those of this crate, and others of level `INFO` and above. Clones share the tree, which `Display` shows.
///
/// ```
/// use tool_runtime::{Agent, model::{ScriptedModel, Turn}, test::Spans};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let spans = Spans::new();
/// let guard = tracing::subscriber::set_default(spans.clone());
/// Agent::new(ScriptedModel::new([Turn::say("Hello.")])).name("greeter").run("Hi.").await.unwrap();
/// drop(guard);
///
/// let run = &spans.roots()[0];
/// assert_eq!((run.name.as_str(), run.children[0].name.as_str()), ("invoke_agent greeter", "chat scripted"));
/// assert_eq!(run.children[0].get("gen_ai.response.finish_reasons"), Some(r#"["stop"]"#));
/// # });
/// ```
#[derive(Clone, Default)]
pub struct Spans {
    state: Arc<Mutex<State>>,
}

/// A span with its contents.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SpanTree {
    /// Its name: the field `otel.name`, or else its name in the code.
    pub name: String,
    /// The fields that were set, in the order of their declaration.
    pub fields: Vec<(String, String)>,
    /// The events in it, each as its fields.
    pub events: Vec<Vec<(String, String)>>,
    /// The spans in it, oldest first.
    pub children: Vec<SpanTree>,
    /// The time for which it was open; `None` while it is open.
    pub took: Option<Duration>,
}

#[derive(Default)]
struct State {
    nodes: HashMap<u64, Node>,
    /// The spans that each thread has entered.
    inside: HashMap<ThreadId, Vec<u64>>,
    /// The events outside of any span.
    outside: Vec<Vec<(String, String)>>,
}

struct Node {
    metadata: &'static Metadata<'static>,
    parent: Option<u64>,
    fields: Fields,
    events: Vec<Vec<(String, String)>>,
    began: Instant,
    took: Option<Duration>,
    handles: usize,
}

impl Spans {
    /// Creates an empty recording.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the spans without a parent, oldest first.
    pub fn roots(&self) -> Vec<SpanTree> {
        lock(&self.state).below(None)
    }

    /// Returns the first span called `name`, at any depth.
    pub fn find(&self, name: &str) -> Option<SpanTree> {
        self.roots().iter().find_map(|root| root.find(name).cloned())
    }

    /// Returns the events outside of any span.
    pub fn outside(&self) -> Vec<Vec<(String, String)>> {
        lock(&self.state).outside.clone()
    }
}

impl SpanTree {
    /// Returns the value of a field.
    pub fn get(&self, field: &str) -> Option<&str> {
        self.fields.iter().find(|(name, _)| name == field).map(|(_, value)| value.as_str())
    }

    /// Returns the values of a field in the events of the span, in their order.
    pub fn event_values<'a>(&'a self, field: &'a str) -> impl Iterator<Item = &'a str> {
        self.events.iter().flatten().filter(move |(name, _)| name == field).map(|(_, value)| value.as_str())
    }

    /// Returns the first span called `name`, this one included.
    pub fn find(&self, name: &str) -> Option<&Self> {
        if self.name == name { Some(self) } else { self.children.iter().find_map(|child| child.find(name)) }
    }

    fn write(&self, out: &mut fmt::Formatter<'_>, indent: &str, last: bool) -> fmt::Result {
        let took = self.took.map(|took| format!("  {:.1} ms", took.as_secs_f64() * 1000.0)).unwrap_or_default();
        writeln!(out, "{indent}{} {}{took}", if last { "└─" } else { "├─" }, self.name)?;
        let indent = format!("{indent}{}", if last { "   " } else { "│  " });
        for (name, value) in self.fields.iter().filter(|(name, _)| name != "otel.name") {
            writeln!(out, "{indent}     {name} = {value}")?;
        }
        for event in &self.events {
            let fields: Vec<String> = event.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            writeln!(out, "{indent}   · {}", fields.join(", "))?;
        }
        for (at, child) in self.children.iter().enumerate() {
            child.write(out, &indent, at + 1 == self.children.len())?;
        }
        Ok(())
    }
}

impl State {
    fn below(&self, parent: Option<u64>) -> Vec<SpanTree> {
        let mut ids: Vec<u64> =
            self.nodes.iter().filter(|(_, node)| node.parent == parent).map(|(id, _)| *id).collect();
        ids.sort_unstable();
        let tree = |id: u64| {
            let node = &self.nodes[&id];
            let name = node.fields.0.iter().find(|(name, _)| name == "otel.name");
            SpanTree {
                name: name.map_or_else(|| node.metadata.name().to_owned(), |(_, name)| name.clone()),
                fields: node.metadata.fields().iter().filter_map(|field| node.fields.named(field.name())).collect(),
                events: node.events.clone(),
                children: self.below(Some(id)),
                took: node.took,
            }
        };
        ids.into_iter().map(tree).collect()
    }

    fn innermost(&self) -> Option<u64> {
        self.inside.get(&thread::current().id())?.last().copied()
    }

    fn parent(&self, is_root: bool, is_contextual: bool, explicit: Option<&Id>) -> Option<u64> {
        match explicit {
            Some(parent) => Some(parent.into_u64()),
            None if is_root || !is_contextual => None,
            None => self.innermost(),
        }
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO || metadata.target().starts_with("tool_runtime")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        let mut state = lock(&self.state);
        let id = state.nodes.len() as u64 + 1;
        let node = Node {
            metadata: span.metadata(),
            parent: state.parent(span.is_root(), span.is_contextual(), span.parent()),
            fields,
            events: Vec::new(),
            began: Instant::now(),
            took: None,
            handles: 1,
        };
        state.nodes.insert(id, node);
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        if let Some(node) = lock(&self.state).nodes.get_mut(&span.into_u64()) {
            values.record(&mut node.fields);
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut state = lock(&self.state);
        let parent = state.parent(event.is_root(), event.is_contextual(), event.parent());
        match parent.and_then(|parent| state.nodes.get_mut(&parent)) {
            Some(node) => node.events.push(fields.0),
            None => state.outside.push(fields.0),
        }
    }

    fn enter(&self, span: &Id) {
        lock(&self.state).inside.entry(thread::current().id()).or_default().push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        let mut state = lock(&self.state);
        let Some(inside) = state.inside.get_mut(&thread::current().id()) else { return };
        if let Some(at) = inside.iter().rposition(|id| *id == span.into_u64()) {
            inside.remove(at);
        }
    }

    fn clone_span(&self, span: &Id) -> Id {
        if let Some(node) = lock(&self.state).nodes.get_mut(&span.into_u64()) {
            node.handles += 1;
        }
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        let mut state = lock(&self.state);
        let Some(node) = state.nodes.get_mut(&span.into_u64()) else { return false };
        node.handles = node.handles.saturating_sub(1);
        let is_last = node.handles == 0;
        if is_last {
            node.took = Some(node.began.elapsed());
        }
        is_last
    }

    fn current_span(&self) -> Current {
        let state = lock(&self.state);
        match state.innermost().and_then(|id| state.nodes.get(&id).map(|node| (id, node.metadata))) {
            Some((id, metadata)) => Current::new(Id::from_u64(id), metadata),
            None => Current::none(),
        }
    }
}

impl fmt::Display for Spans {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roots = self.roots();
        roots.iter().enumerate().try_for_each(|(at, root)| root.write(out, "", at + 1 == roots.len()))
    }
}

impl Debug for Spans {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Spans").field(&self.roots()).finish()
    }
}

/// Fields as texts. A field that is recorded again has its last value.
#[derive(Clone, Debug, Default)]
struct Fields(Vec<(String, String)>);

impl Fields {
    fn named(&self, name: &str) -> Option<(String, String)> {
        self.0.iter().find(|(known, _)| known == name).cloned()
    }

    fn set(&mut self, field: &Field, value: String) {
        self.0.retain(|(known, _)| known != field.name());
        self.0.push((field.name().to_owned(), value));
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.set(field, format!("{value:?}"));
    }
}
