//! The tools on offer, as MCP describes them.

use std::{collections::HashMap, sync::Arc};

use rmcp::{
    ErrorData,
    model::{Icon, JsonObject, ListToolsResult, MetaObject, Tool, ToolAnnotations},
};
use serde_json::{Value, json};
use tool_runtime::{
    Agent, Effect, ToolSpec, Toolset,
    schema::{Dialect, Schema},
};
use tool_schema::schema::places;

/// A tool on offer.
pub struct ListedTool {
    /// The definition. rmcp leaves out output schemas that a client's revision does not allow.
    pub definition: Tool,
    /// The form of the arguments, if it wraps those that are no objects.
    wrapping: Option<Arc<Schema>>,
    /// Set if rmcp compares headers of HTTP with arguments, as the schema says.
    pub has_header_arguments: bool,
}

impl ListedTool {
    /// Creates the definition. With `has_exact_roots`, its input schema is exact.
    fn new(spec: &ToolSpec, has_exact_roots: bool) -> Self {
        let one_object = if has_exact_roots { None } else { spec.input.with_one_object() };
        let wraps = one_object.is_some() && spec.input.lowered(Dialect::Portable).wraps();
        let input = match one_object {
            Some(Value::Object(root)) => Some(Arc::new(root)),
            _ => schema_object(&spec.input),
        };
        let input = input.unwrap_or_default();
        let has_header_arguments = serde_json::to_string(&input).is_ok_and(|json| json.contains("\"x-mcp-header\""));
        let definition = describe_tool(spec, input);
        Self { definition, wrapping: wraps.then(|| Arc::clone(&spec.input)), has_header_arguments }
    }

    /// Returns the arguments of a call as the tool takes them.
    pub fn arguments(&self, sent: String) -> String {
        match &self.wrapping {
            Some(input) => input.lowered(Dialect::Portable).raise(&sent).into_owned(),
            None => sent,
        }
    }

    /// Returns whether clients know an output schema of the tool. rmcp lists only schemas of objects to clients of revisions with
    /// sessions.
    pub fn has_output_schema(&self, is_modern: bool) -> bool {
        let is_object = |schema: &JsonObject| schema.get("type").and_then(Value::as_str) == Some("object");
        self.definition.output_schema.as_deref().is_some_and(|schema| is_modern || is_object(schema))
    }
}

/// The tools that the server offers at one time.
pub struct Offer {
    pub agent: Agent,
    tools: Vec<ListedTool>,
    index: HashMap<String, usize>,
    has_exact_roots: bool,
}

impl Offer {
    /// Creates the offer. With `has_exact_roots`, the schema of each tool is exact, also where its root is not one object.
    pub fn new(agent: Agent, has_exact_roots: bool) -> Self {
        let specs = agent.toolset().list().specs();
        let tools = specs.iter().map(|spec| ListedTool::new(spec, has_exact_roots)).collect();
        let index = specs.iter().enumerate().map(|(at, spec)| (spec.name.clone(), at)).collect();
        Self { agent, tools, index, has_exact_roots }
    }

    /// Returns the same offer with other tools.
    pub fn with_tools(&self, tools: Toolset) -> Self {
        self.with_agent(self.agent.clone().tools(tools))
    }

    /// Returns the offer of another agent.
    pub fn with_agent(&self, agent: Agent) -> Self {
        Self::new(agent, self.has_exact_roots)
    }

    /// Returns the same offer with exact schemas.
    pub fn with_exact_roots(&self) -> Self {
        Self::new(self.agent.clone(), true)
    }

    pub fn get(&self, name: &str) -> Option<&ListedTool> {
        Some(&self.tools[*self.index.get(name)?])
    }

    /// Returns a page of the list. A cursor is the name of the last tool before the page, so it is valid as long as that tool
    /// exists.
    ///
    /// Fails when the cursor is not the name of an existing tool.
    pub fn page(&self, cursor: Option<&str>, size: usize) -> Result<ListToolsResult, ErrorData> {
        let first = match cursor {
            None => 0,
            Some(name) => match self.index.get(name) {
                Some(at) => at + 1,
                None => return Err(ErrorData::invalid_params("the cursor leads nowhere; list the tools anew", None)),
            },
        };
        let page: Vec<Tool> = self.tools.iter().skip(first).take(size).map(|tool| tool.definition.clone()).collect();
        let next = page.last().filter(|_| first + page.len() < self.tools.len()).map(|last| last.name.to_string());
        let mut result = ListToolsResult::with_all_items(page);
        result.next_cursor = next;
        Ok(result)
    }
}

fn describe_tool(spec: &ToolSpec, input: Arc<JsonObject>) -> Tool {
    let mut tool = Tool::new(spec.name.clone(), spec.description.clone(), input);
    tool.title = spec.title.clone();
    tool.annotations = Some(annotations(spec));
    tool.icons = icons(spec);
    if !spec.options.meta.is_empty() {
        tool.meta = Some(MetaObject(spec.options.meta.clone()));
    }
    tool.output_schema = spec.output.as_deref().and_then(output_schema).map(lift_type);
    tool
}

/// Returns the schema of outputs. In that of a declared type, a number may be null: serde writes NaN and infinities so, and a client
/// that validates results would refuse them.
fn output_schema(schema: &Schema) -> Option<Arc<JsonObject>> {
    let object = schema_object(schema)?;
    if !schema.is_declared() {
        return Some(object);
    }
    let mut written = Value::Object(Arc::unwrap_or_clone(object));
    let mut numbers = Vec::new();
    places::visit(&written, &mut |at, part| numbers.extend((part["type"] == "number").then(|| format!("{at}/type"))));
    for at in numbers {
        if let Some(kind) = written.pointer_mut(&at) {
            *kind = json!(["number", "null"]);
        }
    }
    match written {
        Value::Object(written) => Some(Arc::new(written)),
        _ => None,
    }
}

/// Copies the type to the schema's root, where clients look for it, if the root only refers to a definition.
fn lift_type(mut schema: Arc<JsonObject>) -> Arc<JsonObject> {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix("#/$defs/"));
    let definition = target.and_then(|name| schema.get("$defs")?.get(name));
    if let Some(kind) = definition.and_then(|definition| definition.get("type")).cloned() {
        Arc::make_mut(&mut schema).entry("type").or_insert(kind);
    }
    schema
}

/// Returns the schema as JSON Schema 2020-12.
fn schema_object(schema: &Schema) -> Option<Arc<JsonObject>> {
    let text = schema.lowered(Dialect::JsonSchema2020).json().get();
    serde_json::from_str(text).ok().map(Arc::new)
}

fn annotations(spec: &ToolSpec) -> ToolAnnotations {
    let options = &spec.options;
    let reads = options.effect == Effect::ReadOnly;
    ToolAnnotations::from_raw(
        None,
        Some(reads),
        Some(options.effect == Effect::Destructive),
        Some(reads || options.idempotent),
        Some(options.open_world || options.untrusted),
    )
}

/// Returns a tool's icon, if it is an address that a client can load. Only this project's frontends know icons by name.
fn icons(spec: &ToolSpec) -> Option<Vec<Icon>> {
    let icon = spec.options.ui.as_ref()?.icon.as_deref()?;
    let is_address = icon.starts_with("https://") || icon.starts_with("data:image/");
    is_address.then(|| vec![Icon::new(icon)])
}
