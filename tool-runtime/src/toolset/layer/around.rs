//! A tool inside a layer.

use std::{borrow::Cow, ptr, sync::Arc};

use super::{Invocation, Layer, Next, translated};
use crate::tool::{CallError, Context, DynTool, InputHooks, Output, Started, Starting, ToolSpec};

pub struct Around<L: ?Sized> {
    pub inner: Arc<dyn DynTool>,
    pub spec: Arc<ToolSpec>,
    pub layer: Arc<L>,
}

impl<L: Layer + ?Sized> Around<L> {
    /// `tool` inside `layer`, under its own name: a layer that gave names could give one twice.
    pub fn new(layer: Arc<L>, tool: Arc<dyn DynTool>) -> Self {
        let mut spec = layer.spec(tool.spec());
        if spec.name != tool.name() {
            Arc::make_mut(&mut spec).name = tool.name().to_owned();
        }
        Self { inner: tool, spec, layer }
    }

    pub fn invocation<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> Invocation<'a> {
        Invocation { spec: &self.spec, arguments, cx }
    }

    /// What the layer says of a call that was read, or could not be.
    fn told<T>(&self, read: Result<T, CallError>) -> Result<T, CallError> {
        read.map_err(|error| self.layer.refused(&self.spec, error))
    }

    /// A call whose arguments mean to the tool what they say.
    fn start_as_it_is<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> Starting<'a> {
        self.inner.start(arguments, cx).map(move |started| {
            let Started { needs_approval, normalized, touches, work } = self.told(started)?;
            let settled = normalized.clone();
            // The layer is asked when the work is polled, not before: an approval may still be missing.
            let work = Box::pin(async move {
                let arguments = settled.as_deref().unwrap_or(arguments);
                let call = self.invocation(arguments, cx);
                self.layer.call(call, Next { inner: &*self.inner, call, arguments, first: Some(work) }).await
            });
            Ok(Started { needs_approval, normalized, touches, work })
        })
    }
}

impl<L: Layer + ?Sized> DynTool for Around<L> {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn start<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> Starting<'a> {
        match self.layer.arguments(self.invocation(arguments, cx), self.inner.spec()) {
            Ok(Cow::Borrowed(same)) if ptr::eq(same, arguments) => self.start_as_it_is(arguments, cx),
            Ok(meant) => translated::start(self, arguments, meant.into_owned(), cx).map(|started| self.told(started)),
            Err(error) => Starting::read(self.told(Err(error))),
        }
    }

    fn answer(&self, output: &str) -> Result<Output, CallError> {
        self.layer.answered(&self.spec, self.inner.answer(output)?)
    }

    fn inside(&self) -> &[Arc<dyn DynTool>] {
        self.inner.inside()
    }

    /// What a model writes is for the layer where that changes the arguments, so the tool's hooks do not hear of it.
    fn hooks(&self) -> Option<&dyn InputHooks> {
        self.inner.hooks().filter(|_| Arc::ptr_eq(&self.spec.input, &self.inner.spec().input))
    }
}
