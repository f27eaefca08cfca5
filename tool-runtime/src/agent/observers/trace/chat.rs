//! The span of a model's turn: `chat`.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Instant,
};

use futures_util::stream::{BoxStream, Stream, StreamExt};
use tracing::{Span, field::Empty, info_span};

use super::{content, metrics, on::TARGET};
use crate::agent::Agent;
use crate::model::{Delta, Model, ModelError, Request, Turn};

/// The turn that `model` makes of `request`, in its span.
pub fn chat<'a>(agent: &Agent, model: &'a dyn Model, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
    let span = info_span!(
        target: TARGET,
        "chat",
        otel.name = %format_args!("chat {}", model.name()),
        otel.kind = "client",
        otel.status_code = Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = model.provider(),
        gen_ai.request.model = model.name(),
        gen_ai.request.max_tokens = request.settings.max_tokens,
        gen_ai.request.temperature = request.settings.temperature.map(f64::from),
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.system_instructions = Empty,
        gen_ai.input.messages = Empty,
        gen_ai.output.messages = Empty,
        gen_ai.tool.definitions = Empty,
        error.type = Empty,
    );
    if span.is_disabled() {
        return model.stream(request);
    }
    let shows = agent.setup.trace_content;
    if shows {
        if let Some(text) = content::instructions(request.messages) {
            span.record("gen_ai.system_instructions", text);
        }
        span.record("gen_ai.input.messages", content::input(request.messages));
        span.record("gen_ai.tool.definitions", content::tools(request.tools));
    }
    let stream = span.in_scope(|| model.stream(request));
    let said = shows.then(Turn::default);
    Chat { stream, span, model, since: Instant::now(), begun: false, over: false, usage: None, said }.boxed()
}

/// A turn that is watched.
struct Chat<'a> {
    stream: BoxStream<'a, Result<Delta, ModelError>>,
    span: Span,
    model: &'a dyn Model,
    since: Instant,
    begun: bool,
    over: bool,
    usage: Option<crate::message::Usage>,
    /// The turn of the model so far, where it is to be shown.
    said: Option<Turn>,
}

impl Stream for Chat<'_> {
    type Item = Result<Delta, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let span = self.span.clone();
        let _entered = span.enter();
        let next = self.stream.poll_next_unpin(cx);
        if let Poll::Ready(delta) = &next {
            self.came(delta.as_ref());
        }
        next
    }
}

impl Chat<'_> {
    fn came(&mut self, delta: Option<&Result<Delta, ModelError>>) {
        if !std::mem::replace(&mut self.begun, true) && matches!(delta, Some(Ok(_))) {
            metrics::first(self.since.elapsed(), self.model.name());
        }
        match delta {
            Some(Ok(delta)) => {
                if let Some(said) = &mut self.said {
                    said.push(delta.clone());
                }
                match delta {
                    Delta::Usage(usage) => self.usage = Some(*usage),
                    Delta::Finish(reason) => {
                        self.span.record("gen_ai.response.finish_reasons", content::reasons(reason).as_str());
                        self.end(None);
                    }
                    _ => {}
                }
            }
            Some(Err(error)) => self.end(Some(metrics::model_error(error))),
            None => self.end(Some("cut_off")),
        }
    }

    fn end(&mut self, error: Option<&'static str>) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        if let Some(usage) = self.usage {
            self.span.record("gen_ai.usage.input_tokens", usage.input_tokens);
            self.span.record("gen_ai.usage.output_tokens", usage.output_tokens);
            if usage.cached_tokens > 0 {
                self.span.record("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens);
            }
            metrics::tokens(usage, self.model.name(), self.model.provider());
        }
        if let Some(error) = error {
            self.span.record("error.type", error);
            self.span.record("otel.status_code", "ERROR");
        }
        if let Some(said) = &self.said {
            self.span.record("gen_ai.output.messages", content::output(said));
        }
        metrics::duration("chat", self.since.elapsed(), self.model.name(), None, error);
    }
}

impl Drop for Chat<'_> {
    fn drop(&mut self) {
        let span = self.span.clone();
        // Nobody waits for the rest.
        span.in_scope(|| self.end(Some("cancelled")));
    }
}
