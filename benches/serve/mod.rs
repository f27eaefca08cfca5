//! The CPU cost of answers over HTTP, against that of the AI SDK's own server on Node. Both send the same chunks: half
//! text, half arguments. In a target with `kept` in its name, the servers also keep the message: ours in a run's log, the
//! other with `onFinish`. The AI SDK's server needs node and the package:
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

/// The number of pieces in an answer. The AI SDK's cost of keeping a message grows with this number. In the measurement for
/// the limits, a piece of a kept message cost it 5.5 times as much as a piece of another message.
const PIECES: usize = 2000;

/// A load in which all pieces are made at once.
const BURST: Load = Load { clients: 8, answers: 3, pieces: PIECES, pace: Pace::AtOnce };

/// A load in which each piece is sent separately, without timers, which would add the cost of wake-ups.
const PACED: Load = Load { clients: 64, answers: 1, pieces: PIECES, pace: Pace::Alone };

/// [`PACED`] with timers, for comparison.
const TIMED: Load = Load { pace: Pace::Timed(1), ..PACED };

/// The number of measurements. The least counts, because other load only adds time.
const ROUNDS: usize = 3;

/// A comparison of a path of our server with another path or server.
struct Case {
    name: &'static str,
    load: Load,
    own: &'static str,
    other: Other,
    goal: Goal,
}

/// The other side of a comparison, with its path.
enum Other {
    /// The AI SDK's server.
    Ai(&'static str),
    /// Another path of our server.
    Here(&'static str),
}

/// The limit of a comparison.
enum Goal {
    /// The other side must take at least this multiple of our CPU.
    Less(f64),
    /// Our side may take at most this multiple of the other's CPU.
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

/// The path that writes chunks directly, without a run.
const BARE: &str = "/bare";

/// The path that keeps the message in a run.
const KEPT: &str = "/api/chat";

/// The targets for allocations: name, path, load, and the number of allocations that the model makes for a piece.
const ALLOCATIONS: [(&str, &str, Load, f64); 4] = [
    ("serve/allocations", "/bare", BURST, 0.0),
    ("serve/allocations-paced", "/bare", PACED, 0.0),
    ("serve/allocations-kept", "/api/chat", BURST, 1.0),
    ("serve/allocations-kept-paced", "/api/chat", PACED, 1.0),
];

const IDLE: &str = "serve/idle";

/// Measures servers, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return report.fail("serve", &error.to_string()),
    };
    let names = CASES.map(|case| case.name);
    if report.wants_any(&names)
        && let Err(error) = compare_servers(report, &runtime)
    {
        report.fail("serve", &error.to_string());
    }
    let names = ALLOCATIONS.map(|(name, ..)| name);
    if (report.wants_any(&names) || report.wants(IDLE))
        && let Err(error) = measure_memory(report, &runtime)
    {
        report.fail(IDLE, &error.to_string());
    }
}

/// Starts our server. With any argument in `counts`, the server counts allocations.
fn start_own_server(counts: &[&str]) -> io::Result<Server> {
    Server::start(Command::new(std::env::current_exe()?).arg("--serve").args(counts))
}

/// Compares the CPU of a piece on our server with that on the other side of each case.
fn compare_servers(report: &mut Report, runtime: &Runtime) -> io::Result<()> {
    let ours = start_own_server(&[])?;
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
        let (us, them) = match time_least(runtime, load, (&ours, own), other) {
            Ok(measured) => measured,
            Err(error) => {
                report.fail(name, &error.to_string());
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

/// Measures both sides' microseconds of CPU for a piece, in turns. Returns the least of some rounds.
fn time_least(
    runtime: &Runtime,
    load: Load,
    ours: (&Server, &'static str),
    theirs: Option<(&Server, &'static str)>,
) -> io::Result<(f64, Option<f64>)> {
    let (mut us, mut them) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        us = us.min(ours.0.time_pieces(runtime, ours.1, load)? * 1e6);
        if let Some((theirs, path)) = theirs {
            them = them.min(theirs.time_pieces(runtime, path, load)? * 1e6);
        }
    }
    Ok((us, theirs.map(|_| them)))
}

/// Measures the allocations of pieces, and the memory of idle streams.
fn measure_memory(report: &mut Report, runtime: &Runtime) -> io::Result<()> {
    let server = &start_own_server(&["--count"])?;
    let count = async |key: &str| -> io::Result<f64> {
        server.read_counters().await?[key]
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
            server.time_pieces(runtime, path, load)?;
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
            *held = measure_idle_stream(runtime, server, path)?;
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

/// Measures the KB of heap that the server holds for an idle stream.
fn measure_idle_stream(runtime: &Runtime, server: &Server, path: &str) -> io::Result<f64> {
    const STREAMS: usize = 500;
    const PAUSE: Duration = Duration::from_millis(400);
    let live = async || -> io::Result<f64> {
        server.read_counters().await?["live"].as_f64().ok_or(io::ErrorKind::Other.into())
    };
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
