//! The tools of a server, and their changes since they were accepted.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
};

use rmcp::{Peer, RoleClient};
use tool_run::run::Digest;
use tool_runtime::{Toolset, schema::CompiledSchema, toolset::RuntimeTool};

use super::{
    BoxError, Change, Pins, RemoteError, RemoteServer,
    call::call,
    connection::{Connection, list},
    definition::Definition,
    handler::{Inbox, Local},
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
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    offered: Vec<Definition>,
    refused: Vec<Refused>,
    pins: Option<Pins>,
}

/// A tool of a server that the client left out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// The server's name of the tool, shortened, without deceptive characters.
    pub tool: String,
    /// The reason.
    pub reason: String,
}

impl RemoteTools {
    pub(super) async fn connect(server: RemoteServer) -> Result<Self, RemoteError> {
        let inbox = Arc::new(Inbox::new(&server));
        let known = Known { pins: server.pins.clone(), ..Known::default() };
        let shared = Shared { server, inbox, connection: tokio::sync::Mutex::default(), known: Mutex::new(known) };
        shared.peer().await.map_err(|reason| shared.failed(reason))?;
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns the tools whose definitions match their pins. Each name is the prefix and the server's name.
    ///
    /// When the server changes a tool's definition, the tool's calls fail with an error that reports the change. After the change
    /// is [accepted](Self::accept), a new toolset contains the new tool.
    pub fn toolset(&self) -> Toolset {
        let definitions = lock(&self.shared.known).accepted();
        let tools = definitions.iter().filter_map(|definition| Some(Arc::new(self.tool(definition)?) as _));
        // The names are unique: see `Known::take`.
        Toolset::of(tools.collect()).unwrap_or_default()
    }

    fn tool(&self, definition: &Definition) -> Option<RuntimeTool> {
        let (shared, remote, digest) = (Arc::clone(&self.shared), definition.remote.clone(), definition.digest);
        let output = definition.output().and_then(|schema| CompiledSchema::compile(&schema).ok()).map(Arc::new);
        let tool = definition.tool(&self.shared.server).output_handler(move |arguments, cx| {
            call(Arc::clone(&shared), remote.clone(), digest, output.clone(), arguments, cx)
        });
        tool.ok()
    }

    /// Returns the tools that the client left out, with the reasons.
    pub fn refused(&self) -> Vec<Refused> {
        lock(&self.shared.known).refused.clone()
    }

    /// Returns the pins of the accepted definitions, to store them for the next start.
    pub fn pins(&self) -> Pins {
        lock(&self.shared.known).pins.clone().unwrap_or_default()
    }

    /// Returns the differences between the offered and the accepted definitions.
    pub fn changes(&self) -> Vec<Change> {
        let known = lock(&self.shared.known);
        known.pins.as_ref().map(|pins| pins.changes(&known.offered)).unwrap_or_default()
    }

    /// Accepts a change that a person has reviewed.
    pub fn accept(&self, change: &Change) {
        let mut known = lock(&self.shared.known);
        if let Some(pins) = &mut known.pins {
            pins.accept(change);
        }
    }

    /// Reads the list again, and returns the differences from the accepted definitions.
    ///
    /// Fails when the server cannot be reached.
    pub async fn refresh(&self) -> Result<Vec<Change>, RemoteError> {
        self.shared.inbox.has_changed();
        self.shared.peer().await.map_err(|reason| self.shared.failed(reason))?;
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
    fn failed(&self, reason: BoxError) -> RemoteError {
        RemoteError { server: self.server.name.clone(), reason }
    }

    /// Returns the peer. Connects and reads the list again if necessary.
    pub async fn peer(&self) -> Result<Peer<RoleClient>, BoxError> {
        let mut connection = self.connection.lock().await;
        let peer = match connection.standing() {
            Some(peer) if !self.inbox.take_stale() => return Ok(peer),
            Some(peer) => peer,
            None => {
                self.inbox.take_stale();
                connection.open(&self.server, Local(Arc::clone(&self.inbox))).await?
            }
        };
        let listed = list(&peer, &self.server).await;
        match listed {
            Ok(tools) => lock(&self.known).take(tools, &self.server),
            Err(error) => {
                // Without a list, tools must not be called.
                connection.close().await;
                return Err(error);
            }
        }
        Ok(peer)
    }

    /// Returns `true` if the server still offers the tool with this digest.
    pub fn is_unchanged(&self, remote: &str, digest: Digest) -> bool {
        let known = lock(&self.known);
        known.offered.iter().any(|definition| definition.remote == remote && definition.digest == digest)
    }
}

impl Known {
    /// Replaces the list. Tools that share a name are all left out, because a call would be ambiguous.
    fn take(&mut self, tools: Vec<rmcp::model::Tool>, server: &RemoteServer) {
        let (mut offered, mut refused) = (Vec::new(), Vec::new());
        for tool in tools {
            match Definition::new(tool, server) {
                Ok(definition) => offered.push(definition),
                Err((tool, reason)) => refused.push(Refused { tool, reason }),
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
                refused.push(Refused { tool: definition.name.clone(), reason });
            }
            is_unique
        });
        self.pins.get_or_insert_with(|| Pins::of(&offered));
        (self.offered, self.refused) = (offered, refused);
    }

    fn accepted(&self) -> Vec<Definition> {
        let is_pinned = |definition: &&Definition| self.pins.as_ref().is_some_and(|pins| pins.holds(definition));
        self.offered.iter().filter(is_pinned).cloned().collect()
    }
}

impl fmt::Debug for RemoteTools {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = lock(&self.shared.known);
        let names: Vec<&str> = known.offered.iter().map(|definition| definition.name.as_str()).collect();
        out.debug_struct("RemoteTools").field("server", &self.shared.server.name).field("tools", &names).finish()
    }
}
