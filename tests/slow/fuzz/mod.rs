//! Tests that read randomly changed texts: stored and sealed runs, JSON in pieces, and requests of frontends. Reading never panics,
//! and every accepted record is a consistent run.
//!
//! `FUZZ_SECONDS=60 cargo test -p tool-tests --test slow fuzz` runs for a minute; `FUZZ_SEED` repeats a run.
//! `corpus/` has good texts, which `scripts/bless corpus` writes, and texts that once broke something.

mod ag_ui;
mod corpus;
mod json_pieces;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use tool_run::run::{InputError, LogInput, advance, pending_actions, record};
use tool_runtime::run::{Principal, Run, Timestamp};
use tool_stores::sealed::{Key, Keyring, ReplayPolicy, Sealer};

use crate::process_locks::alone_blocking;
use tool_test_kit::mutate::{self, Random};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("slow/fuzz/corpus")
}

fn sealer() -> Sealer {
    let ring = Keyring::new("fuzz", Key::from_bytes([7; 32]));
    Sealer::new(ring, "fuzz", ReplayPolicy::Allow).lifetime(Duration::MAX)
}

/// Reads a text in every possible way. An accepted text must be consistent.
fn read(name: &str, text: &str, sealed: &[String]) {
    json_pieces::read(text);
    match name.split('-').next() {
        Some("log") => {
            if let Ok(events) = record::decode(text)
                && let Ok(run) = Run::fold(events)
            {
                use_run(&run);
            }
        }
        Some("snapshot") => {
            if let Ok(run) = Run::thaw(text) {
                use_run(&run);
            }
        }
        Some("json") => {}
        Some("agui") => ag_ui::read(text),
        _ => {
            let opened = sealer().open(text, &Principal::from("anna"), Timestamp(5)).now_or_never();
            if let Some(Ok(run)) = opened {
                assert!(sealed.iter().any(|known| known == text), "a changed text was opened");
                use_run(&run);
            }
        }
    }
}

/// Uses a run as a program does after reading it.
fn use_run(run: &Run) {
    let frozen = run.freeze();
    let thawed = Run::thaw(&frozen).unwrap_or_else(|error| panic!("a frozen run cannot be thawed: {error}"));
    assert_eq!(thawed.freeze(), frozen);
    assert_eq!(thawed.phase(), run.phase());
    let _ = (pending_actions(run), run.interrupts().count(), run.next_expiry(), run.last_text());
    let at = Timestamp(u64::MAX);
    for event in [LogInput::Recover { at }, LogInput::Tick { at }, LogInput::Cancel { by: run.owner().clone(), at }] {
        let mut next = Run::thaw(&frozen).unwrap();
        if let Err(InputError::Inconsistent(corrupt)) = advance(&mut next, event) {
            panic!("an entry of the next step does not apply to the run: {corrupt}");
        }
    }
}

#[test]
fn no_input_panics() {
    let _turn = alone_blocking();
    if std::env::var_os("BLESS").is_some() {
        corpus::write(&folder(), &sealer());
    }
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let seed = std::env::var("FUZZ_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| {
        std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .map_or(1, |time| u64::from(time.subsec_nanos()) << 20 | time.as_secs() | 1)
    });
    let corpus = corpus::read(&folder());
    assert!(corpus.len() >= 6, "the corpus is incomplete");
    let sealed: Vec<String> =
        corpus.iter().filter(|(name, _)| name.starts_with("sealed")).map(|(_, text)| text.clone()).collect();
    for (name, text) in &corpus {
        read(name, text, &sealed);
    }
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut random = Random::new(seed);
    let (end, mut count, mut broken) = (Instant::now() + Duration::from_secs(seconds), 0u64, None);
    while Instant::now() < end && broken.is_none() {
        let (name, text) = &corpus[random.below(corpus.len())];
        let changed = mutate::change(text, &corpus, &mut random);
        if catch_unwind(AssertUnwindSafe(|| read(name, &changed, &sealed))).is_err() {
            broken = Some((name.clone(), changed));
        }
        count += 1;
    }
    std::panic::set_hook(quiet);
    println!("{count} texts in {seconds} s, seed {seed}");
    if let Some((name, text)) = broken {
        let kind = name.split('-').next().unwrap_or_default();
        let path = folder().join(format!("{kind}-broken-{seed}.txt"));
        std::fs::write(&path, &text).unwrap();
        // Read it again, so that the failure is visible.
        read(&name, &text, &sealed);
        panic!("broken by {}", path.display());
    }
    assert!(count > 100, "only {count} texts were tried");
}
