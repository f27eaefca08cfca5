//! Other people's MCP servers as toolsets.
//!
//! Nothing that a server says of itself is believed: a call needs an approval whatever the server calls it, its results count
//! as text of strangers, and a tool whose definition changes stops until somebody has accepted the change.

mod call;
mod connection;
mod definition;
mod handler;
mod remote;

use std::{collections::BTreeSet, fmt, path::PathBuf, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue};

pub use connection::Streams;
pub use definition::{Change, Pins};
pub use handler::RemoteLog;
pub use remote::{Refused, RemoteTools};

use crate::mcp::LogLevel;
use connection::Transport;
use handler::LogReceiver;

/// An MCP server to connect to, and how far it is trusted.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use tool_server::mcp::RemoteServer;
///
/// let files = RemoteServer::command("files", "npx")
///     .args(["-y", "@modelcontextprotocol/server-filesystem", "/srv/files"])
///     .allow(["list_directory"])
///     .connect()
///     .await?;
/// let tools = files.toolset(); // files_list_directory, files_read_file, …
/// # let _ = tools;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RemoteServer {
    name: String,
    prefix: String,
    transport: Transport,
    limits: Limits,
    allowed: BTreeSet<String>,
    hints: bool,
    questions: bool,
    logs: Option<LogReceiver>,
    pins: Option<Pins>,
}

impl RemoteServer {
    fn new(name: impl Into<String>, transport: Transport) -> Self {
        let name = name.into();
        let prefix = format!("{name}_");
        let (limits, allowed) = (Limits::default(), BTreeSet::new());
        Self { name, prefix, transport, limits, allowed, hints: false, questions: false, logs: None, pins: None }
    }

    /// A program that is started, and spoken with over its stdin and stdout. What it writes to stderr goes to ours.
    ///
    /// It inherits the environment's `PATH`, `HOME` and the like, and nothing else: keys that are meant for this program are
    /// not for that one. `name` is what its tools are prefixed with, and the origin that people see.
    pub fn command(name: impl Into<String>, program: impl Into<PathBuf>) -> Self {
        Self::new(
            name,
            Transport::Command { program: program.into(), args: Vec::new(), env: Vec::new(), directory: None },
        )
    }

    /// A server at an address, over streamable HTTP.
    pub fn http(name: impl Into<String>, address: impl Into<String>) -> Self {
        Self::new(name, Transport::Http { address: address.into(), headers: HeaderMap::new() })
    }

    /// A server behind any pair of streams; `connect` makes a new pair whenever the connection has to be made anew.
    pub fn streams(name: impl Into<String>, connect: impl Streams) -> Self {
        Self::new(name, Transport::Streams(Arc::new(connect)))
    }

    /// Adds arguments of the program.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        if let Transport::Command { args: all, .. } = &mut self.transport {
            all.extend(args.into_iter().map(Into::into));
        }
        self
    }

    /// Adds a variable to the program's environment.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Transport::Command { env, .. } = &mut self.transport {
            env.push((name.into(), value.into()));
        }
        self
    }

    /// Sets the program's directory.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        if let Transport::Command { directory: place, .. } = &mut self.transport {
            *place = Some(directory.into());
        }
        self
    }

    /// Adds a header to every request. `Debug` does not show its value.
    ///
    /// Fails when it holds characters that a header cannot carry.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, http::Error> {
        let (name, mut value) = (HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
        value.set_sensitive(true);
        if let Transport::Http { headers, .. } = &mut self.transport {
            headers.insert(name, value);
        }
        Ok(self)
    }

    /// Sets what the names of the tools begin with; the server's name and `_` without it.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Changes the limits of the server's answers, and the time limits.
    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// Lets calls of these tools run without an approval; the names are the server's. It is the application that says so,
    /// not the server.
    pub fn allow(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Believes what the server says of its tools: those that it calls read-only need no approval. For servers of one's own.
    pub fn trust_hints(mut self) -> Self {
        self.hints = true;
        self
    }

    /// Lets the server's tools ask the person behind a run; the question names the server. By default nobody is asked.
    pub fn questions(mut self) -> Self {
        self.questions = true;
        self
    }

    /// Gives the server's logs to `receive`, from the level `least` on. It is called where messages of
    /// the server are read, and must not block.
    pub fn logs(mut self, least: LogLevel, receive: impl Fn(RemoteLog) + Send + Sync + 'static) -> Self {
        self.logs = Some(LogReceiver { least, receive: Arc::new(receive) });
        self
    }

    /// Accepts only tools that are as they were when these pins were made. Without pins, the server's first list is accepted
    /// as it is, and pinned.
    pub fn pins(mut self, pins: Pins) -> Self {
        self.pins = Some(pins);
        self
    }

    /// Connects, and reads the list of tools.
    ///
    /// Fails when the server cannot be reached, does not speak MCP, takes longer than [`Limits::connect`], or its list is
    /// larger than the limit.
    pub async fn connect(self) -> Result<RemoteTools, RemoteError> {
        RemoteTools::connect(self).await
    }
}

/// Limits of a server's answers, and time limits for it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// How long connecting and listing the tools may take.
    pub connect: Duration,
    /// How long a call may take.
    pub call: Duration,
    /// How many tools a server may have; one that has more is refused.
    pub tools: usize,
    /// How many bytes the definition of a tool may have; a larger one is left out.
    pub definition_bytes: usize,
    /// How many bytes the result of a call may have; a larger one is a failure.
    pub result_bytes: usize,
    /// How often a call may ask for input before it is given up.
    pub rounds: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            call: Duration::from_mins(1),
            tools: 512,
            definition_bytes: 256 * 1024,
            result_bytes: 1024 * 1024,
            rounds: 8,
        }
    }
}

/// The error of a server that could not be used.
#[derive(Debug)]
pub struct RemoteError {
    server: String,
    reason: String,
}

impl RemoteError {
    fn new(server: &str, reason: impl fmt::Display) -> Self {
        Self { server: server.to_owned(), reason: reason.to_string() }
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the MCP server `{}` cannot be used: {}", self.server, tool_runtime::feedback::escape(&self.reason))
    }
}

impl std::error::Error for RemoteError {}

impl fmt::Debug for RemoteServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RemoteServer")
            .field("name", &self.name)
            .field("transport", &self.transport)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Fails when `work` takes longer than `limit`.
async fn within<T>(limit: Duration, what: &str, work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done,
        Err(_) => Err(format!("{what} took longer than {} s", limit.as_secs_f64())),
    }
}
