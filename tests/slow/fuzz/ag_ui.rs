//! Reads requests in AG-UI's protocol.

use tool_runtime::Toolset;
use tool_server::protocol::ag_ui::{AgUiEncoder, ArgumentCheck, ClientTools, Frontend, Plan, RunInput};
use tool_server::protocol::{Encoder, End};

/// Reads a body as AG-UI, and does the work of an endpoint before the first effect.
pub(crate) fn read(text: &str) {
    let Ok(input) = RunInput::read(text.as_bytes()) else { return };
    let plan = Plan::new(None, &input, &Toolset::new());
    let Ok(tools) = ClientTools::new(&input.tools, ArgumentCheck::Reject) else { return };
    let all = tools.join(&Toolset::new());
    let mut out = Vec::new();
    let mut writer = AgUiEncoder::new(&input, all, "anna".into(), "1").client_tools(tools).warnings(plan.warnings);
    writer = writer.frontend(Frontend::new(input));
    writer.begin(&mut out);
    writer.end(End::new(None, None), &mut out);
    assert!(out.ends_with(b"\n\n") && !out.contains(&b'\r'), "frames end in LF");
}
