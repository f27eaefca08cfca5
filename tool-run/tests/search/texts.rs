//! The texts for the model about all ways in which a call can end.

use tool_run::message::Part;
use tool_run::run::{
    AbortCause, CallResult,
    Extent::{self, DidNotRun, MayHaveEffects, OnlyRead},
    Principal, SupersededBy,
};
use tool_run::tool::Output;
use tool_schema::feedback::{Problem, ProblemKind, Rejection};

fn model_text(result: &CallResult, extent: Extent) -> String {
    result.for_model("get", extent).iter().map(Part::in_words).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_end_of_a_call_says_what_happened() {
    let by = Principal::from("somebody");
    let output = || Output::json(&7).expect("JSON");
    let why = |text: &str| Some(text.to_owned());
    let superseded = |by| CallResult::Superseded { by };
    let interrupted = |by| CallResult::Aborted { by };
    let feedback = Rejection::one(Problem::new("/v", ProblemKind::Invalid, "too small"));
    let json = feedback.to_json().to_string();
    let (no, may) = ("; it did not run", "; it may have had effects");
    // A start makes no difference to these texts: they come from the tool, or the call cannot have been started.
    let same: [(CallResult, &str); 5] = [
        (CallResult::Succeeded { output: output() }, "7"),
        (CallResult::Failed { error: "no disk".to_owned(), feedback: None }, "no disk"),
        (CallResult::Rejected { feedback }, &json),
        (CallResult::NotAvailable { suggestion: None }, "there is no tool called `get`"),
        (CallResult::NotAvailable { suggestion: why("got") }, "there is no tool called `get`; did you mean `got`?"),
    ];
    for (result, text) in same {
        assert_eq!([DidNotRun, OnlyRead, MayHaveEffects].map(|extent| model_text(&result, extent)), [text; 3]);
    }
    let differ = [
        (CallResult::PolicyDenied { reason: None }, "a policy does not allow the call{}"),
        (CallResult::PolicyDenied { reason: why("at night") }, "a policy does not allow the call{}: at night"),
        (CallResult::Expired, "nobody answered in time{}"),
        (superseded(SupersededBy::Prompt), "a new message of the user came first{}"),
        (superseded(SupersededBy::ToolChanged), "the tool was changed while the call waited{}"),
        (superseded(SupersededBy::ArgumentsChanged), "the arguments are not those that were approved{}"),
        (superseded(SupersededBy::Denial), "another call of the turn was denied{}"),
        (CallResult::Cancelled, "the call was cancelled{}"),
        (CallResult::TimedOut { limit: 1500 }, "the tool did not answer within 1.5 s{}"),
        (interrupted(AbortCause::Length), "the answer was cut at its size limit{}"),
        (interrupted(AbortCause::ContentFilter), "a content filter cut the answer{}"),
        (interrupted(AbortCause::UnfinishedTurn), "the answer was not finished{}"),
        (
            interrupted(AbortCause::LostProcess),
            "the program that ran the call was stopped, and its outcome is unknown{}",
        ),
        (interrupted(AbortCause::ToolChanged), "the tool was changed while the call waited{}"),
        (interrupted(AbortCause::Prompt), "a new message of the user came while the call waited{}"),
        (interrupted(AbortCause::NoAnswer), "nobody answered the tool's question in time{}"),
        (interrupted(AbortCause::Denial), "another call of the turn was denied{}"),
        (interrupted(AbortCause::NotAllowed), "the call was not allowed to go on{}"),
        (CallResult::LimitReached { limit: "at most 2 calls".to_owned() }, "at most 2 calls{}"),
    ];
    for (result, text) in differ {
        let texts = [no, "", may].map(|effects| text.replace("{}", effects));
        assert_eq!([DidNotRun, OnlyRead, MayHaveEffects].map(|extent| model_text(&result, extent)), texts);
    }
    let denied = CallResult::Denied { reason: why("too cold"), by: by.clone() };
    assert_eq!(model_text(&denied, DidNotRun), "the call was denied, and did not run: too cold");
    assert_eq!(model_text(&denied, OnlyRead), "the call was denied: too cold");
    assert_eq!(model_text(&denied, MayHaveEffects), "the call was denied; it may have had effects: too cold");
    let responded = CallResult::Responded { output: output(), by };
    assert_eq!(model_text(&responded, DidNotRun), "A person gave this output; the tool did not run: 7");
    assert_eq!(
        model_text(&responded, MayHaveEffects),
        "A person gave this output; the tool was started, and may have had effects: 7"
    );
}
