//! Helpers that start programs as a person does, and a scripted model over HTTP.

#![allow(dead_code, reason = "each test binary uses a part")]

pub(crate) mod real_model;
mod terminal;

pub(crate) use terminal::TerminalSession;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    process::{Command, Stdio},
    thread::{self, JoinHandle},
};

/// The exit status and the output of a program that has ended.
pub(crate) struct Run {
    status: Option<i32>,
    text: String,
}

impl Run {
    /// Runs a program behind a pipe, without a model in the environment.
    pub(crate) fn piped(program: &str, arguments: &[&str]) -> Self {
        Self::with(&[], program, arguments)
    }

    /// Runs a program behind a pipe with `vars` in the environment.
    pub(crate) fn with(vars: &[(&str, &str)], program: &str, arguments: &[&str]) -> Self {
        let mut command = command(program, arguments);
        let output = command.envs(vars.iter().copied()).stdin(Stdio::null()).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        Self { status: output.status.code(), text: String::from_utf8(text).unwrap() }
    }

    /// Runs a program behind a pipe, with `lines` as its input.
    pub(crate) fn typed(program: &str, lines: &str) -> Self {
        let mut command = command(program, &[]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        Self { status: output.status.code(), text: String::from_utf8(text).unwrap() }
    }

    /// Runs a program in a terminal, without a model in the environment.
    pub(crate) fn in_terminal(program: &str, arguments: &[&str]) -> Self {
        let (status, text) = TerminalSession::new(command(program, arguments)).wait_for_end();
        assert!(text.contains("\r\n"), "the program does not use the terminal: {text}");
        Self { status, text }
    }

    /// Starts a program in a terminal that a test controls.
    pub(crate) fn start_in_terminal(vars: &[(&str, &str)], program: &str, arguments: &[&str]) -> TerminalSession {
        let mut command = command(program, arguments);
        command.envs(vars.iter().copied());
        TerminalSession::new(command)
    }

    #[track_caller]
    pub(crate) fn assert_status(&self, status: i32) {
        assert_eq!(self.status, Some(status), "{}", self.text);
    }

    #[track_caller]
    pub(crate) fn assert_shows(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.text.contains(part), "{part} is not in\n{}", self.text);
        }
    }
}

impl Run {
    #[track_caller]
    pub(crate) fn assert_lacks(&self, parts: &[&str]) {
        for part in parts {
            assert!(!self.text.contains(part), "{part:?} is in\n{}", self.text);
        }
    }
}

fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(crate::program(program));
    for name in
        ["OPENAI_API", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"]
    {
        command.env_remove(name);
    }
    command.args(arguments);
    command
}

/// Starts a server of chat completions with `answers`: each is the delta of one chunk, or empty for an error. Returns its URL,
/// and its thread, which returns the requests.
pub(crate) fn chat_server(answers: &[String]) -> (String, JoinHandle<Vec<String>>) {
    server(answers.iter().map(|answer| response(answer)).collect())
}

/// Starts a server that sends each of `responses` once, in order. Returns its URL, and its thread, which returns the bodies of the
/// requests.
pub(crate) fn server(responses: Vec<String>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = thread::spawn(move || {
        let serve = |response: String| {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream);
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if line.trim().is_empty() {
                    break;
                }
                if let Some((name, value)) = line.split_once(':')
                    && name.eq_ignore_ascii_case("content-length")
                {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            reader.get_mut().write_all(response.as_bytes()).unwrap();
            String::from_utf8(body).unwrap()
        };
        responses.into_iter().map(serve).collect()
    });
    (url, asked)
}

fn response(delta: &str) -> String {
    if delta.is_empty() {
        return "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno".to_owned();
    }
    let reason = if delta.contains("tool_calls") { "tool_calls" } else { "stop" };
    let chunk = format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#);
    let end = format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#);
    event_stream(&[chunk, end, "[DONE]".to_owned()])
}

/// Returns a response that consists of these events.
pub(crate) fn event_stream(events: &[String]) -> String {
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{events}")
}
