//! A search through the state machine: every order of events for two calls, with the real `advance` and the real `fold`.
//!
//! [`transition_invariants`] checks the transitions of two calls against the world around them. [`log_invariants`] checks
//! any run after random inputs, without a world. [`probes`] sends inputs that must have no effect.
//!
//! Each violation names one of these invariants. Here a call starts when the driver executes it, or announces it to an
//! outside executor.
//!
//! - I1: Each start uses up a grant for the present tool and arguments, which a policy or an authorized person permitted.
//! - I2: No call starts after its end, a denial, an expiry or another prompt. A closed interrupt stays closed.
//! - I3: Each start has a permission of its own, unless the call is safe to repeat.
//! - I4: A call ends once, and its result never changes.
//! - I5: Before the model is asked again, each call of the turn has one answer, in the model's order.
//! - I6: No text for the model claims that a call did not run if it may have run. A start is withdrawn only before its function
//!   begins.
//! - I7: An interrupt is decided once. A repeated decision has no effect, and a different one is refused.
//! - I8: A run that is not over waits for something that will come, and can finish. It is suspended while only a decision
//!   helps.
//! - I9: The log determines the run. Stored forms are read unchanged, and a run can be cancelled after each entry.
//! - I10: A run stays within its limits.
//! - I11: A call waits until conflicting calls that come before it, or that have begun, have ended.

mod actions;
mod draw;
mod log_invariants;
mod moves;
mod mutants;
mod probes;
mod random;
mod texts;
mod touching;
mod transition_invariants;
mod world;

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use self::moves::{input, opening_log, options, possible_moves, thaw};
use self::touching::Touching;
use self::transition_invariants::{Transition, Violation};
use self::world::{Kind, Move, OBSTACLES, Obstacle, World};
use tool_run::run::{CallState, InputError, LogEntry, Phase, Run, advance};

/// The result of a search.
#[derive(Debug, Default)]
struct SearchResult {
    states: usize,
    transitions: usize,
    finished: usize,
    violation: Option<(Violation, Vec<Move>)>,
}

/// A state, and the move that led to it.
struct Node {
    parent: usize,
    cause: Option<Move>,
    /// The entries of that move.
    log: Vec<LogEntry>,
    /// The successors of a state, without those of a new prompt, a cancellation or a stop.
    next: Vec<usize>,
    is_finished: bool,
}

struct Search {
    nodes: Vec<Node>,
    known: HashMap<u64, usize>,
    queue: VecDeque<(usize, Run, World)>,
    found: SearchResult,
}

/// Returns the state as a number, without parts that cannot make a difference any more.
fn key(run: &Run, world: &World) -> u64 {
    let mut world = world.clone();
    for (call, facts) in run.calls().iter().zip(&mut world.calls) {
        if call.result().is_some() {
            facts.forget();
        }
    }
    if !moves::is_busy(run) {
        (world.now, world.wake, world.troubles, world.prompts, world.turn_end) = (0, None, 0, 0, None);
    }
    let mut hasher = DefaultHasher::new();
    (&world, format!("{:?}", run.phase()), run.turn(), run.messages().len(), run.queue().len()).hash(&mut hasher);
    for call in run.calls() {
        (call.stage(), moves::next_interrupt_number(call)).hash(&mut hasher);
        if call.result().is_none() {
            (call.attempts, call.retries, call.arguments().digest).hash(&mut hasher);
            call.tool.as_ref().map(|tool| tool.fingerprint).hash(&mut hasher);
        }
        match &call.state {
            CallState::Open(open) => {
                let kind = std::mem::discriminant(&open.kind);
                (&open.id, open.opened_at, open.expires_at, &open.shown.arguments, kind).hash(&mut hasher);
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
fn explore(kinds: [Kind; 2], troubles: u8, touching: Touching) -> SearchResult {
    let log = opening_log(options());
    let run = Run::fold(log.clone()).expect("a log");
    let mut world = World::new(kinds, troubles, touching);
    world.calls.iter_mut().for_each(|call| call.must_check = true);
    let mut search =
        Search { nodes: Vec::new(), known: HashMap::new(), queue: VecDeque::new(), found: SearchResult::default() };
    let root = Node { parent: 0, cause: None, log, next: Vec::new(), is_finished: false };
    search.known.insert(key(&run, &world), 0);
    search.nodes.push(root);
    search.queue.push_back((0, run, world));
    while let Some((at, mut run, world)) = search.queue.pop_front() {
        if let Err((violation, last)) = search.expand(at, &mut run, &world) {
            let mut path: Vec<Move> = search.path(at).filter_map(|node| node.cause).collect();
            path.reverse();
            path.extend(last);
            search.found.violation = Some((violation, path));
            break;
        }
    }
    search.found.states = search.nodes.len();
    if search.found.violation.is_none() {
        search.found.violation = search.find_dead_end();
    }
    search.found
}

impl Search {
    /// Checks a state, and makes every move that is possible in it. Fails with the violation, and the move that led to it.
    fn expand(&mut self, at: usize, run: &mut Run, world: &World) -> Result<(), (Violation, Option<Move>)> {
        let here = |violation| (violation, None);
        probes::probe(at, run, world).map_err(here)?;
        // These two checks cost most in a debug build, and many states have similar logs, so every eighth state is enough.
        if at.is_multiple_of(8) {
            let log: Vec<&[LogEntry]> = self.path(at).map(|node| &node.log[..]).collect();
            let log: Vec<LogEntry> = log.into_iter().rev().flatten().cloned().collect();
            probes::check_prefixes(&log, run).map_err(here)?;
            probes::check_stored_forms(&log, run).map_err(here)?;
        }
        let frozen = run.freeze();
        for cause in possible_moves(run, world) {
            self.make_move(at, (run, &frozen), world, cause).map_err(|violation| (violation, Some(cause)))?;
        }
        Ok(())
    }

    /// Makes a move, and adds the state that it leads to, if that is new.
    fn make_move(
        &mut self,
        at: usize,
        (run, frozen): (&Run, &str),
        world: &World,
        cause: Move,
    ) -> Result<(), Violation> {
        let mut after = thaw(frozen);
        let (entries, actions) = advance(&mut after, input(run, world, cause)).map_err(|error| match error {
            InputError::Refused(refusal) => Violation::new("I8", format_args!("a possible move is refused: {refusal}")),
            InputError::Inconsistent(corrupt) => Violation::new("I9", corrupt),
        })?;
        self.found.transitions += 1;
        let mut world = world.clone();
        world.observe(&Transition { cause, before: run, entries: &entries, actions: &actions, after: &after })?;
        let key = key(&after, &world);
        let next = self.nodes.len();
        let next = *self.known.entry(key).or_insert(next);
        if next == self.nodes.len() {
            if next.is_multiple_of(4) {
                probes::check_partial_logs(frozen, &entries)?;
            }
            let is_finished = matches!(after.phase(), Phase::Finished | Phase::Stopped(_));
            self.found.finished += usize::from(is_finished);
            self.nodes.push(Node { parent: at, cause: Some(cause), log: entries, next: Vec::new(), is_finished });
            self.queue.push_back((next, after, world));
        }
        if !matches!(cause, Move::Prompt | Move::Cancel | Move::Stop) {
            self.nodes[at].next.push(next);
        }
        Ok(())
    }

    /// Returns the nodes from the one at `at` back to the first.
    fn path(&self, at: usize) -> impl Iterator<Item = &Node> {
        let parent = |node: &&Node| (node.cause.is_some()).then(|| &self.nodes[node.parent]);
        std::iter::successors(Some(&self.nodes[at]), parent)
    }

    /// Returns a state from which no finished state can be reached, and the moves to it (I8).
    fn find_dead_end(&self) -> Option<(Violation, Vec<Move>)> {
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
        let mut path: Vec<Move> = self.path(at).filter_map(|node| node.cause).collect();
        path.reverse();
        Some((Violation::new("I8", "no finished state can be reached"), path))
    }
}

/// Returns all pairs of kinds, each once.
fn pairs() -> Vec<[Kind; 2]> {
    let kinds: Vec<Kind> = OBSTACLES
        .into_iter()
        .flat_map(|obstacle| [true, false].map(|idempotent| Kind { obstacle, idempotent }))
        .collect();
    // A call that never starts here is announced at most once, idempotent or not.
    let starts_here = |kind: &Kind| matches!(kind.obstacle, Obstacle::Nothing | Obstacle::Ask);
    let kinds: Vec<Kind> = kinds.into_iter().filter(|kind| kind.idempotent || starts_here(kind)).collect();
    let pairs = kinds.iter().enumerate().flat_map(|(at, one)| kinds[at..].iter().map(|other| [*one, *other]));
    pairs.collect()
}

/// Searches the pairs whose first call is of one of these kinds.
fn search(firsts: &[Kind]) -> SearchResult {
    let mut all = SearchResult::default();
    for kinds in pairs().into_iter().filter(|[first, _]| firsts.contains(first)) {
        let found = explore(kinds, 2, Touching::Nothing);
        assert_eq!(found.violation, None, "{kinds:?}");
        all.states += found.states;
        all.transitions += found.transitions;
        all.finished += found.finished;
    }
    println!("{firsts:?}: {} states, {} transitions, {} finished", all.states, all.transitions, all.finished);
    all
}

const fn kind(obstacle: Obstacle, idempotent: bool) -> Kind {
    Kind { obstacle, idempotent }
}

// These are four tests, so that they run in parallel.

#[test]
fn no_order_of_events_breaks_an_invariant_of_a_call_that_may_be_repeated() {
    let found = search(&[kind(Obstacle::Nothing, true)]);
    assert!(found.states > 6_000 && found.transitions > 17_000 && found.finished > 2_000, "{found:?}");
}

#[test]
fn no_order_of_events_breaks_an_invariant_of_a_call() {
    let found = search(&[kind(Obstacle::Nothing, false)]);
    assert!(found.states > 15_000 && found.transitions > 35_000 && found.finished > 4_000, "{found:?}");
}

#[test]
fn no_order_of_events_breaks_an_invariant_of_a_call_that_asks_and_may_be_repeated() {
    let found = search(&[kind(Obstacle::Ask, true)]);
    assert!(found.states > 18_000 && found.transitions > 50_000 && found.finished > 5_000, "{found:?}");
}

#[test]
fn no_order_of_events_breaks_an_invariant_of_a_call_that_asks() {
    let found = search(&[kind(Obstacle::Ask, false), kind(Obstacle::External, true), kind(Obstacle::Deny, true)]);
    assert!(found.states > 24_000 && found.transitions > 58_000 && found.finished > 7_000, "{found:?}");
}

#[test]
fn conflicting_calls_never_run_in_parallel() {
    let mut all = SearchResult::default();
    let kinds = pairs().into_iter().filter(|kinds| kinds.iter().all(|kind| kind.obstacle != Obstacle::Deny));
    let worlds = kinds.flat_map(|kinds| [Touching::Same, Touching::WhenEdited].map(|touching| (kinds, touching)));
    // Only calls that ask a person can be edited.
    for (kinds, touching) in worlds.filter(|(kinds, how)| *how == Touching::Same || kinds[0].obstacle == Obstacle::Ask)
    {
        // A lost call of an idempotent tool starts again by itself, and keeps its resources.
        let found = explore(kinds, 1, touching);
        assert_eq!(found.violation, None, "{kinds:?} {touching:?}");
        all.states += found.states;
        all.finished += found.finished;
    }
    println!("{} states, {} finished", all.states, all.finished);
    assert!(all.states > 20_000 && all.finished > 4_000, "{all:?}");
}
