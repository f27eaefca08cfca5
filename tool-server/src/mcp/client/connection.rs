//! A connection that is made again when it is gone.

#![expect(
    deprecated,
    reason = "logs, roots and sampling are; clients and servers of revisions up to 2025-11-25 have them"
)]

use std::time::{Duration, Instant};

use rmcp::{
    Peer, RoleClient,
    model::{PaginatedRequestParams, ServerNotification, SetLevelRequestParams, SubscriptionFilter, Tool},
    service::RunningService,
};

use super::{RemoteServer, handler::Local, within};
use crate::mcp::LogLevel;

/// How long it is waited after the first failure to connect; twice as long after each that follows.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How many pages a list may have: they can be empty.
const MOST_PAGES: usize = 1000;

/// The connection to a server, as it is now.
#[derive(Default)]
pub struct Connection {
    running: Option<RunningService<RoleClient, Local>>,
    failures: u32,
    not_before: Option<Instant>,
}

impl Connection {
    /// Returns the peer, if the connection stands.
    pub fn standing(&self) -> Option<Peer<RoleClient>> {
        let running = self.running.as_ref().filter(|running| !running.is_transport_closed())?;
        Some(running.peer().clone())
    }

    /// Connects. Soon after a failure it fails at once, so that calls do not queue up behind a server that is gone.
    pub async fn open(&mut self, server: &RemoteServer, local: Local) -> Result<Peer<RoleClient>, String> {
        if self.not_before.is_some_and(|time| time > Instant::now()) {
            return Err("it could not be reached, and is tried again in some seconds".to_owned());
        }
        self.running = None;
        let limits = &server.limits;
        match within(limits.connect, "connecting", server.transport.connect(local.clone(), limits)).await {
            Ok(running) => {
                let peer = running.peer().clone();
                if let Some(logs) = server.logs.as_ref().filter(|_| has_log_level(&peer)) {
                    tokio::spawn(set_level(peer.clone(), logs.least));
                }
                tokio::spawn(listen(peer.clone(), local));
                (self.failures, self.not_before) = (0, None);
                self.running = Some(running);
                Ok(peer)
            }
            Err(error) => {
                let wait = FIRST_WAIT.saturating_mul(1 << self.failures.min(10)).min(LONGEST_WAIT);
                self.failures = self.failures.saturating_add(1);
                self.not_before = Some(Instant::now() + wait);
                Err(error)
            }
        }
    }

    pub async fn close(&mut self) {
        if let Some(running) = self.running.take() {
            let _ = running.cancel().await;
        }
    }
}

/// Returns `true` if the level of a server's logs is set once. In the revision without sessions, each call sets it.
fn has_log_level(peer: &Peer<RoleClient>) -> bool {
    let info = peer.peer_info();
    info.is_some_and(|info| info.capabilities.logging.is_some() && info.protocol_version.has_initialize())
}

async fn set_level(peer: Peer<RoleClient>, least: LogLevel) {
    let _ = peer.set_level(SetLevelRequestParams::new(least.wire())).await;
}

/// Subscribes to changes of the list, where the server supports that.
async fn listen(peer: Peer<RoleClient>, local: Local) {
    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = Some(true);
    let Ok(mut subscription) = peer.listen(filter).await else { return };
    while let Ok(Some(notification)) = subscription.next().await {
        if matches!(notification, ServerNotification::ToolListChangedNotification(_)) {
            local.0.has_changed();
        }
    }
}

/// Reads the whole list of tools.
///
/// Fails when it is longer than the limit, or has no end.
pub async fn list(peer: &Peer<RoleClient>, server: &RemoteServer) -> Result<Vec<Tool>, String> {
    let most = server.limits.tools;
    within(server.limits.connect, "listing the tools", async {
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let mut page = PaginatedRequestParams::default();
            page.cursor = cursor;
            let page = peer.list_tools(Some(page)).await.map_err(|error| error.to_string())?;
            tools.extend(page.tools);
            if tools.len() > most {
                return Err(format!("it has more than {most} tools"));
            }
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => return Ok(tools),
            }
        }
        Err("its list of tools has no end".to_owned())
    })
    .await
}
