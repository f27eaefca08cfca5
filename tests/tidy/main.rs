//! The rules of the repository, as code.

mod docs;
mod messages;
mod names;
mod prose;

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

/// The maximum number of lines in a file.
const MAX_LINES: usize = 800;

/// The published crates.
const CRATES: [&str; 10] = [
    "tool-derive",
    "tool-models",
    "tool-restate",
    "tool-run",
    "tool-runtime",
    "tool-schema",
    "tool-server",
    "tool-stores",
    "tool-temporal",
    "tool-terminal",
];

/// The modules of each crate from the bottom up: a module uses only modules of its own layer and of lower ones.
const LAYERS: [(&str, &[&[&str]]); 9] = [
    // Feedback is written from schemas, and schemas explain in terms of feedback.
    ("tool-schema", &[&["json", "schema", "feedback"], &["lib"]]),
    ("tool-run", &[&["json", "schema", "feedback"], &["name"], &["message"], &["tool"], &["run"], &["lib"]]),
    (
        "tool-runtime",
        &[
            // Re-exported from tool-schema and tool-run.
            &["json", "schema", "feedback", "message"],
            &["sync"],
            &["tool"],
            &["run"],
            &["toolset"],
            &["gate"],
            &["store"],
            &["layer"],
            &["model"],
            &["agent"],
            &["test"],
            &["lib"],
        ],
    ),
    // `env` names the variables of each model.
    (
        "tool-models",
        &[
            &["calls", "conversation", "error", "lenient", "origin", "structured", "tokens"],
            &["http", "media"],
            &["anthropic", "env", "gemini", "openai"],
            &["provider_rules", "typed_answers"],
            &["lib"],
        ],
    ),
    // Each of the two objects calls the other, and both are clients of the server.
    ("tool-restate", &[&["wire"], &["drive", "engine", "log", "keeper", "store"], &["lib"]]),
    // The workflow names the activity, which opens the store of its own workflow.
    ("tool-temporal", &[&["pages", "turns"], &["log"], &["drive", "keeper", "store", "workflow"], &["lib"]]),
    ("tool-stores", &[&["convert"], &["sealed"], &["postgres", "sqlite"], &["lib"]]),
    (
        "tool-server",
        &[
            &["protocol", "typescript"],
            &["failures"],
            &["host"],
            &["guard"],
            &["serve", "http_settings"],
            &["routes"],
            &["mcp"],
            &["server"],
            &["lib"],
        ],
    ),
    ("tool-terminal", &[&["negotiating"], &["terminal"], &["lib"]]),
];

/// The modules of `tool-derive` from the bottom up.
const DERIVE_LAYERS: [&[&str]; 8] = [
    &["diag", "print"],
    &["syntax"],
    &["declaration"],
    &["resolve"],
    &["check"],
    &["expand"],
    &["entry"],
    &["tests", "lib"],
];

/// Returns the source folders of [`CRATES`].
fn sources() -> [&'static str; 10] {
    [
        "tool-derive/src",
        "tool-models/src",
        "tool-restate/src",
        "tool-run/src",
        "tool-runtime/src",
        "tool-schema/src",
        "tool-server/src",
        "tool-stores/src",
        "tool-temporal/src",
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
        if lines > MAX_LINES {
            broken.push(format!("{}: {lines} lines; split it at a second reason to change", path.display()));
        }
    }
    report(&broken);
}

#[test]
fn layers_point_downwards() {
    let mut broken = Vec::new();
    for (name, layers) in LAYERS {
        broken.extend(upward_uses(&format!("{name}/src"), layers));
    }
    broken.extend(upward_uses("tool-derive/src", &DERIVE_LAYERS));
    report(&broken);
}

/// Returns each use of a higher module in the sources of a crate, and each module of `layers` that does not exist. `layers` are
/// given from the bottom up.
fn upward_uses(src: &str, layers: &[&[&str]]) -> Vec<String> {
    let layer = |module: &str| layers.iter().position(|layer| layer.contains(&module));
    let mut broken = Vec::new();
    let mut used = HashSet::new();
    for (path, text) in files(&[src]) {
        let relative = path.strip_prefix(root().join(src)).unwrap_or(&path);
        let first = relative.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
        let own = first.trim_end_matches(".rs");
        let Some(own_layer) = layer(own) else {
            broken.push(format!("{own} of {src} is in no layer; add it to the table in tests/tidy/main.rs"));
            continue;
        };
        if own == "lib" {
            continue;
        }
        let code: String =
            text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
        let starts = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        for (at, _) in code.match_indices("crate::").filter(|(at, _)| starts(*at)) {
            for module in modules(&code[at + "crate::".len()..]) {
                used.insert(module.to_owned());
                if layer(module).is_none_or(|used| used > own_layer) {
                    let line = code[..at].matches('\n').count() + 1;
                    broken.push(format!("{}:{line}: `{own}` must not use `crate::{module}`", path.display()));
                }
            }
        }
    }
    for module in layers.concat() {
        let place = root().join(src).join(module);
        if !place.is_dir() && !place.with_extension("rs").is_file() && !used.contains(module) {
            broken.push(format!("{src} has no module {module}; delete it from the table in tests/tidy/main.rs"));
        }
    }
    broken
}

/// Returns the first modules of a path after `crate::`: one, or those of a group.
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
    // The runner is in the same folder.
    for case in cases.into_iter().filter(|case| case.parent() != Some(dir.as_path())) {
        if !case.with_extension("stderr").exists() {
            broken
                .push(format!("{}: there is no .stderr beside it; what compiles is in tests/hygiene", case.display()));
        }
    }
    report(&broken);
}

/// Traits of expansions without a message: a missing implementation is reported elsewhere, or is impossible.
const SILENT: [&str; 9] = [
    "AnyDefault",
    "Collect",
    "Stateless",
    "StartStateless",
    "StartWithState",
    "Validators",
    "Values",
    "Variants",
    "StateParts",
];

/// Returns whether users or expansions can name the trait `name`: a list of public names has it, or `__private`.
fn is_named_outside(name: &str, lists: &str, plumbing: &str) -> bool {
    let listed = lists.lines().filter_map(|line| line.strip_prefix("trait "));
    listed.into_iter().any(|path| path.rsplit("::").next() == Some(name))
        || plumbing.split(|c: char| !c.is_alphanumeric()).any(|word| word == name)
}

#[test]
fn traits_say_what_is_missing() {
    let mut broken = Vec::new();
    let lists: String = fs::read_dir(root().join("tests/data/public"))
        .unwrap()
        .map(|list| fs::read_to_string(list.unwrap().path()).unwrap())
        .collect();
    let plumbing = fs::read_to_string(root().join("tool-runtime/src/lib.rs")).unwrap();
    assert!(lists.contains("trait model::Model\n"), "the lists of public names are not as they were");
    for (path, text) in files(&sources()) {
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let Some(name) = line.strip_prefix("pub trait ") else { continue };
            let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            let above = lines[..index].iter().rev().take_while(|line| !line.is_empty() && !line.starts_with('}'));
            let says = above.into_iter().any(|line| line.starts_with("#[diagnostic::on_unimplemented("));
            let is_silent = name.ends_with("Fallback") || SILENT.contains(&name);
            if !says
                && !is_silent
                && is_named_outside(
                    name,
                    &lists,
                    if path.starts_with(root().join("tool-runtime")) { &plumbing } else { "" },
                )
            {
                broken.push(format!("{}:{}: `{name}` has no `on_unimplemented`", path.display(), index + 1));
            }
        }
    }
    report(&broken);
}

#[test]
fn modules_say_what_they_are_for() {
    let others = ["examples/src", "examples/shared/src", "examples/airline/src", "tests/fixtures", "benches"];
    let all = files(&[&sources()[..], &others].concat());
    let broken: Vec<String> = all
        .iter()
        .filter(|(_, text)| {
            !["//!", "#![doc", "#![cfg_attr(not(doctest), doc"].iter().any(|start| text.starts_with(start))
        })
        .map(|(path, _)| path.display().to_string())
        .collect();
    report(&broken);
}

/// A program with `test = false` has no test binary, so its tests would never run.
#[test]
fn programs_without_test_binary_have_no_tests() {
    let mut broken = Vec::new();
    for package in ["benches", "examples", "tests", "tests/fixtures"] {
        let package = root().join(package);
        let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
        for entry in manifest.split("[[bin]]\n").skip(1) {
            let lines: Vec<&str> = entry.lines().take_while(|line| !line.is_empty()).collect();
            let value = |key: &str| lines.iter().find_map(|line| Some(line.strip_prefix(key)?.trim_matches('"')));
            if !lines.contains(&"test = false") {
                continue;
            }
            let name = value("name = ").unwrap();
            let file =
                value("path = ").map_or_else(|| package.join(format!("src/bin/{name}.rs")), |at| package.join(at));
            let mut sources = Vec::new();
            match file.is_file() && !file.ends_with("main.rs") {
                true => sources.push(file),
                false if file.ends_with("main.rs") => rust_files(file.parent().unwrap(), &mut sources),
                false => rust_files(&file.with_extension(""), &mut sources),
            }
            for source in sources {
                let text = fs::read_to_string(&source).unwrap();
                if ["#[test]", "#[tokio::test", "_tests!", "lint_test!", "proptest!"]
                    .iter()
                    .any(|test| text.contains(test))
                {
                    broken
                        .push(format!("{}: its tests never run; delete `test = false` of `{name}`", source.display()));
                }
            }
        }
    }
    report(&broken);
}

/// The pinned compiler is the oldest supported one, so every test uses it, and Cargo refuses dependencies that need a newer one.
#[test]
fn the_oldest_compiler_is_the_one_that_tests() {
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
    let value = |text: &str, key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_else(|| panic!("no {key}"));
        line.trim_matches([' ', '=', '"']).to_owned()
    };
    let promised = value(&read("Cargo.toml"), "rust-version");
    assert_eq!(value(&read("rust-toolchain.toml"), "channel"), format!("{promised}.0"));
    assert!(read("README.md").contains(&format!("Rust {promised}")), "README.md says which Rust it needs: {promised}");
}
