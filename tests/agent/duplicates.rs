//! Tests of `Idempotency` that refuses duplicates, keeps failures, forgets after a time, or reports duplicates.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use futures_util::future::join_all;
use proptest::prelude::*;
use tool_runtime::{CallError, Context, Failure, Rejection, Toolset, layer::Idempotency, tool, toolset};
use tool_test_kit::AllAndSome as _;

const SKIPPED: &str = concat!(
    "The call was rejected:\ncall: Tool call processing skipped: the tool has been called with this payload already.\n",
    "do: This tool is idempotent. Avoid issuing duplicate tool calls in the future."
);

/// Pays.
#[tool]
async fn pay(amount: i64, note: Option<String>, #[state] runs: &AtomicUsize) -> Result<usize, Failure> {
    let run = runs.fetch_add(1, SeqCst) + 1;
    tokio::time::sleep(Duration::from_millis(10)).await;
    if amount < 0 { Err(Failure::new(format!("refused {}", note.unwrap_or_default()))) } else { Ok(run) }
}

/// Pays, and may be called twice.
#[tool(idempotent)]
async fn put(amount: i64, #[state] runs: &AtomicUsize) -> usize {
    let run = runs.fetch_add(1, SeqCst) + 1;
    tokio::time::sleep(Duration::from_millis(u64::try_from(amount).unwrap_or(0))).await;
    run
}

fn tools_with_count() -> (Toolset, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    (toolset!(Arc::clone(&runs); pay, put), runs)
}

async fn call_pay(tools: &Toolset, arguments: &str) -> Result<String, CallError> {
    Ok(tools.call("pay", arguments, &Context::new("c")).await?.text())
}

fn is_skipped(result: &Result<String, CallError>) -> bool {
    matches!(result, Err(error) if error.did_not_run() && error.for_model().as_text() == Some(SKIPPED))
}

#[tokio::test(start_paused = true)]
async fn keys_in_any_order_are_equal_and_digits_count() {
    let (tools, runs) = tools_with_count();
    let tools = tools.layer(Idempotency::new(10));
    for (arguments, run) in [
        (r#"{"amount":1,"note":"a"}"#, "1"),
        (r#"{ "note": "\u0061", "amount": 1 }"#, "1"),
        (r#"{"amount":1}"#, "2"),
        (r#"{"amount":9007199254740993}"#, "3"),
        (r#"{"amount":9007199254740992}"#, "4"),
    ] {
        assert_eq!(call_pay(&tools, arguments).await.unwrap(), run, "{arguments}");
    }
    assert_eq!(runs.load(SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn duplicates_are_refused_at_once_and_reported() {
    let (tools, runs) = tools_with_count();
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    let layer = Idempotency::new(10).reject().on_duplicate(move |call| {
        assert!(call.arguments.contains("amount"));
        count.fetch_add(1, SeqCst);
    });
    let tools = tools.layer(layer);
    let all = join_all((0..20).map(|_| call_pay(&tools, r#"{"amount":1}"#))).await;
    assert_eq!((all.iter().filter(|paid| paid.is_ok()).count(), runs.load(SeqCst)), (1, 1));
    assert!(all.iter().all_and_some(|paid| paid.is_ok() || is_skipped(paid)), "{all:?}");
    assert!(is_skipped(&call_pay(&tools, r#"{"amount":1}"#).await));
    assert_eq!(seen.load(SeqCst), 20);
    assert!(call_pay(&tools, r#"{"amount":-1}"#).await.is_err() && call_pay(&tools, r#"{"amount":-1}"#).await.is_err());
    assert_eq!(
        (runs.load(SeqCst), seen.load(SeqCst)),
        (3, 20),
        "a failed call is forgotten, so its repetition is no duplicate"
    );

    let (tools, _) = tools_with_count();
    let own = Idempotency::new(9).reject_with(|call| Rejection::from_message(format!("again {}", call.spec.name)));
    let tools = tools.layer(own);
    assert!(call_pay(&tools, r#"{"amount":1}"#).await.is_ok());
    assert_eq!(call_pay(&tools, r#"{"amount":1}"#).await.unwrap_err().to_string(), "again pay");
}

#[tokio::test(start_paused = true)]
async fn failures_are_kept_if_configured() {
    let (tools, runs) = tools_with_count();
    let both = [Idempotency::new(10).keep_failures(), Idempotency::compatible(10)];
    let replies = both.map(|layer| {
        let tools = tools.clone().layer(layer);
        async move {
            assert_eq!(call_pay(&tools, r#"{"amount":-1,"note":"x"}"#).await.unwrap_err().to_string(), "refused x");
            call_pay(&tools, r#"{"note":"x","amount":-1}"#).await
        }
    });
    let [kept, compatible] = replies;
    let (kept, compatible) = (kept.await, compatible.await);
    assert!(kept.unwrap_err().to_string().contains("made before and failed"));
    assert!(is_skipped(&compatible));
    assert_eq!(runs.load(SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn dropped_calls_are_released_if_configured() {
    for (layer, name, again) in [
        (Idempotency::new(9), "pay", Err("interrupted on the way")),
        (Idempotency::new(9).reject(), "pay", Err("interrupted on the way")),
        (Idempotency::new(9).release_dropped(), "pay", Ok("2")),
        (Idempotency::new(9).reject().release_dropped(), "pay", Ok("2")),
        (Idempotency::new(9), "put", Ok("2")),
    ] {
        let (tools, runs) = tools_with_count();
        let tools = tools.layer(layer.clone());
        let cx = Context::new("c");
        let arguments = r#"{"amount":9}"#;
        let dropped = tokio::time::timeout(Duration::from_millis(5), tools.call(name, arguments, &cx)).await;
        assert!(dropped.is_err() && runs.load(SeqCst) == 1);
        let result = tools.call(name, arguments, &cx).await;
        match again {
            Ok(run) => assert_eq!(result.unwrap().text(), run, "{name}"),
            Err(part) => assert!(result.unwrap_err().to_string().contains(part), "{name}"),
        }
        // When the first caller is dropped, a waiting one continues.
        let arguments = r#"{"amount":8}"#;
        let (first, second) = tokio::join!(
            tokio::time::timeout(Duration::from_millis(5), tools.call(name, arguments, &cx)),
            tokio::time::timeout(Duration::from_secs(1), tools.call(name, arguments, &cx)),
        );
        assert!(first.is_err() && second.is_ok(), "a dropped call does not block its duplicate: {name} {layer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn old_calls_are_forgotten_unless_they_are_requested() {
    let (tools, _) = tools_with_count();
    let layer = Idempotency::new(100).forget_after(Duration::from_mins(1));
    let timed = tools.clone().layer(layer.clone());
    for (wait, run) in [(0, "1"), (50, "1"), (9, "1"), (1, "2"), (59, "2")] {
        tokio::time::sleep(Duration::from_secs(wait)).await;
        assert_eq!(call_pay(&timed, r#"{"amount":1}"#).await.unwrap(), run, "after {wait} s more");
    }
    for amount in 100..150 {
        call_pay(&timed, &format!(r#"{{"amount":{amount}}}"#)).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(61)).await;
    call_pay(&timed, r#"{"amount":200}"#).await.unwrap();
    assert!(format!("{layer:?}").contains("remembered: 1"), "{layer:?}");

    let (tools, runs) = tools_with_count();
    let tools = tools.layer(Idempotency::new(3));
    for amount in 0..50 {
        call_pay(&tools, &format!(r#"{{"amount":{amount}}}"#)).await.unwrap();
        assert_eq!(call_pay(&tools, r#"{"amount":0}"#).await.unwrap(), "1", "a call that is repeated stays remembered");
    }
    assert_eq!(runs.load(SeqCst), 50);
}

#[tokio::test(start_paused = true)]
async fn failures_push_no_call_out_of_the_memory() {
    let (tools, _) = tools_with_count();
    let layer = Idempotency::new(2);
    let tools = tools.layer(layer.clone());
    assert_eq!(call_pay(&tools, r#"{"amount":5}"#).await.unwrap(), "1");
    for amount in -100..0 {
        call_pay(&tools, &format!(r#"{{"amount":{amount}}}"#)).await.unwrap_err();
    }
    assert_eq!(call_pay(&tools, r#"{"amount":5}"#).await.unwrap(), "1");
    assert!(format!("{layer:?}").contains("remembered: 1"), "{layer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn on_many_threads_each_call_runs_once() {
    let (tools, runs) = tools_with_count();
    let tools = tools.layer(Idempotency::new(1000));
    let calls = (0..400_u32).map(|n| {
        let (tools, arguments) = (tools.clone(), format!(r#"{{"amount":{}}}"#, n % 40));
        tokio::spawn(async move { tools.call("put", &arguments, &Context::new("c")).await.unwrap().text() })
    });
    let all: Vec<String> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
    assert!((0..360).all(|n| all[n] == all[n + 40]), "equal calls have one output");
    assert_eq!(runs.load(SeqCst), 40);
}

/// A simple memory: the calls in the order of their last requests.
#[derive(Default)]
struct Naive(Vec<(i64, String)>);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Compares the layer with a list, for random sequences of calls.
    #[test]
    fn the_memory_behaves_like_a_list(amounts in prop::collection::vec(-3..8_i64, 0..40), capacity in 1..5_usize) {
        let run = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        run.block_on(async {
            let (tools, _) = tools_with_count();
            let layer = Idempotency::new(capacity);
            let tools = tools.layer(layer.clone());
            let (mut naive, mut runs) = (Naive::default(), 0);
            for amount in amounts {
                let got = call_pay(&tools, &format!(r#"{{"amount":{amount}}}"#)).await.ok();
                let known = naive.0.iter().position(|(known, _)| *known == amount).map(|at| naive.0.remove(at));
                let expected = match known {
                    Some((_, output)) => output,
                    None => {
                        runs += 1;
                        // A failing call also needs room while it runs.
                        if naive.0.len() >= capacity {
                            naive.0.remove(0);
                        }
                        runs.to_string()
                    }
                };
                if amount >= 0 {
                    naive.0.push((amount, expected.clone()));
                    prop_assert_eq!(got, Some(expected));
                } else {
                    prop_assert_eq!(got, None);
                }
                let remembered = format!("remembered: {},", naive.0.len());
                prop_assert!(format!("{layer:?}").contains(&remembered), "{layer:?} {remembered}");
            }
            Ok(())
        })?;
    }
}
