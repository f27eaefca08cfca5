//! The cost of a tool call over MCP, against the same tool with rmcp's own macro. Client and server are in one process.
//! They communicate over a socket pair, which stands for stdio, and over HTTP. [`server`] measures servers alone.

mod idle;
mod server;
mod theirs;

use rmcp::{
    RoleClient, ServiceExt,
    model::CallToolRequestParams,
    service::RunningService,
    transport::{
        StreamableHttpClientTransport,
        streamable_http_server::{StreamableHttpService, session::local::LocalSessionManager},
    },
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use tokio::runtime::Runtime;
use tool_runtime::{Toolset, tool, toolset};
use tool_server::mcp::McpServer;

use crate::{case::Case, clock, report::Report};

pub(crate) use server::serve;

/// The calls over a socket pair, for a profiler.
pub(crate) const CASES: &[Case] = &[
    Case::new("mcp-ours", || repeat_calls(|(ours, _)| ours), (100, 600)),
    Case::new("mcp-rmcp", || repeat_calls(|(_, theirs)| theirs), (100, 600)),
];

/// Returns a function that makes calls to the chosen server over a socket pair.
fn repeat_calls(choose: fn(Pair) -> Client) -> Box<dyn FnMut(u64)> {
    let runtime = runtime().expect("a runtime");
    let client = choose(connect_socket_pair(&runtime));
    Box::new(move |rounds| make_calls(&runtime, &client, rounds))
}

fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

const LIMIT: f64 = 1.1;

/// The output of both tools.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Found {
    titles: Vec<String>,
    total: u32,
}

pub(crate) fn found(query: &str, limit: u32) -> Found {
    Found { titles: (0..limit).map(|number| format!("{query} {number}")).collect(), total: limit }
}

/// Search the catalogue.
#[tool(effect = read_only)]
async fn search(
    /// The text to find.
    query: String,
    /// The number of results.
    limit: u32,
) -> Found {
    found(&query, limit)
}

type Client = RunningService<RoleClient, ()>;

/// Measures calls over MCP, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return report.fail("mcp", &error.to_string()),
    };
    for (name, connect) in [("mcp/stdio", connect_socket_pair as fn(&Runtime) -> Pair), ("mcp/http", connect_http)] {
        if report.wants(name) {
            let (ours, theirs) = connect(&runtime);
            let mut us = |rounds| make_calls(&runtime, &ours, rounds);
            let mut them = |rounds| make_calls(&runtime, &theirs, rounds);
            let [ratio, ours, theirs] = time_pairs(&mut us, &mut them);
            let how = format!("median of pairs; µs of CPU a call, both ends: ours {ours:.1}, rmcp {theirs:.1}");
            // Over HTTP, most of the time is that of the connection.
            match name {
                "mcp/stdio" => report.at_most(name, ratio, LIMIT, &how),
                _ => report.info(name, &format!("{ratio:.3} {how}")),
            }
        }
    }
    server::measure(report);
    idle::measure(report);
}

/// The number of calls in a batch: few enough that a batch ends before another program gets the core.
const BATCH: u64 = 25;

/// The number of pairs of batches.
const PAIRS: usize = 400;

/// Returns the ratio of the two sides' CPU time, and the µs of CPU for a call of each. Measures many pairs of small batches,
/// because other load then affects both sides of a pair equally.
fn time_pairs(us: &mut dyn FnMut(u64), them: &mut dyn FnMut(u64)) -> [f64; 3] {
    us(BATCH * 8);
    them(BATCH * 8);
    let measured = clock::time_in_turns(&mut [us, them], BATCH, PAIRS);
    let pairs: Vec<_> = measured.iter().map(|times| [times[0] / 1e3, times[1] / 1e3]).collect();
    clock::medians(&pairs)
}

fn make_calls(runtime: &Runtime, client: &Client, rounds: u64) {
    runtime.block_on(async {
        for _ in 0..rounds {
            let arguments = json!({ "query": "red shoes", "limit": 5 });
            let params =
                CallToolRequestParams::new("search").with_arguments(arguments.as_object().cloned().unwrap_or_default());
            let result = client.call_tool(params).await.expect("a result");
            assert!(result.structured_content.is_some(), "{result:?}");
        }
    });
}

/// A client of our server, and one of rmcp's.
type Pair = (Client, Client);

fn tools() -> Toolset {
    toolset!(search)
}

/// Connects a client to each server over a socket pair.
fn connect_socket_pair(runtime: &Runtime) -> Pair {
    runtime.block_on(async {
        let (near, far) = tokio::net::UnixStream::pair().expect("a pair of sockets");
        tokio::spawn(async move {
            let (read, write) = far.into_split();
            let _ = McpServer::new(tools()).serve_streams(read, write).await;
        });
        let ours = ().serve(near.into_split()).await.expect("our server");
        let (near, far) = tokio::net::UnixStream::pair().expect("a pair of sockets");
        tokio::spawn(async move {
            if let Ok(running) = theirs::Catalogue::new(1).serve(far.into_split()).await {
                let _ = running.waiting().await;
            }
        });
        (ours, ().serve(near.into_split()).await.expect("their server"))
    })
}

/// Connects a client to each server over HTTP.
fn connect_http(runtime: &Runtime) -> Pair {
    runtime.block_on(async {
        let ours = McpServer::new(tools()).http().router();
        let sessions = std::sync::Arc::new(LocalSessionManager::default());
        let config = rmcp::transport::streamable_http_server::StreamableHttpServerConfig::default();
        let theirs = StreamableHttpService::new(|| Ok(theirs::Catalogue::new(1)), sessions, config);
        let theirs = axum::Router::new().route_service("/mcp", theirs);
        (connect(ours).await, connect(theirs).await)
    })
}

/// Serves `router`, and returns a client of it.
async fn connect(router: axum::Router) -> Client {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    // This fails if another benchmark has installed a TLS crypto provider already; any one will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let transport = StreamableHttpClientTransport::from_uri(format!("http://{address}/mcp"));
    ().serve(transport).await.expect("a server")
}
