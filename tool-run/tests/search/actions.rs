//! The actions of a driver at each transition of a call.

use std::sync::Arc;

use super::play::copy;
use super::play::{self, owner};
use super::touching::Touching;
use super::world::{Choice, Gate, Kind, NAMES, Says, World};
use tool_run::run::{Action, CallOrder, CallState, Phase, Run, RunOptions, Stage, StepInput, Time, step};

struct Stand {
    run: Run,
    world: World,
}

impl Stand {
    /// Creates two unchecked calls. The second only stands by.
    fn new(gate: Gate, idempotent: bool) -> Self {
        Self::with(gate, idempotent, play::options())
    }

    fn with(gate: Gate, idempotent: bool, options: RunOptions) -> Self {
        let run = Run::fold(play::opening(options)).expect("a log");
        let other = Kind { gate: Gate::Ask, idempotent: false };
        let mut stand = Self { run, world: World::new([Kind { gate, idempotent }, other], 0, Touching::Nothing) };
        stand.look_at(1, Says::Ask, false);
        stand
    }

    fn after(gate: Gate, idempotent: bool, events: &[fn(&Stand) -> StepInput]) -> Self {
        let mut stand = Self::new(gate, idempotent);
        for event in events {
            let event = event(&stand);
            stand.send(event);
        }
        stand
    }

    fn send(&mut self, input: StepInput) -> Vec<String> {
        let (events, actions) = step(&self.run, input).expect("it fits");
        for input in events {
            self.run.apply(&input).expect("it fits");
        }
        actions.iter().map(short).collect()
    }

    fn look_at(&mut self, which: usize, says: Says, changed: bool) -> Vec<String> {
        let input = play::look(&self.run, &self.world, which, says, changed);
        self.send(input)
    }

    fn decide(&self, choice: Choice) -> StepInput {
        let number = play::next_interrupt_id(&self.run.calls()[0]) - 1;
        play::decide(&self.run, &self.world, 0, number, choice, owner(), Time(1))
    }
}

fn short(action: &Action) -> String {
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

fn allow(stand: &Stand) -> StepInput {
    play::look(&stand.run, &stand.world, 0, Says::Allow, false)
}

fn ask(stand: &Stand) -> StepInput {
    play::look(&stand.run, &stand.world, 0, Says::Ask, false)
}

fn deny(stand: &Stand) -> StepInput {
    play::look(&stand.run, &stand.world, 0, Says::Deny, false)
}

fn changed(stand: &Stand) -> StepInput {
    play::look(&stand.run, &stand.world, 0, Says::Ask, true)
}

fn approve(stand: &Stand) -> StepInput {
    stand.decide(Choice::Approve)
}

fn edit(stand: &Stand) -> StepInput {
    stand.decide(Choice::Edit)
}

fn refuse(stand: &Stand) -> StepInput {
    stand.decide(Choice::Deny)
}

fn respond(stand: &Stand) -> StepInput {
    stand.decide(Choice::Respond)
}

fn fail(stand: &Stand) -> StepInput {
    stand.decide(Choice::Fail)
}

fn ended(stand: &Stand) -> StepInput {
    play::end(&stand.run, 0, stand.run.calls()[0].attempts, true, Time(1))
}

fn recover(_: &Stand) -> StepInput {
    StepInput::Recover { at: Time(1) }
}

fn late(_: &Stand) -> StepInput {
    StepInput::Tick { at: Time(10) }
}

fn cancel(_: &Stand) -> StepInput {
    StepInput::Cancel { by: owner(), at: Time(1) }
}

type Step = fn(&Stand) -> StepInput;

#[test]
fn every_transition_asks_for_what_it_needs() {
    // The state before, the event, the stage after it, and the actions.
    type Row<'a> = (Gate, &'a [Step], Step, Stage, &'a [&'a str]);
    let table: [Row<'_>; 21] = [
        (Gate::Auto, &[], allow, Stage::Running, &["execute call 1"]),
        (Gate::Ask, &[], ask, Stage::Open, &["announce call.1", "wake 10"]),
        (Gate::Deny, &[], deny, Stage::Done, &[]),
        (Gate::External, &[], allow, Stage::Open, &["announce call.1", "wake 10"]),
        (Gate::External, &[ask], approve, Stage::Open, &["wake 11", "announce call.2", "wake 11"]),
        (Gate::Ask, &[ask], approve, Stage::Ready, &["wake 11", "check call"]),
        (Gate::Ask, &[ask], edit, Stage::Ready, &["wake 11", "check call"]),
        (Gate::Ask, &[ask], refuse, Stage::Done, &[]),
        (Gate::Ask, &[ask], respond, Stage::Done, &[]),
        (Gate::Ask, &[ask], late, Stage::Done, &["model"]),
        (Gate::Ask, &[ask], changed, Stage::Done, &[]),
        (Gate::Ask, &[ask, approve], ask, Stage::Running, &["execute call 1"]),
        (Gate::Ask, &[ask, approve], deny, Stage::Done, &[]),
        (Gate::Ask, &[ask, approve], changed, Stage::Done, &[]),
        (Gate::Ask, &[ask, edit], ask, Stage::Running, &["execute call 1"]),
        (Gate::External, &[allow], respond, Stage::Done, &[]),
        (Gate::External, &[allow], fail, Stage::Done, &[]),
        (Gate::Auto, &[allow], ended, Stage::Done, &[]),
        (Gate::Auto, &[allow], cancel, Stage::Done, &["abort call"]),
        (Gate::Auto, &[allow, recover], approve, Stage::Ready, &["wake 11", "check call"]),
        (Gate::Auto, &[allow, recover], respond, Stage::Done, &[]),
    ];
    for (row, (gate, before, event, stage, actions)) in table.into_iter().enumerate() {
        let mut stand = Stand::after(gate, false, before);
        let event = event(&stand);
        assert_eq!(stand.send(event), actions, "row {row}");
        assert_eq!(stand.run.calls()[0].stage(), stage, "row {row}");
    }
}

#[test]
fn lost_calls_start_again_or_ask_a_person() {
    let mut stand = Stand::after(Gate::Auto, true, &[allow]);
    let others = ["check call_2", "announce call_2.1", "wake 10"];
    let actions = stand.send(recover(&stand));
    assert_eq!(actions, [&["check call"], &others[..]].concat());
    assert_eq!(stand.look_at(0, Says::Allow, false), ["execute call 2"]);

    let mut stand = Stand::after(Gate::Auto, false, &[allow]);
    let actions = stand.send(recover(&stand));
    assert_eq!(actions, [&["announce call.1"], &others[..]].concat());
}

#[test]
fn the_model_is_asked_when_all_calls_have_ended_and_not_before() {
    let mut stand = Stand::after(Gate::Auto, false, &[allow, ended]);
    assert_eq!(stand.run.messages().len(), 2);
    let other = play::decide(&stand.run, &stand.world, 1, 1, Choice::Deny, owner(), Time(1));
    assert_eq!(stand.send(other), ["model"]);
    assert_eq!(stand.run.messages().len(), 4);
}

#[test]
fn an_edited_external_call_is_announced_with_the_edit() {
    let stand = Stand::after(Gate::External, false, &[ask, edit]);
    let CallState::Open(open) = &stand.run.calls()[0].state else { panic!("it is open") };
    assert_eq!(open.shown.arguments, super::world::edited());
    assert_eq!(open.shown.tool, NAMES[0]);
}

#[test]
fn a_run_waits_if_ready_calls_are_behind_waiting_ones() {
    let mut options = play::options();
    options.execution = CallOrder::Sequential;
    let mut stand = Stand::with(Gate::Ask, false, options);
    stand.send(ask(&stand));
    let other = play::decide(&stand.run, &stand.world, 1, 1, Choice::Approve, owner(), Time(1));
    assert_eq!(stand.send(other), ["wake 11"]);
    assert_eq!((stand.run.calls()[1].stage(), stand.run.phase()), (Stage::Ready, Phase::Suspended));
    assert_eq!(stand.send(refuse(&stand)), ["check call_2"]);
    assert_eq!(stand.run.phase(), Phase::Acting);
}

#[test]
fn a_limit_of_no_calls_in_flight_is_one() {
    let mut options = play::options();
    options.limits.in_flight = 0;
    let mut stand = Stand::with(Gate::Auto, false, options);
    assert_eq!(stand.send(allow(&stand)), ["execute call 1"]);
}

/// A driver that ends between two log entries makes up for the missing announcement.
#[test]
fn a_missing_announcement_is_repeated() {
    let stand = Stand::new(Gate::External, false);
    let (events, _) = step(&stand.run, allow(&stand)).expect("it fits");
    let mut torn = Stand { run: copy(&stand.run), world: stand.world.clone() };
    for event in events.into_iter().take(2) {
        torn.run.apply(&event).expect("it fits");
    }
    assert_eq!(torn.run.calls()[0].stage(), Stage::Ready);
    assert_eq!(torn.send(allow(&torn)), ["announce call.1", "wake 10"]);
}

/// S12, twice: `step` refuses the call, and `fold` refuses a log in which it was accepted.
#[test]
fn a_call_of_a_hidden_tool_does_not_start() {
    use tool_run::message::{AssistantPart, FinishReason, ToolCall, Usage};
    use tool_run::run::{CallResult, LogEntry, StopReason};
    for finish in [FinishReason::ToolCalls, FinishReason::Length] {
        let mut stand = Stand::new(Gate::Auto, false);
        stand.send(StepInput::Stop { reason: StopReason::StepLimit, at: Time(1) });
        stand.send(StepInput::Continue { by: owner(), at: Time(1) });
        stand.send(StepInput::Offered { tools: vec![NAMES[1].to_owned()] });
        let early = StepInput::Called {
            index: 0,
            provider_id: "early".to_owned(),
            name: NAMES[0].to_owned(),
            arguments: "{}".to_owned(),
        };
        assert!(
            stand.send(early).is_empty() && stand.run.current_calls().is_empty(),
            "it is reported with the rest of the turn"
        );
        let call = |name: &str| {
            AssistantPart::Call(ToolCall { id: "x".into(), name: name.to_owned(), arguments: "{}".to_owned() })
        };
        let parts = vec![call(NAMES[0]), call(NAMES[1])];
        let is_cut = finish == FinishReason::Length;
        let ended = StepInput::TurnEnded { parts, finish, usage: Usage::default(), model: None, at: Time(1) };
        let (log, _) = step(&stand.run, ended).expect("it fits");
        let mut forged = copy(&stand.run);
        for event in log {
            stand.run.apply(&event).expect("it fits");
            if !matches!(event, LogEntry::Ended { .. } | LogEntry::TurnStarted { .. } | LogEntry::Stopped { .. }) {
                forged.apply(&event).expect("it fits");
            }
        }
        let [hidden, offered] = &stand.run.calls()[2..] else { panic!("two calls") };
        assert_eq!(hidden.result(), Some(&CallResult::NotAvailable { suggestion: None }));
        assert_eq!(offered.stage() == Stage::Proposed, !is_cut);
        let (id, digest) = (hidden.id.clone(), hidden.arguments().digest);
        let tool = Arc::clone(&super::world::tool(0, Kind { gate: Gate::Auto, idempotent: true }, false).reference);
        let checked = LogEntry::Checked { call: id, tool, arguments: digest, touches: None };
        assert!(forged.apply(&checked).unwrap_err().reason.contains("was not on offer"));
    }
}

/// A message between two turns uses up no limits, and messages keep their order.
#[test]
fn steering_messages_join_the_run() {
    use tool_run::message::{Message, Part};
    use tool_run::run::Prompt;
    let mut stand = Stand::after(Gate::Auto, false, &[allow]);
    let steps = stand.run.steps();
    for text in ["one", "two"] {
        stand.send(StepInput::Prompt(Prompt::new(vec![Part::text(text)], owner(), Time(1)).steering()));
    }
    assert_eq!((stand.run.queue().len(), stand.run.calls()[0].stage()), (2, Stage::Running), "nothing is ended");
    stand.send(ended(&stand));
    let other = play::decide(&stand.run, &stand.world, 1, 1, Choice::Deny, owner(), Time(1));
    assert_eq!(stand.send(other), ["model"]);
    assert_eq!((stand.run.steps(), stand.run.queue().len()), (steps + 1, 0));
    let prompt = |text: &str| Message::User { content: vec![Part::text(text)] };
    assert_eq!(stand.run.messages()[4..], [prompt("one"), prompt("two")]);
}
