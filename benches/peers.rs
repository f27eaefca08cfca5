//! The compiler's cost of two hundred tools, against its cost of the same tools with other frameworks' macros.
//!
//! The workspace `benches/peers` pins the frameworks. Only this bench builds it, as a copy below the target directory, with the
//! sources of its crates. This needs crates.io once. The cost is the same as in [`compile`](crate::compile).

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    compile::{self, MODES, Subject, machine_code},
    crates::{self, Kind},
    report::Report,
};

/// The maximum cost of our tools, as a share of a peer's cost.
const LIMIT: f64 = 0.333;

/// rig declares a newer compiler than the pinned one, but builds with the pinned one.
const ANY_RUST: &[&str] = &["--ignore-rust-version"];

/// The name, the crate and the kind of declaration of each peer.
const PEERS: [(&str, &str, Kind); 2] = [("rmcp", "with_rmcp", Kind::Rmcp), ("rig", "with_rig", Kind::Rig)];

/// Measures the compiler's cost against that of other frameworks, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    let folder = match prepare() {
        Ok(folder) => folder,
        Err(error) => return report.fail("peers", &error.to_string()),
    };
    let subject = |name| Subject { name, folder: folder.clone(), args: ANY_RUST };
    for mode in &MODES {
        for (peer, krate, _) in &PEERS {
            let name = format!("peers/{peer}/{}", mode.name);
            if !report.wants(&name) {
                continue;
            }
            match compile::time_compiles(&[&subject("ours"), &subject(krate)], *mode) {
                Ok(times) => {
                    let [ours, theirs] = times[..] else { continue };
                    let how = format!("s of rustc's CPU for 200 tools: ours {ours:.2}, {peer} {theirs:.2}");
                    report.at_most(&name, ours / theirs, LIMIT, &how);
                }
                Err(error) => report.fail(&name, &error.to_string()),
            }
        }
    }
    report_machine_code(report, subject);
}

/// Reports our machine code as a share of each peer's. It has no limit.
fn report_machine_code(report: &Report, subject: impl Fn(&'static str) -> Subject) {
    for (peer, krate, _) in &PEERS {
        let name = format!("peers/{peer}/text");
        if !report.wants(&name) {
            continue;
        }
        let sizes = machine_code::measure_size(&subject("ours"))
            .and_then(|ours| Ok((ours, machine_code::measure_size(&subject(krate))?)));
        match sizes {
            Ok((ours, theirs)) => {
                let how =
                    format!("{:.3} x (KB of machine code, release: ours {ours:.0}, {peer} {theirs:.0})", ours / theirs);
                report.info(&name, &how);
            }
            Err(error) => report.info(&name, &error.to_string()),
        }
    }
}

/// Copies the workspace, and returns its folder. Writes the sources and fetches their dependencies, so that a machine without a
/// network fails before the first build.
///
/// Cargo adds our own dependencies of today to the lock file. In the copy, this changes no file of the repository.
fn prepare() -> io::Result<PathBuf> {
    let pinned = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let folder = compile::scratch()?.join("peers");
    let copy = |name: &Path| {
        let text = fs::read_to_string(pinned.join(name))?;
        let text = text.replace("\"../../../", &format!("\"{}/", root.display()));
        crates::write(&folder.join(name), &text)
    };
    copy(Path::new("Cargo.toml"))?;
    copy(Path::new("Cargo.lock"))?;
    let sources = PEERS.iter().map(|(_, krate, kind)| (*krate, *kind)).chain([("ours", Kind::Ours)]);
    for (krate, kind) in sources {
        copy(&Path::new(krate).join("Cargo.toml"))?;
        crates::write(&folder.join(krate).join("src/lib.rs"), &crates::source(kind))?;
    }
    let output = Command::new("cargo").args(["fetch", "--quiet"]).current_dir(&folder).output()?;
    if output.status.success() {
        return Ok(folder);
    }
    Err(io::Error::other(format!(
        "the other frameworks could not be fetched; `cargo fetch` in {} needs crates.io once. Cargo reported: {}",
        folder.display(),
        compile::reason(&output.stderr)
    )))
}
