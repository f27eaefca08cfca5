//! The cost of the first build of a project with the runtime alone, against that of a project with `rmcp` alone.

use std::{collections::BTreeSet, fs, io, path::Path, process::Command};

use super::{parse_times, reason, scratch};
use crate::{crates, report::Report};

const NAME: &str = "compile/cold";

/// The least that a project needs for one tool with rmcp: a server over stdio.
const PEER: &str =
    r#"rmcp = { version = "3", default-features = false, features = ["server", "macros", "transport-io"] }"#;

/// The cost of a project's first build, in seconds of CPU, and the number of its crates.
struct Built {
    seconds: f64,
    crates: usize,
}

/// Measures a first build of each project, and reports the target.
pub(super) fn measure(report: &mut Report) {
    if !report.wants(NAME) {
        return;
    }
    match build_both() {
        Ok([ours, peer]) => {
            let how = format!(
                "s of CPU of a first build, dev: ours {:.1} for {} crates, rmcp {:.1} for {}",
                ours.seconds, ours.crates, peer.seconds, peer.crates
            );
            report.at_most(NAME, ours.seconds / peer.seconds, 1.1, &how);
        }
        Err(error) => report.fail(NAME, &error.to_string()),
    }
}

/// Builds a project with the runtime, and one with `rmcp`.
fn build_both() -> io::Result<[Built; 2]> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let ours = format!("tool-runtime = {{ path = {:?} }}", root.join("tool-runtime").display().to_string());
    // Both projects use the versions of this repository's lock file, so that figures stay comparable.
    let lock = root.join("Cargo.lock");
    Ok([build("cold-ours", &ours, &lock)?, build("cold-rmcp", PEER, &lock)?])
}

/// Builds a project with one dependency, from nothing.
fn build(name: &str, dependency: &str, lock: &Path) -> io::Result<Built> {
    let folder = scratch()?.join(name);
    let target = folder.join("target");
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependency}\n\n[workspace]\n"
    );
    crates::write(&folder.join("Cargo.toml"), &manifest)?;
    crates::write(&folder.join("src/main.rs"), "fn main() {}\n")?;
    fs::copy(lock, folder.join("Cargo.lock"))?;
    run(&folder, "cargo fetch --quiet")?;
    let tree = run(&folder, "cargo tree --edges normal,build --prefix none --no-dedupe")?;
    let crates: BTreeSet<&str> = tree.lines().filter(|line| !line.is_empty() && !line.starts_with(name)).collect();
    let times = run(&folder, "cargo build --quiet && times")?;
    Ok(Built { seconds: parse_times(&times)?, crates: crates.len() })
}

/// Runs a shell command in `folder`, and returns its output. Fails if the command fails.
fn run(folder: &Path, line: &str) -> io::Result<String> {
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env_remove("RUSTFLAGS")
        .output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(io::Error::other(format!("`{line}` failed: {}", reason(&output.stderr))))
}
