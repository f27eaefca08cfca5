//! The pieces of runs' turns, passed from their drivers to their followers in one process.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use futures_channel::mpsc;
use futures_util::stream::{BoxStream, Stream, StreamExt as _, unfold};

use crate::run::RunId;
use crate::sync::lock;

/// The maximum number of pieces that wait for a slow follower. The follower misses further pieces.
const MAX_QUEUED_PIECES: usize = 1024;

/// The channels between the drivers and the followers of runs.
#[derive(Clone, Debug, Default)]
pub struct PieceChannels(Arc<Mutex<HashMap<RunId, RunChannels>>>);

#[derive(Debug, Default)]
struct RunChannels {
    followers: Vec<mpsc::Sender<String>>,
    drivers: Vec<mpsc::UnboundedSender<bool>>,
}

impl RunChannels {
    fn report(&self, is_followed: bool) {
        // A driver may have gone already.
        self.drivers.iter().for_each(|driver| drop(driver.unbounded_send(is_followed)));
    }
}

impl PieceChannels {
    /// Passes a piece to the followers of `run`.
    pub fn publish(&self, run: &RunId, piece: &str) {
        if let Some(channels) = lock(&self.0).get_mut(run) {
            channels.followers.iter_mut().for_each(|follower| drop(follower.try_send(piece.to_owned())));
        }
    }

    /// Returns the pieces of `run` from now on.
    pub fn pieces(&self, run: &RunId) -> BoxStream<'static, String> {
        let (send, receive) = mpsc::channel(MAX_QUEUED_PIECES);
        let mut all = lock(&self.0);
        let channels = all.entry(run.clone()).or_default();
        channels.followers.push(send);
        channels.report(true);
        self.connect(run, receive)
    }

    /// Returns a stream that reports whether `run` has followers: each time that this changes, and for each new follower.
    pub fn watch_readers(&self, run: &RunId) -> BoxStream<'static, bool> {
        let (send, receive) = mpsc::unbounded();
        let mut all = lock(&self.0);
        let channels = all.entry(run.clone()).or_default();
        if !channels.followers.is_empty() {
            // The send cannot fail, because this function holds the receiver.
            let _ = send.unbounded_send(true);
        }
        channels.drivers.push(send);
        self.connect(run, receive)
    }

    fn connect<R: Stream + Send + Unpin + 'static>(&self, run: &RunId, receive: R) -> BoxStream<'static, R::Item> {
        let end = Subscription { receive, _hangs_up: HangUpGuard { channels: self.clone(), run: run.clone() } };
        unfold(end, |mut end| async move { Some((end.receive.next().await?, end)) }).boxed()
    }
}

/// An end of a run's channel. Its receiver is dropped first, so that the guard finds it closed.
struct Subscription<R> {
    receive: R,
    _hangs_up: HangUpGuard,
}

/// Removes the closed ends of a run's channels when it is dropped, and the channels with the last end.
struct HangUpGuard {
    channels: PieceChannels,
    run: RunId,
}

impl Drop for HangUpGuard {
    fn drop(&mut self) {
        let mut all = lock(&self.channels.0);
        let Some(channels) = all.get_mut(&self.run) else { return };
        let was_followed = !channels.followers.is_empty();
        channels.followers.retain(|follower| !follower.is_closed());
        channels.drivers.retain(|driver| !driver.is_closed());
        if channels.followers.is_empty() {
            if channels.drivers.is_empty() {
                all.remove(&self.run);
            } else if was_followed {
                channels.report(false);
            }
        }
    }
}
