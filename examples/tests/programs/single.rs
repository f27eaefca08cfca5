//! Tests of examples that are one process: behind a pipe, in a terminal, with a real model.

use crate::kit::Run;

/// Returns the program of an example.
pub fn program(name: &str) -> &'static str {
    match name {
        "weather" => env!("CARGO_BIN_EXE_weather"),
        "trace" => env!("CARGO_BIN_EXE_trace"),
        other => panic!("there is no example {other}"),
    }
}

#[test]
fn trace_replaces_its_progress_bars_by_a_tree() {
    let run = Run::piped("trace", &[]);
    run.assert_status(0);
    run.assert_shows(&[
        "\n  0 of 70 tart\n",
        "· cook: ",
        "└─ invoke_agent cook  ",
        "\n   ├─ execute_tool choose_wine  ",
        "\n   │  └─ invoke_agent sommelier  ",
        "\n   │     └─ chat scripted  ",
        "· message = did not run: rejected",
        "gen_ai.usage.input_tokens = 610",
    ]);
    run.assert_lacks(&["\u{1b}", "Riesling.\"", "gen_ai.input.messages"]);
    Run::piped("trace", &["--content"])
        .assert_shows(&["gen_ai.tool.call.arguments = {\"dish\":\"soup\",\"minutes\":40}"]);

    let run = Run::in_terminal("trace", &[]);
    run.assert_status(0);
    run.assert_shows(&["  cook ━━━━━━━━━━", "\u{1b}[1A\u{1b}[J", "Dinner is served", "└─ invoke_agent cook  "]);
    run.assert_lacks(&["0 of 70"]);
}

mod real_model {
    use crate::kit::real_model::{assert_sound, calls, report, say, start};

    #[test]
    #[ignore = "needs a model"]
    fn weather_answers_with_a_real_model() {
        let mut session = start("weather");
        let shown = say(&mut session, "How warm is Oslo in July?");
        assert_sound(&shown);
        let called = calls(&shown, "get_climate");
        report("weather: the model called get_climate", !called.is_empty());
        report(
            "weather: a call was for Oslo in July",
            called.iter().any(|call| call.contains("Oslo") && call.contains('7')),
        );
        let text: String = shown.lines().filter(|line| !line.starts_with('·')).collect();
        report("weather: the answer contains 17", text.contains("17"));
        report("weather: the model called at most twice", called.len() <= 2);
        let shown = say(&mut session, "And Paris in January, in Fahrenheit?");
        assert_sound(&shown);
        report("weather: the next prompt led to a call with `fahrenheit`", shown.contains("fahrenheit"));
    }
}
