//! A tool that gives its output bit by bit: a stream of outputs, of which the last is final.

use std::{
    pin::{Pin, pin},
    task::{self, Poll},
};

use futures_core::Stream;
use futures_util::StreamExt as _;

use super::{CallError, Context, Failure, Output};

/// The last of what `stream` gives, as `encode` writes it; each is shown as a preliminary output when it comes.
///
/// The stream is asked for the next output when the one before was shown and whoever watches has room for more: nothing is
/// kept here but the last. It is dropped where it is when one cannot be written or is an error, and when this future is.
///
/// Fails when the stream ends without an output.
pub(crate) async fn streamed<S: Stream>(
    stream: S,
    cx: &Context,
    encode: impl Fn(S::Item) -> Result<Output, CallError>,
) -> Result<Output, CallError> {
    // Encoded in there, so that an item does not have to be sent to another thread.
    let mut outputs = pin!(stream.map(encode));
    let mut last = None;
    while let Some(output) = outputs.next().await {
        let output = output?;
        cx.show(&output).await;
        last = Some(output);
        Pause(false).await;
    }
    last.ok_or_else(|| CallError::Failed(Failure::new("the tool ended without an output")))
}

/// Lets others have their turn, once: a stream that is always ready could not be stopped otherwise.
struct Pause(bool);

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, task: &mut task::Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        task.waker().wake_by_ref();
        Poll::Pending
    }
}
