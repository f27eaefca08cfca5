//! The transport to a server.

use std::{ffi::OsString, fmt, io, path::PathBuf, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use rmcp::{
    RoleClient,
    model::ProtocolVersion,
    service::{ClientLifecycleMode, ClientServiceExt, RunningService},
    transport::{
        StreamableHttpClientTransport, TokioChildProcess, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Limits, handler::Local};

type Read = Box<dyn AsyncRead + Send + Unpin>;
type Write = Box<dyn AsyncWrite + Send + Unpin>;

/// Makes the streams of a connection; every closure that gives a future of a pair of streams does.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not open streams to a server",
    label = "not a function that gives a future of two streams",
    note = "write `|| async {{ Ok((read, write)) }}`"
)]
pub trait Streams: Send + Sync + 'static {
    /// Opens a new pair: the server's output, and its input.
    fn open(&self) -> BoxFuture<'static, io::Result<(Read, Write)>>;
}

#[diagnostic::do_not_recommend]
impl<F, R, I, O> Streams for F
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output = io::Result<(I, O)>> + Send + 'static,
    I: AsyncRead + Send + Unpin + 'static,
    O: AsyncWrite + Send + Unpin + 'static,
{
    fn open(&self) -> BoxFuture<'static, io::Result<(Read, Write)>> {
        let opening = self();
        Box::pin(async move {
            let (read, write) = opening.await?;
            Ok((Box::new(read) as Read, Box::new(write) as Write))
        })
    }
}

/// The transport to a server.
#[derive(Clone)]
pub enum Transport {
    Command { program: PathBuf, args: Vec<String>, env: Vec<(String, String)>, directory: Option<PathBuf> },
    Http { address: String, headers: HeaderMap },
    Streams(Arc<dyn Streams>),
}

/// The variables of our environment that a program needs to run at all.
const INHERITED: [&str; 11] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TMPDIR", "TEMP", "SystemRoot", "USERPROFILE"];

impl Transport {
    pub fn command(program: PathBuf) -> Self {
        Self::Command { program, args: Vec::new(), env: Vec::new(), directory: None }
    }

    pub fn http(address: String) -> Self {
        Self::Http { address, headers: HeaderMap::new() }
    }

    pub fn args(&mut self, more: impl Iterator<Item = String>) {
        if let Self::Command { args, .. } = self {
            args.extend(more);
        }
    }

    pub fn env(&mut self, name: String, value: String) {
        if let Self::Command { env, .. } = self {
            env.push((name, value));
        }
    }

    pub fn directory(&mut self, path: PathBuf) {
        if let Self::Command { directory, .. } = self {
            *directory = Some(path);
        }
    }

    pub fn header(&mut self, name: HeaderName, value: HeaderValue) {
        if let Self::Http { headers, .. } = self {
            headers.insert(name, value);
        }
    }

    /// Connects, with the newest revision that both know. Some servers do not survive to be asked for it, so a second try
    /// does not ask.
    pub async fn connect(&self, local: Local, limits: &Limits) -> Result<RunningService<RoleClient, Local>, String> {
        let newest = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        };
        match self.begin(local.clone(), limits, newest).await {
            Ok(running) => Ok(running),
            Err(_) => self.begin(local, limits, ClientLifecycleMode::Initialize).await,
        }
    }

    async fn begin(
        &self,
        local: Local,
        limits: &Limits,
        lifecycle: ClientLifecycleMode,
    ) -> Result<RunningService<RoleClient, Local>, String> {
        let running = match self {
            Self::Command { program, args, env, directory } => {
                let mut command = tokio::process::Command::new(program);
                command.args(args).env_clear().kill_on_drop(true);
                command.envs(INHERITED.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))));
                command.envs(env.iter().map(|(name, value)| (name, OsString::from(value))));
                if let Some(directory) = directory {
                    command.current_dir(directory);
                }
                let child = TokioChildProcess::new(command)
                    .map_err(|error| format!("`{}` cannot be started: {error}", program.display()))?;
                local.serve_with_lifecycle(child, lifecycle).await
            }
            Self::Http { address, headers } => {
                let client = http_client(limits.connect).map_err(|error| error.to_string())?;
                let mut config = StreamableHttpClientTransportConfig::with_uri(address.as_str());
                config.custom_headers = headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
                config.max_sse_event_size = limits.result_bytes.saturating_mul(2).max(1024 * 1024);
                let transport = StreamableHttpClientTransport::with_client(client, config);
                local.serve_with_lifecycle(transport, lifecycle).await
            }
            Self::Streams(streams) => {
                let streams = streams.open().await.map_err(|error| error.to_string())?;
                local.serve_with_lifecycle(streams, lifecycle).await
            }
        };
        running.map_err(|error| error.to_string())
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { program, args, .. } => {
                out.debug_struct("Command").field("program", program).field("args", args).finish_non_exhaustive()
            }
            Self::Http { address, .. } => out.debug_struct("Http").field("address", address).finish_non_exhaustive(),
            Self::Streams(_) => out.write_str("Streams"),
        }
    }
}

fn http_client(connect: Duration) -> Result<reqwest::Client, Box<dyn std::error::Error + Send + Sync>> {
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls_config()?)
        .connect_timeout(connect)
        // A redirect would carry headers with keys to another host.
        .redirect(Policy::none())
        // A stream of events that was not read to its end keeps a connection from being used again.
        .pool_max_idle_per_host(0)
        .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
        .build()?;
    Ok(client)
}

/// Returns a client's TLS that checks certificates as the system does. It brings its own cryptography, so it needs no
/// process-wide choice of one.
///
/// Fails where the system's verifier is missing.
fn tls_config() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    Ok(builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth())
}
