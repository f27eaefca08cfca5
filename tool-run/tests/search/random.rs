//! Random sequences of events, valid or not, for runs with many calls, turns and options.

use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::draw::{Seed, event, options};
use super::judge::Judge;
use super::play::copy;
use super::play::{grant_of, owner};
use super::world;
use tool_run::run::{Action, LogEntry, Run, RunOptions, Time, step};

pub(super) fn created(options: RunOptions) -> Vec<LogEntry> {
    vec![LogEntry::Created { run: "run".into(), owner: owner(), options, messages: Vec::new(), at: Time(0) }]
}

/// Plays the events, checks every transition, and returns the log.
pub(super) fn play(options: RunOptions, seeds: &[Seed]) -> Result<(Vec<LogEntry>, usize), TestCaseError> {
    let mut log = created(options);
    let mut run = Run::fold(log.clone()).expect("a log");
    let (mut judge, mut time) = (Judge::default(), 0);
    for seed in seeds {
        time += u64::from(seed.3 % 5 == 0);
        let described = || format!("{:?}", event(&run, *seed, Time(time)));
        // A refused event changes nothing, because `step` only reads the run.
        let Ok((events, actions)) = step(&run, event(&run, *seed, Time(time))) else { continue };
        let mut after = copy(&run);
        for event in &events {
            let applied = after.apply(event);
            prop_assert!(applied.is_ok(), "{applied:?} after {}: {events:?}", described());
        }
        let judged = judge.judge(&run, &events, &actions, &after);
        prop_assert!(judged.is_ok(), "{judged:?} after {}: {events:?}", described());
        log.extend(events);
        run = after;
    }
    let thawed = Run::thaw(&run.freeze()).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(thawed.freeze(), run.freeze());
    let again = Run::fold(log.clone()).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(again.freeze(), run.freeze());
    Ok((log, judge.started()))
}

pub(super) fn seeds(count: usize) -> impl Strategy<Value = Vec<Seed>> {
    prop::collection::vec(any::<Seed>(), 1..count)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_events_break_no_invariant(options in options(), seeds in seeds(120)) {
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
        if let Ok(run) = Run::fold(log) {
            let thawed = Run::thaw(&run.freeze()).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(thawed.freeze(), run.freeze());
            for seed in seeds {
                drop(step(&run, event(&run, seed, Time(3))));
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
            // Checks and grants were for the arguments before.
            let is_mended = |entry: &LogEntry| matches!(entry, LogEntry::Repaired { call: id, .. } if *id == call);
            if log.iter().any(is_mended) {
                continue;
            }
            let is_checked = log.iter().any(|event| matches!(event, LogEntry::Checked { call: id, .. } if *id == call));
            prop_assert_eq!(Run::fold(changed).is_err(), is_checked);
        }
    }
}

/// Not all random events are refused: some calls start.
#[test]
fn random_events_get_somewhere() {
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
    let run = Run::fold(super::play::opening(super::play::options())).expect("a log");
    let [one, other] = run.calls() else { panic!("two calls") };
    assert_eq!(one.provider_id, other.provider_id);
    assert_ne!(one.id, other.id);
    let kind = world::Kind { gate: world::Gate::Ask, idempotent: false };
    let worlds = world::World::new([kind; 2], 0, super::touching::Touching::Nothing);
    let mut run = copy(&run);
    for at in [0, 1] {
        let look = super::play::look(&run, &worlds, at, world::Says::Ask, false);
        for event in step(&run, look).expect("it fits").0 {
            run.apply(&event).expect("it fits");
        }
    }
    let approve = super::play::decide(&run, &worlds, 0, 1, world::Choice::Approve, owner(), Time(0));
    let (events, actions) = step(&run, approve).expect("it fits");
    for event in events {
        run.apply(&event).expect("it fits");
    }
    let grants = [0, 1].map(|at: usize| grant_of(&run.calls()[at]));
    assert!(grants[0].is_some_and(|grant| *grant.call() == run.calls()[0].id) && grants[1].is_none());
    assert!(!actions.contains(&Action::Check(run.calls()[1].id.clone())));
}
