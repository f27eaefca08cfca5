//! Answers over HTTP, half text and half arguments of a call, against the AI SDK's own server on node emitting the same chunks:
//! the CPU of either server's process. `kept` is a run with its log here, and `onFinish` there.
//!
//! ```text
//! npm install --prefix target/ai ai@7
//! ```

mod load;
mod peer;
mod server;

use std::{io, path::Path, process::Command, time::Duration};

use tokio::runtime::Runtime;

use crate::{partial::ai, report::Report};
use load::{Load, Pace, Server};

pub(crate) use server::run as serve;

/// What every piece says.
const PIECE: &str = "Lorem ipsum dolor s ";

/// How many of them an answer has. The AI SDK's cost of keeping a message grows with it; with so many, a kept piece costs 5.5 times
/// what a piped one does there, which is what was measured when the targets were set.
const PIECES: usize = 2000;

const BURST: Load = Load { clients: 8, answers: 3, pieces: PIECES, pace: Pace::AtOnce };

/// Each piece is sent by itself, and nobody sleeps: being woken is what timers cost, not serving.
const PACED: Load = Load { clients: 64, answers: 1, pieces: PIECES, pace: Pace::Alone };

/// The same by timers, for comparison.
const TIMED: Load = Load { pace: Pace::Timed(1), ..PACED };

/// How often each is measured: the least counts.
const ROUNDS: usize = 3;

/// What is compared: ours, what it is compared with, and the goal.
struct Case {
    name: &'static str,
    load: Load,
    own: &'static str,
    other: Other,
    goal: Goal,
}

enum Other {
    /// The AI SDK's server.
    Ai(&'static str),
    /// Something else that our process serves.
    Here(&'static str),
}

enum Goal {
    /// The other one is to take so many times the CPU.
    Less(f64),
    /// Ours may take so many times the CPU.
    More(f64),
    None,
}

impl Case {
    const fn new(name: &'static str, load: Load, own: &'static str, other: Other, goal: Goal) -> Self {
        Self { name, load, own, other, goal }
    }
}

const CASES: [Case; 8] = [
    Case::new("serve/burst", BURST, BARE, Other::Ai("/bare"), Goal::Less(15.0)),
    Case::new("serve/paced", PACED, BARE, Other::Ai("/bare"), Goal::Less(4.0)),
    Case::new("serve/timed", TIMED, BARE, Other::Ai("/bare"), Goal::None),
    Case::new("serve/burst-kept", BURST, KEPT, Other::Ai("/kept"), Goal::Less(50.0)),
    Case::new("serve/paced-kept", PACED, KEPT, Other::Ai("/kept"), Goal::Less(15.0)),
    Case::new("serve/timed-kept", TIMED, KEPT, Other::Ai("/kept"), Goal::None),
    Case::new("serve/burst-axum", BURST, BARE, Other::Here("/sse"), Goal::Less(2.5)),
    Case::new("serve/paced-floor", PACED, BARE, Other::Here("/frames"), Goal::More(1.3)),
];

/// Where chunks are written.
const BARE: &str = "/bare";

/// Where they are a run's.
const KEPT: &str = "/api/chat";

/// Where allocations are counted, and how many of a piece's are its model's.
const ALLOCATIONS: [(&str, &str, Load, f64); 4] = [
    ("serve/allocations", "/bare", BURST, 0.0),
    ("serve/allocations-paced", "/bare", PACED, 0.0),
    ("serve/allocations-kept", "/api/chat", BURST, 1.0),
    ("serve/allocations-kept-paced", "/api/chat", PACED, 1.0),
];

const IDLE: &str = "serve/idle";

/// Prints the targets of serving.
pub(crate) fn measure(report: &mut Report) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return report.broken("serve", &error.to_string()),
    };
    let names = CASES.map(|case| case.name);
    if report.wants_any(&names)
        && let Err(error) = against(report, &runtime)
    {
        report.broken("serve", &error.to_string());
    }
    let names = ALLOCATIONS.map(|(name, ..)| name);
    if (report.wants_any(&names) || report.wants(IDLE))
        && let Err(error) = memory(report, &runtime)
    {
        report.broken(IDLE, &error.to_string());
    }
}

/// Our server; `counts` is its option to count memory, too.
fn own(counts: &[&str]) -> io::Result<Server> {
    Server::start(Command::new(std::env::current_exe()?).arg("--serve").args(counts))
}

fn against(report: &mut Report, runtime: &Runtime) -> io::Result<()> {
    let ours = own(&[])?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("serve/ai.mjs");
    let theirs = ai::folder().map(|folder| Server::start(Command::new("node").arg(script).arg(folder))).transpose()?;
    if theirs.is_none() {
        report.info("serve", "skip: no node, or no `ai`; `npm install --prefix target/ai ai@7` installs it");
    }
    for Case { name, load, own, other, goal } in CASES {
        if !report.wants(name) {
            continue;
        }
        let other = match other {
            Other::Ai(path) => theirs.as_ref().map(|theirs| (theirs, path)),
            Other::Here(path) => Some((&ours, path)),
        };
        let (us, them) = match least(runtime, load, (&ours, own), other) {
            Ok(measured) => measured,
            Err(error) => {
                report.broken(name, &error.to_string());
                continue;
            }
        };
        let Load { clients, pieces, pace, .. } = load;
        let load = format!("{clients} streams of {pieces} pieces, {}", pace.told());
        let Some(them) = them else {
            report.info(name, &format!("{us:.2} µs of CPU for a piece; {load}"));
            continue;
        };
        let how = format!("x less CPU for a piece: ours {us:.2} µs, theirs {them:.2} µs; {load}");
        match goal {
            Goal::Less(times) => report.at_least(name, them / us, times, &how),
            Goal::More(times) => report.at_most(name, us / them, times, &how.replace("x less", "x the")),
            Goal::None => report.info(name, &format!("{:.1} {how}", them / us)),
        }
    }
    Ok(())
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
fn memory(report: &mut Report, runtime: &Runtime) -> io::Result<()> {
    let server = &own(&["--count"])?;
    let count = async |key: &str| -> io::Result<f64> {
        server.counted().await?[key].as_f64().ok_or_else(|| io::Error::other("it does not count"))
    };
    for (name, path, load, of_model) in ALLOCATIONS {
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
    if report.wants(IDLE) {
        let mut held = [0.0; 3];
        for (path, held) in ["/idle", "/bare", "/api/chat"].into_iter().zip(&mut held) {
            *held = idle(runtime, server, path)?;
        }
        let [connection, stream, run] = held;
        let how = format!(
            "KB of heap for a stream that waits, beside {connection:.1} of its connection; with a run that waits {:.1}",
            run - connection
        );
        report.at_most(IDLE, stream - connection, 10.0, &how);
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
