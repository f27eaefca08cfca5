//! The pages of the guide, so that their code is compiled and run: `cargo test -p tool-tests --doc`.

macro_rules! pages {
    ($($page:ident = $file:literal),* $(,)?) => {
        $(
            #[doc = include_str!(concat!("../docs/", $file, ".md"))]
            mod $page {}
        )*
    };
}

pages! {
    agent = "agent",
    ai_sdk = "coming-from/ai-sdk",
    approvals = "approvals",
    dynamic_parameters = "dynamic-parameters",
    expansion = "expansion",
    first_tool = "first-tool",
    frontends = "frontends",
    index = "README",
    mcp = "mcp",
    models = "models",
    observability = "observability",
    openai_agents = "coming-from/openai-agents",
    parameters = "parameters",
    persistence = "persistence",
    pydantic_ai = "coming-from/pydantic-ai",
    rig = "coming-from/rig",
    rmcp = "coming-from/rmcp",
    security = "security",
    streaming = "streaming",
    testing = "testing",
}
