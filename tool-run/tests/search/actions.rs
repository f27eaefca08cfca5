//! The actions of a driver at each transition of a call.

use std::sync::Arc;

use super::moves::{self, copy, owner};
use super::touching::Touching;
use super::world::{Choice, Kind, NAMES, Obstacle, PolicyAnswer, World};
use tool_run::run::{Action, CallOrder, CallState, LogInput, Phase, Run, RunOptions, Stage, Timestamp, advance};

/// A function that returns an input, mostly about the first call.
type Input = fn(&Fixture) -> LogInput;

/// A run, and the world around it.
struct Fixture {
    run: Run,
    world: World,
}

impl Fixture {
    /// Creates a run with two calls. The first is not checked, and the second waits for a person.
    fn new(obstacle: Obstacle, idempotent: bool) -> Self {
        Self::with(obstacle, idempotent, moves::options())
    }

    fn with(obstacle: Obstacle, idempotent: bool, options: RunOptions) -> Self {
        let run = Run::fold(moves::opening_log(options)).expect("a log");
        let other = Kind { obstacle: Obstacle::Ask, idempotent: false };
        let mut fixture = Self { run, world: World::new([Kind { obstacle, idempotent }, other], 0, Touching::Nothing) };
        fixture.check(1, PolicyAnswer::Ask, false);
        fixture
    }

    fn after(obstacle: Obstacle, idempotent: bool, inputs: &[Input]) -> Self {
        let mut fixture = Self::new(obstacle, idempotent);
        for input in inputs {
            let input = input(&fixture);
            fixture.send(input);
        }
        fixture
    }

    /// Records `input`, and returns the actions.
    fn send(&mut self, input: LogInput) -> Vec<String> {
        let (_, actions) = advance(&mut self.run, input).expect("the input fits");
        actions.iter().map(describe).collect()
    }

    fn check(&mut self, which: usize, answer: PolicyAnswer, changed: bool) -> Vec<String> {
        let input = moves::check_input(&self.run, &self.world, which, answer, changed);
        self.send(input)
    }

    fn decide(&self, choice: Choice) -> LogInput {
        let number = moves::next_interrupt_number(&self.run.calls()[0]) - 1;
        moves::decide_input(&self.run, &self.world, 0, number, choice, owner(), Timestamp(1))
    }
}

fn describe(action: &Action) -> String {
    match action {
        Action::Execute { call, attempt } => format!("execute {call} {attempt}"),
        Action::Check(call) => format!("check {call}"),
        Action::Abort(call) => format!("abort {call}"),
        Action::Announce(open) => format!("announce {open}"),
        Action::Wake(at) => format!("wake {}", at.0),
        Action::CallModel => "model".to_owned(),
        Action::AbortModel => "no model".to_owned(),
    }
}

fn allow(fixture: &Fixture) -> LogInput {
    moves::check_input(&fixture.run, &fixture.world, 0, PolicyAnswer::Allow, false)
}

fn ask(fixture: &Fixture) -> LogInput {
    moves::check_input(&fixture.run, &fixture.world, 0, PolicyAnswer::Ask, false)
}

fn deny(fixture: &Fixture) -> LogInput {
    moves::check_input(&fixture.run, &fixture.world, 0, PolicyAnswer::Deny, false)
}

fn changed(fixture: &Fixture) -> LogInput {
    moves::check_input(&fixture.run, &fixture.world, 0, PolicyAnswer::Ask, true)
}

fn approve(fixture: &Fixture) -> LogInput {
    fixture.decide(Choice::Approve)
}

fn edit(fixture: &Fixture) -> LogInput {
    fixture.decide(Choice::Edit)
}

fn refuse(fixture: &Fixture) -> LogInput {
    fixture.decide(Choice::Deny)
}

fn respond(fixture: &Fixture) -> LogInput {
    fixture.decide(Choice::Respond)
}

fn fail(fixture: &Fixture) -> LogInput {
    fixture.decide(Choice::Fail)
}

fn ended(fixture: &Fixture) -> LogInput {
    moves::end_input(&fixture.run, 0, fixture.run.calls()[0].attempts, true, Timestamp(1))
}

/// The first call waited too long to begin.
fn waited(fixture: &Fixture) -> LogInput {
    moves::withdraw_input(&fixture.run, 0, fixture.run.calls()[0].attempts, true, Timestamp(1))
}

fn withdrawn(fixture: &Fixture) -> LogInput {
    moves::withdraw_input(&fixture.run, 0, fixture.run.calls()[0].attempts, false, Timestamp(1))
}

fn recover(_: &Fixture) -> LogInput {
    LogInput::Recover { at: Timestamp(1) }
}

fn late(_: &Fixture) -> LogInput {
    LogInput::Tick { at: Timestamp(10) }
}

fn cancel(_: &Fixture) -> LogInput {
    LogInput::Cancel { by: owner(), at: Timestamp(1) }
}

#[test]
fn each_input_causes_its_actions() {
    // The obstacle, the inputs before, the input, the stage after it, and the actions.
    type Row<'a> = (Obstacle, &'a [Input], Input, Stage, &'a [&'a str]);
    let table: [Row<'_>; 25] = [
        (Obstacle::Nothing, &[], allow, Stage::Running, &["execute call 1"]),
        (Obstacle::Ask, &[], ask, Stage::Open, &["announce call.1", "wake 10"]),
        (Obstacle::Deny, &[], deny, Stage::Done, &[]),
        (Obstacle::External, &[], allow, Stage::Open, &["announce call.1", "wake 10"]),
        (Obstacle::External, &[ask], approve, Stage::Open, &["wake 11", "announce call.2", "wake 11"]),
        (Obstacle::Ask, &[ask], approve, Stage::Ready, &["wake 11", "check call"]),
        (Obstacle::Ask, &[ask], edit, Stage::Ready, &["wake 11", "check call"]),
        (Obstacle::Ask, &[ask], refuse, Stage::Done, &[]),
        (Obstacle::Ask, &[ask], respond, Stage::Done, &[]),
        (Obstacle::Ask, &[ask], late, Stage::Done, &["model"]),
        (Obstacle::Ask, &[ask], changed, Stage::Done, &[]),
        (Obstacle::Ask, &[ask, approve], ask, Stage::Running, &["execute call 1"]),
        (Obstacle::Ask, &[ask, approve], deny, Stage::Done, &[]),
        (Obstacle::Ask, &[ask, approve], changed, Stage::Done, &[]),
        (Obstacle::Ask, &[ask, edit], ask, Stage::Running, &["execute call 1"]),
        (Obstacle::External, &[allow], respond, Stage::Done, &[]),
        (Obstacle::External, &[allow], fail, Stage::Done, &[]),
        (Obstacle::Nothing, &[allow], ended, Stage::Done, &[]),
        (Obstacle::Nothing, &[allow], cancel, Stage::Done, &["abort call"]),
        (Obstacle::Nothing, &[allow], waited, Stage::Done, &[]),
        (Obstacle::Nothing, &[allow], withdrawn, Stage::Proposed, &["check call"]),
        (Obstacle::Nothing, &[allow, withdrawn], cancel, Stage::Done, &[]),
        (Obstacle::Nothing, &[allow, withdrawn], allow, Stage::Running, &["execute call 1"]),
        (Obstacle::Nothing, &[allow, recover], approve, Stage::Ready, &["wake 11", "check call"]),
        (Obstacle::Nothing, &[allow, recover], respond, Stage::Done, &[]),
    ];
    for (row, (obstacle, before, input, stage, actions)) in table.into_iter().enumerate() {
        let mut fixture = Fixture::after(obstacle, false, before);
        let input = input(&fixture);
        assert_eq!(fixture.send(input), actions, "row {row}");
        assert_eq!(fixture.run.calls()[0].stage(), stage, "row {row}");
    }
}

#[test]
fn lost_calls_start_again_or_ask_a_person() {
    let mut fixture = Fixture::after(Obstacle::Nothing, true, &[allow]);
    let others = ["check call_2", "announce call_2.1", "wake 10"];
    let actions = fixture.send(recover(&fixture));
    assert_eq!(actions, [&["check call"], &others[..]].concat());
    assert_eq!(fixture.check(0, PolicyAnswer::Allow, false), ["execute call 2"]);

    let mut fixture = Fixture::after(Obstacle::Nothing, false, &[allow]);
    let actions = fixture.send(recover(&fixture));
    assert_eq!(actions, [&["announce call.1", "check call"], &others[..]].concat());
}

#[test]
fn the_model_is_asked_when_all_calls_have_ended_and_not_before() {
    let mut fixture = Fixture::after(Obstacle::Nothing, false, &[allow, ended]);
    assert_eq!(fixture.run.messages().len(), 2);
    let other = moves::decide_input(&fixture.run, &fixture.world, 1, 1, Choice::Deny, owner(), Timestamp(1));
    assert_eq!(fixture.send(other), ["model"]);
    assert_eq!(fixture.run.messages().len(), 4);
}

#[test]
fn an_edited_external_call_is_announced_with_the_edit() {
    let fixture = Fixture::after(Obstacle::External, false, &[ask, edit]);
    let CallState::Open(open) = &fixture.run.calls()[0].state else { panic!("it is open") };
    assert_eq!(open.shown.arguments, super::world::edited_arguments());
    assert_eq!(open.shown.tool, NAMES[0]);
}

#[test]
fn a_run_waits_if_ready_calls_are_behind_waiting_ones() {
    let mut options = moves::options();
    options.call_order = CallOrder::Sequential;
    let mut fixture = Fixture::with(Obstacle::Ask, false, options);
    fixture.send(ask(&fixture));
    let other = moves::decide_input(&fixture.run, &fixture.world, 1, 1, Choice::Approve, owner(), Timestamp(1));
    assert_eq!(fixture.send(other), ["wake 11"]);
    assert_eq!((fixture.run.calls()[1].stage(), fixture.run.phase()), (Stage::Ready, Phase::Suspended));
    assert_eq!(fixture.send(refuse(&fixture)), ["check call_2"]);
    assert_eq!(fixture.run.phase(), Phase::Acting);
}

#[test]
fn a_limit_of_no_calls_in_flight_is_one() {
    let mut options = moves::options();
    options.limits.parallel_calls = 0;
    let mut fixture = Fixture::with(Obstacle::Nothing, false, options);
    assert_eq!(fixture.send(allow(&fixture)), ["execute call 1"]);
}

/// If a driver ends before it has logged an announcement, the next check logs it.
#[test]
fn a_missing_announcement_is_made_up_for() {
    let fixture = Fixture::new(Obstacle::External, false);
    let mut torn = Fixture { run: copy(&fixture.run), world: fixture.world.clone() };
    let (entries, _) = advance(&mut copy(&fixture.run), allow(&fixture)).expect("the input fits");
    for entry in entries.into_iter().take(2) {
        torn.run.apply(&entry).expect("the entry fits");
    }
    assert_eq!(torn.run.calls()[0].stage(), Stage::Ready);
    assert_eq!(torn.send(allow(&torn)), ["announce call.1", "wake 10"]);
}

/// Guarantee 12 holds twice: `advance` refuses the call, and `fold` refuses a log in which it was accepted.
#[test]
fn a_call_of_a_hidden_tool_does_not_start() {
    use tool_run::message::{AssistantPart, FinishReason, ToolCall, Usage};
    use tool_run::run::{CallResult, LogEntry, StopReason};
    for finish in [FinishReason::ToolCalls, FinishReason::Length] {
        let mut fixture = Fixture::new(Obstacle::Nothing, false);
        fixture.send(LogInput::Stop { reason: StopReason::StepLimit, at: Timestamp(1) });
        fixture.send(LogInput::Continue { by: owner(), at: Timestamp(1), answer: None });
        fixture.send(LogInput::Offered { tools: vec![NAMES[1].to_owned()] });
        let early = LogInput::Called {
            index: 0,
            provider_id: "early".to_owned(),
            name: NAMES[0].to_owned(),
            arguments: "{}".to_owned(),
        };
        assert!(
            fixture.send(early).is_empty() && fixture.run.current_calls().is_empty(),
            "it is reported with the rest of the turn"
        );
        let call = |name: &str| {
            AssistantPart::Call(ToolCall { id: "x".into(), name: name.to_owned(), arguments: "{}".to_owned() })
        };
        let parts = vec![call(NAMES[0]), call(NAMES[1])];
        let is_cut = finish == FinishReason::Length;
        let ended = LogInput::TurnEnded { parts, finish, usage: Usage::default(), model: None, at: Timestamp(1) };
        let mut forged = copy(&fixture.run);
        let (entries, _) = advance(&mut fixture.run, ended).expect("the input fits");
        for entry in entries {
            if !matches!(entry, LogEntry::CallEnded { .. } | LogEntry::TurnStarted { .. } | LogEntry::Stopped { .. }) {
                forged.apply(&entry).expect("the entry fits");
            }
        }
        let [hidden, offered] = &fixture.run.calls()[2..] else { panic!("two calls") };
        assert_eq!(hidden.result(), Some(&CallResult::NotAvailable { suggestion: None }));
        assert_eq!(offered.stage() == Stage::Proposed, !is_cut);
        let (id, digest) = (hidden.id.clone(), hidden.arguments().digest);
        let tool =
            Arc::clone(&super::world::tool(0, Kind { obstacle: Obstacle::Nothing, idempotent: true }, false).reference);
        let checked = LogEntry::CallAccepted { call: id, tool, arguments: digest, touches: None };
        assert!(forged.apply(&checked).unwrap_err().reason.contains("was not on offer"));
    }
}

/// Steering messages join between two turns, reset no limits, and keep their order.
#[test]
fn steering_messages_join_the_run() {
    use tool_run::message::{Message, Part};
    use tool_run::run::Prompt;
    let mut fixture = Fixture::after(Obstacle::Nothing, false, &[allow]);
    let steps = fixture.run.steps();
    for text in ["one", "two"] {
        fixture.send(LogInput::Prompt(Prompt::new(vec![Part::text(text)], owner(), Timestamp(1)).steering()));
    }
    assert_eq!(
        (fixture.run.queue().len(), fixture.run.calls()[0].stage()),
        (2, Stage::Running),
        "the running call goes on"
    );
    fixture.send(ended(&fixture));
    let other = moves::decide_input(&fixture.run, &fixture.world, 1, 1, Choice::Deny, owner(), Timestamp(1));
    assert_eq!(fixture.send(other), ["model"]);
    assert_eq!((fixture.run.steps(), fixture.run.queue().len()), (steps + 1, 0));
    let prompt = |text: &str| Message::User { content: vec![Part::text(text)] };
    assert_eq!(fixture.run.messages()[4..], [prompt("one"), prompt("two")]);
}

/// Every stop either accepts a waiting prompt or drops it, and the entries fit the run.
#[test]
fn a_stop_settles_what_happens_with_a_waiting_prompt() {
    use tool_run::message::Part;
    use tool_run::run::{Prompt, StopReason};
    for reason in [
        StopReason::StepLimit,
        StopReason::Denied,
        StopReason::Cancelled,
        StopReason::Requested,
        StopReason::ModelFailed("gone".to_owned()),
        StopReason::LimitReached("too many".to_owned()),
        StopReason::TimedOut("too late".to_owned()),
        StopReason::Condition("enough".to_owned()),
    ] {
        let mut fixture = Fixture::after(Obstacle::Nothing, false, &[allow]);
        let prompt = Prompt::new(vec![Part::text("one")], owner(), Timestamp(1)).steering();
        fixture.send(LogInput::Prompt(prompt));
        let actions = fixture.send(LogInput::Stop { reason: reason.clone(), at: Timestamp(1) });
        assert!(fixture.run.queue().is_empty(), "{reason}");
        let is_dropped = matches!(reason, StopReason::Cancelled | StopReason::Requested);
        assert_eq!(actions.contains(&"model".to_owned()), !is_dropped, "{reason}: {actions:?}");
        let phase = if is_dropped { Phase::Stopped(reason) } else { Phase::Generating };
        assert_eq!(fixture.run.phase(), phase);
    }
}

/// A snapshot that somebody changed can lead to entries that the run refuses. Then nothing of the input remains.
#[test]
fn a_run_that_refuses_its_own_entry_accepts_nothing_any_more() {
    use tool_run::run::{AdvanceOptions, InputError, advance_within};
    let fixture = Fixture::new(Obstacle::Nothing, false);
    let mut record: serde_json::Value = serde_json::from_str(&fixture.run.freeze()).expect("JSON");
    record["data"]["offered"] = serde_json::json!(["another"]);
    let mut run = Run::thaw(&record.to_string()).expect("a run");
    let (mut log, mut actions) = (Vec::new(), [Action::CallModel].into());
    let options = AdvanceOptions::default();
    let failed = advance_within(&mut run, allow(&fixture), options, &mut log, &mut actions);
    let Err(InputError::Inconsistent(corrupt)) = failed else { panic!("{failed:?}") };
    assert!(corrupt.reason.contains("was not on offer"), "{corrupt}");
    assert_eq!((log.len(), actions.len(), run.rev()), (0, 1, fixture.run.rev()));
    for input in [allow(&fixture), cancel(&fixture), recover(&fixture)] {
        assert_eq!(advance(&mut run, input).unwrap_err(), InputError::Inconsistent(corrupt.clone()));
    }
    let titled = tool_run::run::LogEntry::Titled { title: "x".to_owned(), by: owner(), at: Timestamp(1) };
    assert_eq!(run.apply(&titled).unwrap_err(), corrupt);
    assert!(Run::thaw(&run.freeze()).unwrap_err().to_string().contains("was not on offer"));
}
