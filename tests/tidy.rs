//! The house rules, as code.

mod docs;
mod release;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// How long a file may be.
const MOST_LINES: usize = 800;

/// The crates that users get.
const CRATES: [&str; 7] =
    ["tool-derive", "tool-models", "tool-runtime", "tool-schema", "tool-server", "tool-stores", "tool-terminal"];

/// The modules of `tool-runtime` from the bottom up: a module uses only those before it.
const LAYERS: [&[&str]; 12] = [
    // Re-exported from tool-schema.
    &["json", "schema", "feedback"],
    &["text", "digest"],
    &["message"],
    &["tool"],
    &["toolset"],
    &["run"],
    &["store"],
    &["layer"],
    &["model"],
    &["agent"],
    &["test"],
    &["lib"],
];

/// The sources of [`CRATES`].
fn sources() -> [&'static str; 7] {
    [
        "tool-derive/src",
        "tool-models/src",
        "tool-runtime/src",
        "tool-schema/src",
        "tool-server/src",
        "tool-stores/src",
        "tool-terminal/src",
    ]
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display())) {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !matches!(name.as_str(), "target" | "peers" | "generated" | "node_modules") {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn files(dirs: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for dir in dirs {
        rust_files(&root().join(dir), &mut found);
    }
    assert!(!found.is_empty());
    found.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

fn report(broken: &[String]) {
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn files_are_short() {
    let mut broken = Vec::new();
    for (path, text) in files(&[&CRATES[..], &["examples", "tests", "benches"]].concat()) {
        let lines = text.lines().count();
        if lines > MOST_LINES {
            broken.push(format!("{}: {lines} lines; split it at a second reason to change", path.display()));
        }
    }
    report(&broken);
}

#[test]
fn layers_point_downwards() {
    let layer = |module: &str| LAYERS.iter().position(|layer| layer.contains(&module));
    let src = root().join("tool-runtime/src");
    let mut broken = Vec::new();
    for (path, text) in files(&["tool-runtime/src"]) {
        let relative = path.strip_prefix(root()).unwrap().strip_prefix("tool-runtime/src").unwrap_or(&path);
        let first = relative.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
        let own = first.trim_end_matches(".rs");
        let Some(own_layer) = layer(own) else {
            broken.push(format!("{own} is in no layer; add it to LAYERS in tests/tidy.rs"));
            continue;
        };
        if own == "lib" {
            continue;
        }
        let code: String =
            text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
        for (at, _) in code.match_indices("crate::") {
            for module in modules(&code[at + "crate::".len()..]) {
                if layer(module).is_none_or(|used| used > own_layer) {
                    let line = code[..at].matches('\n').count() + 1;
                    broken.push(format!("{}:{line}: `{own}` must not use `crate::{module}`", path.display()));
                }
            }
        }
    }
    assert!(src.exists());
    report(&broken);
}

/// The modules that a path behind `crate::` begins with: one, or those of a group.
fn modules(path: &str) -> Vec<&str> {
    let name = |path: &str| path.len() - path.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
    let Some(group) = path.strip_prefix('{') else { return vec![&path[..name(path)]] };
    let mut depth = 0;
    let end = group.find(|c| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        depth < 0
    });
    let mut depth = 0;
    let parts = group[..end.unwrap_or(group.len())].split(|c| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        c == ',' && depth == 0
    });
    parts.map(str::trim).map(|part| &part[..name(part)]).filter(|name| !name.is_empty()).collect()
}

#[test]
fn every_compile_error_is_pinned() {
    let dir = root().join("tests/ui");
    let mut broken = Vec::new();
    let mut cases = Vec::new();
    rust_files(&dir, &mut cases);
    // Beside the cases stands what runs them.
    for case in cases.into_iter().filter(|case| case.parent() != Some(dir.as_path())) {
        let passes = case.strip_prefix(&dir).unwrap().starts_with("pass");
        if passes == case.with_extension("stderr").exists() {
            broken.push(format!("{}: a failing case has a .stderr beside it, a passing one has none", case.display()));
        }
    }
    report(&broken);
}

/// The traits of expansions, for which nobody looks: what is missing there is said elsewhere, or cannot be missing.
const SILENT: [&str; 23] = [
    "AnyCode",
    "AnyGiven",
    "AnyKind",
    "CheckLater",
    "Collect",
    "Free",
    "HookLater",
    "Later",
    "NoAsk",
    "NoCheck",
    "NoChecker",
    "NoJson",
    "NoName",
    "NoPredicate",
    "NoValidator",
    "NoWork",
    "StartFree",
    "StartOn",
    "Unshared",
    "Validators",
    "Values",
    "Variants",
    "Wanted",
];

#[test]
fn traits_say_what_is_missing() {
    let mut broken = Vec::new();
    for (path, text) in files(&sources()) {
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let Some(name) = line.strip_prefix("pub trait ") else { continue };
            let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            let above = lines[..index].iter().rev().take_while(|line| !line.is_empty() && !line.starts_with('}'));
            let says = above.into_iter().any(|line| line.starts_with("#[diagnostic::on_unimplemented("));
            if !says && !name.starts_with("Not") && !SILENT.contains(&name) {
                broken.push(format!("{}:{}: `{name}` has no `on_unimplemented`", path.display(), index + 1));
            }
        }
    }
    report(&broken);
}

#[test]
fn modules_say_what_they_are_for() {
    let all = files(&[&sources()[..], &["examples/src", "examples/agents/src", "benches"]].concat());
    let broken: Vec<String> = all
        .iter()
        .filter(|(_, text)| !text.starts_with("//!") && !text.starts_with("#![doc"))
        .map(|(path, _)| path.display().to_string())
        .collect();
    report(&broken);
}
