//! The seam to a language model: one streaming method, and models that implement it.
//!
//! A [`Model`] gets the conversation and the tools that are on offer, and streams back text and calls. It knows nothing
//! of how calls are executed, so a scripted model, a person at a terminal and a provider over HTTP are alike to an agent.

mod delta;
mod error;
mod function;
mod request;
mod scripted;
mod turn;

use std::sync::Arc;

use futures_util::stream::BoxStream;

pub use delta::{Delta, Turn};
pub use error::{ModelError, ModelErrorKind};
pub use function::FunctionModel;
pub use request::{Request, Settings, ToolChoice};
pub use scripted::{Asked, ModelAnswer, ScriptedModel};

#[doc(no_inline)]
pub use crate::message::{FinishReason, Usage};

/// A language model, or anything that takes its place.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no model",
    label = "`Model` is not implemented",
    note = "models are `OpenAi`, `Anthropic`, `ScriptedModel`, a `FunctionModel`, a `Box` or an `Arc` of one, and what implements `Model`"
)]
pub trait Model: Send + Sync {
    /// The model's name, for logs.
    fn name(&self) -> &str;

    /// Whose model it is, for traces: a well-known value of OpenTelemetry's `gen_ai.provider.name`, where there is one.
    fn provider(&self) -> Option<&str> {
        None
    }

    /// Produces one turn. The stream ends after [`Delta::Finish`] or after the first error; a stream that ends without
    /// either was cut off, and nothing of its calls is executed.
    ///
    /// Dropping the stream cancels the turn.
    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>>;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn provider(&self) -> Option<&str> {
        (**self).provider()
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        (**self).stream(request)
    }
}

impl<M: Model + ?Sized> Model for Box<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn provider(&self) -> Option<&str> {
        (**self).provider()
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        (**self).stream(request)
    }
}
