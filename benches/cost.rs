//! The cost of a case: instructions if valgrind is installed, otherwise CPU time.
//!
//! Callgrind counts instructions in a child process of this program, for two numbers of rounds. Their difference
//! excludes the start-up, and other load on the machine does not change it.

use std::{
    cell::Cell,
    io,
    process::{ChildStdin, ChildStdout, Command, Stdio},
};

use crate::{case::Case, clock};

/// Measures the cost of one round of a case: in instructions, or in CPU time if callgrind is missing or fails.
pub(crate) fn measure(case: &Case) -> f64 {
    if can_count() {
        let (few, many) = case.rounds;
        if let (Some(a), Some(b)) = (count_case(case, few), count_case(case, many)) {
            #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
            return (b.saturating_sub(a)) as f64 / (many - few) as f64;
        }
    }
    let mut work = (case.start)();
    clock::time_least(&mut [&mut *work], case.rounds.1, 200)[0]
}

/// Measures both cases. Returns the ratio `ours / floor`, and a text with both costs and the unit.
pub(crate) fn compare(ours: &Case, floor: &Case) -> (f64, String) {
    let (a, b) = (measure(ours), measure(floor));
    (a / b, format!("{}: {} {a:.0}, {} {b:.0}", unit(), ours.name, floor.name))
}

/// Returns the unit of costs.
pub(crate) fn unit() -> &'static str {
    if can_count() { "instructions by callgrind" } else { "ns of CPU, valgrind is missing" }
}

/// Returns whether valgrind is installed.
fn can_count() -> bool {
    thread_local!(static FOUND: Cell<Option<bool>> = const { Cell::new(None) });
    let found = FOUND.get().unwrap_or_else(|| {
        Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
    });
    FOUND.set(Some(found));
    found
}

/// Returns the number of instructions of a process that does `rounds` rounds of a case; `None` if callgrind fails.
fn count_case(case: &Case, rounds: u64) -> Option<u64> {
    count_instructions(&["--case", case.name, "--rounds", &rounds.to_string()], |_, _| Ok(()))
}

/// Returns the number of instructions of this program with these arguments, while `talk` writes to its stdin and reads its
/// stdout. Returns `None` if either fails.
pub(crate) fn count_instructions(
    args: &[&str],
    talk: impl FnOnce(ChildStdin, ChildStdout) -> io::Result<()>,
) -> Option<u64> {
    let mut child = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().ok()?)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    talk(child.stdin.take()?, child.stdout.take()?).ok()?;
    let output = child.wait_with_output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let collected = text.lines().find_map(|line| line.split_once("Collected : "))?.1;
    collected.trim().parse().ok()
}
