//! Random sequences of inputs, valid or not, for runs with many calls, turns and options.

use std::collections::VecDeque;

use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::draw::{Seed, input, options};
use super::log_invariants::LogChecker;
use super::moves::{self, copy, grant_of, owner};
use super::world;
use tool_run::run::{
    Action, AdvanceOptions, CallResult, InnerUsage, InputError, LimitLeft, LogEntry, LogInput, Run, RunOptions,
    SharedLimits, Timestamp, advance, advance_within,
};

fn created_log(options: RunOptions) -> Vec<LogEntry> {
    vec![LogEntry::Created {
        run: "run".into(),
        owner: owner(),
        made_by: None,
        options: options.into(),
        messages: Vec::new(),
        at: Timestamp(0),
    }]
}

/// Returns the limits of the runs around the run, for some of the inputs.
fn outer_limits(seed: Seed) -> Option<SharedLimits> {
    let left = |left: u64| LimitLeft { left, limit: 9 };
    let limits =
        SharedLimits { calls: left(u64::from(seed.3 % 3)), retries: left(u64::from(seed.3 % 2)), tokens: None };
    (seed.3 % 5 < 2).then_some(limits)
}

/// Returns the limit of the runs around the run that these entries exceed.
fn exceeded(outer: SharedLimits, entries: &[LogEntry]) -> Option<&'static str> {
    let used = InnerUsage::of(entries, false);
    let is_over = |entry: &&LogEntry| match entry {
        LogEntry::CallEnded { result, .. } => {
            matches!(**result, CallResult::LimitReached { .. } | CallResult::NotAvailable { .. })
        }
        _ => false,
    };
    let calls = u64::from(used.calls).saturating_sub(entries.iter().filter(is_over).count() as u64);
    let calls = (calls > outer.calls.left).then_some("too many calls");
    calls.or_else(|| (u64::from(used.retries) > outer.retries.left).then_some("too many retries"))
}

/// Sends the inputs that `seeds` determine, and checks each transition. Returns the log, and the number of calls that
/// started.
fn play(options: RunOptions, seeds: &[Seed]) -> Result<(Vec<LogEntry>, usize), TestCaseError> {
    let mut log = created_log(options);
    let mut run = Run::fold(log.clone()).expect("a log");
    let (mut checker, mut time) = (LogChecker::default(), 0);
    for seed in seeds {
        time += u64::from(seed.3 % 5 == 0);
        let described = || format!("{:?}", input(&run, *seed, Timestamp(time)));
        let outer = outer_limits(*seed);
        let step_options = AdvanceOptions { outer, pauses_between_turns: seed.3 % 7 == 0 };
        let mut after = copy(&run);
        let (before, mut entries, mut actions) = (format!("{after:?}"), Vec::new(), VecDeque::new());
        let next = input(&run, *seed, Timestamp(time));
        match advance_within(&mut after, next, step_options, &mut entries, &mut actions) {
            Ok(()) => {}
            Err(InputError::Refused(_)) => {
                prop_assert!(entries.is_empty() && actions.is_empty());
                prop_assert_eq!(format!("{after:?}"), before, "after {}", described());
                continue;
            }
            Err(error) => return Err(TestCaseError::fail(format!("{error} after {}", described()))),
        }
        if after.is_between_turns() {
            // The driver has decided that the run goes on.
            let (tick, goes_on) =
                (LogInput::Tick { at: Timestamp(time) }, AdvanceOptions { outer, ..AdvanceOptions::default() });
            prop_assert!(step_options.pauses_between_turns, "it stopped after {}", described());
            let stepped = advance_within(&mut after, tick, goes_on, &mut entries, &mut actions);
            prop_assert!(stepped.is_ok() && !after.is_between_turns(), "{stepped:?} after {}", described());
        }
        if let Some(outer) = outer {
            let exceeded = exceeded(outer, &entries).filter(|_| !described().starts_with("Recover"));
            prop_assert!(exceeded.is_none(), "{exceeded:?} after {}: {entries:?}", described());
        }
        let checked = checker.check(&run, &entries, actions.make_contiguous(), &after);
        prop_assert!(checked.is_ok(), "{checked:?} after {}: {entries:?}", described());
        log.extend(entries);
        run = after;
    }
    let thawed = Run::thaw(&run.freeze()).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(thawed.freeze(), run.freeze());
    let again = Run::fold(log.clone()).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(again.freeze(), run.freeze());
    Ok((log, checker.count_started()))
}

fn seeds(count: usize) -> impl Strategy<Value = Vec<Seed>> {
    prop::collection::vec(any::<Seed>(), 1..count)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_inputs_break_no_invariant(options in options(), seeds in seeds(120)) {
        play(options, &seeds)?;
    }

    #[test]
    fn a_log_that_was_changed_never_panics(
        options in options(),
        seeds in seeds(60),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3u8), 1..4),
    ) {
        let (mut log, _) = play(options, &seeds)?;
        for (one, other, how) in cuts {
            let (one, other) = (one.index(log.len()), other.index(log.len()));
            match how {
                0 => log.swap(one, other),
                1 => log.truncate(one.max(1)),
                _ => log.insert(one, log[other].clone()),
            }
        }
        if let Ok(mut run) = Run::fold(log) {
            let thawed = Run::thaw(&run.freeze()).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(thawed.freeze(), run.freeze());
            for seed in seeds {
                let next = input(&run, seed, Timestamp(3));
                drop(advance(&mut run, next));
            }
        }
    }

    #[test]
    fn arguments_that_were_changed_are_refused(options in options(), seeds in seeds(80), extra in "[a-z]{1,4}") {
        let (log, _) = play(options, &seeds)?;
        for at in 0..log.len().min(24) {
            let mut changed = log.clone();
            let LogEntry::Called { call, arguments, .. } = &mut changed[at] else { continue };
            let call = call.clone();
            *arguments = format!("{arguments}{extra}").into();
            // A repair replaces the arguments, so the change has no consequence.
            let is_repair = |entry: &LogEntry| matches!(entry, LogEntry::Repaired { call: id, .. } if *id == call);
            if log.iter().any(is_repair) {
                continue;
            }
            // A check names the digest of the arguments before the change.
            let is_check = |entry: &LogEntry| matches!(entry, LogEntry::CallAccepted { call: id, .. } if *id == call);
            let is_checked = log.iter().any(is_check);
            prop_assert_eq!(Run::fold(changed).is_err(), is_checked);
        }
    }
}

/// Not all random inputs are refused: some calls start.
#[test]
fn random_inputs_start_calls() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut started = 0;
    for _ in 0..32 {
        let options = options().new_tree(&mut runner).expect("options").current();
        let seeds = seeds(120).new_tree(&mut runner).expect("seeds").current();
        started += play(options, &seeds).expect("every invariant holds").1;
    }
    println!("{started} calls were started");
    assert!(started > 30, "{started}");
}

#[test]
fn calls_with_one_provider_id_share_nothing() {
    let run = Run::fold(moves::opening_log(moves::options())).expect("a log");
    let [one, other] = run.calls() else { panic!("two calls") };
    assert_eq!(one.provider_id, other.provider_id);
    assert_ne!(one.id, other.id);
    let kind = world::Kind { obstacle: world::Obstacle::Ask, idempotent: false };
    let world = world::World::new([kind; 2], 0, super::touching::Touching::Nothing);
    let mut run = copy(&run);
    for at in [0, 1] {
        let check = moves::check_input(&run, &world, at, world::PolicyAnswer::Ask, false);
        advance(&mut run, check).expect("the input fits");
    }
    let approve = moves::decide_input(&run, &world, 0, 1, world::Choice::Approve, owner(), Timestamp(0));
    let (_, actions) = advance(&mut run, approve).expect("the input fits");
    let grants = [0, 1].map(|at: usize| grant_of(&run.calls()[at]));
    assert!(grants[0].is_some_and(|grant| *grant.call() == run.calls()[0].id) && grants[1].is_none());
    assert!(!actions.contains(&Action::Check(run.calls()[1].id.clone())));
}
