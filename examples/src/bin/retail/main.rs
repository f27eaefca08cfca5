//! A shop's support desk: the retail domain of τ-bench as tools.
//!
//! ```text
//! retail                  talk to the agent, over a small extract of the data
//! retail FOLDER           the same over the database in FOLDER
//! retail replay FOLDER    replay the recorded tasks in FOLDER and compare
//! ```
//!
//! FOLDER holds `retail.db.json` and, to replay, `retail.tasks.jsonl`; both may be gzipped (`.gz`).

mod arithmetic;
mod data;
mod error;
mod number;
mod python;
mod replay;
mod session;
mod store;
#[cfg(test)]
mod tests;
mod tools;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

const USAGE: &str = "usage: retail [FOLDER] | retail replay FOLDER";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match *arguments {
        [] => converse(data::embedded()).await,
        ["replay", folder] => match replay(Path::new(folder), &mut io::stdout().lock()).await {
            Ok(0) => Ok(()),
            Ok(_) => return ExitCode::FAILURE,
            Err(error) => Err(error),
        },
        [folder] if !folder.starts_with('-') && folder != "replay" => converse(data::database(Path::new(folder))).await,
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, USAGE)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn converse(database: io::Result<store::Database>) -> io::Result<()> {
    session::start(database?).await
}

/// Replays the tasks in `folder`, a line each, and says how many failed.
async fn replay(folder: &Path, out: &mut impl Write) -> io::Result<usize> {
    let database = Arc::new(data::database(folder)?);
    let tasks = data::tasks(folder)?;
    let mut failed = 0;
    for task in &tasks {
        match task.replay(&database).await {
            Ok(()) => writeln!(out, "ok  {}", task.short_id())?,
            Err(mismatch) => {
                failed += 1;
                writeln!(out, "FAIL {}: {mismatch}", task.short_id())?;
            }
        }
    }
    writeln!(out, "{} passed, {failed} failed", tasks.len() - failed)?;
    Ok(failed)
}
