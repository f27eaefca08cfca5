//! Sets of tools with unique names, and the methods that combine, change and call them.

pub(crate) mod calls;
#[cfg(feature = "collect")]
pub(crate) mod collect;
mod dynamic_tool;
mod layer;
pub(crate) mod lint;
mod list;
mod policy;
mod prepared;
mod runtime_tool;

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Arc, OnceLock},
};

use serde_json::{Map, Value};

use crate::feedback::FeedbackFormat;
use crate::tool::{
    Binding, Bound, CallError, Context, ErasedTool, InputHooks, KnownFingerprints, Output, PrepareFuture, State,
    ToolSpec,
};
pub use calls::{Calls, TypedCall};
#[cfg(feature = "collect")]
pub use collect::{CollectError, States};
pub use dynamic_tool::{DynamicError, DynamicField, DynamicTool, DynamicToolBuilder, KnownValues};
pub use layer::{Invocation, Layer, Next};
#[cfg(feature = "agent")]
pub(crate) use layer::{carry_over, not_applied};
pub use lint::{Finding, Findings, LintLevel};
pub use list::{ListFormat, ProviderTool, ToolList};
pub(crate) use policy::ask_policy;
use policy::tighten;
pub use policy::{Policy, PolicyCall};
pub(crate) use prepared::{PendingRead, ReadCall, Reading};
#[cfg(feature = "agent")]
pub(crate) use prepared::{Prepared, panicked};
pub use runtime_tool::{RuntimeTool, RuntimeToolBuilder};
use tool_run::run::ToolRef;
pub use tool_run::tool::Permission;
use tool_run::tool::{is_valid_name, to_valid_name};
use tool_schema::feedback;

/// The default limit of [`Toolset::max_argument_bytes`], in bytes.
pub const DEFAULT_MAX_ARGUMENT_BYTES: usize = 4 * 1024 * 1024;

/// Tools in order, each with a unique name. Cheap to clone.
///
/// `toolset!(state; a, b)` makes one from declared tools; the methods here combine and change sets. A call of a tool that is
/// not in the set fails.
#[derive(Clone)]
pub struct Toolset {
    inner: Arc<Inner>,
}

struct Inner {
    tools: Vec<Arc<dyn ErasedTool>>,
    index: HashMap<String, usize, foldhash::fast::RandomState>,
    settings: Settings,
    /// Set if a tool has hooks. Otherwise no call searches for them.
    #[cfg(feature = "agent")]
    has_hooks: bool,
    list: OnceLock<ToolList>,
    /// The data that runs keep of each tool, in the order of the tools.
    references: Box<[OnceLock<ToolReference>]>,
}

/// The reference that a run keeps of a tool, and the fingerprints by which records of any age refer to it.
pub(crate) type ToolReference = (Arc<ToolRef>, KnownFingerprints);

/// The settings of a set.
#[derive(Clone, Copy)]
struct Settings {
    max_argument_bytes: usize,
    feedback: Option<FeedbackFormat>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { max_argument_bytes: DEFAULT_MAX_ARGUMENT_BYTES, feedback: None }
    }
}

impl Settings {
    /// Returns the settings of two sets together.
    fn and(self, other: Self) -> Self {
        Self {
            max_argument_bytes: self.max_argument_bytes.min(other.max_argument_bytes),
            feedback: self.feedback.or(other.feedback),
        }
    }
}

impl Toolset {
    /// Creates a set without tools.
    pub fn new() -> Self {
        Self::from_unique(Vec::new(), Settings::default())
    }

    /// Creates a set of `tools`, in their order.
    ///
    /// Fails when two tools have the same name, a name is not `[A-Za-z0-9_-]{1,64}`, or a schema needs the feature `jsonschema`,
    /// which is off.
    pub fn of(tools: Vec<Arc<dyn ErasedTool>>) -> Result<Self, ToolsetError> {
        Self::build(tools, Settings::default())
    }

    /// Creates the set that `toolset!` declares: `parts` bound to `state`.
    ///
    /// # Panics
    ///
    /// If two parts have the same name, which `toolset!` checks at compile time, or a schema needs the feature `jsonschema`.
    #[doc(hidden)]
    #[track_caller]
    #[allow(clippy::needless_pass_by_value, reason = "the macro gives it away")]
    pub fn bind<S: State>(state: Arc<S>, parts: &[Binding<S>]) -> Self {
        let bound = |part: &Binding<S>| {
            Arc::new(Bound { def: (part.def)(), start: part.start, state: Arc::clone(&state) }) as Arc<dyn ErasedTool>
        };
        match Self::of(parts.iter().map(bound).collect()) {
            Ok(tools) => tools,
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns the tools of both sets, those of `self` first, with the smaller [`max_argument_bytes`](Self::max_argument_bytes), and
    /// the [`feedback_format`](Self::feedback_format) of the first set that has one.
    ///
    /// Fails when both sets have a tool of the same name. Use [`Toolset::prefix`] or [`Toolset::rename`] on one of them before.
    #[allow(clippy::needless_pass_by_value, reason = "two sets become one")]
    pub fn merge(self, other: Self) -> Result<Self, ToolsetError> {
        let tools = self.iter().chain(other.iter()).cloned().collect();
        Self::build(tools, self.inner.settings.and(other.inner.settings))
    }

    /// Adds one tool at the end.
    ///
    /// Fails when the set has a tool of that name, and as [`Toolset::of`] does.
    pub fn with(self, tool: impl ErasedTool + 'static) -> Result<Self, ToolsetError> {
        let tools = self.iter().cloned().chain([Arc::new(tool) as Arc<dyn ErasedTool>]).collect();
        Self::build(tools, self.inner.settings)
    }

    /// Puts `prefix` before every name.
    ///
    /// Fails when a name becomes too long, or gets a character that names cannot have.
    pub fn prefix(self, prefix: &str) -> Result<Self, ToolsetError> {
        let tools = self.iter().map(|tool| renamed(tool, format!("{prefix}{}", tool.name()))).collect();
        Self::build(tools, self.inner.settings)
    }

    /// Gives the tool called `from` the name `to`.
    ///
    /// Fails when no tool is called `from`, another is called `to`, or `to` is not a valid name.
    pub fn rename(self, from: &str, to: &str) -> Result<Self, ToolsetError> {
        self.change(from, |tool| renamed(tool, to.to_owned()))
    }

    /// Adds a member to the definition of the tool `name`, for providers with this list format, such as
    /// `("search", ListFormat::Anthropic, "defer_loading", true)`. If the definition itself has the member, `value` is ignored.
    ///
    /// Fails when there is no such tool.
    pub fn with_provider_member(
        self,
        name: &str,
        format: ListFormat,
        member: &str,
        value: impl Into<serde_json::Value>,
    ) -> Result<Self, ToolsetError> {
        let value = value.into();
        self.change(name, |tool| with_member(tool, format.name(), member, &value))
    }

    fn change(
        self,
        name: &str,
        change: impl Fn(&Arc<dyn ErasedTool>) -> Arc<dyn ErasedTool>,
    ) -> Result<Self, ToolsetError> {
        if self.get(name).is_none() {
            return Err(ToolsetError::UnknownTool { name: name.to_owned(), suggestion: self.nearest(name) });
        }
        let changed = self.iter().map(|tool| if tool.name() == name { change(tool) } else { Arc::clone(tool) });
        Self::build(changed.collect(), self.inner.settings)
    }

    /// Returns the tools for which `keep` returns true, for one request, one user or one step. The others can be neither seen nor
    /// called.
    pub fn filter(&self, mut keep: impl FnMut(&ToolSpec) -> bool) -> Self {
        let tools = self.iter().filter(|tool| keep(tool.spec())).cloned().collect();
        Self::from_unique(tools, self.inner.settings)
    }

    /// Returns the set without the tool called `name`. If there is none, the set is unchanged.
    pub fn hide(&self, name: &str) -> Self {
        self.filter(|spec| spec.name != name)
    }

    /// Puts `layer` around every tool of the set.
    ///
    /// The layer that is added last is the outermost: it sees a call first and its outcome last. It does not apply to tools that
    /// are added or merged later. Every tool keeps its name.
    pub fn layer(self, layer: impl Layer) -> Self {
        let layer = Arc::new(layer);
        let wrap = |tool: &Arc<dyn ErasedTool>| {
            let wrapped = Arc::clone(&layer).apply(Arc::clone(tool));
            if wrapped.name() == tool.name() { wrapped } else { renamed(&wrapped, tool.name().to_owned()) }
        };
        let tools = self.iter().map(wrap).collect();
        Self::from_unique(tools, self.inner.settings)
    }

    /// Applies `policy` to every tool of the set, in addition to earlier policies. No policy can weaken another.
    pub fn policy(self, policy: impl Policy) -> Self {
        let policy: Arc<dyn Policy> = Arc::new(policy);
        let guarded = |tool: &Arc<dyn ErasedTool>| {
            let (inner, spec) = (Arc::clone(tool), Arc::clone(tool.spec()));
            Arc::new(Adapted { inner, spec, policy: Some(Arc::clone(&policy)) }) as Arc<dyn ErasedTool>
        };
        let tools = self.iter().map(guarded).collect();
        Self::from_unique(tools, self.inner.settings)
    }

    /// Sets the maximum size of a call's arguments, and of an external tool's output, in bytes.
    pub fn max_argument_bytes(self, bytes: usize) -> Self {
        Self::from_unique(self.inner.tools.clone(), Settings { max_argument_bytes: bytes, ..self.inner.settings })
    }

    /// Makes every tool of the set [`lenient`](crate::tool::ToolOptions::lenient), as `#[tool(lenient)]` does for one: values that a
    /// model sent in another form, such as `"5"` for an integer, are read if they have only one meaning.
    ///
    /// It has no effect on tools of MCP servers and tools that are defined at run time, nor on tools that are added later. Runs read values
    /// when they first check a call; [`call`](Self::call) and [`prepare`](Self::prepare) read none.
    pub fn lenient(self) -> Self {
        let lenient = |tool: &Arc<dyn ErasedTool>| {
            let spec = tool.spec();
            let is_declared = spec.input.is_declared() && spec.options.origin.is_none();
            if is_declared { adapt(tool, |spec| spec.options.lenient = true) } else { Arc::clone(tool) }
        };
        let tools = self.iter().map(lenient).collect();
        Self::from_unique(tools, self.inner.settings)
    }

    /// Sets the form in which a model receives a rejected call. The default is text; that of an agent is what its model reads best
    /// ([`Model::feedback_format`](crate::model::Model::feedback_format)).
    ///
    /// Programs that read rejections from a conversation need JSON. Protocols for frontends have the structured problems in
    /// either case. The log of a run has the text that the model received, so a change affects later calls only.
    ///
    /// ```
    /// use tool_runtime::{Context, feedback::FeedbackFormat, message::Part, tool, toolset};
    ///
    /// /// Greets.
    /// #[tool]
    /// fn greet(name: String) -> String {
    ///     format!("Hello, {name}!")
    /// }
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let rejected = toolset!(greet).call("greet", "{}", &Context::new("call_1")).await.unwrap_err();
    /// assert_eq!(rejected.for_model(), Part::text(concat!(
    ///     "The call was rejected. Correct these problems and call again:\n",
    ///     "name: missing: expected a string\n",
    ///     r#"Call it like this: {"name": "greet", "arguments": {"name": "<string>"}}"#,
    /// )));
    /// let tools = toolset!(greet).feedback_format(FeedbackFormat::Json);
    /// let rejected = tools.call("greet", "{}", &Context::new("call_1")).await.unwrap_err();
    /// assert!(matches!(rejected.for_model(), Part::Json { json } if json.starts_with(r#"{"ok":false"#)));
    /// # });
    /// ```
    pub fn feedback_format(self, format: FeedbackFormat) -> Self {
        Self::from_unique(self.inner.tools.clone(), Settings { feedback: Some(format), ..self.inner.settings })
    }

    /// Adds the text for the model to a rejected call of the tool `name`, if the set's format, or else `default`, is text.
    pub(crate) fn explain(&self, name: &str, arguments: &str, error: CallError, default: FeedbackFormat) -> CallError {
        match self.get(name) {
            Some(tool) if self.inner.settings.feedback.unwrap_or(default) == FeedbackFormat::Text => {
                error.explain(tool.spec(), arguments)
            }
            _ => error,
        }
    }

    /// Returns the tool called `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn ErasedTool>> {
        self.inner.index.get(name).map(|index| &self.inner.tools[*index])
    }

    /// Returns the specification of the tool called `name`, and what runs keep of it. Computed at its first use.
    pub(crate) fn reference(&self, name: &str) -> Option<(&ToolSpec, &ToolReference)> {
        let at = *self.inner.index.get(name)?;
        let spec = self.inner.tools[at].spec();
        let reference = || (Arc::new(ToolRef::new(spec, spec.fingerprint())), KnownFingerprints::of(spec));
        Some((spec, self.inner.references[at].get_or_init(reference)))
    }

    /// Returns the tools, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<dyn ErasedTool>> {
        self.inner.tools.iter()
    }

    /// Returns the name of the tool that the list for models calls `offered`. Any other text is returned unchanged.
    #[cfg(feature = "agent")]
    pub(crate) fn own_name<'a>(&'a self, offered: &'a str) -> &'a str {
        if self.get(offered).is_some() {
            return offered;
        }
        self.names().find(|name| !is_valid_name(name) && to_valid_name(name) == offered).unwrap_or(offered)
    }

    /// Returns whether hooks follow the arguments of a tool.
    #[cfg(feature = "agent")]
    pub(crate) fn has_hooks(&self) -> bool {
        self.inner.has_hooks
    }

    #[cfg(feature = "agent")]
    pub(crate) fn as_slice(&self) -> &[Arc<dyn ErasedTool>] {
        &self.inner.tools
    }

    /// Returns the names, in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.inner.tools.iter().map(|tool| tool.name())
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.inner.tools.len()
    }

    /// Returns whether the set has no tools.
    pub fn is_empty(&self) -> bool {
        self.inner.tools.is_empty()
    }

    /// Returns the tools as they are offered to a model. The list is made at the first call and shared.
    pub fn list(&self) -> &ToolList {
        self.inner.list.get_or_init(|| ToolList::new(self.iter().map(|tool| Arc::clone(tool.spec())).collect()))
    }

    /// Returns these tools followed by those of a client, whose names may be any text. A model reads
    /// [a valid name](ToolList::specs) in place of such a text. A client's tool with the name of an earlier tool, also in the
    /// list for models, is left out, so it never replaces that tool.
    pub fn with_client_tools(&self, tools: &[Arc<dyn ErasedTool>]) -> Self {
        let mut names: HashSet<_> = self.names().map(to_valid_name).collect();
        let new = tools.iter().filter(|tool| names.insert(to_valid_name(tool.name())));
        Self::from_unique(self.iter().chain(new).cloned().collect(), self.inner.settings)
    }

    pub(crate) fn nearest(&self, name: &str) -> Option<String> {
        feedback::suggest::nearest(name, self.names()).map(str::to_owned)
    }

    fn build(tools: Vec<Arc<dyn ErasedTool>>, settings: Settings) -> Result<Self, ToolsetError> {
        let set = Self::from_unique(tools, settings);
        for (index, tool) in set.iter().enumerate() {
            check_name(tool.name())?;
            if set.inner.index.get(tool.name()) != Some(&index) {
                return Err(ToolsetError::DuplicateName { name: tool.name().to_owned() });
            }
            check_schemas(tool.as_ref())?;
        }
        Ok(set)
    }

    fn from_unique(tools: Vec<Arc<dyn ErasedTool>>, settings: Settings) -> Self {
        let index = tools.iter().enumerate().map(|(index, tool)| (tool.name().to_owned(), index)).collect();
        let inner = Inner {
            #[cfg(feature = "agent")]
            has_hooks: tools.iter().any(|tool| tool.hooks().is_some()),
            references: tools.iter().map(|_| OnceLock::new()).collect(),
            tools,
            index,
            settings,
            list: OnceLock::new(),
        };
        Self { inner: Arc::new(inner) }
    }
}

/// Checks that no schema of `tool` needs the feature `jsonschema`, if that is off.
fn check_schemas(tool: &dyn ErasedTool) -> Result<(), ToolsetError> {
    // With the feature, the check would only create schemas before their first use.
    if cfg!(feature = "jsonschema") {
        return Ok(());
    }
    let spec = tool.spec();
    let mut schemas = [Some(&spec.input), spec.output.as_ref()].into_iter().flatten();
    match schemas.find_map(|schema| schema.needs_feature()) {
        Some(reason) => Err(ToolsetError::Schema { name: spec.name.clone(), reason: reason.to_string() }),
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

/// An error about a tool's name or schema, such as a duplicate name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolsetError {
    /// Two tools of one set have the same name.
    DuplicateName {
        /// The name.
        name: String,
    },
    /// The name is not `[A-Za-z0-9_-]{1,64}`, the form that every provider accepts.
    InvalidName {
        /// The name.
        name: String,
    },
    /// There is no tool of that name.
    UnknownTool {
        /// The name.
        name: String,
        /// The known name that is nearest to it.
        suggestion: Option<String>,
    },
    /// The agent has a function for callers (`Agent::for_each_caller`), so it cannot be one of a team.
    MadeForCallers {
        /// The name that the agent would have in the team.
        agent: String,
    },
    /// The agent has a team of its own (`Agent::hands_over_to`), so it cannot be one of another team.
    HasTeam {
        /// The name that the agent would have in the team.
        agent: String,
    },
    /// A schema of the tool can only be checked with the feature `jsonschema`.
    Schema {
        /// The tool's name.
        name: String,
        /// The keyword that needs the feature, and its place.
        reason: String,
    },
}

impl fmt::Display for ToolsetError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MadeForCallers { agent } => write!(
                out,
                "the agent `{agent}` is made for each caller; make the team in the function of the agent that hands over"
            ),
            Self::HasTeam { agent } => write!(
                out,
                "the agent `{agent}` has a team of its own; put all agents into one team, in which each can hand over to every other"
            ),
            Self::DuplicateName { name } => {
                write!(out, "two tools are called `{name}`; rename or prefix one of them before they are put together")
            }
            Self::InvalidName { name } => {
                write!(
                    out,
                    "invalid tool name {}: use 1 to 64 of the characters A-Z, a-z, 0-9, _ and -",
                    feedback::quote_name(name)
                )
            }
            Self::Schema { name, reason } => write!(out, "the tool {}: {reason}", feedback::quote_name(name)),
            Self::UnknownTool { name, suggestion: None } => {
                write!(out, "there is no tool called {}", feedback::quote_name(name))
            }
            Self::UnknownTool { name, suggestion: Some(near) } => {
                write!(out, "there is no tool called {}; did you mean `{near}`?", feedback::quote_name(name))
            }
        }
    }
}

impl std::error::Error for ToolsetError {}

/// Checks that `name` is `[A-Za-z0-9_-]{1,64}`.
pub fn check_name(name: &str) -> Result<(), ToolsetError> {
    if is_valid_name(name) { Ok(()) } else { Err(ToolsetError::InvalidName { name: name.to_owned() }) }
}

fn renamed(tool: &Arc<dyn ErasedTool>, name: String) -> Arc<dyn ErasedTool> {
    adapt(tool, |spec| spec.name = name)
}

/// Returns `tool` with another member in its definition for one provider.
fn with_member(tool: &Arc<dyn ErasedTool>, provider: &str, member: &str, value: &Value) -> Arc<dyn ErasedTool> {
    adapt(tool, |spec| {
        let members = spec.options.provider.entry(provider).or_insert_with(|| Value::Object(Map::new()));
        if let Some(members) = members.as_object_mut() {
            members.insert(member.to_owned(), value.clone());
        }
    })
}

fn adapt(tool: &Arc<dyn ErasedTool>, change: impl FnOnce(&mut ToolSpec)) -> Arc<dyn ErasedTool> {
    let mut spec = ToolSpec::clone(tool.spec());
    change(&mut spec);
    Arc::new(Adapted { inner: Arc::clone(tool), spec: Arc::new(spec), policy: None })
}

/// A tool under another spec, or under a policy.
struct Adapted {
    inner: Arc<dyn ErasedTool>,
    spec: Arc<ToolSpec>,
    policy: Option<Arc<dyn Policy>>,
}

impl ErasedTool for Adapted {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> PrepareFuture<'a> {
        let started = self.inner.prepare(arguments, cx);
        let Some(policy) = &self.policy else { return started };
        started.map(move |started| tighten(&**policy, started?, PolicyCall { spec: &self.spec, arguments, cx }))
    }

    fn read_external_output(&self, output: &str) -> Result<Output, CallError> {
        self.inner.read_external_output(output)
    }

    fn inner_tools(&self) -> &[Arc<dyn ErasedTool>] {
        self.inner.inner_tools()
    }

    fn hooks(&self) -> Option<&dyn InputHooks> {
        self.inner.hooks()
    }

    fn is_layer(&self) -> bool {
        self.inner.is_layer()
    }
}
