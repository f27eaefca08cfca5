//! Tools whose calls become tasks.

use std::time::Duration;

use tool_runtime::{Failure, Text, Toolset, tool, toolset};

pub(crate) fn tools() -> Toolset {
    toolset!(greet, slow_compute, failing_job, protocol_error_job, confirm_delete)
}

/// Greets somebody, at once.
#[tool(effect = read_only)]
fn greet(
    /// Whom.
    #[arg(default = "world".to_owned())]
    name: String,
) -> Text {
    Text(format!("Hello, {name}!"))
}

/// Takes its time.
#[tool(effect = read_only)]
async fn slow_compute(
    /// How long.
    #[arg(default = 1.0, range(0.0..=60.0))]
    seconds: f64,
) -> Text {
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
    Text(format!("Computed for {seconds} s."))
}

/// Fails after a second.
#[tool(effect = read_only)]
async fn failing_job() -> Result<Text, Failure> {
    tokio::time::sleep(Duration::from_secs(1)).await;
    Err(Failure::told("the job failed"))
}

/// Panics.
#[tool(effect = read_only)]
async fn protocol_error_job() -> Text {
    panic!("on purpose")
}

/// Deletes a file, but asks first.
#[tool(effect = destructive, approval = always, challenge = "Delete {filename}?")]
async fn confirm_delete(
    /// Which.
    #[arg(default = "a.txt".to_owned())]
    filename: String,
) -> Text {
    Text(format!("{filename} is gone."))
}
