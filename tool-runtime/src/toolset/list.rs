//! The tools on offer, including those that providers execute, and their rendering for a request.

use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

use crate::schema::{Dialect, Severity};
use crate::tool::ToolSpec;
use tool_run::tool::{is_valid_name, to_valid_name};

/// The tools on offer in one request: their specs, and the list as JSON for each wire format, rendered once.
#[derive(Clone, Debug, Default)]
pub struct ToolList {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    specs: Vec<Arc<ToolSpec>>,
    provided: Vec<ProviderTool>,
    rendered: [OnceLock<Box<RawValue>>; ListFormat::ALL.len()],
}

/// The format in which a list of tools is written for a model or a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ListFormat {
    /// `{"type":"function","function":{"name","description","parameters","strict"}}`: chat completions.
    OpenAi,
    /// `{"name","description","input_schema"}`: Anthropic messages.
    Anthropic,
    /// `{"name","description","parametersJsonSchema"}`: Gemini's function declarations.
    Gemini,
    /// `{"type":"function","name","description","parameters","strict"}`: OpenAI's Responses API. `strict` is always there, because
    /// the API reads a missing one as `true`.
    Responses,
    /// `{"type":"function","name","description","parameters"}`: Gemini's Interactions API.
    GeminiInteractions,
}

impl ListFormat {
    /// Every format, in the order of the discriminants.
    pub const ALL: [Self; 5] = [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Responses, Self::GeminiInteractions];

    /// Returns the key of this format in [`ToolOptions::provider`](crate::tool::ToolOptions::provider).
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Responses => "responses",
            Self::GeminiInteractions => "gemini_interactions",
        }
    }

    /// Returns the dialect in which this format carries the schema of `spec`, and whether the request asks the provider to be
    /// strict.
    ///
    /// Strictness needs a tool that is declared `strict`, with a schema that the strict dialect can express. Otherwise the portable
    /// form is sent, without strictness. The tool's decoder checks the arguments in any case.
    pub fn dialect(self, spec: &ToolSpec) -> (Dialect, bool) {
        let strict = match self {
            Self::OpenAi | Self::Responses => Dialect::OpenAiStrict,
            Self::Anthropic => Dialect::Anthropic,
            Self::Gemini | Self::GeminiInteractions => return (Dialect::Gemini, false),
        };
        let fits = || spec.input.lowered(strict).worst() < Some(Severity::Inexpressible);
        if spec.options.strict && fits() { (strict, true) } else { (Dialect::Portable, false) }
    }
}

impl ToolList {
    /// Creates a list of `specs`, in their order.
    pub fn new(specs: Vec<Arc<ToolSpec>>) -> Self {
        Self::with_provided(specs, Vec::new())
    }

    /// Creates a list of `specs`, followed by tools that providers execute.
    pub fn with_provided(mut specs: Vec<Arc<ToolSpec>>, provided: Vec<ProviderTool>) -> Self {
        for spec in specs.iter_mut().filter(|spec| !is_valid_name(&spec.name)) {
            let name = to_valid_name(&spec.name).into_owned();
            Arc::make_mut(spec).name = name;
        }
        Self { shared: Arc::new(Shared { specs, provided, rendered: Default::default() }) }
    }

    /// Returns the specs, in order. A tool of a client whose name is not `[A-Za-z0-9_-]{1,64}` has a similar name here, which ends
    /// with a digest of its own. The agent translates it back when a model calls the tool.
    pub fn specs(&self) -> &[Arc<ToolSpec>] {
        &self.shared.specs
    }

    /// Returns the spec of the tool called `name` in this list.
    pub fn get(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        self.shared.specs.iter().find(|spec| spec.name == name)
    }

    /// Returns the tools that providers with lists of the form `format` execute.
    pub fn provider_tools(&self, format: ListFormat) -> impl Iterator<Item = &ProviderTool> {
        self.shared.provided.iter().filter(move |tool| tool.format() == format)
    }

    /// Returns the tools that providers execute, in any format.
    #[cfg(feature = "agent")]
    pub(crate) fn provided(&self) -> &[ProviderTool] {
        &self.shared.provided
    }

    /// Returns whether the list is empty in `format`: it has no tools, and none that its provider executes.
    pub fn is_empty_in(&self, format: ListFormat) -> bool {
        self.is_empty() && self.provider_tools(format).next().is_none()
    }

    /// Returns whether the list has no tools, apart from those that a provider executes.
    pub fn is_empty(&self) -> bool {
        self.shared.specs.is_empty()
    }

    /// Returns the list as a JSON array in `format`. It is rendered at the first call, then shared.
    #[allow(clippy::missing_panics_doc, reason = "specs hold nothing that is not JSON")]
    pub fn json(&self, format: ListFormat) -> &RawValue {
        self.shared.rendered[format as usize].get_or_init(|| {
            let ours = self.shared.specs.iter().map(|spec| Entry::new(spec, format));
            let provided = self.provider_tools(format).map(|tool| Entry::Provided(tool.definition()));
            let entries: Vec<Entry<'_>> = ours.chain(provided).collect();
            serde_json::value::to_raw_value(&entries).expect("specs hold nothing that is not JSON")
        })
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Entry<'a> {
    OpenAi {
        r#type: &'static str,
        function: Function<'a>,
        #[serde(flatten)]
        more: Map<String, Value>,
    },
    Anthropic {
        name: &'a str,
        description: &'a str,
        input_schema: &'a RawValue,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        strict: bool,
        #[serde(flatten)]
        more: Map<String, Value>,
    },
    Gemini {
        name: &'a str,
        description: &'a str,
        #[serde(rename = "parametersJsonSchema")]
        parameters: &'a RawValue,
        #[serde(flatten)]
        more: Map<String, Value>,
    },
    Responses {
        r#type: &'static str,
        name: &'a str,
        description: &'a str,
        parameters: &'a RawValue,
        strict: bool,
        #[serde(flatten)]
        more: Map<String, Value>,
    },
    GeminiInteractions {
        r#type: &'static str,
        name: &'a str,
        description: &'a str,
        parameters: &'a RawValue,
        #[serde(flatten)]
        more: Map<String, Value>,
    },
    Provided(&'a Map<String, Value>),
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
}

impl<'a> Entry<'a> {
    fn new(spec: &'a ToolSpec, format: ListFormat) -> Self {
        let (dialect, strict) = format.dialect(spec);
        let schema: &RawValue = spec.input.lowered(dialect).json();
        let (name, description) = (&*spec.name, &*spec.description);
        let more = provider_members(spec, format);
        match format {
            ListFormat::OpenAi => Self::OpenAi {
                r#type: "function",
                function: Function { name, description, parameters: schema, strict },
                more,
            },
            ListFormat::Anthropic => Self::Anthropic { name, description, input_schema: schema, strict, more },
            ListFormat::Gemini => Self::Gemini { name, description, parameters: schema, more },
            ListFormat::Responses => {
                Self::Responses { r#type: "function", name, description, parameters: schema, strict, more }
            }
            ListFormat::GeminiInteractions => {
                Self::GeminiInteractions { r#type: "function", name, description, parameters: schema, more }
            }
        }
    }
}

/// Returns the members that a tool adds to its definition for one provider, without those that the definition itself has.
fn provider_members(spec: &ToolSpec, format: ListFormat) -> Map<String, Value> {
    const OWN: [&str; 8] =
        ["type", "function", "name", "description", "parameters", "input_schema", "parametersJsonSchema", "strict"];
    let added = spec.options.provider.get(format.name()).and_then(Value::as_object);
    let mut more = added.cloned().unwrap_or_default();
    more.retain(|member, _| !OWN.contains(&member.as_str()));
    more
}

/// A tool that a model's provider executes itself, such as its web search. Its definition is in the provider's own terms, and is
/// sent unchanged.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::toolset::ProviderTool;
///
/// let search = ProviderTool::anthropic("web_search_20250305", "web_search").arg("max_uses", 3);
/// assert_eq!(search.definition()["max_uses"], json!(3));
/// let search = ProviderTool::responses("web_search").arg("search_context_size", "low");
/// let plugin = ProviderTool::openai("openrouter:web_search").arg("parameters", json!({"max_results": 3}));
/// # let _ = (search, plugin);
/// ```
///
/// A model of another provider or with another API does not see it, so an agent can have one for each.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderTool {
    format: ListFormat,
    definition: Map<String, Value>,
}

impl ProviderTool {
    /// Creates a tool of the type `type`, for providers whose lists of tools have the form `format`.
    pub fn new(format: ListFormat, r#type: impl Into<String>) -> Self {
        let definition = Map::from_iter([("type".to_owned(), Value::String(r#type.into()))]);
        Self { format, definition }
    }

    /// Creates a tool of Anthropic, from its type with a version, and its name.
    pub fn anthropic(r#type: impl Into<String>, name: impl Into<String>) -> Self {
        Self::new(ListFormat::Anthropic, r#type).arg("name", name.into())
    }

    /// Creates a tool of OpenAI's Responses API, or of a provider with the same API, from its type.
    pub fn responses(r#type: impl Into<String>) -> Self {
        Self::new(ListFormat::Responses, r#type)
    }

    /// Creates a tool of a provider with the chat completions protocol, from its type.
    pub fn openai(r#type: impl Into<String>) -> Self {
        Self::new(ListFormat::OpenAi, r#type)
    }

    /// Adds a member to the definition, such as how often the tool may be used.
    pub fn arg(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.definition.insert(name.into(), value.into());
        self
    }

    /// Returns the format of the lists that contain the tool.
    pub fn format(&self) -> ListFormat {
        self.format
    }

    /// Returns the definition that is sent to the provider.
    pub fn definition(&self) -> &Map<String, Value> {
        &self.definition
    }
}
