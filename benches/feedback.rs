//! The cost of a rejected call of a tool with 20 dynamic parameters, against its validators alone. The call also reads the
//! arguments, and writes the answer for the model. Because one parameter is rejected, the tool does not run.

use std::hint::black_box;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use tool_runtime::{
    Context, Toolset, Validation, tool, toolset,
    toolset::{DynamicField, RuntimeTool},
};

use crate::{clock, memory::allocations, report::Report};

/// The maximum cost of a rejected call, as a multiple of the cost of its validators alone.
const LIMIT: f64 = 15.0;

/// The number of the tool's dynamic parameters.
const PARAMETERS: usize = 20;

/// Measures rejected calls, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    let names = names();
    let texts: Vec<String> = names.clone();
    let typed = move || {
        for name in &texts {
            let _ = black_box(text(black_box(Some(name.clone())), ()));
        }
    };
    measure_refusal(report, "feedback/declared", &toolset!(Declared), Some(LIMIT), typed);
    let values = move || {
        for name in &names {
            let _ = black_box(judge(black_box(Some(Value::from(&**name)))));
        }
    };
    // There is no limit, because this tool reads its arguments as a tree, and checks them against a schema at run time.
    measure_refusal(report, "feedback/runtime", &runtime_tool(), None, values);
}

/// Measures a rejected call of the tool in `tools`, and reports it. `floor` only calls the tool's validators.
fn measure_refusal(report: &mut Report, target: &str, tools: &Toolset, limit: Option<f64>, mut floor: impl FnMut()) {
    if !report.wants(target) {
        return;
    }
    let (text, cx) = (arguments(&names()), Context::new("call_1"));
    let mut ours = || {
        let started = tools.prepare("Declared", black_box(&text), &cx).now_or_never().expect("nothing waits");
        let error = started.expect_err("one parameter is refused");
        black_box(error.rejection().map(tool_runtime::Rejection::to_json_text));
    };
    let made = allocations(&mut ours);
    let batches = clock::time_in_turns(
        &mut [&mut |rounds| (0..rounds).for_each(|_| ours()), &mut |rounds| (0..rounds).for_each(|_| floor())],
        200,
        400,
    );
    let pairs: Vec<_> = batches.iter().map(|batch| [batch[0], batch[1]]).collect();
    let [ratio, ours, floor] = clock::medians(&pairs);
    let how =
        format!("median of pairs; {ours:.0} ns with the validators, {floor:.0} ns for them alone; {made} allocations");
    match limit {
        Some(limit) => report.at_most(target, ratio, limit, &how),
        None => report.info(target, &format!("{ratio:.3} {how}")),
    }
}

/// A tool that is known at compile time. Every fourth parameter requires the previous one.
#[tool(external, output = String, allow(undescribed))]
#[allow(clippy::struct_field_names, reason = "they are many")]
struct Declared {
    #[dynamic(validate = text)]
    field_00: String,
    #[dynamic(validate = text)]
    field_01: String,
    #[dynamic(validate = text)]
    field_02: String,
    #[dynamic(validate = text, requires(field_02))]
    field_03: String,
    #[dynamic(validate = text)]
    field_04: String,
    #[dynamic(validate = text)]
    field_05: String,
    #[dynamic(validate = text)]
    field_06: String,
    #[dynamic(validate = text, requires(field_06))]
    field_07: String,
    #[dynamic(validate = text)]
    field_08: String,
    #[dynamic(validate = text)]
    field_09: String,
    #[dynamic(validate = text)]
    field_10: String,
    #[dynamic(validate = text, requires(field_10))]
    field_11: String,
    #[dynamic(validate = text)]
    field_12: String,
    #[dynamic(validate = text)]
    field_13: String,
    #[dynamic(validate = text)]
    field_14: String,
    #[dynamic(validate = text, requires(field_14))]
    field_15: String,
    #[dynamic(validate = text)]
    field_16: String,
    #[dynamic(validate = text)]
    field_17: String,
    #[dynamic(validate = text)]
    field_18: String,
    #[dynamic(validate = text, requires(field_18))]
    field_19: String,
}

fn text<C>(value: Option<String>, _: C) -> Validation<String> {
    value.map_or_else(|| Validation::reject("a value is needed"), Validation::accept)
}

fn names() -> Vec<String> {
    (0..PARAMETERS).map(|index| format!("field_{index:02}")).collect()
}

/// Returns arguments in which each value is its parameter's name. The last parameter is missing.
fn arguments(names: &[String]) -> String {
    let given = names[..PARAMETERS - 1].iter().map(|name| (name.clone(), Value::from(&**name)));
    Value::Object(given.collect()).to_string()
}

fn judge(value: Option<Value>) -> Validation<Value> {
    value.map_or_else(|| Validation::reject("a value is needed"), Validation::accept)
}

/// Returns a toolset with the tool [`Declared`], built at run time.
fn runtime_tool() -> Toolset {
    let names = names();
    let properties: Map<String, Value> = names.iter().map(|name| (name.clone(), json!({ "type": "string" }))).collect();
    let mut tool = RuntimeTool::new("Declared", "").input(json!({ "properties": properties })).dynamic();
    for (index, name) in names.iter().enumerate() {
        let requires = (index % 4 == 3).then(|| &names[index - 1]);
        tool = tool.field(DynamicField::new(name).requires(requires).validate(|value, _| judge(value)));
    }
    let tool = tool.external().expect("the parameters fit together");
    Toolset::new().with(tool).expect("one tool")
}
