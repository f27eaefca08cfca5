//! The tools of a server, and their changes since they were accepted.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
};

use rmcp::{Peer, RoleClient};
use tool_run::run::Digest;
use tool_runtime::{Toolset, feedback::one_line, schema::CompiledSchema, toolset::RuntimeTool};

use super::{
    BoxError, DefinitionChange, Pins, RemoteError, RemoteServer,
    call::call,
    connection::{Connection, ListedTool, list_tools},
    definition::{Definition, shorten_name},
    handler::{ClientEnd, Inbox},
};

use crate::host::lock;

/// The tools of a server. The value is cheap to clone. The connection stays open as long as a clone or one of the tools exists.
#[derive(Clone)]
pub struct RemoteTools {
    shared: Arc<Shared>,
}

/// The state of a server that its tools share.
pub struct Shared {
    pub server: RemoteServer,
    pub inbox: Arc<Inbox>,
    connection: tokio::sync::Mutex<Connection>,
    list: Mutex<ToolList>,
}

/// The tools that a server offers, and the accepted definitions.
#[derive(Default)]
struct ToolList {
    offered: Vec<Definition>,
    skipped: Vec<SkippedPart>,
    pins: Option<Pins>,
}

/// A tool of a server that the client skipped, or a part of a tool's definition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedPart {
    /// The server's name of the tool, shortened, without deceptive characters. If several tools would share a name in the
    /// toolset, this is that name. If the tool has no name, this is its number in the list. If the
    /// server refused a page, it is `(the rest of the list)`.
    pub tool: String,
    /// The JSON Pointer of the part in the definition, such as `/inputSchema/properties/n/type`. `None` if the toolset does not
    /// contain the tool.
    pub place: Option<String>,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for SkippedPart {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(out, "{place} of `{}` is left out: {}", self.tool, self.reason),
            None => write!(out, "`{}` is left out: {}", self.tool, self.reason),
        }
    }
}

impl RemoteTools {
    pub(super) async fn connect(server: RemoteServer) -> Result<Self, RemoteError> {
        let inbox = Arc::new(Inbox::new(&server));
        let list = ToolList { pins: server.pins.clone(), ..ToolList::default() };
        let shared = Shared { server, inbox, connection: tokio::sync::Mutex::default(), list: Mutex::new(list) };
        shared.connect().await.map_err(|reason| shared.error(reason))?;
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns the tools whose definitions match their pins. Each name is the prefix and the server's name. If that
    /// is not `[A-Za-z0-9_-]{1,64}`, a similar name is used, which ends with a digest of it.
    ///
    /// When the server changes a tool's definition, the tool's calls fail with an error that reports the change. After the change
    /// is [accepted](Self::accept), a new toolset contains the new tool.
    pub fn toolset(&self) -> Toolset {
        let definitions = lock(&self.shared.list).accepted();
        let tools = definitions.iter().filter_map(|definition| Some(Arc::new(self.tool(definition)?) as _));
        // The names are unique: see `ToolList::replace`.
        Toolset::of(tools.collect()).unwrap_or_default()
    }

    fn tool(&self, definition: &Definition) -> Option<RuntimeTool> {
        let (shared, remote_name, digest) =
            (Arc::clone(&self.shared), definition.remote_name.clone(), definition.digest);
        let output = definition.output_schema().and_then(|schema| CompiledSchema::compile(schema).ok()).map(Arc::new);
        let effect = definition.effect(&self.shared.server);
        let tool = definition.tool_builder(&self.shared.server).json_handler(move |arguments, cx| {
            call(Arc::clone(&shared), remote_name.clone(), digest, effect, output.clone(), arguments, cx)
        });
        tool.ok()
    }

    /// Returns the tools that the client skipped, and the parts of definitions that it left out, with the reasons.
    ///
    /// A tool that lost a part of its definition is in the toolset. It is not read-only by the server's claim, and the origin
    /// that an approval shows names the missing parts. Its digest covers the whole definition.
    pub fn skipped(&self) -> Vec<SkippedPart> {
        lock(&self.shared.list).skipped.clone()
    }

    /// Returns the pins of the accepted definitions, to store them for the next start.
    pub fn pins(&self) -> Pins {
        lock(&self.shared.list).pins.clone().unwrap_or_default()
    }

    /// Returns the differences between the offered and the accepted definitions.
    pub fn changes(&self) -> Vec<DefinitionChange> {
        let list = lock(&self.shared.list);
        list.pins.as_ref().map(|pins| pins.changes(&list.offered)).unwrap_or_default()
    }

    /// Accepts a change that a person has reviewed.
    pub fn accept(&self, change: &DefinitionChange) {
        let mut list = lock(&self.shared.list);
        if let Some(pins) = &mut list.pins {
            pins.accept(change);
        }
    }

    /// Reads the list again, and returns the differences from the accepted definitions.
    ///
    /// Fails when the server cannot be reached.
    pub async fn refresh(&self) -> Result<Vec<DefinitionChange>, RemoteError> {
        self.shared.inbox.mark_stale();
        self.shared.connect().await.map_err(|reason| self.shared.error(reason))?;
        Ok(self.changes())
    }

    /// Waits until the server reports a change of its list.
    pub async fn changed(&self) {
        self.shared.inbox.changed().await;
    }

    /// Closes the connection. A later call opens a new one.
    pub async fn close(&self) {
        self.shared.connection.lock().await.close().await;
    }
}

impl Shared {
    fn error(&self, reason: BoxError) -> RemoteError {
        RemoteError { server: self.server.name.clone(), reason }
    }

    /// Returns the server's peer. Before that, connects and reads the list of tools, if necessary.
    pub async fn connect(&self) -> Result<Peer<RoleClient>, BoxError> {
        let mut connection = self.connection.lock().await;
        let peer = match connection.peer() {
            Some(peer) if !self.inbox.take_stale() => return Ok(peer),
            Some(peer) => peer,
            None => {
                self.inbox.take_stale();
                connection.open(&self.server, ClientEnd(Arc::clone(&self.inbox))).await?
            }
        };
        let listed = list_tools(&peer, &self.server).await;
        match listed {
            Ok((tools, refused)) => {
                let mut list = lock(&self.list);
                list.replace(&tools, &self.server);
                let rest = "(the rest of the list)".to_owned();
                list.skipped.extend(refused.map(|reason| SkippedPart { tool: rest, place: None, reason }));
            }
            Err(error) => {
                // Without a list, tools must not be called.
                connection.close().await;
                return Err(error);
            }
        }
        Ok(peer)
    }

    /// Returns whether the server still offers the tool with this digest.
    pub fn is_unchanged(&self, remote_name: &str, digest: Digest) -> bool {
        let list = lock(&self.list);
        list.offered.iter().any(|definition| definition.remote_name == remote_name && definition.digest == digest)
    }
}

impl ToolList {
    /// Replaces the list. Skips all tools that share a name, because a call would be ambiguous.
    fn replace(&mut self, tools: &[ListedTool], server: &RemoteServer) {
        let (mut offered, mut skipped) = (Vec::<Definition>::new(), Vec::new());
        for (at, tool) in tools.iter().enumerate() {
            match Definition::new(tool, at + 1, server) {
                // The same definition may be written in two ways.
                Ok(same)
                    if offered
                        .iter()
                        .any(|known| known.remote_name == same.remote_name && known.digest == same.digest) => {}
                Ok(definition) => offered.push(definition),
                Err((tool, reason)) => skipped.push(SkippedPart { tool, place: None, reason }),
            }
        }
        let mut count: HashMap<String, usize> = HashMap::new();
        for definition in &offered {
            *count.entry(definition.name.clone()).or_default() += 1;
        }
        offered.retain(|definition| {
            let is_unique = count.get(&definition.name) == Some(&1);
            if !is_unique {
                let reason = format!("several tools would be called `{}`", definition.name);
                skipped.push(SkippedPart { tool: definition.name.clone(), place: None, reason });
            }
            is_unique
        });
        for definition in &offered {
            let part = |(place, reason): &(String, String)| SkippedPart {
                tool: shorten_name(&definition.remote_name),
                place: Some(one_line(place)),
                reason: reason.clone(),
            };
            skipped.extend(definition.left_out.iter().map(part));
        }
        self.pins.get_or_insert_with(|| Pins::of(&offered));
        (self.offered, self.skipped) = (offered, skipped);
    }

    fn accepted(&self) -> Vec<Definition> {
        let is_pinned = |definition: &&Definition| self.pins.as_ref().is_some_and(|pins| pins.holds(definition));
        self.offered.iter().filter(is_pinned).cloned().collect()
    }
}

impl fmt::Debug for RemoteTools {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = lock(&self.shared.list);
        let names: Vec<&str> = list.offered.iter().map(|definition| definition.name.as_str()).collect();
        out.debug_struct("RemoteTools").field("server", &self.shared.server.name).field("tools", &names).finish()
    }
}
