//! Tests of the layer `ProblemReports`, which gives failures the form of rejections.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use tool_runtime::{
    CallError, Context, Failure, Rejection, Toolset,
    layer::{CallLog, ProblemReports, RateLimit, Retry, Timeout},
    tool, toolset,
};

/// Fails in one of several ways.
#[tool(idempotent)]
async fn fails(how: u8, #[state] runs: &AtomicUsize) -> Result<u8, Failure> {
    runs.fetch_add(1, SeqCst);
    match how {
        0 => Ok(0),
        1 => Err(Failure::new("there is no such user").source("row 7")),
        2 => Err(Failure::hidden("connection to 10.0.0.7 refused")),
        3 => Err(Rejection::of("how", "not three").into()),
        4 => std::future::pending().await,
        5 => Err(Failure::new("busy").retryable()),
        _ => panic!("the secret text"),
    }
}

fn tools_with_limit() -> Toolset {
    toolset!(AtomicUsize::new(0); fails).layer(Timeout::new(Duration::from_secs(2)))
}

async fn call(tools: &Toolset, how: u8) -> Result<tool_runtime::Output, CallError> {
    tools.call("fails", &format!(r#"{{"how":{how}}}"#), &Context::new("c")).await
}

async fn feedback(tools: &Toolset, how: u8) -> String {
    call(tools, how).await.unwrap_err().for_model().as_text().unwrap().to_owned()
}

fn problem(text: &str) -> String {
    format!("The call was rejected:\ncall: {text}")
}

#[tokio::test(start_paused = true)]
async fn failures_look_like_rejections_with_the_same_information() {
    let tools = tools_with_limit().layer(ProblemReports::new());
    assert_eq!(call(&tools, 0).await.unwrap().as_json(), Some("0"));
    assert_eq!(feedback(&tools, 1).await, problem("there is no such user"));
    assert_eq!(feedback(&tools, 2).await, problem("the tool failed"));
    assert_eq!(feedback(&tools, 3).await, feedback(&tools_with_limit(), 3).await, "a rejection is not changed");
    assert_eq!(feedback(&tools, 4).await, problem("the tool did not answer within 2 s; it may have had effects"));
    assert_eq!(feedback(&tools, 6).await, problem("the tool failed; it may have had effects"));
    for how in [1, 2, 4, 6] {
        assert!(!call(&tools, how).await.unwrap_err().did_not_run(), "{how}");
    }
}

#[tokio::test(start_paused = true)]
async fn in_full_shows_the_model_the_causes() {
    let tools = tools_with_limit().layer(ProblemReports::new().prefix(ProblemReports::PREFIX).in_full());
    let in_full = |text| problem(&format!("Exception occured during tool call execution: {text}"));
    assert_eq!(feedback(&tools, 1).await, in_full("there is no such user: \"row 7\""));
    assert_eq!(feedback(&tools, 2).await, in_full("\"connection to 10.0.0.7 refused\""));
    assert_eq!(feedback(&tools, 6).await, in_full("the secret text"));
}

#[tokio::test(start_paused = true)]
async fn outer_layers_retry_and_log_causes() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let log = CallLog::new(move |entry| sink.lock().unwrap().push(entry.in_full().to_string()));
    let runs = Arc::new(AtomicUsize::new(0));
    let tools = toolset!(Arc::clone(&runs); fails).layer(Timeout::new(Duration::from_secs(2)));
    let tools = tools.layer(ProblemReports::new()).layer(Retry::new(2)).layer(log);
    for (how, tries, logged) in [
        (2, 1, "10.0.0.7"),
        (6, 1, "the secret text"),
        (4, 3, "did not answer"),
        (5, 3, "busy"),
        (0, 1, "{\"how\":0} ok: 0 (0 ms)"),
    ] {
        runs.store(0, SeqCst);
        drop(call(&tools, how).await);
        assert_eq!(runs.load(SeqCst), tries, "{how}");
        let line = lines.lock().unwrap().pop().unwrap();
        assert!(line.starts_with("c fails {\"how\":") && line.contains(logged), "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_of_other_layers_are_not_changed() {
    let tools =
        tools_with_limit().layer(RateLimit::new(1, Duration::from_secs(9)).refuse()).layer(ProblemReports::new());
    drop(call(&tools, 0).await);
    assert!(matches!(call(&tools, 0).await, Err(CallError::LimitReached { .. })));
}
