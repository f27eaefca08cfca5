//! What it costs to answer a call of a tool with 20 dynamic parameters, beyond its validators: the arguments are read, every
//! validator is asked, and the answer is written for the model. One parameter is refused, so nothing runs.

use std::hint::black_box;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use tool_runtime::{
    Context, Toolset, Verdict,
    toolset::{DynamicField, RuntimeTool},
};

use crate::{clock, memory::allocations, report::Report};

/// How many dynamic parameters the tool has.
const PARAMETERS: usize = 20;

/// Prints the targets of feedback.
pub(crate) fn measure(report: &mut Report) {
    if report.wants("feedback/runtime") {
        let (names, tools) = (names(), runtime());
        let text = arguments(&names);
        let cx = Context::new("call_1");
        let floor = {
            let names = names.clone();
            move || {
                for name in &names {
                    let _ = black_box(judge(black_box(Some(Value::from(&**name)))));
                }
            }
        };
        let mut ours = || {
            let started = tools.start("tool", black_box(&text), &cx).now_or_never().expect("nothing waits");
            let error = started.expect_err("one parameter is refused");
            black_box(error.feedback().map(tool_runtime::Rejection::to_json_text));
        };
        let made = allocations(&mut ours);
        let times = clock::least(
            &mut [&mut |rounds| (0..rounds).for_each(|_| ours()), &mut |rounds| (0..rounds).for_each(|_| floor())],
            200,
            400,
        );
        let [ours, floor] = times[..] else { return };
        let how = format!("us; {ours:.0} ns with the validators, {floor:.0} ns for them alone; {made} allocations");
        report.at_most("feedback/runtime", (ours - floor) / 1000.0, 5.0, &how);
    }
}

fn names() -> Vec<String> {
    (0..PARAMETERS).map(|index| format!("field_{index:02}")).collect()
}

/// Each parameter's value is its name; the last is not given.
fn arguments(names: &[String]) -> String {
    let given = names[..PARAMETERS - 1].iter().map(|name| (name.clone(), Value::from(&**name)));
    Value::Object(given.collect()).to_string()
}

fn judge(value: Option<Value>) -> Verdict<Value> {
    value.map_or_else(|| Verdict::reject("a value is needed"), Verdict::accept)
}

/// A tool of which nothing is known at compile time. Each fourth parameter requires the one before it.
fn runtime() -> Toolset {
    let names = names();
    let properties: Map<String, Value> = names.iter().map(|name| (name.clone(), json!({ "type": "string" }))).collect();
    let mut tool = RuntimeTool::new("tool", "").input(json!({ "properties": properties })).dynamic();
    for (index, name) in names.iter().enumerate() {
        let requires = (index % 4 == 3).then(|| &names[index - 1]);
        tool = tool.field(DynamicField::new(name).requires(requires).validate(|value, _| judge(value)));
    }
    let tool = tool.external().expect("the parameters fit together");
    Toolset::new().with(tool).expect("one tool")
}
