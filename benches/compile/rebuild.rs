//! The compiler's cost after an edit: one more parameter of one of two hundred tools, or of a plain function beside them.

use std::{fs, io};

use super::{Subject, compile, source_of};
use crate::{
    clock,
    crates::{self, Kind},
    report::Report,
};

/// The crate that is edited.
pub(super) const NAME: &str = "edited";

/// The number of measurements of each edit.
const RUNS: usize = 13;

/// The edit of a tool: the text and its replacement. The tool is in the middle of the file, so that later code moves.
const TOOL: [&str; 2] = ["pub async fn tool_100(\n", "pub async fn tool_100(\n    /// One more.\n    more: u32,\n"];
/// The edit of the plain function before that tool. It adds the same number of lines.
const FUNCTION: [&str; 2] = ["pub fn plain(\n", "pub fn plain(\n    // One more.\n    _more: u32,\n"];

/// Measures builds after an edit, and reports the target.
pub(super) fn measure(report: &mut Report, subjects: &[Subject]) {
    let name = "compile/rebuild";
    let Some(subject) = subjects.iter().find(|subject| subject.name == NAME).filter(|_| report.wants(name)) else {
        return;
    };
    match time_edits(subject) {
        Ok(pairs) => {
            let [ratio, tool, function] = clock::medians(&pairs);
            let how = format!(
                "median of pairs; s of rustc's CPU, incremental: one more parameter of a tool {tool:.2}, of a plain function {function:.2}"
            );
            report.at_most(name, ratio, 1.1, &how);
        }
        Err(error) => report.fail(name, &error.to_string()),
    }
}

/// Edits the tool and the function in turns. Returns pairs of the compiler's seconds of CPU after an edit of each.
fn time_edits(subject: &Subject) -> io::Result<Vec<[f64; 2]>> {
    let function = format!("/// A function.\n{}    first: u32,\n) -> u32 {{\n    first\n}}\n\n", FUNCTION[0]);
    let tools = crates::source(Kind::Ours);
    let Some(at) = tools.find("/// Does number 100 ") else { return Err(io::Error::other("there is no tool 100")) };
    let base = format!("{}{function}{}", &tools[..at], &tools[at..]);
    let build = |source: &str| -> io::Result<f64> {
        fs::write(source_of(subject), source)?;
        compile(subject, &["build"], true)?.ok_or_else(|| io::Error::other("nothing was compiled"))
    };
    let mut pairs = Vec::new();
    build(&base)?;
    for run in 0..RUNS {
        let mut pair = [0.0; 2];
        // Each side goes first in every other pair.
        for side in [run % 2, (run + 1) % 2] {
            let [before, after] = [TOOL, FUNCTION][side];
            let edited = base.replacen(before, after, 1);
            if edited == base {
                return Err(io::Error::other(format!("the source does not contain `{}`", before.trim())));
            }
            pair[side] = build(&edited)?;
            build(&base)?;
        }
        pairs.push(pair);
    }
    Ok(pairs)
}
