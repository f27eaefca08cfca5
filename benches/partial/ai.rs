//! The cost of arguments in pieces with `parsePartialJson` of npm's `ai`. Needs node and the package, in `target/ai` or in
//! the folder that `AI_SDK` names:
//!
//! ```text
//! npm install --prefix target/ai ai@7
//! ```

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{clock, report::Report};

/// Measures the pieces of `text` here and with `ai`, and reports the target.
pub(super) fn measure(report: &mut Report, shape: &str, text: &str) {
    let name = format!("partial/ai-{shape}");
    if !report.wants(&name) {
        return;
    }
    let Some(folder) = folder() else {
        return report.info(&name, "skip: no node, or no `ai`; `npm install --prefix target/ai ai@7` installs it");
    };
    match time_ai(&folder, text) {
        Ok(theirs) => {
            let mut ours = super::read_with_views(text.to_owned());
            let ours = clock::time_least(&mut [&mut *ours], 5, 40)[0] / 1e9;
            let how = format!("x less CPU: theirs {theirs:.2} s, ours {:.3} ms", ours * 1e3);
            report.at_least(&name, theirs / ours, 4000.0, &how);
        }
        Err(error) => report.fail(&name, &error.to_string()),
    }
}

/// Returns the folder in which `ai` is installed; `None` if `ai` or node is missing.
pub(crate) fn folder() -> Option<PathBuf> {
    let node = Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success());
    let target = env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), PathBuf::from);
    let folder = env::var_os("AI_SDK").map_or_else(|| target.join("ai"), PathBuf::from);
    (node && folder.join("node_modules/ai").is_dir()).then_some(folder)
}

/// Runs `parsePartialJson` of `ai` on the pieces of `text`, and returns the seconds of CPU.
fn time_ai(folder: &Path, text: &str) -> io::Result<f64> {
    let file = env::temp_dir().join(format!("tool-benches-{}.json", std::process::id()));
    fs::write(&file, text)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("partial/ai.mjs");
    let output = Command::new("node").arg(script).arg(folder).arg(&file).arg(super::PIECE.to_string()).output();
    fs::remove_file(&file)?;
    let output = output?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
}
