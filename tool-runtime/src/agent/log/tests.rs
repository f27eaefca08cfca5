//! Tests of a log whose run refuses its own entries.

use super::*;
use crate::model::{ScriptedModel, Turn};

#[tokio::test]
async fn nothing_is_done_where_the_run_refuses_its_own_entries() {
    let agent = Agent::new(ScriptedModel::new([Turn::say("never")]));
    let mut observers = Observers::new(&agent, &agent.setup.gate, Arc::clone(&agent.setup.observer));
    let (run, created) = Run::new("run".into(), agent.owner(), agent.setup.options, Vec::new(), agent.now());
    let mut log = Log::new(&agent, run, vec![created]);
    log.begin(&agent, &DriveOptions::default()).await.unwrap();
    let before = log.run().rev();
    let mut entries = vec![LogEntry::CallStarted { call: "call_1".into(), at: agent.now() }];
    log.apply(&mut entries);
    log.queue(entries, vec![Action::CallModel]);
    assert!(log.has_pending_work() && log.next_action().is_none());
    let error = log.commit(&mut observers).await.unwrap_err();
    assert!(matches!(&error, AgentError::Inconsistent { reason } if reason.contains("call_1")), "{error}");
    assert!(!log.has_pending_work() && log.next_action().is_none());
    assert_eq!(log.run().rev(), before);
}
