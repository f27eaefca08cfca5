//! A call whose arguments mean something else to the tool than they say.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{self, Poll},
};

use super::{Layer, Next, around::Around};
use crate::feedback::Rejection;
use crate::tool::{CallError, CallFuture, Context, Resources, Started, Starting};
use tool_schema::json;
use tool_schema::json::text;

/// What is known of a call when it was read.
#[derive(Clone)]
struct Read {
    needs_approval: bool,
    normalized: Option<Box<str>>,
    touches: Option<Arc<Resources>>,
}

/// A call of `around` with `arguments`, which mean `meant` inside.
///
/// What the tool prepares borrows `meant`, so one future owns both. It stops when the arguments were read, which is where
/// the call begins, and goes on as the call's work.
pub fn start<'a, L: Layer + ?Sized>(
    around: &'a Around<L>,
    arguments: &'a str,
    meant: String,
    cx: &'a Context,
) -> Starting<'a> {
    let read = Arc::new(OnceLock::new());
    let noted = Arc::clone(&read);
    let mut call: CallFuture<'a> = Box::pin(async move {
        let started = match around.inner.start(&meant, cx).now() {
            Ok(started) => started?,
            Err(asking) => {
                // Nobody is asked before somebody waits for the answer.
                Pause(false).await;
                asking.await?
            }
        };
        let Started { needs_approval, normalized: changed, touches, work } = started;
        let normalized = match &changed {
            Some(changed) => Some(restored(around, arguments, &meant, changed, cx)?),
            None => None,
        };
        // Only this future sets it, and only here.
        let _ = noted.set(Read { needs_approval, normalized: normalized.clone(), touches });
        Pause(false).await;
        let call = around.invocation(normalized.as_deref().unwrap_or(arguments), cx);
        let arguments = changed.as_deref().unwrap_or(&meant);
        around.layer.call(call, Next { inner: &*around.inner, call, arguments, first: Some(work) }).await
    });
    match reading(&mut call, &read, &mut task::Context::from_waker(task::Waker::noop())) {
        Poll::Ready(Err(error)) => Starting::read(Err(error)),
        Poll::Ready(Ok(read)) => Starting::read(Ok(started(read, call))),
        Poll::Pending => Starting::asking(async move {
            let read = std::future::poll_fn(|task| reading(&mut call, &read, task)).await?;
            Ok(started(read, call))
        }),
    }
}

/// Lets `call` go on until the arguments were read.
fn reading(
    call: &mut CallFuture<'_>,
    read: &OnceLock<Read>,
    task: &mut task::Context<'_>,
) -> Poll<Result<Read, CallError>> {
    let polled = call.as_mut().poll(task);
    match (read.get(), polled) {
        (Some(read), _) => Poll::Ready(Ok(read.clone())),
        (None, Poll::Ready(Err(error))) => Poll::Ready(Err(error)),
        (None, Poll::Ready(Ok(_))) => unreachable!("a call does not end before it is read"),
        (None, Poll::Pending) => Poll::Pending,
    }
}

fn started(read: Read, work: CallFuture<'_>) -> Started<'_> {
    let Read { needs_approval, normalized, touches } = read;
    Started { needs_approval, normalized, touches, work }
}

/// A future that is not ready once. Whoever polls what it is in does so again, without being woken.
struct Pause(bool);

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Arguments from outside that mean `changed` inside.
fn restored<L: Layer + ?Sized>(
    around: &Around<L>,
    arguments: &str,
    meant: &str,
    changed: &str,
    cx: &Context,
) -> Result<Box<str>, CallError> {
    let said = around.layer.restore(around.invocation(arguments, cx), meant, changed);
    let said = said.filter(|said| {
        let means = around.layer.arguments(around.invocation(said, cx), around.inner.spec());
        means.is_ok_and(|means| json::same(&means, changed))
    });
    said.map(String::into_boxed_str).ok_or_else(|| {
        let told = format!("the arguments would be understood as {changed}, which cannot be said in the parameters");
        let cause = "a layer that changes arguments around a tool that normalises them implements `Layer::restore`";
        Rejection::from_message(told).with_causes([cause.to_owned()]).into()
    })
}

/// `given` with what `changed` says otherwise than `meant`, as far as those parameters mean what they say.
pub(crate) fn carried_over(given: &str, meant: &str, changed: &str) -> Option<String> {
    let (mut given, meant, changed) = (text::members(given)?, text::members(meant)?, text::members(changed)?);
    let places: HashMap<String, usize> = given.iter().map(|(name, _)| name.clone()).zip(0..).collect();
    let mut meant: HashMap<String, String> = meant.into_iter().collect();
    for (name, value) in changed {
        let before = meant.remove(&name);
        if before.as_ref().is_some_and(|before| json::same(before, &value)) {
            continue;
        }
        match (before, places.get(&name)) {
            (Some(before), Some(said)) if json::same(&before, &given[*said].1) => given[*said].1 = value,
            (None, None) => given.push((name, value)),
            _ => return None,
        }
    }
    // What is not in `changed` cannot be left out of `given`, which may say it otherwise.
    meant.is_empty().then(|| text::object(&given))
}
