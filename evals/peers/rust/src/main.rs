//! Prints what a model receives for each wrong call on standard input: `peers rmcp` or `peers rig`.

mod types;
mod with_rig;
mod with_rmcp;

use std::{env, io, sync::Mutex};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A wrong call.
#[derive(Deserialize)]
pub struct Case {
    pub id: usize,
    pub tool: String,
    pub sent: Map<String, Value>,
}

/// What a model receives for a case, and the arguments of the tool if it ran.
#[derive(Serialize)]
pub struct Answer {
    pub case: usize,
    pub ran: Option<Value>,
    pub answer: String,
}

/// The arguments of the call that ran last.
static RAN: Mutex<Option<Value>> = Mutex::new(None);

/// Notes that a tool ran.
pub fn ran(arguments: Value) -> String {
    *RAN.lock().expect("no panic") = Some(arguments);
    "done".to_owned()
}

/// Returns the arguments of the call that ran since the last time.
pub fn take_ran() -> Option<Value> {
    RAN.lock().expect("no panic").take()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let lines = io::stdin().lines().map(|line| line.expect("text"));
    let cases: Vec<Case> = lines.map(|line| serde_json::from_str(&line).expect("a case")).collect();
    let answers = match env::args().nth(1).as_deref() {
        Some("rmcp") => with_rmcp::answers(&cases).await,
        Some("rig") => with_rig::answers(&cases).await,
        _ => panic!("usage: peers rmcp|rig < CASES.jsonl"),
    };
    for answer in answers {
        println!("{}", serde_json::json!(answer));
    }
}
