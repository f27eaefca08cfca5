//! A tool under another spec.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::tool::{CallError, Context, DynTool, InputHooks, Output, Starting, ToolSpec};

/// `tool` under the name `name`.
pub fn rename(tool: &Arc<dyn DynTool>, name: String) -> Arc<dyn DynTool> {
    let mut spec = ToolSpec::clone(tool.spec());
    spec.name = name;
    Arc::new(Adapted { inner: Arc::clone(tool), spec: Arc::new(spec) })
}

/// `tool` with more in its definition for one provider.
pub fn for_provider(tool: &Arc<dyn DynTool>, provider: &str, member: &str, value: &Value) -> Arc<dyn DynTool> {
    let mut spec = ToolSpec::clone(tool.spec());
    let members = spec.traits.provider.entry(provider).or_insert_with(|| Value::Object(Map::new()));
    if let Some(members) = members.as_object_mut() {
        members.insert(member.to_owned(), value.clone());
    }
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

    fn inside(&self) -> &[Arc<dyn DynTool>] {
        self.inner.inside()
    }

    fn hooks(&self) -> Option<&dyn InputHooks> {
        self.inner.hooks()
    }
}
