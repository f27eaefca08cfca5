//! Tests of the examples that teach one idea each: they are short, and print the output in their first comment.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The examples whose output is always the same: name, program and input.
const EXAMPLES: [(&str, &str, &str); 13] = [
    ("approve", env!("CARGO_BIN_EXE_approve"), ""),
    ("delegate", env!("CARGO_BIN_EXE_delegate"), ""),
    ("dynamic", env!("CARGO_BIN_EXE_dynamic"), ""),
    ("external", env!("CARGO_BIN_EXE_external"), ""),
    ("feedback", env!("CARGO_BIN_EXE_feedback"), ""),
    ("files", env!("CARGO_BIN_EXE_files"), "read rustfmt.toml\n"),
    ("middleware", env!("CARGO_BIN_EXE_middleware"), "hello\nsatan\n1terces\n"),
    ("policy", env!("CARGO_BIN_EXE_policy"), ""),
    ("state", env!("CARGO_BIN_EXE_state"), ""),
    ("stream", env!("CARGO_BIN_EXE_stream"), ""),
    ("suspend", env!("CARGO_BIN_EXE_suspend"), ""),
    ("typed", env!("CARGO_BIN_EXE_typed"), ""),
    ("weather", env!("CARGO_BIN_EXE_weather"), "How warm is Oslo in July?\n"),
];

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Reads the source of an example: a file, or the `main.rs` of a folder.
fn read_source(name: &str) -> String {
    let bins = package().join("src/bin");
    fs::read_to_string(bins.join(format!("{name}.rs")))
        .or_else(|_| fs::read_to_string(bins.join(name).join("main.rs")))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the lines of the first comment of an example.
fn comment(source: &str) -> impl Iterator<Item = &str> {
    source.lines().map_while(|line| line.strip_prefix("//!")).map(|line| line.strip_prefix(' ').unwrap_or(line))
}

/// Returns the block of output in the first comment of an example. A comment has no spaces at the end of its lines.
fn documented_output(source: &str) -> Vec<&str> {
    comment(source).skip_while(|line| *line != "```text").skip(1).take_while(|line| *line != "```").collect()
}

#[test]
fn examples_print_the_output_in_their_comments() {
    for (name, program, input) in EXAMPLES {
        let source = read_source(name);
        let expected = documented_output(&source);
        assert!(!expected.is_empty(), "the first comment of {name} has no output");
        let mut command = Command::new(program);
        for model in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"] {
            command.env_remove(model);
        }
        let (stdin, stdout, stderr) = (Stdio::piped(), Stdio::piped(), Stdio::piped());
        let mut child =
            command.current_dir(package().join("..")).stdin(stdin).stdout(stdout).stderr(stderr).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{name}");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed.lines().map(str::trim_end).collect::<Vec<_>>(), expected, "{name}");
        assert!(output.status.success(), "{name}");
    }
}

/// Checks that each line of the tree is printed, in order. The times and attributes differ from the comment.
#[test]
fn trace_prints_the_tree_in_its_comment() {
    let source = read_source("trace");
    let expected = documented_output(&source);
    assert!(expected.len() > 5, "{expected:?}");
    let output = Command::new(env!("CARGO_BIN_EXE_trace")).env_clear().output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut lines = printed.lines();
    for line in expected {
        assert!(lines.any(|printed| printed.starts_with(line)), "the line `{line}` is not in order in\n{printed}");
    }
}

/// An example of one file teaches one idea. The first comment of each example has its command.
#[test]
fn examples_are_short_and_name_their_commands() {
    let mut files = 0;
    for entry in fs::read_dir(package().join("src/bin")).unwrap() {
        let path = entry.unwrap().path();
        let is_file = path.is_file();
        let source = fs::read_to_string(if is_file { path.clone() } else { path.join("main.rs") }).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy();
        let command = format!("-p examples --bin {name}");
        assert!(comment(&source).any(|line| line.contains(&command)), "the first comment of {name} lacks `{command}`");
        let lines = source.lines().count();
        assert!(!is_file || (30..=80).contains(&lines), "{name} has {lines} lines instead of 30 to 80");
        files += usize::from(is_file);
    }
    assert!(files >= EXAMPLES.len());
}
