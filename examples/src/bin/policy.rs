//! Rules of the application, whatever tools declare: a policy judges every call, and layers wrap those that run.
//!
//! `cargo run -p examples --bin policy` prints:
//!
//! ```text
//! read_file: a policy does not allow the call; it did not run: it is outside of `docs/`
//! read_file: docs/notes.md: the password is ********
//! ```

use tool_runtime::{
    Agent, AgentError,
    agent::Event,
    layer::SecretFilter,
    model::{ScriptedModel, Turn},
    tool, toolset,
    toolset::Permission,
};

/// Read a file.
#[tool(effect = read_only)]
async fn read_file(
    /// The path.
    path: String,
) -> String {
    format!("{path}: the password is hunter2")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), AgentError> {
    let model = ScriptedModel::new([
        Turn::call("read_file", r#"{"path": "/etc/passwd"}"#),
        Turn::call("read_file", r#"{"path": "docs/notes.md"}"#),
        Turn::say("Done."),
    ]);
    Agent::new(model)
        .tools(toolset!(read_file).layer(SecretFilter::new(["hunter2"]).redact("********")))
        .policy(|call| {
            let arguments: serde_json::Value = serde_json::from_str(call.arguments).unwrap_or_default();
            match arguments["path"].as_str() {
                Some(path) if path.starts_with("docs/") && !path.contains("..") => Permission::Allow,
                _ => Permission::deny("it is outside of `docs/`"),
            }
        })
        .hook(|event| {
            if let Event::CallEnded { call, result, .. } = event {
                println!("{}: {}", call.name, result.for_people(&call.name, call.extent()));
            }
        })
        .run("Read the notes.")
        .await?;
    Ok(())
}
