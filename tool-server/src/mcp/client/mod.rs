//! The MCP client: foreign MCP servers as toolsets.
//!
//! The client does not trust a server's claims about its tools. By default, a call needs an approval, whatever effect the
//! server claims. Its results count as untrusted text (taint). A tool whose definition changes does not run until a person has
//! accepted the change.

mod call;
mod connection;
mod definition;
mod handler;
mod http_client;
mod program;
mod questions;
mod reading;
mod remote;
mod results;

use std::{collections::BTreeSet, fmt, path::PathBuf, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue};

pub use connection::OpenStreams;
pub use definition::{DefinitionChange, Pins};
pub use handler::RemoteLog;
pub use remote::{RemoteTools, SkippedPart};

use crate::mcp::LogLevel;
use connection::Transport;
use handler::LogReceiver;

/// An MCP server to connect to, with its trust settings and limits.
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
    limits: RemoteLimits,
    allowed: BTreeSet<String>,
    hints: bool,
    questions: bool,
    older_revision: bool,
    logs: Option<LogReceiver>,
    pins: Option<Pins>,
}

impl RemoteServer {
    fn new(name: impl Into<String>, transport: Transport) -> Self {
        let name = name.into();
        let prefix = format!("{name}_");
        let (limits, allowed) = (RemoteLimits::default(), BTreeSet::new());
        Self {
            name,
            prefix,
            transport,
            limits,
            allowed,
            hints: false,
            questions: false,
            older_revision: false,
            logs: None,
            pins: None,
        }
    }

    /// Creates the settings of a server that is a program. The client starts it, and communicates over its stdin and stdout. Its
    /// stderr is inherited.
    ///
    /// The program inherits only `PATH`, `HOME` and similar variables of the environment, so that it does not get this program's
    /// keys. `name` is the prefix of its tools' names, and the origin that people see.
    pub fn command(name: impl Into<String>, program: impl Into<PathBuf>) -> Self {
        Self::new(
            name,
            Transport::Command { program: program.into(), args: Vec::new(), env: Vec::new(), directory: None },
        )
    }

    /// Creates the settings of a server at an address, over streamable HTTP.
    pub fn http(name: impl Into<String>, address: impl Into<String>) -> Self {
        Self::new(name, Transport::Http { address: address.into(), headers: HeaderMap::new() })
    }

    /// Creates the settings of a server over any pair of streams. `connect` opens a new pair for each connection.
    pub fn streams(name: impl Into<String>, connect: impl OpenStreams) -> Self {
        Self::new(name, Transport::Streams(Arc::new(connect)))
    }

    /// Adds arguments for the program. This has no effect if the server is not a program.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        if let Transport::Command { args: all, .. } = &mut self.transport {
            all.extend(args.into_iter().map(Into::into));
        }
        self
    }

    /// Adds a variable to the program's environment. This has no effect if the server is not a program.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Transport::Command { env, .. } = &mut self.transport {
            env.push((name.into(), value.into()));
        }
        self
    }

    /// Sets the program's working directory. This has no effect if the server is not a program.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        if let Transport::Command { directory: place, .. } = &mut self.transport {
            *place = Some(directory.into());
        }
        self
    }

    /// Sets a header of every HTTP request. This has no effect if the server is not at an address. `Debug` does not show the
    /// value.
    ///
    /// Fails when the name or the value contains characters that are invalid in a header.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, http::Error> {
        let (name, mut value) = (HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
        value.set_sensitive(true);
        if let Transport::Http { headers, .. } = &mut self.transport {
            headers.insert(name, value);
        }
        Ok(self)
    }

    /// Sets the prefix of the tools' names. The default is the server's name and `_`.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Changes the size and time limits.
    pub fn limits(mut self, change: impl FnOnce(&mut RemoteLimits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// Allows calls of these tools without an approval. The names are the server's.
    pub fn allow(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Trusts the server's hints about its tools: tools that it declares read-only need no approval. Use this only for your own
    /// servers.
    pub fn trust_hints(mut self) -> Self {
        self.hints = true;
        self
    }

    /// Allows the server's tools to ask the person behind a run. The question names the server. By default, the client refuses
    /// questions.
    ///
    /// In revisions with sessions, a question over stdio names no call. If several calls of the server are running, the person
    /// reads which, and the question is part of one of these calls. The calls must be of one person, or nobody is asked. So
    /// connect to such a server once for each person. A person answers one question of a server after the other, and the time
    /// for that does not count for [`RemoteLimits::call`].
    pub fn questions(mut self) -> Self {
        self.questions = true;
        self
    }

    /// Connects with the newest revision that has sessions, 2025-11-25, although the server may offer a newer one. Use this for
    /// servers that ask people by a request of their own (`ctx.elicit` of Python's `mcp` 2 and `fastmcp` 4). Such a request does
    /// not exist in the revision 2026-07-28, so a call that asks fails there.
    pub fn older_revision(mut self) -> Self {
        self.older_revision = true;
        self
    }

    /// Sets the receiver of the server's log messages of the level `least` and above. The task that reads the server's messages
    /// calls `receive`, so `receive` must not block.
    pub fn logs(mut self, least: LogLevel, receive: impl Fn(RemoteLog) + Send + Sync + 'static) -> Self {
        self.logs = Some(LogReceiver { least, receive: Arc::new(receive) });
        self
    }

    /// Sets the pins: only tools whose definitions match them are accepted. Without pins, the client accepts and pins the
    /// server's first list.
    pub fn pins(mut self, pins: Pins) -> Self {
        self.pins = Some(pins);
        self
    }

    /// Connects to the server, and reads its list of tools. A bad detail of a definition takes only itself:
    /// [`RemoteTools::skipped`] names the tools and the parts of definitions that cannot be used. A server without tools is no
    /// error.
    ///
    /// Fails when the server cannot be reached, does not speak MCP, takes longer than [`RemoteLimits::connect`], or has more
    /// tools than [`RemoteLimits::tools`].
    pub async fn connect(self) -> Result<RemoteTools, RemoteError> {
        // Boxed, because it is large, and applications hold it in their own futures.
        Box::pin(RemoteTools::connect(self)).await
    }
}

/// The size and time limits for a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RemoteLimits {
    /// The time limit for connecting, and for listing the tools. The default is 20 s.
    pub connect: Duration,
    /// The time limit for a call, in which the wait for a person does not count. The default is one minute.
    pub call: Duration,
    /// The maximum number of tools. The client refuses a server with more tools. The default is 512.
    pub tools: usize,
    /// The maximum size of a tool's definition and of a question, in bytes. The client skips a tool with a larger one, and refuses
    /// a larger question. The default is 256 KiB.
    pub definition_bytes: usize,
    /// The maximum size of a call's result, in bytes. A larger result is a failure. The default is 1 MiB.
    pub result_bytes: usize,
    /// The maximum number of requests of a call, including those that answer the server's questions. A call that needs more
    /// fails. In revisions with sessions, it is the maximum number of a call's questions, and the client refuses more. The default
    /// is 8.
    pub requests: usize,
}

impl Default for RemoteLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            call: Duration::from_mins(1),
            tools: 512,
            definition_bytes: 256 * 1024,
            result_bytes: 1024 * 1024,
            requests: 8,
        }
    }
}

/// The error for a server that cannot be used.
#[derive(Debug)]
pub struct RemoteError {
    server: String,
    reason: BoxError,
}

/// The reason for which a server cannot be used: an error of rmcp, of a transport, or a text of this module.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl fmt::Display for RemoteError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.reason.to_string();
        write!(out, "the MCP server `{}` cannot be used: {}", self.server, tool_runtime::feedback::escape(&reason))
    }
}

impl std::error::Error for RemoteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.reason.source() // the text has that of the reason
    }
}

impl fmt::Debug for RemoteServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RemoteServer")
            .field("name", &self.name)
            .field("transport", &self.transport)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Runs `work`. Fails when it takes longer than `limit`.
async fn with_time_limit<T>(
    limit: Duration,
    what: &str,
    work: impl Future<Output = Result<T, BoxError>>,
) -> Result<T, BoxError> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done,
        Err(_) => Err(format!("{what} took longer than {} s", limit.as_secs_f64()).into()),
    }
}
