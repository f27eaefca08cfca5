//! Stored runs: the first line is `log`, `snapshot` or `sealed`, the rest is the record.
//!
//! Reading never panics, and what was read can be stored again and gives the same. No sealed run opens that was changed. An agent can
//! continue every run that was read, and runs no call that needs an approval without one.

#![no_main]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target};
use tool_run::run::{InputError, LogInput, pending_actions, record, advance};
use tool_runtime::{
    Agent, Context, Failure, Provide,
    agent::Suspend,
    model::{ScriptedModel, Turn},
    run::{Principal, Run, Timestamp},
    store::MemoryStore,
    tool, toolset,
};
use tool_stores::sealed::{Key, Keyring, ReplayPolicy, Sealer};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    tool_fuzz::mutate_lines(data, size, max_size, seed)
});

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((kind, text)) = str::from_utf8(data).ok().and_then(|text| text.split_once('\n')) else {
        return Corpus::Reject;
    };
    match kind {
        "log" => {
            let mut entries = Vec::new();
            for line in text.lines() {
                let Ok(read) = record::decode(line) else { return Corpus::Keep };
                let written = record::encode(&read);
                assert_eq!(record::decode(&written).expect("a written record is read"), read);
                entries.extend(read);
            }
            let approved = entries.iter().any(|entry| {
                let text = record::encode(std::slice::from_ref(entry));
                ["call_granted", "decided", "approve"].iter().any(|word| text.contains(word))
            });
            if let Ok(run) = Run::fold(entries) {
                use_run(&run);
                drive(run, approved);
            }
        }
        "snapshot" => {
            if let Ok(run) = Run::thaw(text) {
                use_run(&run);
                drive(run, true);
            }
        }
        "sealed" => {
            let opened = sealer().open(text, &Principal::from("anna"), Timestamp(5)).now_or_never();
            if let Some(Ok(run)) = opened {
                assert_eq!(text.trim_end(), SEALED.trim_end(), "a changed text was opened");
                use_run(&run);
            }
        }
        _ => return Corpus::Reject,
    }
    Corpus::Keep
});

/// The only sealed run that opens.
const SEALED: &str = include_str!("../../tests/slow/fuzz/corpus/sealed-1.txt");

fn sealer() -> Sealer {
    Sealer::new(Keyring::new("fuzz", Key::from_bytes([7; 32])), "fuzz", ReplayPolicy::Allow).lifetime(Duration::MAX)
}

/// Uses a run as a program does after reading it.
fn use_run(run: &Run) {
    let frozen = run.freeze();
    let thawed = Run::thaw(&frozen).expect("a frozen run can be thawed");
    assert_eq!(thawed.freeze(), frozen);
    assert_eq!((thawed.phase(), thawed.title(), thawed.rev()), (run.phase(), run.title(), run.rev()));
    let _ = (pending_actions(run), run.interrupts().count(), run.next_expiry(), run.last_text(), run.remaining());
    let at = Timestamp(u64::MAX);
    for event in [LogInput::Recover { at }, LogInput::Tick { at }, LogInput::Cancel { by: run.owner().clone(), at }]
    {
        let mut next = Run::thaw(&frozen).expect("a frozen run can be thawed");
        if let Err(InputError::Inconsistent(corrupt)) = advance(&mut next, event) {
            panic!("an entry of the next step does not apply to the run: {corrupt}");
        }
    }
    let sealed = sealer().seal(run, run.owner(), Timestamp(1));
    if let Ok(sealed) = sealed {
        let opened = sealer().open(&sealed, run.owner(), Timestamp(2)).now_or_never().expect("no wait");
        assert_eq!(opened.expect("a sealed run opens").freeze(), frozen);
    }
}

/// Continues a run, as a worker does that finds it in a store.
fn drive(run: Run, approved: bool) {
    let charged = Arc::new(AtomicUsize::new(0));
    let tools = toolset!(State { charged: Arc::clone(&charged) }; charge, look);
    let model = ScriptedModel::new([Turn::say("Well."), Turn::say("Done."), Turn::say("Really.")]);
    let agent = Agent::new(model).tools(tools).operator(Suspend).store(MemoryStore::new());
    let work = async {
        let mut session = agent.session_from_run(run);
        let _ = session.resume().await;
        let _ = session.send("Go on.").await;
        let frozen = session.run().freeze();
        assert_eq!(Run::thaw(&frozen).expect("a run that an agent continued can be read").freeze(), frozen);
    };
    // A run may wait for months.
    let limited = async { tokio::time::timeout(Duration::from_secs(86_400), work).await };
    let _ = tool_fuzz::runtime().block_on(limited);
    assert!(approved || charged.load(Ordering::SeqCst) == 0, "a call ran without an approval");
}

#[derive(Provide)]
struct State {
    charged: Arc<AtomicUsize>,
}

/// Charges a card.
#[tool(approval = always, challenge = "charge {amount}")]
async fn charge(
    /// The amount.
    amount: u32,
    #[context] cx: &Context,
    #[state] charged: &Arc<AtomicUsize>,
) -> Result<String, Failure> {
    charged.fetch_add(1, Ordering::SeqCst);
    let number: u64 = cx.step("reserve", async { Ok::<_, Failure>(u64::from(amount) * 2) }).await?;
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
