//! Tests of `vectors`, the runner of recorded cases.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

fn run_vectors(files: &[PathBuf]) -> (Output, Vec<String>) {
    let output = Command::new(env!("CARGO_BIN_EXE_vectors")).args(files).output().unwrap();
    let lines = String::from_utf8(output.stdout.clone()).unwrap().lines().map(str::to_owned).collect();
    (output, lines)
}

fn own_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/vectors").join(name)
}

/// Returns the files of cases outside of the repository.
fn shared_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/vectors");
    let files = folder.read_dir().expect("../shared/vectors").map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|kind| kind == "json")).collect();
    assert!(!files.is_empty(), "there is no case in {}", folder.display());
    files.sort();
    files
}

#[test]
fn our_own_cases_pass() {
    for file in ["dynamic.json", "wire.json", "example.json"].map(own_file) {
        let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let (output, lines) = run_vectors(&[file]);
        assert!(output.status.success(), "{}", lines.join("\n"));
        assert_eq!(*lines.last().unwrap(), format!("{} passed, 0 failed", cases.len()));
    }
}

#[test]
fn differences_are_reported() {
    let (output, lines) = run_vectors(&[own_file("wrong.json")]);
    assert_eq!(output.status.code(), Some(1));
    let expected = [
        r#"FAILED expects what is not so: expected valid: true, got false, for {"ok":false}"#,
        "FAILED a part that there is not: no such part: mkNothing",
        "FAILED a kind that there is not: kind not run yet: teapot",
        "skipped a kind of others (ai-sdk: what another library sends to a model)",
        "ok a right one",
        r#"FAILED a builder that is recorded otherwise: call 0: expected {"ok":true,"executedWith":{"a":"y"}}, got {"ok":true,"executedWith":{"a":"x"}}"#,
        r#"FAILED a trace that is recorded otherwise: call 0: trace: expected [], got [{"validate":"a","value":"x","context":{}},{"execute":{"a":"x"}}]"#,
        r#"FAILED an order that is recorded otherwise: order: expected ["a","b"], got ["b","a"]"#,
        r#"FAILED a tool that is recorded as an error: expected the error "Cycle detected in requires graph: a", got a tool"#,
        "1 skipped",
        "1 passed, 7 failed",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_file_without_a_list_of_cases_is_an_error() {
    for file in [own_file("nowhere.json"), own_file("../Cargo.toml")] {
        let (output, lines) = run_vectors(&[file]);
        assert_eq!(output.status.code(), Some(2));
        assert!(lines.is_empty() && !output.stderr.is_empty());
    }
    let (output, _) = run_vectors(&[]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn shared_cases_pass() {
    for file in shared_files() {
        let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let (_, lines) = run_vectors(&[file]);
        assert_eq!(lines.len(), cases.len() + 2);
        let failed: Vec<&String> =
            lines.iter().filter(|line| line.starts_with("FAILED") && !line.contains(": kind not run yet: ")).collect();
        assert!(failed.is_empty(), "{failed:#?}");
    }
}
