//! The tools of a client, as tools of one run. The client declares and executes them, so they are not trusted.

use std::{collections::HashSet, fmt, sync::Arc};

use serde_json::{Value, json};

use super::input::ClientTool;
use tool_run::tool::to_valid_name;
use tool_runtime::tool::{AcceptedCall, CallError, Context, ErasedTool, Output, PrepareFuture, ToolSpec};
use tool_runtime::toolset::{RuntimeTool, Toolset};
use tool_schema::feedback;

/// The maximum number of a client's tools.
const MAX_TOOLS: usize = 512;

/// The maximum length of a tool's name, in bytes.
const MAX_NAME_BYTES: usize = 1024;

/// The maximum size of all tools of a client, in bytes.
const MAX_BYTES: usize = 4 << 20;

/// The treatment of arguments that do not fit the schema of a client's tool.
///
/// Clients of AG-UI do not check arguments. If a tool's code trusts them, this is the only check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgumentCheck {
    /// The server does not check. It streams the arguments as the model writes them.
    Off,
    /// The server streams the arguments, and reports the problems to the client. It sends a `CUSTOM` event named
    /// `tool_arguments`, whose value has the members `toolCallId` and `problems`.
    #[default]
    Report,
    /// The server rejects the arguments without showing them to the client, and the model tries again. The server sends
    /// arguments that fit in one event, when they are complete.
    Reject,
}

/// The tools of a client, for one run. They are cheap to clone.
#[derive(Clone, Default)]
pub struct ClientTools {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    tools: Vec<Arc<DeclaredTool>>,
    check: ArgumentCheck,
    warnings: Vec<String>,
}

/// The error for a client's tools that the server cannot offer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientToolError {
    /// There are too many tools, or they are too large.
    TooMuch(String),
    /// A tool has an invalid name.
    Name(String),
}

impl ClientTools {
    /// Reads the tools that a client has declared. It keeps names byte for byte.
    ///
    /// If a schema cannot be compiled, the server does not check the arguments of its tool, whatever `check` is. Of two tools
    /// with one name, it ignores the second. Both cases add to [`ClientTools::warnings`].
    ///
    /// Fails when there are more than 512 tools, or when names, descriptions and schemas have more than 4 MiB. It also fails when
    /// a name is empty or longer than 1024 bytes.
    pub fn new(declared: &[ClientTool], check: ArgumentCheck) -> Result<Self, ClientToolError> {
        if declared.len() > MAX_TOOLS {
            return Err(ClientToolError::TooMuch(format!("a client can declare at most {MAX_TOOLS} tools")));
        }
        let mut inner = Inner { check, ..Inner::default() };
        let mut names = HashSet::new();
        let mut bytes = 0;
        for tool in declared {
            if tool.name.is_empty() || tool.name.len() > MAX_NAME_BYTES {
                return Err(ClientToolError::Name(feedback::quote_name(&tool.name)));
            }
            bytes += tool.name.len() + tool.description.len();
            bytes += tool.parameters.as_ref().map_or(0, |schema| schema.to_string().len());
            if bytes > MAX_BYTES {
                return Err(ClientToolError::TooMuch(format!(
                    "all tools of a client together have at most {MAX_BYTES} bytes"
                )));
            }
            let name = feedback::quote_name(&tool.name);
            if !names.insert(tool.name.as_str()) {
                inner.warnings.push(format!("the tool {name} was declared twice; the first is used"));
                continue;
            }
            let declared_tool = Arc::new(DeclaredTool::new(tool, check));
            inner
                .warnings
                .extend(declared_tool.tool.warnings().iter().map(|warning| format!("the tool {name}: {warning}")));
            inner.tools.push(declared_tool);
        }
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Creates tools of which only the names are known. They accept results of calls that were made when the client still
    /// declared the tools. Only the first 512 names count. If one of them is invalid, there are no tools.
    pub fn placeholders(names: &[String]) -> Self {
        let tool = |name: &String| ClientTool {
            name: name.clone(),
            description: String::new(),
            parameters: None,
            metadata: None,
        };
        let tools: Vec<_> = names.iter().take(MAX_TOOLS).map(tool).collect();
        Self::new(&tools, ArgumentCheck::Off).unwrap_or_default()
    }

    /// Returns warnings for the developer of the client.
    pub fn warnings(&self) -> &[String] {
        &self.inner.warnings
    }

    /// Removes the tools that share a name with a tool of `own`. Returns the others, and the names of the removed ones.
    pub fn without(self, own: &Toolset) -> (Self, Vec<String>) {
        let is_own = |tool: &Arc<DeclaredTool>| own.get(&to_valid_name(tool.name())).is_some();
        let (shadowing, tools): (Vec<_>, Vec<_>) = self.inner.tools.iter().cloned().partition(is_own);
        let names = shadowing.iter().map(|tool| tool.name().to_owned()).collect();
        let (check, warnings) = (self.inner.check, self.inner.warnings.clone());
        (Self { inner: Arc::new(Inner { tools, check, warnings }) }, names)
    }

    /// Returns the application's tools, followed by the client's. If two tools share a name, the application's is kept; call
    /// [`ClientTools::without`] to learn the names.
    pub fn join(&self, own: &Toolset) -> Toolset {
        let tools: Vec<_> = self.inner.tools.iter().map(|tool| Arc::clone(tool) as Arc<dyn ErasedTool>).collect();
        own.with_client_tools(&tools)
    }

    /// Returns whether the encoder writes calls of the tool `name` while they arrive, not only after they are accepted.
    pub(super) fn are_streamed(&self, name: &str) -> bool {
        self.inner.check != ArgumentCheck::Reject && self.find(name).is_some()
    }

    fn find(&self, name: &str) -> Option<&Arc<DeclaredTool>> {
        self.inner.tools.iter().find(|tool| tool.name() == name)
    }

    /// Returns a report of the problems in arguments, if there are any and the check is [`ArgumentCheck::Report`].
    pub(super) fn report(&self, call: &str, name: &str, arguments: &str) -> Option<Value> {
        if self.inner.check != ArgumentCheck::Report {
            return None;
        }
        let problems = match self.find(name)?.tool.check(arguments) {
            Ok((_, problems)) => problems,
            Err(rejection) => rejection.problems().to_vec(),
        };
        let describe = |problem: &feedback::Problem| json!({ "path": problem.path, "message": problem.sentence() });
        let problems: Vec<_> = problems.iter().map(describe).collect();
        (!problems.is_empty()).then(|| json!({ "toolCallId": call, "problems": problems }))
    }
}

struct DeclaredTool {
    tool: RuntimeTool,
    check: ArgumentCheck,
}

impl DeclaredTool {
    fn new(declared: &ClientTool, check: ArgumentCheck) -> Self {
        let schema = declared.parameters.clone().unwrap_or(Value::Bool(true));
        let tool = RuntimeTool::new(declared.name.as_str(), declared.description.as_str()).input(schema).client_tool();
        Self { tool, check }
    }
}

impl ErasedTool for DeclaredTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        self.tool.spec()
    }

    fn prepare<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> PrepareFuture<'a> {
        if self.check == ArgumentCheck::Reject {
            return self.tool.prepare(arguments, cx);
        }
        let work = Box::pin(std::future::ready(Err(CallError::NotExecuted)));
        let mut started = AcceptedCall::new(false, work);
        if self.tool.check(arguments).is_err() {
            // Clients read arguments that are not an object as an empty object.
            started.normalized = Some("{}".into());
        }
        PrepareFuture::read(Ok(started))
    }

    fn read_external_output(&self, output: &str) -> Result<Output, CallError> {
        self.tool.read_external_output(output)
    }
}

impl fmt::Display for ClientToolError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMuch(limit) => out.write_str(limit),
            Self::Name(name) => write!(out, "invalid tool name {name}: a name has 1 to {MAX_NAME_BYTES} bytes"),
        }
    }
}

impl std::error::Error for ClientToolError {}

impl fmt::Debug for ClientTools {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.inner.tools.iter().map(|tool| tool.name())).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_of_a_client_shadows_none_of_the_server() {
        let offered = to_valid_name("files.open").into_owned();
        let own = RuntimeTool::new(offered.as_str(), "own").handler(|_, _| async { Ok(Value::Null) }).unwrap();
        let own = Toolset::new().with(own).unwrap();
        let names = ["files.open", offered.as_str(), "other"].map(str::to_owned);
        let (kept, removed) = ClientTools::placeholders(&names).without(&own);
        assert_eq!(removed, [names[0].as_str(), offered.as_str()]);
        assert_eq!(kept.join(&own).names().collect::<Vec<_>>(), [offered.as_str(), "other"]);
        // Without the server's, the first of two is kept.
        let both = ClientTools::placeholders(&names).join(&Toolset::new());
        assert_eq!(both.names().collect::<Vec<_>>(), ["files.open", "other"]);
    }
}
