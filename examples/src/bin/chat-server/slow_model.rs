//! A model that streams slowly, like a language model over a network.

use std::time::Duration;

use futures_util::{StreamExt, stream, stream::BoxStream};
use tool_runtime::Part;
use tool_runtime::feedback::FeedbackFormat;
use tool_runtime::model::{Delta, Model, ModelError, Request};

/// The pause before each piece.
const PAUSE: Duration = Duration::from_millis(25);

/// The number of characters in a piece of a call's arguments.
const PIECE: usize = 6;

/// A model that delays each piece of another model's turns, and cuts arguments into small pieces. So a viewer can watch the
/// page grow.
pub(crate) struct SlowModel<M>(pub(crate) M);

impl<M: Model> Model for SlowModel<M> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn takes(&self, part: &Part) -> bool {
        self.0.takes(part)
    }

    fn feedback_format(&self) -> FeedbackFormat {
        self.0.feedback_format()
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let pieces = self.0.stream(request).flat_map(|delta| stream::iter(split(delta)));
        let slow = pieces.then(|delta| async {
            tokio::time::sleep(PAUSE).await;
            delta
        });
        slow.boxed()
    }
}

fn split(delta: Result<Delta, ModelError>) -> Vec<Result<Delta, ModelError>> {
    let Ok(Delta::CallArguments { index, text }) = delta else { return vec![delta] };
    let all: Vec<char> = text.chars().collect();
    all.chunks(PIECE).map(|piece| Ok(Delta::CallArguments { index, text: piece.iter().collect() })).collect()
}
