//! Tools that the provider of a model executes.

use serde_json::{Map, Value};

use super::ListFormat;

/// A tool that a model's provider executes itself, such as its web search: declared in the words of the provider, and sent
/// to it as they are.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::toolset::ProviderTool;
///
/// let search = ProviderTool::anthropic("web_search_20250305", "web_search").arg("max_uses", 3);
/// assert_eq!(search.definition()["max_uses"], json!(3));
/// let plugin = ProviderTool::openai("openrouter:web_search").arg("parameters", json!({"max_results": 3}));
/// # let _ = plugin;
/// ```
///
/// A model of another provider does not get to see it, so an agent can have one of each.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderTool {
    format: ListFormat,
    definition: Map<String, Value>,
}

impl ProviderTool {
    /// A tool of a provider whose lists of tools have the form `format`, by its type.
    pub fn new(format: ListFormat, r#type: impl Into<String>) -> Self {
        let definition = Map::from_iter([("type".to_owned(), Value::String(r#type.into()))]);
        Self { format, definition }
    }

    /// A tool of Anthropic, by its type with its version, and by its name.
    pub fn anthropic(r#type: impl Into<String>, name: impl Into<String>) -> Self {
        Self::new(ListFormat::Anthropic, r#type).arg("name", name.into())
    }

    /// A tool of OpenAI, or of who speaks its protocol, by its type.
    pub fn openai(r#type: impl Into<String>) -> Self {
        Self::new(ListFormat::OpenAi, r#type)
    }

    /// Adds a member to the definition, such as how often it may be used.
    pub fn arg(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.definition.insert(name.into(), value.into());
        self
    }

    /// The form of the lists that it goes into.
    pub fn format(&self) -> ListFormat {
        self.format
    }

    /// What the provider is told.
    pub fn definition(&self) -> &Map<String, Value> {
        &self.definition
    }
}
