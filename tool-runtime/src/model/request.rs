//! The request to a model.

use serde::Serialize;

use crate::message::Message;
use crate::toolset::ToolList;

/// The request to a model in one turn.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The conversation, oldest first. Every call in it is answered.
    pub messages: &'a [Message],
    /// The tools on offer.
    pub tools: &'a ToolList,
    /// The tool choice: the model may, must or must not call a tool.
    pub tool_choice: &'a ToolChoice,
    /// Sampling and size.
    pub settings: &'a Settings,
}

impl<'a> Request<'a> {
    /// A request with default choice and settings.
    pub fn new(messages: &'a [Message], tools: &'a ToolList) -> Self {
        static CHOICE: ToolChoice = ToolChoice::Auto;
        static SETTINGS: Settings = Settings { max_tokens: None, temperature: None, parallel_calls: None };
        Self { messages, tools, tool_choice: &CHOICE, settings: &SETTINGS }
    }

    /// Sets the tool choice.
    pub fn with_choice(mut self, choice: &'a ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Sets the settings.
    pub fn with_settings(mut self, settings: &'a Settings) -> Self {
        self.settings = settings;
        self
    }
}

/// The choice of tools: a model may, must or must not call one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model must call some tool.
    Required,
    /// The model must not call a tool.
    None,
    /// The model must call the tool of this name.
    Tool(String),
}

/// Sampling and size of one turn; `None` leaves it to the provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Settings {
    /// The most tokens that the model may produce.
    pub max_tokens: Option<u32>,
    /// The sampling temperature.
    pub temperature: Option<f32>,
    /// Set if the model may ask for several calls in one turn.
    pub parallel_calls: Option<bool>,
}
