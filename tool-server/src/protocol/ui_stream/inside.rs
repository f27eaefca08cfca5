//! Calls inside of a call, where a tool is an agent, that the client executes.

use super::{Chunk, Json, UiStream, approval_id, call::Call, steps::Step};
use tool_runtime::run::{CallId, Obligation};

impl UiStream {
    /// The client is to execute a call that was made inside of another. It is told as a call of its own, under the id that
    /// its answer is known by, and in a step of its own: clients go on by themselves when all calls of the last step have
    /// ended, and the call around it has not.
    pub(super) fn handed_out(&mut self, open: &Obligation, out: &mut Vec<u8>) {
        let id = approval_id(&self.run, open);
        if self.find(&CallId::from(id.as_str())).is_some() {
            return;
        }
        self.finish_step(out);
        self.step = Step::Due;
        self.open_step(out);
        let shown = &open.innermost().shown;
        let available = Chunk::ToolInputAvailable {
            tool_call_id: &id,
            tool_name: &shown.tool,
            input: Json::Value(&shown.arguments),
            provider_executed: None,
            provider_metadata: None,
            tool_metadata: None,
            dynamic: None,
            title: shown.title.as_deref(),
        };
        self.frame(&available, out);
        self.has_calls = true;
        self.calls.push(Call::handed_out(&id, &shown.tool));
    }
}
