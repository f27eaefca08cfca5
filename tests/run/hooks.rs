//! Tests of an agent's hooks: the run calls them for every event, in order, and they cannot change it.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tool_runtime::{
    Agent, Context, Toolset,
    agent::{Event, HookResult, Observer},
    model::{ScriptedModel, Turn},
    tool, toolset,
};

use crate::{
    kit::{Effects, sleep_millis, tools},
    suite::subagents::call,
};

type Seen = Arc<Mutex<Vec<String>>>;

/// Reports.
#[tool]
async fn report(#[context] cx: &Context) {
    cx.report_progress(0.5, None, "half");
}

fn name(event: &Event<'_>) -> Option<String> {
    Some(match event {
        Event::RunStarted(run) => format!("run {:?}", run.phase()),
        Event::StepStarted { step } => format!("step {step}"),
        Event::TurnEnded { .. } => "model done".to_owned(),
        Event::StepEnded { step } => format!("step {step} ended"),
        Event::CallAccepted(call) => format!("accepted {}", call.name),
        Event::CallStarted(call) => format!("started {}", call.name),
        Event::CallProgress(progress) => format!("progress {}", progress.done),
        Event::CallEnded { call, .. } => format!("finished {}", call.name),
        Event::RunAtRest(phase) => format!("paused {phase:?}"),
        Event::RunFailed(error) => format!("failed {error}"),
        Event::HookFailed { hook, error } => format!("hook {hook} failed: {error}"),
        _ => return None,
    })
}

fn recorder(seen: &Seen, who: &'static str) -> impl Fn(&Event<'_>) + Send + Sync + use<> {
    let seen = Arc::clone(seen);
    move |event| {
        if let Some(name) = name(event) {
            seen.lock().unwrap().push(format!("{who}{name}"));
        }
    }
}

struct Watching<F>(F);

impl<F: Fn(&Event<'_>) + Send + Sync> Observer for Watching<F> {
    fn on_event(&self, event: Event<'_>) {
        (self.0)(&event);
    }
}

fn agent(tools: Toolset) -> Agent {
    Agent::new(ScriptedModel::new([Turn::call("report", "{}"), Turn::say("ok")])).tools(tools)
}

#[tokio::test]
async fn hooks_receive_every_event_in_order_and_before_the_observer() {
    let seen = Seen::default();
    let observer = Watching(recorder(&seen, "f "));
    agent(toolset!(report))
        .observer(observer)
        .hook(recorder(&seen, "1 "))
        .hook(recorder(&seen, "2 "))
        .run("go")
        .await
        .unwrap();
    let all = [
        "run Idle",
        "step 1",
        "model done",
        "accepted report",
        "started report",
        "progress 0.5",
        "finished report",
        "step 1 ended",
        "step 2",
        "model done",
        "step 2 ended",
        "paused Finished",
    ];
    let expected: Vec<String> =
        all.iter().flat_map(|name| ["1 ", "2 ", "f "].map(|who| format!("{who}{name}"))).collect();
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_failed_hook_is_reported_and_breaks_nothing() {
    let (seen, effects) = (Seen::default(), Effects::new());
    let at_start = |event: &Event<'_>| matches!(event, Event::CallStarted(_));
    let reply = agent(toolset!(report).merge(tools(&effects)).unwrap())
        .observer(Watching(recorder(&seen, "")))
        .hook(move |event| assert!(!at_start(event), "ouch"))
        .hook(move |event| if at_start(event) { HookResult::failed("no disk") } else { HookResult::done() })
        .hook(move |event| match event {
            Event::CallStarted(_) => HookResult::work(async { Err("no net".into()) }),
            Event::CallEnded { .. } => HookResult::work(async { panic!("oh no") }),
            _ => HookResult::done(),
        })
        .run("go")
        .await
        .unwrap();
    assert_eq!(reply.text, "ok");
    let mut failed: Vec<String> =
        seen.lock().unwrap().iter().filter(|name| name.starts_with("hook")).cloned().collect();
    failed.sort();
    let expected = [
        "hook 0 failed: panicked: ouch",
        "hook 1 failed: no disk",
        "hook 2 failed: no net",
        "hook 2 failed: panicked: oh no",
    ];
    assert_eq!(failed, expected);
}

#[tokio::test]
async fn work_of_hooks_is_done_in_order_before_the_run_ends() {
    let seen = Seen::default();
    let done = Arc::clone(&seen);
    let hook = move |event: &Event<'_>| {
        let Some(name) = name(event) else { return HookResult::done() };
        let done = Arc::clone(&done);
        HookResult::work(async move {
            // Earlier work takes longer.
            let before = done.lock().unwrap().len().min(14) as u64;
            sleep_millis(30 - 2 * before).await;
            done.lock().unwrap().push(name);
            Ok(())
        })
    };
    agent(toolset!(report)).hook(hook).run("go").await.unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 12);
    assert_eq!((seen[0].as_str(), seen[11].as_str()), ("run Idle", "paused Finished"));
}

#[tokio::test]
async fn a_failed_run_is_reported() {
    let seen = Seen::default();
    let agent = Agent::new(ScriptedModel::new([Turn::call("report", json!({}))])).tools(toolset!(report));
    agent.hook(recorder(&seen, "")).run("go").await.unwrap_err();
    let seen = seen.lock().unwrap();
    assert!(seen[seen.len() - 2].starts_with("paused Stopped(ModelFailed"), "{seen:?}");
    assert!(seen[seen.len() - 1].starts_with("failed the model failed"), "{seen:?}");
}

#[tokio::test]
async fn inner_events_are_reported_with_the_outer_call() {
    #[derive(Default)]
    struct Seen(Mutex<Vec<String>>);
    impl Observer for Seen {
        fn on_event(&self, event: Event<'_>) {
            let line = |event: &Event<'_>| match event {
                Event::CallStarted(call) => format!("{} started", call.name),
                Event::Text(text) => format!("says {text}"),
                _ => String::new(),
            };
            let mut path = Vec::new();
            let mut event = &event;
            while let Event::Inner { call, event: inside, .. } = event {
                path.push(call.to_string());
                event = inside;
            }
            let line = line(event);
            if !line.is_empty() {
                self.0.lock().unwrap().push(format!("{} {line}", path.len()));
            }
        }
    }
    let effects = Effects::new();
    let deepest = Agent::new(ScriptedModel::new([Turn::call("note", json!({"text": "x"})), Turn::say("deep")]));
    let deepest = Toolset::new().with(deepest.tools(tools(&effects)).as_tool("deepest", "Digs.")).unwrap();
    let middle = Agent::new(ScriptedModel::new([call("deepest"), Turn::say("middle")])).tools(deepest);
    let middle = Toolset::new().with(middle.as_tool("middle", "Asks.")).unwrap();
    let seen = Arc::new(Seen::default());
    let agent =
        Agent::new(ScriptedModel::new([call("middle"), Turn::say("top")])).tools(middle).observer(Arc::clone(&seen));
    agent.run("go").await.unwrap();
    let expected =
        ["0 middle started", "1 deepest started", "2 note started", "2 says deep", "1 says middle", "0 says top"];
    assert_eq!(*seen.0.lock().unwrap(), expected);
}
