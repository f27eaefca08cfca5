//! A typed answer as the provider's own structured output, in place of a tool.

use std::sync::Arc;

use serde_json::Value;

use tool_runtime::{
    model::{Request, ToolChoice},
    schema::Dialect,
    tool::ToolSpec,
    toolset::{ListFormat, ToolList},
};

/// A request whose answer's tool becomes the provider's structured output.
pub struct Structured {
    spec: Arc<ToolSpec>,
    /// The other tools.
    tools: ToolList,
    choice: ToolChoice,
    format: ListFormat,
}

impl Structured {
    /// Takes the answer's tool out of `request`. Returns `None` if the request has none, or forces a call of another tool.
    pub fn of(request: &Request<'_>, format: ListFormat) -> Option<Self> {
        let name = request.answer_tool?;
        let mut spec = Arc::clone(request.tools.get(name)?);
        let choice = match request.tool_choice {
            ToolChoice::Tool(tool) if tool != name => return None,
            ToolChoice::Tool(_) | ToolChoice::None => ToolChoice::None,
            // The answer is no call any more, so no call can be required.
            ToolChoice::Required | ToolChoice::Auto => ToolChoice::Auto,
        };
        Arc::make_mut(&mut spec).options.strict = true;
        let others = request.tools.specs().iter().filter(|other| other.name != name).cloned().collect();
        let provided = request.tools.provider_tools(format).cloned().collect();
        Some(Self { spec, tools: ToolList::with_provided(others, provided), choice, format })
    }

    /// Returns whether the request has other tools, those of the provider included.
    pub fn has_tools(&self) -> bool {
        !self.tools.is_empty_in(self.format)
    }

    /// Returns `request` without the answer's tool.
    pub fn rest<'a>(&'a self, request: &Request<'a>) -> Request<'a> {
        let mut rest = *request;
        (rest.tools, rest.tool_choice) = (&self.tools, &self.choice);
        rest
    }

    /// Returns the name of the answer, which some providers require.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Returns the schema of the answer, and whether it is that of the provider's strict mode.
    pub fn schema(&self) -> (Value, bool) {
        let (dialect, is_strict) = self.format.dialect(&self.spec);
        let lowered = self.spec.input.lowered(dialect);
        // In a text, nobody removes the nulls that mean "not given".
        let is_exact = !lowered.raises();
        let (lowered, is_strict) =
            if is_exact { (lowered, is_strict) } else { (self.spec.input.lowered(Dialect::Portable), false) };
        (serde_json::from_str(lowered.json().get()).expect("a schema is JSON"), is_strict)
    }
}
