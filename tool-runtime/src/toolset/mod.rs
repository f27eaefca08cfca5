//! Many tools under unique names: put together, renamed, filtered, layered, offered to a model, and called.

mod adapt;
pub(crate) mod calls;
#[cfg(feature = "collect")]
pub(crate) mod collect;
mod compiled;
mod dispatch;
mod dynamic;
mod layer;
pub(crate) mod lint;
mod list;
mod name;
mod policy;
mod prepared;
mod provider;
mod runtime;
mod streaming;

use std::{
    collections::HashMap,
    collections::HashSet,
    fmt,
    sync::{Arc, OnceLock},
};

pub use calls::{Call, Calls};
#[cfg(feature = "collect")]
pub use collect::{CollectError, States};
#[cfg(feature = "agent")]
pub(crate) use dispatch::panicked;
pub use dynamic::{DynamicError, DynamicField, DynamicTool, DynamicToolBuilder, Known};
pub use layer::{Invocation, Layer, Next};
#[cfg(feature = "agent")]
pub(crate) use layer::{carried_over, not_applied};
pub use lint::{Finding, Findings, Level};
pub use list::{ListFormat, ToolList};
pub use name::{NameError, check_name};
pub(crate) use policy::judge;
pub use policy::{Policy, Proposal};
pub(crate) use prepared::{Accepted, Prepared};
pub use provider::ProviderTool;
pub use runtime::{RuntimeTool, RuntimeToolBuilder};
pub use tool_run::tool::Permission;

use crate::tool::{Binding, Bound, DynTool, State, ToolSpec};

/// How many bytes of arguments a call may have, and the answer to an external one, unless [`Toolset::argument_limit`] says otherwise.
pub const DEFAULT_ARGUMENT_LIMIT: usize = 4 * 1024 * 1024;

/// Tools in order, each under a name of its own. Cheap to clone.
///
/// `toolset!(state; a, b)` makes one from declared tools; the methods here combine and change what is there. A name that
/// is not in the set cannot be called, whoever asks.
#[derive(Clone)]
pub struct Toolset {
    inner: Arc<Inner>,
}

struct Inner {
    tools: Vec<Arc<dyn DynTool>>,
    index: HashMap<String, usize, foldhash::fast::RandomState>,
    argument_limit: usize,
    list: OnceLock<ToolList>,
}

impl Toolset {
    /// A set without tools.
    pub fn new() -> Self {
        Self::from_unique(Vec::new(), DEFAULT_ARGUMENT_LIMIT)
    }

    /// A set of `tools`, in their order.
    ///
    /// Fails when two have one name, a name is not `[A-Za-z0-9_-]{1,64}`, or a schema needs the feature `jsonschema`, which is
    /// off.
    pub fn of(tools: Vec<Arc<dyn DynTool>>) -> Result<Self, NameError> {
        Self::build(tools, DEFAULT_ARGUMENT_LIMIT)
    }

    /// The set that `toolset!` writes: `parts` on `state`.
    ///
    /// # Panics
    ///
    /// When two parts have one name; `toolset!` has checked that at compile time.
    #[doc(hidden)]
    #[track_caller]
    #[allow(clippy::needless_pass_by_value, reason = "the macro gives it away")]
    pub fn bind<S: State>(state: Arc<S>, parts: &[Binding<S>]) -> Self {
        let bound = |part: &Binding<S>| {
            Arc::new(Bound { def: (part.def)(), start: part.start, state: Arc::clone(&state) }) as Arc<dyn DynTool>
        };
        match Self::of(parts.iter().map(bound).collect()) {
            Ok(tools) => tools,
            Err(error) => panic!("{error}"),
        }
    }

    /// The tools of both sets, those of `self` first.
    ///
    /// Fails when both have a tool of one name; [`Toolset::prefix`] or [`Toolset::rename`] one of them before.
    #[allow(clippy::needless_pass_by_value, reason = "two sets become one")]
    pub fn merge(self, other: Self) -> Result<Self, NameError> {
        let tools = self.iter().chain(other.iter()).cloned().collect();
        Self::build(tools, self.inner.argument_limit.min(other.inner.argument_limit))
    }

    /// Adds one tool at the end.
    ///
    /// Fails when there is one of that name.
    pub fn with(self, tool: impl DynTool + 'static) -> Result<Self, NameError> {
        let tools = self.iter().cloned().chain([Arc::new(tool) as Arc<dyn DynTool>]).collect();
        Self::build(tools, self.inner.argument_limit)
    }

    /// Puts `prefix` before every name.
    ///
    /// Fails when a name becomes too long or gets a character that names cannot have.
    pub fn prefix(self, prefix: &str) -> Result<Self, NameError> {
        let tools = self.iter().map(|tool| adapt::rename(tool, format!("{prefix}{}", tool.name()))).collect();
        Self::build(tools, self.inner.argument_limit)
    }

    /// Gives the tool called `from` the name `to`.
    ///
    /// Fails when there is no tool called `from`, there is one called `to`, or `to` is no name.
    pub fn rename(self, from: &str, to: &str) -> Result<Self, NameError> {
        if self.get(from).is_none() {
            return Err(NameError::Unknown { name: from.to_owned(), suggestion: self.nearest(from) });
        }
        let change = |tool: &Arc<dyn DynTool>| {
            if tool.name() == from { adapt::rename(tool, to.to_owned()) } else { Arc::clone(tool) }
        };
        Self::build(self.iter().map(change).collect(), self.inner.argument_limit)
    }

    /// Adds a member to what providers with this form of lists are told of the tool `name`, such as
    /// `("search", ListFormat::Anthropic, "defer_loading", true)`. What the definition says itself cannot be replaced.
    ///
    /// Fails when there is no such tool.
    pub fn for_provider(
        self,
        name: &str,
        format: ListFormat,
        member: &str,
        value: impl Into<serde_json::Value>,
    ) -> Result<Self, NameError> {
        if self.get(name).is_none() {
            return Err(NameError::Unknown { name: name.to_owned(), suggestion: self.nearest(name) });
        }
        let value = value.into();
        let change = |tool: &Arc<dyn DynTool>| {
            if tool.name() == name {
                adapt::for_provider(tool, format.name(), member, &value)
            } else {
                Arc::clone(tool)
            }
        };
        Self::build(self.iter().map(change).collect(), self.inner.argument_limit)
    }

    /// The tools of which `keep` says so: for one request, one user, one step. The others can be neither seen nor called.
    pub fn filter(&self, mut keep: impl FnMut(&ToolSpec) -> bool) -> Self {
        let tools = self.iter().filter(|tool| keep(tool.spec())).cloned().collect();
        Self::from_unique(tools, self.inner.argument_limit)
    }

    /// The set without the tool called `name`; the same set when there is none.
    pub fn hide(&self, name: &str) -> Self {
        self.filter(|spec| spec.name != name)
    }

    /// Puts `layer` around every tool of the set.
    ///
    /// The layer added last is the outermost: it sees a call first and its outcome last. Tools that are added or merged
    /// later are outside of it. Every tool keeps its name.
    pub fn layer(self, layer: impl Layer) -> Self {
        let layer = Arc::new(layer);
        let wrap = |tool: &Arc<dyn DynTool>| {
            let wrapped = Arc::clone(&layer).apply(Arc::clone(tool));
            if wrapped.name() == tool.name() { wrapped } else { adapt::rename(&wrapped, tool.name().to_owned()) }
        };
        let tools = self.iter().map(wrap).collect();
        Self::from_unique(tools, self.inner.argument_limit)
    }

    /// Puts every tool of the set under `policy`, beside those that it is under already: none can weaken another.
    pub fn guard(self, policy: impl Policy) -> Self {
        let policy: Arc<dyn Policy> = Arc::new(policy);
        let tools = self.iter().map(|tool| policy::guard(tool, &policy)).collect();
        Self::from_unique(tools, self.inner.argument_limit)
    }

    /// Sets how many bytes of arguments a call may have, and the answer to an external one.
    pub fn argument_limit(self, bytes: usize) -> Self {
        Self::from_unique(self.inner.tools.clone(), bytes)
    }

    /// The tool called `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn DynTool>> {
        self.inner.index.get(name).map(|index| &self.inner.tools[*index])
    }

    /// The tool called `name`, and its place.
    pub(crate) fn find(&self, name: &str) -> Option<(usize, &Arc<dyn DynTool>)> {
        let at = *self.inner.index.get(name)?;
        Some((at, &self.inner.tools[at]))
    }

    /// The tools, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<dyn DynTool>> {
        self.inner.tools.iter()
    }

    /// The same as a slice.
    #[cfg(feature = "agent")]
    pub(crate) fn as_slice(&self) -> &[Arc<dyn DynTool>] {
        &self.inner.tools
    }

    /// The names, in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.inner.tools.iter().map(|tool| tool.name())
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.inner.tools.len()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.inner.tools.is_empty()
    }

    /// The tools as they are offered to a model; made at the first call and shared.
    pub fn list(&self) -> &ToolList {
        self.inner.list.get_or_init(|| ToolList::new(self.iter().map(|tool| Arc::clone(tool.spec())).collect()))
    }

    /// Returns these tools with `guests` behind them: tools of a client, whose names may be any text. A guest with the name
    /// of a tool before it is left out, so it never stands for that tool.
    pub fn with_guests(&self, guests: &[Arc<dyn DynTool>]) -> Self {
        let mut names: HashSet<&str> = self.names().collect();
        let new = guests.iter().filter(|guest| names.insert(guest.name()));
        Self::from_unique(self.iter().chain(new).cloned().collect(), self.inner.argument_limit)
    }

    fn nearest(&self, name: &str) -> Option<String> {
        tool_schema::feedback::suggest::nearest(name, self.names()).map(str::to_owned)
    }

    fn build(tools: Vec<Arc<dyn DynTool>>, argument_limit: usize) -> Result<Self, NameError> {
        let set = Self::from_unique(tools, argument_limit);
        for (index, tool) in set.iter().enumerate() {
            check_name(tool.name())?;
            if set.inner.index.get(tool.name()) != Some(&index) {
                return Err(NameError::Duplicate { name: tool.name().to_owned() });
            }
            check_schemas(tool.as_ref())?;
        }
        Ok(set)
    }

    fn from_unique(tools: Vec<Arc<dyn DynTool>>, argument_limit: usize) -> Self {
        let index = tools.iter().enumerate().map(|(index, tool)| (tool.name().to_owned(), index)).collect();
        Self { inner: Arc::new(Inner { tools, index, argument_limit, list: OnceLock::new() }) }
    }
}

/// Fails when a schema of `tool` can only be checked with the feature `jsonschema`.
fn check_schemas(tool: &dyn DynTool) -> Result<(), NameError> {
    // With the feature, no schema is made before it is used.
    if cfg!(feature = "jsonschema") {
        return Ok(());
    }
    let spec = tool.spec();
    let mut schemas = [Some(&spec.input), spec.output.as_ref()].into_iter().flatten();
    match schemas.find_map(|schema| schema.needs_feature()) {
        Some(reason) => Err(NameError::Schema { name: spec.name.clone(), reason: reason.to_string() }),
        None => Ok(()),
    }
}

impl Default for Toolset {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Toolset {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.names()).finish()
    }
}
