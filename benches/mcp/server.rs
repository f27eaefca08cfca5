//! The cost of a call in a server alone: a process of its own, which reads its stdin and writes its stdout. The other end of
//! the pipes writes prepared lines, so nothing of a client counts.

use std::{
    io::{self, BufRead, BufReader, Write},
    process::{ChildStdin, ChildStdout, Command, ExitCode, Stdio},
};

use rmcp::{ServerHandler, ServiceExt, transport::stdio_pipes};
use tool_runtime::Toolset;
use tool_server::mcp::McpServer;

use super::{runtime, theirs, tools};
use crate::{clock, cost, report::Report};

/// The maximum cost of our server, as a multiple of rmcp's with a stored router.
const LIMIT: f64 = 1.0;

/// The numbers of tools. The measured calls are of the same one.
const TOOLS: [&str; 3] = ["1", "20", "300"];

/// The two numbers of calls. Their difference excludes the start of the process.
const CALLS: [u32; 2] = [100, 600];

pub(super) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
pub(super) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Measures servers alone, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    for tools in TOOLS {
        let name = format!("mcp/server-{tools}");
        if !report.wants(&name) {
            continue;
        }
        match ["ours", "stored", "rebuilt"].map(|server| measure_call(server, tools)) {
            [Ok(ours), Ok(stored), Ok(rebuilt)] => {
                let how = format!(
                    "{} for a call: ours {ours:.0}, rmcp {stored:.0}, with the handler of rmcp's README {rebuilt:.0}",
                    cost::unit()
                );
                report.at_most(&name, ours / stored, LIMIT, &how);
            }
            costs => report.fail(&name, &format!("{costs:?}")),
        }
    }
}

/// Returns the cost of a call in the server of this name: in instructions, or in nanoseconds of CPU without valgrind.
fn measure_call(server: &str, tools: &str) -> io::Result<f64> {
    let args = ["--mcp", server, tools];
    let count = |calls| cost::count_instructions(&args, |input, output| Client::connect(input, output)?.call(calls));
    let [few, many] = CALLS;
    if let (Some(a), Some(b)) = (count(few), count(many)) {
        #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
        return Ok((b.saturating_sub(a)) as f64 / f64::from(many - few));
    }
    // So many that the ticks in which Linux counts the time of another process do not matter.
    let many = 20_000;
    let mut command = Command::new(std::env::current_exe()?);
    let mut child = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (input, output) = child.stdin.take().zip(child.stdout.take()).ok_or(io::ErrorKind::BrokenPipe)?;
    let mut client = Client::connect(input, output)?;
    client.call(few)?;
    let before = clock::time_of_process(child.id())?;
    client.call(many)?;
    let spent = clock::time_of_process(child.id())? - before;
    drop(client);
    child.wait()?;
    Ok(spent * 1e9 / f64::from(many))
}

/// The client of a server at the other ends of two pipes.
struct Client {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Client {
    fn connect(input: ChildStdin, output: ChildStdout) -> io::Result<Self> {
        let mut client = Self { input, output: BufReader::new(output), line: String::new() };
        client.request(INITIALIZE)?;
        writeln!(client.input, "{INITIALIZED}")?;
        Ok(client)
    }

    fn call(&mut self, calls: u32) -> io::Result<()> {
        for id in 1..=calls {
            self.request(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"search","arguments":{{"query":"red shoes","limit":5}}}}}}"#
            ))?;
            if !self.line.contains("structuredContent") {
                return Err(io::Error::other(self.line.clone()));
            }
        }
        Ok(())
    }

    fn request(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.input, "{line}")?;
        self.line.clear();
        self.output.read_line(&mut self.line).map(drop)
    }
}

/// Serves over stdin and stdout until they are closed: `tool-benches --mcp SERVER TOOLS`.
pub(crate) fn serve(server: &str, tools: &str) -> ExitCode {
    let (Ok(runtime), Ok(tools)) = (runtime(), tools.parse()) else { return ExitCode::FAILURE };
    let served = runtime.block_on(async {
        match (server, tools) {
            ("ours", _) => McpServer::new(many(tools)).serve_stdio().await.is_ok(),
            ("stored", _) => serve_theirs(theirs::Catalogue::new(tools)).await,
            ("rebuilt", 1) => serve_theirs(theirs::Rebuilt::<1>).await,
            ("rebuilt", 20) => serve_theirs(theirs::Rebuilt::<20>).await,
            ("rebuilt", 300) => serve_theirs(theirs::Rebuilt::<300>).await,
            _ => false,
        }
    });
    if served { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn serve_theirs(handler: impl ServerHandler) -> bool {
    match handler.serve(stdio_pipes()).await {
        Ok(running) => running.waiting().await.is_ok(),
        Err(_) => false,
    }
}

/// Returns this number of tools: the tool of all measurements, also under other names.
fn many(count: usize) -> Toolset {
    let other = |number| tools().rename("search", &format!("search_{number}")).expect("a name of a tool");
    let tools = (1..count).map(other).chain([tools()]).flat_map(|tools| tools.iter().cloned().collect::<Vec<_>>());
    Toolset::of(tools.collect()).expect("the names are unique")
}
