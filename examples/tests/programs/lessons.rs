//! The examples that teach one idea each print what their first comment says.

use std::{fs, path::Path, process::Command};

/// Returns the text between "prints:" and the end of its block, in the first comment of an example.
fn promised(source: &str) -> String {
    let comment =
        source.lines().map_while(|line| line.strip_prefix("//!")).map(|line| line.strip_prefix(' ').unwrap_or(line));
    let block = comment.skip_while(|line| !line.ends_with("prints:")).skip_while(|line| *line != "```text").skip(1);
    block.take_while(|line| *line != "```").flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn lessons_print_what_they_promise() {
    let programs = [
        ("approve", env!("CARGO_BIN_EXE_approve")),
        ("delegate", env!("CARGO_BIN_EXE_delegate")),
        ("dynamic", env!("CARGO_BIN_EXE_dynamic")),
        ("external", env!("CARGO_BIN_EXE_external")),
        ("feedback", env!("CARGO_BIN_EXE_feedback")),
        ("policy", env!("CARGO_BIN_EXE_policy")),
        ("state", env!("CARGO_BIN_EXE_state")),
        ("stream", env!("CARGO_BIN_EXE_stream")),
        ("suspend", env!("CARGO_BIN_EXE_suspend")),
        ("typed", env!("CARGO_BIN_EXE_typed")),
    ];
    for (name, program) in programs {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/bin/{name}.rs"));
        let promised = promised(&fs::read_to_string(path).unwrap());
        assert!(!promised.is_empty(), "the comment of {name} has no block after \"prints:\"");
        let output = Command::new(program).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{name}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), promised, "{name}");
        assert!(output.status.success(), "{name}");
    }
}
