//! Which calls need no run.

use super::super::{Agent, driver::is_traced, knobs::Knobs};
use crate::run::Limits;
use crate::tool::{Approval, DynTool};

impl Agent {
    /// Whether calls of `tool` need no run: none would be kept, heard, judged, limited or tried again by one.
    pub(super) fn makes_plain_calls(&self, tool: &dyn DynTool) -> bool {
        // Named one by one, so that whoever adds something has to say whether it needs a run.
        let Self {
            model: _,
            tools: _,
            front: _,
            instructions: _,
            context: _,
            settings: _,
            tool_choice: _,
            options,
            inspector,
            store,
            lease: _,
            hooks,
            repair,
            clock: _,
            observed: _,
            knobs,
            input_hooks,
            openings: _,
        } = self;
        let Knobs { stop, prepare: _, active: _, order: _, provided: _, timeouts, fallbacks: _, again: _, prune: _ } =
            knobs;
        let is_kept = store.is_some();
        let is_heard = !hooks.is_empty() || input_hooks.is_some() || tool.hooks().is_some() || is_traced();
        let is_judged = inspector.has_rules() || repair.is_some() || stop.is_some();
        let is_limited = options.limits != Limits::default() || timeouts.step.is_some();
        let traits = &tool.spec().traits;
        let asks = traits.approval == Approval::Always || traits.external;
        // An agent as a tool asks its run what is left of its limits.
        let goes_on = traits.retries > 0 || traits.resumable || !tool.inside().is_empty();
        !(is_kept || is_heard || is_judged || is_limited || asks || goes_on)
    }
}
