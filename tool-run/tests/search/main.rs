//! A search through the state machine: every order of events for two calls, with the real `step` and the real `fold`.

mod actions;
mod draw;
mod invariants;
mod judge;
mod mutants;
mod play;
mod probes;
mod random;
mod texts;
mod touching;
mod world;

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use self::invariants::{Broken, Transition};
use self::play::{event, moves, opening, options, thaw};
use self::touching::Touching;
use self::world::{Gate, Kind, Move, World};
use tool_run::run::{Action, CallState, LogEntry, Phase, Run, step};

/// The result of a search.
#[derive(Debug, Default)]
struct Found {
    states: usize,
    transitions: usize,
    finished: usize,
    broken: Option<(Broken, Vec<Move>)>,
}

struct Node {
    parent: usize,
    happens: Option<Move>,
    log: Vec<LogEntry>,
    /// The successors of a state, without those of a new prompt or a cancellation.
    next: Vec<usize>,
    is_finished: bool,
}

struct Search {
    nodes: Vec<Node>,
    known: HashMap<u64, usize>,
    queue: VecDeque<(usize, Run, World)>,
    found: Found,
}

/// Returns the state as a number, without parts that cannot make a difference any more.
fn key(run: &Run, world: &World) -> u64 {
    let mut world = world.clone();
    for (call, seen) in run.calls().iter().zip(&mut world.calls) {
        if call.result().is_some() {
            seen.forget();
        }
    }
    if !play::is_busy(run) {
        (world.now, world.wake, world.troubles, world.prompts, world.turn_end) = (0, None, 0, 0, None);
    }
    let mut hasher = DefaultHasher::new();
    (&world, format!("{:?}", run.phase()), run.turn(), run.messages().len(), run.queue().len()).hash(&mut hasher);
    for call in run.calls() {
        (call.stage(), play::next_interrupt_id(call)).hash(&mut hasher);
        if call.result().is_none() {
            (call.attempts, call.retries, call.arguments().digest).hash(&mut hasher);
            call.tool.as_ref().map(|tool| tool.fingerprint).hash(&mut hasher);
        }
        match &call.state {
            CallState::Open(open) => {
                let kind = std::mem::discriminant(&open.kind);
                (&open.id, open.since, open.expires, &open.shown.arguments, kind).hash(&mut hasher);
            }
            CallState::Ready(grant) => {
                (grant.tool(), grant.arguments(), grant.shown(), grant.expires()).hash(&mut hasher);
                format!("{:?}", grant.by()).hash(&mut hasher);
            }
            _ => {}
        }
    }
    hasher.finish()
}

/// Searches all states that two calls of these kinds can reach with this number of troubles.
fn explore(kinds: [Kind; 2], troubles: u8, touching: Touching) -> Found {
    let log = opening(options());
    let run = Run::fold(log.clone()).expect("a log");
    let mut world = World::new(kinds, troubles, touching);
    world.calls.iter_mut().for_each(|call| call.look = true);
    let mut search =
        Search { nodes: Vec::new(), known: HashMap::new(), queue: VecDeque::new(), found: Found::default() };
    let root = Node { parent: 0, happens: None, log, next: Vec::new(), is_finished: false };
    search.known.insert(key(&run, &world), 0);
    search.nodes.push(root);
    search.queue.push_back((0, run, world));
    while let Some((at, run, world)) = search.queue.pop_front() {
        if let Err((broken, last)) = search.expand(at, &run, &world) {
            let mut path: Vec<Move> = search.path(at).filter_map(|node| node.happens).collect();
            path.reverse();
            path.extend(last);
            search.found.broken = Some((broken, path));
            break;
        }
    }
    search.found.states = search.nodes.len();
    if search.found.broken.is_none() {
        search.found.broken = search.stuck();
    }
    search.found
}

type Failed = (Broken, Option<Move>);

impl Search {
    fn expand(&mut self, at: usize, run: &Run, world: &World) -> Result<(), Failed> {
        let here = |broken| (broken, None);
        probes::probe(at, run, world).map_err(here)?;
        // Texts and whole logs cost most in a debug build, and are alike in many states.
        if at.is_multiple_of(8) {
            let log: Vec<&[LogEntry]> = self.path(at).map(|node| &node.log[..]).collect();
            let log: Vec<LogEntry> = log.into_iter().rev().flatten().cloned().collect();
            probes::prefixes(&log, run).map_err(here)?;
            probes::written(&log, run).map_err(here)?;
        }
        let frozen = run.freeze();
        for happens in moves(run, world) {
            self.take(at, (run, &frozen), world, happens).map_err(|broken| (broken, Some(happens)))?;
        }
        Ok(())
    }

    fn take(&mut self, at: usize, (run, frozen): (&Run, &str), world: &World, happens: Move) -> Result<(), Broken> {
        let (events, actions) = step(run, event(run, world, happens))
            .map_err(|refusal| Broken::new("I9", format_args!("refused: {refusal}")))?;
        self.found.transitions += 1;
        let (after, world) = follow((run, frozen), world, happens, &events, &actions)?;
        let key = key(&after, &world);
        let next = self.nodes.len();
        let next = *self.known.entry(key).or_insert(next);
        if next == self.nodes.len() {
            if next.is_multiple_of(4) {
                probes::torn(frozen, &events)?;
            }
            let is_finished = matches!(after.phase(), Phase::Finished | Phase::Stopped(_));
            self.found.finished += usize::from(is_finished);
            self.nodes.push(Node { parent: at, happens: Some(happens), log: events, next: Vec::new(), is_finished });
            self.queue.push_back((next, after, world));
        }
        if !matches!(happens, Move::Prompt | Move::Cancel | Move::Stop) {
            self.nodes[at].next.push(next);
        }
        Ok(())
    }

    fn path(&self, at: usize) -> impl Iterator<Item = &Node> {
        let parent = |node: &&Node| (node.happens.is_some()).then(|| &self.nodes[node.parent]);
        std::iter::successors(Some(&self.nodes[at]), parent)
    }

    /// I9: returns a state from which no finished state can be reached.
    fn stuck(&self) -> Option<(Broken, Vec<Move>)> {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            node.next.iter().for_each(|next| before[*next].push(at));
        }
        let mut good: Vec<bool> = self.nodes.iter().map(|node| node.is_finished).collect();
        let mut queue: Vec<usize> = (0..good.len()).filter(|at| good[*at]).collect();
        while let Some(at) = queue.pop() {
            for from in &before[at] {
                if !std::mem::replace(&mut good[*from], true) {
                    queue.push(*from);
                }
            }
        }
        let at = good.iter().position(|good| !good)?;
        let mut path: Vec<Move> = self.path(at).filter_map(|node| node.happens).collect();
        path.reverse();
        Some((Broken::new("I9", "no finished state can be reached"), path))
    }
}

/// Returns the run and the world after a checked transition.
fn follow(
    (run, frozen): (&Run, &str),
    world: &World,
    happens: Move,
    events: &[LogEntry],
    actions: &[Action],
) -> Result<(Run, World), Broken> {
    let mut after = thaw(frozen);
    for event in events {
        after.apply(event).map_err(|corrupt| Broken::new("I10", corrupt))?;
    }
    let mut world = world.clone();
    world.observe(&Transition { happens, before: run, events, actions, after: &after })?;
    Ok((after, world))
}

/// Returns all pairs of kinds, each once.
fn pairs() -> Vec<[Kind; 2]> {
    let gates = [Gate::Auto, Gate::Ask, Gate::External, Gate::Deny];
    let kinds: Vec<Kind> =
        gates.into_iter().flat_map(|gate| [true, false].map(|idempotent| Kind { gate, idempotent })).collect();
    // A call that never starts here starts outside once, idempotent or not.
    let starts_here = |kind: &Kind| matches!(kind.gate, Gate::Auto | Gate::Ask);
    let kinds: Vec<Kind> = kinds.into_iter().filter(|kind| kind.idempotent || starts_here(kind)).collect();
    let pairs = kinds.iter().enumerate().flat_map(|(at, one)| kinds[at..].iter().map(|other| [*one, *other]));
    pairs.collect()
}

/// Searches the pairs whose first call is of one of these kinds.
fn search(firsts: &[Kind]) -> Found {
    let mut all = Found::default();
    for kinds in pairs().into_iter().filter(|[first, _]| firsts.contains(first)) {
        let found = explore(kinds, 2, Touching::Nothing);
        assert_eq!(found.broken, None, "{kinds:?}");
        all.states += found.states;
        all.transitions += found.transitions;
        all.finished += found.finished;
    }
    println!("{firsts:?}: {} states, {} transitions, {} finished", all.states, all.transitions, all.finished);
    all
}

const fn kind(gate: Gate, idempotent: bool) -> Kind {
    Kind { gate, idempotent }
}

// Four tests, so that they run in parallel.

#[test]
fn no_order_of_events_breaks_an_invariant_of_a_call_that_may_be_repeated() {
    let found = search(&[kind(Gate::Auto, true)]);
    assert!(found.states > 6_000 && found.transitions > 17_000 && found.finished > 2_000, "{found:?}");
}

#[test]
fn no_order_of_events_breaks_an_invariant_of_a_call() {
    let found = search(&[kind(Gate::Auto, false)]);
    assert!(found.states > 15_000 && found.transitions > 35_000 && found.finished > 4_000, "{found:?}");
}

#[test]
fn no_order_of_events_breaks_an_invariant_of_a_call_that_asks_and_may_be_repeated() {
    let found = search(&[kind(Gate::Ask, true)]);
    assert!(found.states > 18_000 && found.transitions > 50_000 && found.finished > 5_000, "{found:?}");
}

#[test]
fn no_order_of_events_breaks_an_invariant_of_a_call_that_asks() {
    let found = search(&[kind(Gate::Ask, false), kind(Gate::External, true), kind(Gate::Deny, true)]);
    assert!(found.states > 24_000 && found.transitions > 58_000 && found.finished > 7_000, "{found:?}");
}

#[test]
fn calls_that_touch_the_same_never_run_side_by_side() {
    let mut all = Found::default();
    let kinds = pairs().into_iter().filter(|kinds| kinds.iter().all(|kind| kind.gate != Gate::Deny));
    let worlds = kinds.flat_map(|kinds| [Touching::Same, Touching::WhenEdited].map(|touching| (kinds, touching)));
    // Only calls that ask a person can be edited.
    for (kinds, touching) in worlds.filter(|(kinds, how)| *how == Touching::Same || kinds[0].gate == Gate::Ask) {
        // With idempotent tools, a lost call starts again by itself, and keeps its resources.
        let found = explore(kinds, 1, touching);
        assert_eq!(found.broken, None, "{kinds:?} {touching:?}");
        all.states += found.states;
        all.finished += found.finished;
    }
    println!("{} states, {} finished", all.states, all.finished);
    assert!(all.states > 20_000 && all.finished > 4_000, "{all:?}");
}
