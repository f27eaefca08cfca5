//! Tests of the example `middleware`, behind pipes and in a terminal.

use std::{
    io::Write,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_middleware"));
    for model in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"] {
        command.env_remove(model);
    }
    command
}

/// Runs the program with `input`. Returns whether it succeeded, and its output.
fn run(input: &[u8]) -> (bool, String) {
    let mut child = program().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn queries_and_answers_are_filtered() {
    let (succeeded, printed) =
        run("hello\nSatan!\n1terces\nsecret1\n\nx 1drowssap y\r\ntorch \"light\"\nis\u{1b}[2J".as_bytes());
    let expected = r#"Enter a query: {
  "ok": true,
  "results": [
    "Query reversed: olleh"
  ]
}
Enter a query: {
  "ok": false,
  "validationResults": {
    "query": {
      "valid": false,
      "problems": [
        "the query you provided is evil which is not allowed"
      ]
    }
  }
}
Enter a query: {
  "ok": false,
  "problems": [
    "the output contains a secret which is not allowed"
  ]
}
Enter a query: {
  "ok": true,
  "results": [
    "Query reversed: 1terces"
  ]
}
Enter a query: {
  "ok": true,
  "results": [
    "Query reversed: "
  ]
}
Enter a query: {
  "ok": false,
  "problems": [
    "the output contains a secret which is not allowed"
  ]
}
Enter a query: {
  "ok": true,
  "results": [
    "Query reversed: \"thgil\" hcrot"
  ]
}
Enter a query: {
  "ok": true,
  "results": [
    "Query reversed: J2[\u001bsi"
  ]
}
Enter a query: 
"#;
    assert_eq!(printed, expected);
    assert!(succeeded);
    assert_eq!(run(b""), (true, "Enter a query: \n".to_owned()));
    assert!(!run(b"\xff\n").0, "input that is not UTF-8 is an error");
}

#[test]
fn the_program_works_in_a_terminal() {
    let session = format!("middleware-{}", std::process::id());
    let tmux = |arguments: &[&str]| Command::new("tmux").args(["-L", &session]).args(arguments).output();
    assert!(tmux(&["-V"]).is_ok(), "this test needs tmux");
    let binary = env!("CARGO_BIN_EXE_middleware");
    let start = format!("env -u OPENAI_API_KEY -u OPENAI_BASE_URL -u ANTHROPIC_API_KEY {binary}");
    assert!(tmux(&["new-session", "-d", "-x", "100", "-y", "40", &start]).unwrap().status.success());
    let wait_until = |holds: &dyn Fn(&str) -> bool| {
        let begin = Instant::now();
        loop {
            let screen = String::from_utf8(tmux(&["capture-pane", "-p"]).unwrap().stdout).unwrap();
            if holds(&screen) || begin.elapsed() > Duration::from_secs(30) {
                return screen;
            }
            thread::sleep(Duration::from_millis(50));
        }
    };
    let first = wait_until(&|screen: &str| screen.contains("Enter a query:"));
    let _ = tmux(&["send-keys", "satan", "Enter"]);
    let evil = wait_until(&|screen: &str| screen.contains("evil which is not allowed"));
    let _ = tmux(&["send-keys", "olleh", "Enter"]);
    let asks_again = |screen: &str| screen.matches("Enter a query:").count() == 3;
    let found = wait_until(&|screen: &str| screen.contains("Query reversed: hello") && asks_again(screen));
    let _ = tmux(&["kill-server"]);
    assert!(first.contains("Enter a query:"), "{first}");
    assert!(evil.contains(r#""ok": false"#), "{evil}");
    assert!(found.contains(r#""ok": true"#) && asks_again(&found), "{found}");
}
