//! The memory of a connection over streams whose client sends nothing.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    time::Duration,
};

use rmcp::ServiceExt;
use tokio::net;
use tool_server::mcp::McpServer;

use super::{
    runtime,
    server::{INITIALIZE, INITIALIZED},
    theirs, tools,
};
use crate::{memory, report::Report};

const NAME: &str = "mcp/idle";

/// The maximum heap of a connection, in KB.
const LIMIT: f64 = 40.0;

const CONNECTIONS: u16 = 100;

/// Measures idle connections, and reports the target.
pub(crate) fn measure(report: &mut Report) {
    if !report.wants(NAME) {
        return;
    }
    let server = McpServer::new(tools());
    let ours = measure_connection(|stream| {
        let server = server.clone();
        async move {
            let (read, write) = stream.into_split();
            let _ = server.serve_streams(read, write).await;
        }
    });
    let theirs = measure_connection(|stream| async move {
        if let Ok(running) = theirs::Catalogue::new(1).serve(stream.into_split()).await {
            let _ = running.waiting().await;
        }
    });
    report.at_most(NAME, ours, LIMIT, &format!("KB of heap for a connection: ours {ours:.1}, rmcp {theirs:.1}"));
}

/// Returns the KB of heap that a server holds for a connection after the handshake.
fn measure_connection<F: Future<Output = ()> + Send + 'static>(serve: impl Fn(net::UnixStream) -> F) -> f64 {
    let runtime = runtime().expect("a runtime");
    let open = || {
        let (mut near, far) = UnixStream::pair().expect("a pair of sockets");
        writeln!(near, "{INITIALIZE}\n{INITIALIZED}").expect("the server listens");
        for stream in [&near, &far] {
            stream.set_nonblocking(true).expect("a socket");
        }
        runtime.block_on(async {
            tokio::spawn(serve(net::UnixStream::from_std(far).expect("a socket")));
            // The answer to the first line.
            while !near.read(&mut [0; 4096]).is_ok_and(|bytes| bytes > 0) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // Time for the second line, which has no answer.
            tokio::time::sleep(Duration::from_millis(5)).await;
        });
        near
    };
    memory::count_during(|| {
        // The first connections also allocate what all share.
        let _first = [open(), open()];
        let mut streams = Vec::with_capacity(usize::from(CONNECTIONS));
        let before = memory::live();
        streams.extend((0..CONNECTIONS).map(|_| open()));
        #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
        let held = (memory::live() - before) as f64;
        held / f64::from(CONNECTIONS) / 1024.0
    })
}
