//! A directory as a set of tools: list, read, search, write, and delete after an approval. No path leads out of it.
//!
//! `cargo run -p examples --bin files [DIRECTORY]` starts a conversation about a directory.
//!
//! `echo "read rustfmt.toml" | cargo run -q -p examples --bin files` prints:
//!
//! ```text
//! The files below `.`. Say, for example: list the files, read Cargo.toml, search for "tool".
//!
//! > · read {"path":"rustfmt.toml"}
//! max_width = 120
//! use_small_heuristics = "Max"
//!
//! Anything else?
//!
//! >
//! ```

use std::io;

use examples::workspace::Workspace;
use tool_runtime::Agent;
use tool_terminal::Terminal;

#[tokio::main]
async fn main() -> io::Result<()> {
    let root = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let workspace = Workspace::open(&root)?;
    let agent = Agent::new(examples::model())
        .tools(workspace.toolset())
        .instructions("You work on the files of one directory. Paths are relative to it.");
    let greeting =
        format!("The files below `{root}`. Say, for example: list the files, read Cargo.toml, search for \"tool\".");
    Terminal::new().chat(agent, &greeting).await
}
