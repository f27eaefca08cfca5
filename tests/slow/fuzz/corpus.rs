//! The seed corpus of the fuzz tests: logs, snapshots and sealed forms of runs in all states.

use std::{fs, path::Path, sync::Arc, time::Duration};

use futures_util::FutureExt;
use serde_json::json;
use tool_run::run::record;
use tool_runtime::{
    Agent, Context, Failure,
    agent::{Decision, Suspend},
    model::{ScriptedModel, Turn},
    run::{InterruptKind, OnPrompt, Principal, Timestamp},
    store::{MemoryStore, Store},
    tool, toolset,
};
use tool_stores::sealed::Sealer;

/// Charges a card.
#[tool(approval = always, challenge = "charge {amount}", untrusted)]
async fn charge(
    /// The amount.
    amount: u32,
    #[context] cx: &Context,
) -> Result<String, Failure> {
    let number: u32 = cx.step("reserve", async { Ok::<_, Failure>(amount * 2) }).await?;
    cx.request_approval("Really?").await?;
    Ok(format!("charged {number}"))
}

/// Looks a word up.
#[tool(effect = read_only, retries = 1)]
fn look(
    /// The word.
    word: String,
) -> Result<String, Failure> {
    if word == "bad" { Err(Failure::new("no").retryable()) } else { Ok(word) }
}

/// Shows something to the person.
#[tool(external, output = bool)]
struct Show {
    /// The text.
    text: String,
}

/// Returns the names and texts of all files, sorted by name.
pub(crate) fn read(folder: &Path) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    found.sort();
    found
}

/// Writes the log of a run after each event, its snapshot and its sealed form.
pub(crate) fn write(folder: &Path, sealer: &Sealer) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run(folder, sealer));
}

async fn run(folder: &Path, sealer: &Sealer) {
    let store = Arc::new(MemoryStore::new());
    let model = ScriptedModel::new([
        Turn::say("Let me see.")
            .then_call("charge", json!({"amount": 3}))
            .then_call("look", json!({"word": "bad"}))
            .then_call("look", json!({"wrod": "x"}))
            .then_call("Show", json!({"text": "\u{202e}hello"}))
            .then_call("nothing", json!({})),
        Turn::say("Done."),
        Turn::call("charge", json!({"amount": 4})),
        Turn::say("Well."),
    ]);
    let agent = Agent::new(model)
        .tools(toolset!(charge, look, Show))
        .operator(Suspend)
        .principal("anna")
        .options(|options| {
            options.on_prompt = OnPrompt::Supersede;
            options.approval_expiry = Some(Duration::from_secs(1000));
        })
        .store(Arc::clone(&store));
    let mut session = agent.session();
    session.send("Charge 3.").await.unwrap();
    let mut number = 0;
    loop {
        save(folder, sealer, &store, &session, &mut number).await;
        let Some(open) = session.interrupts().next().cloned() else { break };
        let decision = match open.kind {
            InterruptKind::Approval { .. } => Decision::Edit { arguments: json!({"amount": 5}) },
            InterruptKind::External => Decision::Respond { output: json!(true) },
            _ => Decision::Approve,
        };
        session.decide(&open.id, decision, "anna").await.unwrap();
        save(folder, sealer, &store, &session, &mut number).await;
        session.resume().await.unwrap();
    }
    session.send("Charge 4.").await.unwrap();
    save(folder, sealer, &store, &session, &mut number).await;
    session.send("No, leave it.").await.unwrap();
    save(folder, sealer, &store, &session, &mut number).await;
}

async fn save(
    folder: &Path,
    sealer: &Sealer,
    store: &MemoryStore,
    session: &tool_runtime::agent::Session,
    number: &mut usize,
) {
    *number += 1;
    let records = store.read(session.id(), 0).await.unwrap();
    let events: Vec<_> = records.iter().flat_map(|record| record::decode(&record.text).unwrap()).collect();
    fs::write(folder.join(format!("log-{number}.txt")), record::encode(&events)).unwrap();
    fs::write(folder.join(format!("snapshot-{number}.txt")), session.run().freeze()).unwrap();
    if *number == 1 {
        let sealed = sealer.seal(session.run(), &Principal::from("anna"), Timestamp(1)).unwrap();
        assert!(sealer.open(&sealed, &Principal::from("anna"), Timestamp(2)).now_or_never().unwrap().is_ok());
        fs::write(folder.join("sealed-1.txt"), sealed).unwrap();
    }
}
