//! A model that is a function.

use std::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering},
};

use futures_util::stream::{self, BoxStream, Stream, StreamExt};

use super::{Asked, Delta, Model, ModelAnswer, ModelError, Request};

/// A model that is a function of the request, for tests, examples and rules that need no language model.
///
/// ```
/// use tool_runtime::model::{FunctionModel, Turn};
///
/// let echo = FunctionModel::new(|request| Turn::say(format!("{} messages", request.messages.len())));
/// # let _ = echo;
/// ```
pub struct FunctionModel {
    function: Function,
    turns: AtomicUsize,
}

type Function = Box<dyn Fn(Request<'_>, usize) -> BoxStream<'static, Result<Delta, ModelError>> + Send + Sync>;

impl FunctionModel {
    /// A model whose turn is what `function` makes of the request: a [`Turn`](super::Turn), deltas or an error.
    pub fn new<A: Into<ModelAnswer>>(function: impl Fn(Request<'_>) -> A + Send + Sync + 'static) -> Self {
        Self::made(move |request, turn| stream::iter(function(request).into().deltas(turn)).boxed())
    }

    /// A model whose turn is the stream that `function` makes of the request; it may take its time.
    pub fn streaming<S>(function: impl Fn(Asked) -> S + Send + Sync + 'static) -> Self
    where
        S: Stream<Item = Result<Delta, ModelError>> + Send + 'static,
    {
        Self::made(move |request, _| function(Asked::from(request)).boxed())
    }

    fn made(
        function: impl Fn(Request<'_>, usize) -> BoxStream<'static, Result<Delta, ModelError>> + Send + Sync + 'static,
    ) -> Self {
        Self { function: Box::new(function), turns: AtomicUsize::new(0) }
    }
}

impl Model for FunctionModel {
    fn name(&self) -> &'static str {
        "function"
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let called = async move {
            let turn = self.turns.fetch_add(1, Ordering::Relaxed) + 1;
            (self.function)(request, turn)
        };
        stream::once(called).flatten().boxed()
    }
}

impl fmt::Debug for FunctionModel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("FunctionModel").field("turns", &self.turns).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::{message::Message, model::Turn, toolset::ToolList};

    fn play(model: &FunctionModel) -> Vec<Delta> {
        let (messages, tools) = ([Message::user("a"), Message::user("b")], ToolList::default());
        let all = model.stream(Request::new(&messages, &tools)).map(Result::unwrap).collect::<Vec<_>>();
        all.now_or_never().expect("these functions never wait")
    }

    #[test]
    fn answers_from_the_request() {
        let model = FunctionModel::new(|request| Turn::call("count", request.messages.len()));
        let first = play(&model);
        assert_eq!(first[0], Delta::CallStart { index: 0, id: "call_1_0".into(), name: "count".into() });
        assert_eq!(first[1], Delta::CallArguments { index: 0, text: "2".into() });
        assert_ne!(play(&model)[0], first[0], "each turn has ids of its own");
    }

    #[test]
    fn streams_from_an_owned_request() {
        let model = FunctionModel::streaming(|asked| {
            stream::iter(asked.messages).map(|message| Ok(Delta::Text(format!("{message:?}"))))
        });
        assert_eq!(play(&model).len(), 2);
    }
}
