//! Which tools a model gets to see, in which order, and whether it must call one.

use std::sync::Arc;

use super::super::Agent;
use crate::model::ToolChoice;
use crate::toolset::ProviderTool;

impl Agent {
    /// Sets whether the model may, must or must not call a tool, in every step.
    ///
    /// - [`ToolChoice::None`]: a model that calls anyway is answered as if there were no such tool; nothing runs.
    /// - [`ToolChoice::Tool`]: calls of other tools are answered so.
    /// - [`ToolChoice::Required`], and `Tool`: a model that makes no such call has its way, and its turn stands;
    ///   [`Event::ChoiceIgnored`](crate::agent::Event::ChoiceIgnored) tells of it. A model that obeys never comes to an end
    ///   by itself: set a condition ([`Agent::stop_when`]), or let [`Agent::prepare_step`] lift the choice after the first
    ///   step.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Offers only the tools of these names. The others stay the agent's: what a run called of them before goes on, and
    /// [`Agent::prepare_step`] can offer them in a step. A call of a tool that is not on offer is answered as if there were
    /// no such tool, also if it is looked at later, in another process.
    pub fn active_tools<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.knobs.active = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Puts the tools of these names first in the list that the model gets, in this order; the others follow in their own.
    /// Providers cache the beginning of a request, so what changes rarely comes first.
    pub fn tool_order<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.knobs.order = names.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a tool that the model's provider executes, such as its web search. What comes of it is part of the model's turn
    /// ([`AssistantPart::Provider`](crate::message::AssistantPart::Provider)) and told
    /// ([`Event::Provided`](crate::agent::Event::Provided)), but it is no call of the run: nobody approves it, and
    /// [`Agent::active_tools`] does not name it.
    pub fn provider_tool(mut self, tool: ProviderTool) -> Self {
        let before = self.knobs.provided.iter().cloned();
        self.knobs.provided = before.chain([tool]).collect::<Arc<[_]>>();
        self
    }
}
