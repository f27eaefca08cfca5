//! Answers over HTTP, half text and half arguments of a call, against the AI SDK's own server on node emitting the same chunks:
//! the CPU of either server's process. `kept` is a run with its log here, and `onFinish` there.
//!
//! ```text
//! npm install --prefix target/ai ai@7
//! ```

mod load;
mod server;

use std::{io, path::Path, process::Command, time::Duration};

use tokio::runtime::Runtime;

use crate::{partial::ai, report::Report};
use load::{Load, Server};

pub(crate) use server::run as serve;

/// What every piece says.
const PIECE: &str = "Lorem ipsum dolor s ";

/// Everything at once.
const BURST: Load = Load { clients: 8, answers: 6, pieces: 1000, gap: 0 };

/// Each piece by itself. So many streams, and so close, that neither server sleeps between any two pieces: otherwise both would be
/// charged for being woken, and the faster one for having slept.
const PACED: Load = Load { clients: 64, answers: 1, pieces: 1000, gap: 1 };

/// How often each is measured: the least counts.
const ROUNDS: usize = 3;

const NAMES: [&str; 4] = ["serve/burst", "serve/paced", "serve/burst-kept", "serve/paced-kept"];

/// Prints the targets of serving.
pub(crate) fn measure(report: &mut Report) {
    if !report.wants_any(&NAMES) && !report.wants_any(&["serve/allocations", "serve/idle"]) {
        return;
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return report.broken("serve", &error.to_string()),
    };
    let ours = std::env::current_exe().and_then(|own| Server::start(Command::new(own).arg("--serve")));
    let ours = match ours {
        Ok(ours) => ours,
        Err(error) => return report.broken("serve", &error.to_string()),
    };
    if report.wants_any(&NAMES) {
        against(report, &runtime, &ours);
    }
    if let Err(error) = memory(report, &runtime, &ours) {
        report.broken("serve/idle", &error.to_string());
    }
}

fn against(report: &mut Report, runtime: &Runtime, ours: &Server) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("serve/ai.mjs");
    let theirs = ai::folder().map(|folder| Server::start(Command::new("node").arg(script).arg(folder)));
    let theirs = match theirs {
        Some(Ok(theirs)) => Some(theirs),
        Some(Err(error)) => return report.broken("serve/burst", &error.to_string()),
        None => {
            report.info("serve", "skip: no node, or no `ai`; `npm install --prefix target/ai ai@7` installs it");
            None
        }
    };
    let cases = [
        (BURST, "/bare", "/bare", 15.0),
        (PACED, "/bare", "/bare", 4.0),
        (BURST, "/api/chat", "/kept", 50.0),
        (PACED, "/api/chat", "/kept", 15.0),
    ];
    for (name, (load, own_path, their_path, limit)) in NAMES.into_iter().zip(cases) {
        if !report.wants(name) {
            continue;
        }
        let measured = least(runtime, load, (ours, own_path), theirs.as_ref().map(|theirs| (theirs, their_path)));
        match measured {
            Ok((us, Some(them))) => {
                let Load { clients, pieces, gap, .. } = load;
                let how = format!(
                    "x less CPU for a piece: ours {us:.2} µs, theirs {them:.1} µs; {clients} streams of {pieces} pieces {gap} ms apart"
                );
                report.at_least(name, them / us, limit, &how);
            }
            Ok((us, None)) => report.info(name, &format!("{us:.2} µs of CPU for a piece")),
            Err(error) => report.broken(name, &error.to_string()),
        }
    }
}

/// The microseconds of CPU for a piece, of both: the least of some rounds, taken in turns.
fn least(
    runtime: &Runtime,
    load: Load,
    ours: (&Server, &'static str),
    theirs: Option<(&Server, &'static str)>,
) -> io::Result<(f64, Option<f64>)> {
    let (mut us, mut them) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        us = us.min(ours.0.seconds(runtime, ours.1, load)? * 1e6);
        if let Some((theirs, path)) = theirs {
            them = them.min(theirs.seconds(runtime, path, load)? * 1e6);
        }
    }
    Ok((us, theirs.map(|_| them)))
}

/// What pieces and streams cost in memory.
fn memory(report: &mut Report, runtime: &Runtime, server: &Server) -> io::Result<()> {
    let count = async |key: &str| -> io::Result<f64> {
        server.counted().await?[key].as_f64().ok_or_else(|| io::Error::other("it does not count"))
    };
    for (name, path, load, of_model) in [
        ("serve/allocations", "/bare", BURST, 0.0),
        ("serve/allocations-paced", "/bare", PACED, 0.0),
        ("serve/allocations-kept", "/api/chat", BURST, 1.0),
        ("serve/allocations-kept-paced", "/api/chat", PACED, 1.0),
    ] {
        if !report.wants(name) {
            continue;
        }
        // What an answer costs beside its pieces is in both.
        let short = Load { pieces: load.pieces / 5, ..load };
        let mut counts = [0.0; 2];
        for (load, counted) in [short, load].into_iter().zip(&mut counts) {
            let before = runtime.block_on(count("allocations"))?;
            server.seconds(runtime, path, load)?;
            *counted = runtime.block_on(count("allocations"))? - before;
        }
        #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
        let pieces = (load.clients * load.answers * (load.pieces - short.pieces)) as f64;
        let each = (counts[1] - counts[0]) / pieces - of_model;
        report.at_most(name, each, 1.0, "allocations for a piece, without the text that the model makes");
    }
    if report.wants("serve/idle") {
        let mut held = [0.0; 3];
        for (path, held) in ["/idle", "/bare", "/api/chat"].into_iter().zip(&mut held) {
            *held = idle(runtime, server, path)?;
        }
        let [connection, stream, run] = held;
        let how = format!(
            "KB of heap for a stream that waits, beside {connection:.1} of its connection; with a run that waits {:.1}",
            run - connection
        );
        report.at_most("serve/idle", stream - connection, 10.0, &how);
    }
    Ok(())
}

/// The KB of heap that the server holds for a stream in which nothing happens.
fn idle(runtime: &Runtime, server: &Server, path: &str) -> io::Result<f64> {
    const STREAMS: usize = 500;
    const PAUSE: Duration = Duration::from_millis(400);
    let live =
        async || -> io::Result<f64> { server.counted().await?["live"].as_f64().ok_or(io::ErrorKind::Other.into()) };
    // What is made once is there then.
    drop(runtime.block_on(server.open(path, 20))?);
    std::thread::sleep(PAUSE);
    let before = runtime.block_on(live())?;
    let open = runtime.block_on(server.open(path, STREAMS))?;
    std::thread::sleep(PAUSE);
    let held = runtime.block_on(live())? - before;
    drop(open);
    std::thread::sleep(PAUSE);
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    let each = held / STREAMS as f64 / 1024.0;
    Ok(each)
}
