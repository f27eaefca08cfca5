use tool_runtime::{
    Toolset,
    toolset::{Permission, PolicyCall},
};

async fn later(_: &PolicyCall<'_>) -> Permission {
    Permission::Ask
}

fn guard(tools: Toolset) -> Toolset {
    let tools = tools.policy(|call| if call.spec.name == "look" { Permission::Allow } else { Permission::Ask });
    let tools = tools.policy(|call| call.spec.name == "look");
    let tools = tools.policy(Permission::Ask);
    tools.policy(later)
}

fn main() {
    guard(Toolset::new());
}
