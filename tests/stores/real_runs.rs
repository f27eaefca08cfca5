//! Checks of whole runs with real steps, stored and loaded again.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tool_run::run::RecordError;
use tool_run::run::{Action, LogEntry, LogInput, advance, record};
use tool_runtime::{
    Context, Output,
    gate::Gate,
    message::{AssistantPart, FinishReason, Part, ToolCall, Usage},
    run::{Decision, Phase, Principal, Prompt, Run, RunId, RunOptions, Timestamp},
    store::{Append, Lease, Store, StoreError, WaitingFilter},
    tool, toolset,
};

use tool_test_kit::stores::Stores;

use crate::sample_appends::{append, created, id};

/// Pay a bill.
#[tool(approval = always, effect = destructive)]
async fn pay(
    /// The purpose.
    note: String,
) -> String {
    format!("paid: {note}")
}

/// A process that drives a run.
struct Process {
    store: Arc<dyn Store>,
    gate: Gate,
    run: Run,
    lease: Option<Lease>,
    now: Timestamp,
}

impl Process {
    async fn create(store: Arc<dyn Store>, name: &RunId) -> Self {
        let mut options = RunOptions::default();
        options.approval_expiry = Some(Duration::from_mins(1));
        let owner = Principal::from("ann");
        let events = vec![LogEntry::Created {
            run: name.clone(),
            owner,
            made_by: None,
            options: options.into(),
            messages: Vec::new(),
            at: Timestamp(1),
        }];
        let run = Run::fold(events.clone()).unwrap();
        store.append(name, Append::new(0, &events, &run, None)).await.unwrap();
        Self { store, gate: Gate::new(toolset!(pay)), run, lease: None, now: Timestamp(1000) }
    }

    async fn load(store: Arc<dyn Store>, name: &RunId) -> Self {
        let run = store.load(name).await.unwrap().unwrap().rebuild().unwrap();
        Self { store, gate: Gate::new(toolset!(pay)), run, lease: None, now: Timestamp(2000) }
    }

    async fn lease(&mut self, worker: &str) {
        let lease = self.store.lease(self.run.id(), worker, self.now, Duration::from_secs(30)).await.unwrap();
        self.lease = Some(lease);
    }

    async fn release(&mut self) {
        let lease = self.lease.take().unwrap();
        self.store.release(self.run.id(), &lease).await.unwrap();
    }

    async fn send(&mut self, input: LogInput) -> Vec<Action> {
        let rev = self.run.rev();
        let (events, effects) = advance(&mut self.run, input).unwrap();
        let append = Append::new(rev, &events, &self.run, self.lease.clone());
        self.store.append(self.run.id(), append).await.unwrap();
        effects
    }

    /// Performs the actions, with a model that first pays and then reports it.
    async fn perform(&mut self, effects: Vec<Action>) {
        let mut todo = VecDeque::from(effects);
        while let Some(effect) = todo.pop_front() {
            let at = self.now;
            let event = match effect {
                Action::CallModel => {
                    let is_first = self.run.calls().is_empty();
                    let (part, finish) = if is_first {
                        let arguments = r#"{"note":"ü\u0000漢字"}"#.to_owned();
                        let call = ToolCall { id: "call_1".into(), name: "pay".into(), arguments };
                        (AssistantPart::Call(call), FinishReason::ToolCalls)
                    } else {
                        (AssistantPart::Text { text: "It is paid.".into() }, FinishReason::Stop)
                    };
                    LogInput::TurnEnded { parts: vec![part], finish, usage: Usage::default(), model: None, at }
                }
                Action::Check(call) => {
                    let found = self.run.call(&call).unwrap();
                    let checked = self.gate.check_call(&self.run, found, &Context::new(call.as_str())).await;
                    LogInput::Checked { call, checked, at }
                }
                Action::Execute { call, attempt } => {
                    let output = Output::json(&"paid: ü\u{0}漢字").unwrap();
                    LogInput::Ended { call, attempt, outcome: Ok(output), handover: None, at }
                }
                Action::Announce(_) | Action::Wake(_) => continue,
                other => panic!("{other:?}"),
            };
            todo.extend(self.send(event).await);
        }
    }
}

pub(crate) async fn a_run_is_driven_by_two_processes(stores: &Stores) {
    drive_in_two_processes(stores, &id("r")).await;
}

async fn drive_in_two_processes(stores: &Stores, name: &RunId) {
    let mut first = Process::create(Arc::clone(&stores.one), name).await;
    first.lease("first").await;
    let prompt = Prompt::new(vec![Part::text("Pay \u{0} it.")], "ann".into(), Timestamp(1000));
    let effects = first.send(LogInput::Prompt(prompt)).await;
    first.perform(effects).await;
    assert_eq!(first.run.phase(), Phase::Suspended);
    stores.one.save_snapshot(name, first.run.rev(), first.run.freeze()).await.unwrap();
    first.release().await;

    let items = stores.other.waiting(&WaitingFilter::new().for_principal("ann").in_run(name.clone())).await.unwrap();
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].interrupt, *first.run.interrupts().next().unwrap());
    let is_due = async |now| stores.other.due(Timestamp(now), 1000).await.unwrap().contains(name);
    assert!(!is_due(60_999).await);
    assert!(is_due(61_000).await, "the approval has expired by then");

    let mut second = Process::load(Arc::clone(&stores.other), name).await;
    assert_eq!(second.run.freeze(), first.run.freeze());
    let interrupt = items[0].interrupt.id.clone();
    let cx = Context::new("call_1");
    let checked = second.gate.check_decision(&second.run, &interrupt, Decision::Approve, &cx).await.unwrap();
    let effects = second
        .send(LogInput::Decide { interrupt, decision: Box::new(checked), by: "ann".into(), at: Timestamp(2000) })
        .await;
    assert!(is_due(2000).await, "no process drives the run yet");
    second.lease("second").await;
    assert!(!is_due(2000).await);
    second.perform(effects).await;
    assert_eq!(second.run.phase(), Phase::Finished);
    assert!(!is_due(u64::MAX).await);
    assert_eq!(stores.one.waiting(&WaitingFilter::new().in_run(name.clone())).await.unwrap(), []);

    // Both the snapshot with later entries and the whole log give the same run.
    let stored = stores.one.load(name).await.unwrap().unwrap();
    assert!(stored.snapshot.is_some() && !stored.records.is_empty());
    assert_eq!(stored.rebuild().unwrap().freeze(), second.run.freeze());
    let log = stores.one.read(name, 0).await.unwrap();
    let log = log.iter().flat_map(|record| record::decode(&record.text).unwrap());
    assert_eq!(Run::fold(log).unwrap().freeze(), second.run.freeze());
    // The first process reads the entries of the second.
    for record in stores.one.read(name, first.run.rev()).await.unwrap() {
        record.apply(&mut first.run).unwrap();
    }
    assert_eq!(first.run.freeze(), second.run.freeze());
}

pub(crate) async fn many_runs_are_driven_at_once(stores: &Stores) {
    let names: Vec<_> = (0..12).map(|number| id(&format!("run {number}"))).collect();
    futures_util::future::join_all(names.iter().map(|name| drive_in_two_processes(stores, name))).await;
}

pub(crate) async fn a_newer_record_is_refused(stores: &Stores) {
    let run = id("r");
    stores.one.append(&run, append(0, &record::encode(&created("r", "ann")))).await.unwrap();
    stores.one.append(&run, append(1, r#"{"v":2,"data":{"in a form":"of the future"}}"#)).await.unwrap();
    let is_newer = async |version| {
        let error = stores.other.load(&run).await.unwrap().unwrap().rebuild().unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, StoreError::Record(RecordError::Version(found)) if found == version), "{text}");
        assert!(text.contains(&format!("version {version} ")) && text.contains("update it"), "{text}");
    };
    is_newer(2).await;
    stores.one.save_snapshot(&run, 2, r#"{"v":3,"data":[]}"#.into()).await.unwrap();
    is_newer(3).await;
}
