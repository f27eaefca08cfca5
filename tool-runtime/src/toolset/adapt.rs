//! A tool under another spec.

use std::sync::Arc;

use crate::tool::{CallError, Context, DynTool, Output, Starting, ToolSpec};

/// `tool` under the name `name`.
pub(super) fn rename(tool: &Arc<dyn DynTool>, name: String) -> Arc<dyn DynTool> {
    let spec = ToolSpec { name, ..ToolSpec::clone(tool.spec()) };
    Arc::new(Adapted { inner: Arc::clone(tool), spec: Arc::new(spec) })
}

struct Adapted {
    inner: Arc<dyn DynTool>,
    spec: Arc<ToolSpec>,
}

impl DynTool for Adapted {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn start<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> Starting<'a> {
        self.inner.start(arguments, cx)
    }

    fn answer(&self, output: &str) -> Result<Output, CallError> {
        self.inner.answer(output)
    }
}
