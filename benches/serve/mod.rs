//! The CPU cost of answers over HTTP, compared with the AI SDK's own server on Node. Both send the same chunks: half text, half
//! arguments. The bench measures the CPU of each server process. A target with `kept` in its name also keeps the message: here in
//! a run with its log, there with `onFinish`.
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

/// The text of each piece.
const PIECE: &str = "Lorem ipsum dolor s ";

/// The number of pieces in an answer. The AI SDK's cost of keeping a message grows with this number. When the targets were set, a
/// kept piece cost 5.5 times a piped one there.
const PIECES: usize = 2000;

const BURST: Load = Load { clients: 8, answers: 3, pieces: PIECES, pace: Pace::AtOnce };

/// Each piece is sent separately, without sleeping: timers would measure wake-ups, not serving.
const PACED: Load = Load { clients: 64, answers: 1, pieces: PIECES, pace: Pace::Alone };

/// [`PACED`] with timers, for comparison.
const TIMED: Load = Load { pace: Pace::Timed(1), ..PACED };

/// The number of measurements, of which the smallest counts.
const ROUNDS: usize = 3;

/// A comparison: our path, the other server, and the goal.
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
    /// Another path of our process.
    Here(&'static str),
}

enum Goal {
    /// The other side must take at least this multiple of our CPU.
    Less(f64),
    /// Our side may take this multiple of the other's CPU.
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

/// The path that writes chunks directly.
const BARE: &str = "/bare";

/// The path with a run.
const KEPT: &str = "/api/chat";

/// The paths whose allocations are counted, and the number of allocations that the model makes for a piece.
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

/// Starts our server. `counts` are options for counting memory.
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
        let load = format!("{clients} streams of {pieces} pieces, {}", pace.describe());
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

/// Returns both sides' microseconds of CPU for a piece: the least of some rounds, in alternation.
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

/// Measures the memory of pieces and streams.
fn memory(report: &mut Report, runtime: &Runtime) -> io::Result<()> {
    let server = &own(&["--count"])?;
    let count = async |key: &str| -> io::Result<f64> {
        server.counted().await?[key]
            .as_f64()
            .ok_or_else(|| io::Error::other("the server reports no counts: it was started without `--count`"))
    };
    for (name, path, load, of_model) in ALLOCATIONS {
        if !report.wants(name) {
            continue;
        }
        // The loads differ only in the number of pieces.
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

/// Returns the KB of heap that the server holds for an idle stream.
fn idle(runtime: &Runtime, server: &Server, path: &str) -> io::Result<f64> {
    const STREAMS: usize = 500;
    const PAUSE: Duration = Duration::from_millis(400);
    let live =
        async || -> io::Result<f64> { server.counted().await?["live"].as_f64().ok_or(io::ErrorKind::Other.into()) };
    // The first streams also allocate what all streams share.
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
