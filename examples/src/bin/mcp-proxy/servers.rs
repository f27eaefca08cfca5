//! The servers of a configuration as one toolset.

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;
use tool_runtime::{
    Toolset,
    layer::{ConcurrencyLimit, RateLimit},
};
use tool_server::mcp::{LogLevel, RemoteServer, client::Pins};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Servers {
    mcp_servers: BTreeMap<String, Server>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Server {
    command: Option<PathBuf>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    allow: Vec<String>,
    /// Set for a server that cannot ask people in the newest revision.
    #[serde(rename = "olderRevision")]
    older_revision: bool,
}

/// Connects to all servers. The definitions of their tools are pinned in a file beside `file`.
pub(super) async fn connect(file: &Path) -> Result<Toolset, Box<dyn Error>> {
    let servers: Servers = serde_json::from_str(&fs::read_to_string(file)?)?;
    let mut kept = file.as_os_str().to_owned();
    kept.push(".pins");
    let mut pins: BTreeMap<String, Pins> = match fs::read_to_string(&kept) {
        Ok(text) => serde_json::from_str(&text)?,
        Err(error) if error.kind() == ErrorKind::NotFound => BTreeMap::new(),
        // The file may have pins, so it must not be replaced.
        Err(error) => return Err(format!("{}: {error}", kept.display()).into()),
    };
    let mut tools = Toolset::new();
    for (name, server) in servers.mcp_servers {
        let remote = remote(&name, server)?;
        let remote = match pins.remove(&name) {
            Some(pins) => remote.pins(pins),
            None => remote,
        };
        let remote = remote.questions().logs(LogLevel::Warning, |log| eprintln!("{log}")).connect().await?;
        for skipped in remote.skipped() {
            eprintln!("{name}: {skipped}");
        }
        for change in remote.changes() {
            let what = if change.is_new { "is new" } else { "is not what it was" };
            eprintln!("{name}: {} {what}, and left out", tool_runtime::feedback::one_line(&change.tool));
        }
        pins.insert(name, remote.pins());
        // Each server has limits of its own: none can starve the others.
        let limited =
            remote.toolset().layer(ConcurrencyLimit::new(4)).layer(RateLimit::new(60, Duration::from_mins(1)));
        tools = tools.merge(limited)?;
    }
    fs::write(&kept, serde_json::to_string_pretty(&pins)?)?;
    Ok(tools)
}

fn remote(name: &str, server: Server) -> Result<RemoteServer, Box<dyn Error>> {
    let remote = match (server.command, server.url) {
        (Some(command), None) => {
            let remote = RemoteServer::command(name, command).args(server.args);
            server.env.into_iter().fold(remote, |remote, (name, value)| remote.env(name, value))
        }
        (None, Some(url)) => {
            let mut remote = RemoteServer::http(name, url);
            for (header, value) in server.headers {
                remote = remote.header(&header, &value)?;
            }
            remote
        }
        _ => return Err(format!("the server `{name}` needs either a `command` or a `url`").into()),
    };
    let remote = if server.older_revision { remote.older_revision() } else { remote };
    Ok(remote.allow(server.allow))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pins_that_cannot_be_read_are_an_error_and_remain() {
        let directory = std::env::temp_dir().join(format!("mcp-proxy-pins-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let (file, pins) = (directory.join("servers.json"), directory.join("servers.json.pins"));
        fs::write(&file, r#"{"mcpServers":{}}"#).unwrap();
        assert!(Box::pin(connect(&file)).await.is_ok());
        assert_eq!(fs::read_to_string(&pins).unwrap(), "{}");
        fs::write(&pins, b"\xff").unwrap();
        assert!(Box::pin(connect(&file)).await.is_err());
        assert_eq!(fs::read(&pins).unwrap(), b"\xff");
        fs::remove_dir_all(directory).unwrap();
    }
}
