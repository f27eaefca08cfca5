//! The compiler's cost of two hundred tools, against its cost of the same functions with serde's and schemars' derives.
//! [`cold`] compares the first builds of two projects: one with the runtime, and one with `rmcp`.
//!
//! The program generates the crates below the target directory, and builds their dependencies first. The cost is the CPU
//! time (user and system) of the compiler's process for the crate alone.

use std::{fs, io, path::PathBuf, process::Command};

mod cold;
pub(crate) mod machine_code;
mod rebuild;

use crate::{
    crates::{self, Kind},
    report::Report,
};

/// A kind of build: the arguments of `cargo`, and the number of measurements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    pub(crate) name: &'static str,
    args: &'static [&'static str],
    runs: usize,
}

/// Type checking, a development build, and an optimized build.
pub(crate) const MODES: [Mode; 3] = [
    Mode { name: "check", args: &["check"], runs: 12 },
    Mode { name: "build", args: &["build"], runs: 4 },
    Mode { name: "release", args: &["build", "--release"], runs: 3 },
];

/// A crate whose compile time can be measured.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    /// The workspace that it belongs to.
    pub(crate) folder: PathBuf,
    /// Additional arguments for cargo.
    pub(crate) args: &'static [&'static str],
}

/// Measures the cost of the compiler, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    cold::measure(report);
    let subjects = match generate() {
        Ok(subjects) => subjects,
        Err(error) => return report.fail("compile", &format!("the crates could not be generated: {error}")),
    };
    for (mode, limit) in MODES.iter().zip([0.25, 0.3, 0.25]) {
        let name = format!("compile/{}", mode.name);
        if !report.wants(&name) {
            continue;
        }
        let whole: Vec<_> = subjects.iter().filter(|subject| subject.name != rebuild::NAME).collect();
        match time_compiles(&whole, *mode) {
            Ok(times) => {
                let [floor, ours, derives, arguments, decoded] = times[..] else { continue };
                let how = format!(
                    "s of rustc's CPU for 200 tools: ours {ours:.2}, derives {derives:.2}, the functions alone {floor:.2}"
                );
                report.at_most(&name, ours / derives, limit, &how);
                compare_with_deserialize(report, &name, ours, arguments, decoded);
            }
            Err(error) => report.fail(&name, &error.to_string()),
        }
    }
    machine_code::measure(report, &subjects);
    rebuild::measure(report, &subjects);
}

/// Compares with `Deserialize` alone, which many structs have anyway, and with a function that reads each struct.
fn compare_with_deserialize(report: &mut Report, mode: &str, ours: f64, arguments: f64, decoded: f64) {
    let (name, used) = (format!("{mode}-deserialize"), format!("{mode}-deserialize-used"));
    let unused = if mode.ends_with("release") { ", of which no code is made" } else { "" };
    let how =
        format!("s of rustc's CPU: ours {ours:.2}, `Deserialize` for their arguments alone{unused} {arguments:.2}");
    let how_used =
        format!("s of rustc's CPU: ours {ours:.2}, `Deserialize` and a function that reads each {decoded:.2}");
    // An optimized build makes no code for derives that no function uses, so there is no target against these.
    if mode.ends_with("release") {
        report.info(&name, &format!("{:.3} x ({how})", ours / arguments));
    } else {
        report.at_most(&name, ours / arguments, 1.0, &how);
    }
    report.info(&used, &format!("{:.3} x ({how_used})", ours / decoded));
}

/// Returns the folder for generated crates and their builds: the target directory of this program.
pub(crate) fn scratch() -> io::Result<PathBuf> {
    let exe = std::env::current_exe()?;
    let target = exe.ancestors().nth(2).ok_or_else(|| io::Error::other("the program lies in no target directory"))?;
    Ok(target.join("tool-benches"))
}

/// Generates a workspace with a crate for each kind, and with a second crate of our tools, for edits.
fn generate() -> io::Result<Vec<Subject>> {
    let folder = scratch()?;
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let workspace = "[workspace]\nresolver = \"3\"\nmembers = [\"floor\", \"ours\", \"derives\", \"arguments\", \"decoded\", \"edited\"]\n";
    crates::write(&folder.join("Cargo.toml"), workspace)?;
    if !folder.join("Cargo.lock").exists() {
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    }
    let runtime = root.canonicalize()?.join("tool-runtime").display().to_string();
    let json = "schemars = \"1.2\"\nserde = { version = \"1\", features = [\"derive\"] }\n";
    let ours =
        format!("{json}tool-runtime = {{ path = {runtime:?}, default-features = false, features = [\"derive\"] }}\n");
    let members = [
        ("floor", Kind::Floor, String::new()),
        ("ours", Kind::Ours, ours.clone()),
        ("derives", Kind::Derives, format!("{json}serde_json = \"1\"\n")),
        ("arguments", Kind::Deserialize, json.to_owned()),
        ("decoded", Kind::Decoded, format!("{json}serde_json = \"1\"\n")),
        (rebuild::NAME, Kind::Ours, ours),
    ];
    for (name, kind, dependencies) in &members {
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}"
        );
        crates::write(&folder.join(name).join("Cargo.toml"), &manifest)?;
        crates::write(&folder.join(name).join("src/lib.rs"), &crates::source(*kind))?;
    }
    Ok(members.map(|(name, ..)| Subject { name, folder: folder.clone(), args: &[] }).into())
}

/// Compiles each crate several times. Returns, for each crate, the compiler's least seconds of CPU for the crate alone. The
/// crates alternate, because other load on the machine then affects all of them equally.
pub(crate) fn time_compiles(subjects: &[&Subject], mode: Mode) -> io::Result<Vec<f64>> {
    // These builds also build the dependencies.
    for subject in subjects {
        compile(subject, mode.args, false)?;
    }
    let mut least = vec![f64::INFINITY; subjects.len()];
    for _ in 0..mode.runs {
        for (subject, least) in subjects.iter().zip(&mut least) {
            let source = source_of(subject);
            fs::write(&source, fs::read(&source)?)?;
            *least = least.min(compile(subject, mode.args, false)?.unwrap_or(f64::INFINITY));
        }
    }
    Ok(least)
}

/// Compiles a crate. Returns the compiler's seconds of CPU for the crate alone, or `None` if it has not changed.
fn compile(subject: &Subject, args: &[&str], incremental: bool) -> io::Result<Option<f64>> {
    let scratch = scratch()?;
    let (times, wrapper) = (scratch.join("times"), scratch.join("timed.sh"));
    let script = "#!/bin/sh\n\"$@\"\ncode=$?\ncase \"$*\" in *\"--crate-name $TIMED_CRATE \"*) times >>\"$TIMED_FILE\";; esac\nexit $code\n";
    crates::write(&wrapper, script)?;
    make_executable(&wrapper)?;
    fs::write(&times, "")?;
    let output = Command::new("cargo")
        .args(args)
        .args(["--quiet", "--package", subject.name])
        .args(subject.args)
        .current_dir(&subject.folder)
        .env("CARGO_TARGET_DIR", scratch.join("target"))
        .env("CARGO_INCREMENTAL", if incremental { "1" } else { "0" })
        .env("RUSTC_WORKSPACE_WRAPPER", &wrapper)
        .env("TIMED_CRATE", subject.name)
        .env("TIMED_FILE", &times)
        .env_remove("RUSTFLAGS")
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("`{}` did not compile: {}", subject.name, reason(&output.stderr))));
    }
    let times = fs::read_to_string(&times)?;
    if times.is_empty() { Ok(None) } else { parse_times(&times).map(Some) }
}

/// Returns cargo's first error with its causes, on one line.
pub(crate) fn reason(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines().skip_while(|line| !line.starts_with("error"));
    let causes = || lines().skip_while(|line| *line != "Caused by:").filter(|line| *line != "Caused by:");
    let first = error.take(1).chain(causes().take(3)).collect::<Vec<_>>().join(": ");
    if first.is_empty() { lines().next().unwrap_or("nothing").to_owned() } else { first }
}

fn source_of(subject: &Subject) -> PathBuf {
    subject.folder.join(subject.name).join("src/lib.rs")
}

/// Returns the sum of the children's user and system time in seconds, from the second line of the shell's `times`.
fn parse_times(times: &str) -> io::Result<f64> {
    let seconds = |time: &str| -> Option<f64> {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    let children: Option<Vec<f64>> =
        times.lines().nth(1).map(|line| line.split_whitespace().filter_map(seconds).collect());
    match children.as_deref() {
        Some([user, system]) => Ok(user + system),
        _ => Err(io::Error::other("the compiler's time could not be read")),
    }
}

#[cfg(unix)]
fn make_executable(path: &std::path::Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &std::path::Path) -> io::Result<()> {
    Err(io::Error::other("compile times are measured with a shell script, which this system cannot run"))
}
