//! Measures speed targets, each together with its floor in one run. `README.md` lists the groups.
//!
//! ```text
//! cargo run --release -p tool-benches              # all but the slow ones: dispatch, validate, feedback, list,
//!                                                  # partial, models, startup, run, loop, call, callers, store,
//!                                                  # mcp, grow, serve
//! cargo run --release -p tool-benches -- dispatch  # the targets whose names start with `dispatch`
//! scripts/postgres cargo run --release -p tool-benches -- fleet   # three servers on PostgreSQL
//! scripts/engine restate cargo run --release -p tool-benches --features engines -- engines   # the adapters; or temporal
//! cargo run --release -p tool-benches -- requests  # minutes: the most expensive requests of 4 MB
//! cargo run --release -p tool-benches -- compile   # minutes: builds generated crates of 200 tools
//! cargo run --release -p tool-benches -- peers     # minutes, and crates.io: the same tools with rmcp's and rig's macros
//! cargo run --release -p tool-benches -- all       # everything
//! ```
//!
//! Each line is `TARGET name measured limit ok`, or `MISS` in place of `ok`, and then the measurements in brackets. `INFO`
//! lines have no limit. With `--strict`, the program ends with an error if a target was missed. With `--table`, it prints a
//! Markdown table, as in `docs/dev/performance.md`.

mod agent_loop;
mod call;
mod callers;
mod case;
mod clock;
mod compile;
mod cost;
mod crates;
mod dispatch;
#[cfg(feature = "engines")]
mod engines;
mod feedback;
mod fleet;
mod grow;
mod list;
mod many;
mod mcp;
mod models;
mod partial;
mod peers;
mod report;
mod requests;
mod run;
mod serve;
mod startup;
mod store;
mod validate;

use std::process::ExitCode;

use report::Report;
use tool_test_kit::memory;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// A group of targets: its name, whether it is slow (and runs only on request), and the function that measures it.
type Group = (&'static str, bool, fn(&mut Report));

const GROUPS: &[Group] = &[
    ("dispatch", false, dispatch::measure),
    ("validate", false, validate::measure),
    ("feedback", false, feedback::measure),
    ("list", false, list::measure),
    ("partial", false, partial::measure),
    ("models", false, models::measure),
    ("startup", false, startup::measure),
    ("run", false, run::measure),
    ("loop", false, agent_loop::measure),
    ("call", false, call::measure),
    ("callers", false, callers::measure),
    ("store", false, store::measure),
    ("mcp", false, mcp::measure),
    ("grow", false, grow::measure),
    ("serve", false, serve::measure),
    ("fleet", true, fleet::measure),
    #[cfg(feature = "engines")]
    ("engines", true, engines::measure),
    ("requests", true, requests::measure),
    ("compile", true, compile::measure),
    ("peers", true, peers::measure),
];

fn main() -> ExitCode {
    memory::set_counting(false);
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if let ["--case", name, "--rounds", rounds] = args[..] {
        return case::run(name, rounds);
    }
    if let ["--serve", counts @ ..] = &args[..] {
        memory::set_counting(!counts.is_empty());
        return serve::serve();
    }
    if let ["--mcp", server, tools] = args[..] {
        return mcp::serve(server, tools);
    }
    if let ["--fleet", schema, url] = args[..] {
        return fleet::serve(schema, url);
    }
    #[cfg(feature = "engines")]
    if let ["--engines", name] = args[..] {
        return engines::serve(name);
    }
    if args == ["--startup"] {
        startup::print_start();
        return ExitCode::SUCCESS;
    }
    let (strict, is_table) = (args.contains(&"--strict"), args.contains(&"--table"));
    let filter = args.iter().find(|arg| !arg.starts_with("--")).copied();
    let mut report = Report::new(filter.filter(|filter| *filter != "all").unwrap_or_default(), is_table);
    let mut is_known = false;
    for (name, slow, measure) in GROUPS.iter().copied() {
        let wanted = match filter {
            None => !slow,
            Some("all") => true,
            Some(filter) => name.starts_with(filter) || filter.split('/').next() == Some(name),
        };
        if wanted {
            is_known = true;
            measure(&mut report);
        }
    }
    if !is_known {
        let names = GROUPS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
        eprintln!("there is no target `{}`; there are {names} and all", filter.unwrap_or_default());
        return ExitCode::FAILURE;
    }
    report.finish(strict)
}
