//! The tools, the context and the answers of an input.

use super::{ClientTool, ContextEntry, Fields, Malformed, ResumeEntry, ResumeStatus};

pub(super) fn client_tool(mut fields: Fields<'_, '_>) -> Result<ClientTool, Malformed> {
    Ok(ClientTool {
        name: fields.text("name")?,
        description: fields.text("description")?,
        parameters: fields.any("parameters")?,
        metadata: fields.object("metadata")?,
    })
}

pub(super) fn context_entry(mut fields: Fields<'_, '_>) -> Result<ContextEntry, Malformed> {
    Ok(ContextEntry { description: fields.text("description")?, value: fields.text("value")? })
}

pub(super) fn resume_entry(mut fields: Fields<'_, '_>) -> Result<ResumeEntry, Malformed> {
    let interrupt_id = fields.text("interruptId")?;
    let status = match fields.text("status")?.as_str() {
        "resolved" => ResumeStatus::Resolved,
        "cancelled" => ResumeStatus::Cancelled,
        other => return Err(Malformed::new(fields.at("status"), "`resolved` or `cancelled`").got_text(other)),
    };
    Ok(ResumeEntry { interrupt_id, status, payload: fields.any("payload")?, metadata: fields.object("metadata")? })
}
