//! How a tool tells what a call reads and writes.
//!
//! ```
//! # #[cfg(feature = "derive")] {
//! use tool_runtime::{tool, tool::Resources};
//!
//! /// Copy a file.
//! #[tool(touches = |input| Resources::new().reads(&input.from).writes(&input.to))]
//! fn copy(from: String, to: String) -> bool {
//!     std::fs::copy(from, to).is_ok()
//! }
//! # drop(copy("/none/a".into(), "/none/b".into()));
//! # }
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;

use super::Resources;

/// What the call with `input` touches, as `touches` says; everything, if it panics.
pub fn touched<I: ?Sized>(touches: impl Fn(&I) -> Resources, input: &I) -> Option<Arc<Resources>> {
    let touches = catch_unwind(AssertUnwindSafe(|| touches(input)));
    Some(Arc::new(touches.unwrap_or_else(|_| Resources::everything())))
}

/// What tells, from the arguments of a tool of run time, what a call touches.
#[derive(Clone)]
pub(crate) struct ResourcesOf(Arc<dyn Fn(&Value) -> Resources + Send + Sync>);

impl ResourcesOf {
    pub(crate) fn new(touches: impl Fn(&Value) -> Resources + Send + Sync + 'static) -> Self {
        Self(Arc::new(touches))
    }

    pub(crate) fn of(&self, arguments: &Value) -> Option<Arc<Resources>> {
        touched(&*self.0, arguments)
    }
}

impl std::fmt::Debug for ResourcesOf {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("ResourcesOf")
    }
}
