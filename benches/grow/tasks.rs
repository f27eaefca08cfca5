//! The cost of a start that must not grow with what a server keeps.

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion,
    },
    service::{ClientLifecycleMode, ClientServiceExt, RunningService},
};
use tokio::runtime::Runtime;
use tool_runtime::{tool, toolset};
use tool_server::mcp::{McpServer, server::TaskSupport};

use crate::{clock, report::Report};

const NAME: &str = "grow/tasks";

/// The numbers of ended tasks that the server keeps, and the largest ratio of a start beside them.
const KEPT: [u64; 2] = [1400, 200];
const LIMIT: f64 = 1.5;

/// The number of starts in a batch, and of batches.
const BATCH: u64 = 20;
const BATCHES: usize = 20;

/// Do a long job.
#[tool(effect = read_only)]
async fn work() {}

/// A client that supports tasks.
struct Client;

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_tasks().build();
        ClientConfig::new(capabilities, Implementation::new("benches", "1"))
    }
}

/// Measures the start of an MCP task beside those that have ended, and reports the target.
pub(crate) fn measure(report: &mut Report) {
    if !report.wants(NAME) {
        return;
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return report.fail(NAME, &error.to_string()),
    };
    let [many, few] = KEPT.map(|kept| {
        let client = connect(&runtime);
        start_tasks(&runtime, &client, kept);
        client
    });
    let mut beside_many = |rounds| start_tasks(&runtime, &many, rounds);
    let mut beside_few = |rounds| start_tasks(&runtime, &few, rounds);
    let measured = clock::time_in_turns(&mut [&mut beside_many, &mut beside_few], BATCH, BATCHES);
    let pairs: Vec<_> = measured.iter().map(|times| [times[0] / 1e3, times[1] / 1e3]).collect();
    let [ratio, many, few] = clock::medians(&pairs);
    let how =
        format!("median of pairs; µs of CPU a start: beside {} kept {many:.1}, beside {} {few:.1}", KEPT[0], KEPT[1]);
    report.at_most(NAME, ratio, LIMIT, &how);
}

fn connect(runtime: &Runtime) -> RunningService<RoleClient, Client> {
    runtime.block_on(async {
        let (near, far) = tokio::net::UnixStream::pair().expect("a pair of sockets");
        tokio::spawn(async move {
            let (read, write) = far.into_split();
            let server = McpServer::new(toolset!(work)).tasks(|_| TaskSupport::Required);
            let _ = server.serve_streams(read, write).await;
        });
        let lifecycle = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
        Client.serve_with_lifecycle(near.into_split(), lifecycle).await.expect("our server")
    })
}

fn start_tasks(runtime: &Runtime, client: &RunningService<RoleClient, Client>, tasks: u64) {
    runtime.block_on(async {
        for _ in 0..tasks {
            let started = client.call_tool_once(CallToolRequestParams::new("work")).await.expect("a task");
            assert!(!matches!(started, CallToolResponse::Complete(_)), "{started:?}");
        }
    });
}
