//! The memory of the agents that a server makes for its callers.

use futures_util::future::ready;
use tool_runtime::{
    Agent, Toolset,
    agent::Caller,
    model::{ScriptedModel, Turn},
    toolset::Permission,
};

use crate::{many, memory, report::Report};

const NAME: &str = "callers/1000";

const CALLERS: u32 = 1_000;

/// Measures 1,000 agents of callers at the same time, each with 20 tools, a policy and instructions of its own, and reports the target.
pub(crate) fn measure(report: &mut Report) {
    if !report.wants(NAME) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime starts");
    let bytes = memory::count_during(|| {
        let tools = first_tools(20);
        let desk = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).for_each_caller(move |agent, caller| {
            let role = caller.claims["role"].as_str().unwrap_or_default().to_owned();
            let agent = agent.tools(tools.clone()).instructions(format!("You help {}, a {role}.", caller.principal));
            let agent = agent.policy(move |_| if role == "clerk" { Permission::Allow } else { Permission::Ask });
            ready(Ok(agent))
        });
        let make = |n: u32| {
            let caller = Caller::new(format!("principal {n}")).with_claims(serde_json::json!({ "role": "clerk" }));
            runtime.block_on(desk.for_caller(caller)).expect("the function succeeds")
        };
        // The first agents also allocate what all share.
        let _first = [make(0), make(1)];
        let mut agents = Vec::with_capacity(CALLERS as usize);
        let before = memory::live();
        agents.extend((0..CALLERS).map(make));
        #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
        let held = (memory::live() - before) as f64;
        held / f64::from(CALLERS)
    });
    let how = format!("bytes of heap for each of {CALLERS} agents at the same time, with 20 shared tools: {bytes:.0}");
    report.at_most(NAME, bytes, 2048.0, &how);
}

fn first_tools(count: usize) -> Toolset {
    let names: Vec<String> = many::tools().names().take(count).map(str::to_owned).collect();
    many::tools().filter(|tool| names.contains(&tool.name))
}
