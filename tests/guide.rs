//! Compiles and runs the code of the guide, the README and the macros' documentation: `cargo test -p tool-tests --doc`.

macro_rules! pages {
    ($($page:ident = $file:literal),* $(,)?) => {
        $(
            #[doc = include_str!(concat!("../", $file, ".md"))]
            mod $page {}
        )*
    };
}

pages! {
    ag_ui = "docs/ag-ui",
    agent = "docs/agent",
    ai_sdk = "docs/coming-from/ai-sdk",
    application = "docs/application",
    approvals = "docs/approvals",
    compare = "docs/compare",
    backup = "docs/backup",
    callers = "docs/callers",
    concepts = "docs/concepts",
    deciders = "docs/deciders",
    deployment = "docs/deployment",
    dynamic_parameters = "docs/dynamic-parameters",
    expansion = "docs/expansion",
    external_tools = "docs/external-tools",
    feedback = "docs/feedback",
    first_tool = "docs/first-tool",
    frontends = "docs/frontends",
    glossary = "docs/glossary",
    how_do_i = "docs/how-do-i",
    http = "docs/http",
    index = "docs/README",
    layers = "docs/layers",
    mcp = "docs/mcp",
    models = "docs/models",
    providers = "docs/providers",
    observability = "docs/observability",
    openai_agents = "docs/coming-from/openai-agents",
    options = "docs/options",
    parameters = "docs/parameters",
    persistence = "docs/persistence",
    pydantic_ai = "docs/coming-from/pydantic-ai",
    readme = "README",
    restate = "docs/restate",
    rig = "docs/coming-from/rig",
    rmcp = "docs/coming-from/rmcp",
    scale = "docs/scale",
    security = "docs/security",
    stability = "docs/stability",
    stateless = "docs/stateless",
    streaming = "docs/streaming",
    temporal = "docs/temporal",
    testing = "docs/testing",
    troubleshooting = "docs/troubleshooting",
}

/// The macros' documentation. Its examples are tested here, because in the macros' own crate, they would compile the runtime a
/// second time. They also show deprecated forms.
#[doc(test(attr(allow(warnings))))]
mod macros {
    #[doc = include_str!("../tool-derive/src/docs/calls.md")]
    mod calls {}
    #[doc = include_str!("../tool-derive/src/docs/input.md")]
    mod input {}
    #[doc = include_str!("../tool-derive/src/docs/output.md")]
    mod output {}
    #[doc = include_str!("../tool-derive/src/docs/provide.md")]
    mod provide {}
    #[doc = include_str!("../tool-derive/src/docs/tool.md")]
    mod tool {}
    #[doc = include_str!("../tool-derive/src/docs/tools.md")]
    mod tools {}
}
