//! The notifications of appends and of pieces of turns: one connection for each store, whatever the number of runs.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher as _,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{
    StreamExt as _,
    future::{Either, select},
    stream::{BoxStream, unfold},
};
use tokio::{
    runtime::Handle,
    sync::{Mutex as AsyncMutex, mpsc, watch},
    task::JoinHandle,
    time::{Instant, interval, sleep, timeout},
};
use tokio_postgres::{AsyncMessage, Client};

use super::{
    pool::{Connections, Dial, Messages, describe},
    value::SqlValue as _,
};

/// The first and the maximum wait before a lost connection is opened again.
const WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// The interval at which the store checks the connection, and announces again which runs it follows.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The maximum time for a response of the server. After it, the connection counts as lost.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The time for which a driver notifies its appends after another process announced that it follows the run.
const FOLLOW_TIME: Duration = Duration::from_secs(15);

/// Sends notifications.
const NOTIFY: &str = "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload";

/// The mark, in place of a log's length, of a notification that another process follows the run.
const FOLLOW: &str = "?";

/// The mark of a notification with which a store finds out whether notifications arrive.
const PROBE: &str = "!";

/// The maximum time for the arrival of that notification.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The mark of a notification with pieces, in place of a log's length. The length of the run's id follows the mark, so that the
/// id can be any text.
const PIECES: char = '+';

/// The length in bytes from which an id, or an id with pieces, is too long for a notification.
const MAX_NOTE_BYTES: usize = 7900;

/// The time for which pieces are collected, so that there are few notifications.
const PIECE_DELAY: Duration = Duration::from_millis(30);

/// The maximum number of pieces that wait to be sent, or that wait for a slow follower. Further pieces are lost.
const MAX_QUEUED_PIECES: usize = 1024;

/// The notifications that a store receives.
pub struct Notifications {
    wire: Arc<Wire>,
    listeners: Arc<Listeners>,
    /// The task with the connection. It starts with the first watch.
    task: Mutex<Option<JoinHandle<()>>>,
}

/// The watched runs, by their stored ids, and the channels to the connection.
struct Listeners {
    runs: Mutex<HashMap<String, WatchedRun>>,
    /// Changes when notifications may have been missed.
    gaps: watch::Sender<()>,
    /// Notifications to send, and pieces with the stored ids of their runs.
    send: mpsc::UnboundedSender<String>,
    pieces: mpsc::Sender<(String, String)>,
}

struct WatchedRun {
    /// The length of the log; [`u64::MAX`] if it is not known.
    rev: watch::Sender<u64>,
    /// The number of watches of this process that follow a driver in another process.
    follows: usize,
    /// The time until which other processes follow the run; `None` if none does.
    followed: Option<Instant>,
    /// Changes when another process announces that it follows the run, and when `followed` ends.
    is_followed: watch::Sender<bool>,
    /// The readers of the pieces of its turns.
    readers: Vec<mpsc::Sender<String>>,
}

impl WatchedRun {
    /// Returns whether a driver of this process watches the run.
    fn is_driven(&self) -> bool {
        self.rev.receiver_count() > self.follows
    }
}

impl Listeners {
    fn runs(&self) -> MutexGuard<'_, HashMap<String, WatchedRun>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Receives a notification: the length of a log, or a mark, and the run's id. The id is empty if it was too long.
    fn receive(&self, payload: &str) {
        let (rev, id) = payload.split_once(' ').unwrap_or_default();
        if rev == PROBE {
            return;
        }
        let mut runs = self.runs();
        if let Some(length) = rev.strip_prefix(PIECES) {
            let parts = length.parse().ok().and_then(|length| id.split_at_checked(length));
            if let Some((run, pieces)) = parts.and_then(|(id, pieces)| Some((runs.get(id)?, pieces))) {
                for (piece, reader) in
                    pieces.lines().flat_map(|piece| run.readers.iter().map(move |reader| (piece, reader)))
                {
                    // A slow reader misses the piece.
                    drop(reader.try_send(piece.to_owned()));
                }
            }
        } else if id.is_empty() {
            self.gaps.send_replace(());
        } else if let Some(run) = runs.get_mut(id) {
            if rev != FOLLOW {
                run.rev.send_replace(rev.parse().unwrap_or(u64::MAX));
            } else if run.is_driven() {
                let before = run.followed.replace(Instant::now() + FOLLOW_TIME);
                run.is_followed.send_replace(true);
                if before.is_none_or(|until| until < Instant::now()) {
                    self.report_gap(id);
                }
            }
        }
    }

    /// Makes followers read the run, because they have missed appends.
    fn report_gap(&self, id: &str) {
        drop(self.send.send(format!("{} {id}", u64::MAX)));
    }

    fn announce(&self, id: &str) {
        drop(self.send.send(format!("{FOLLOW} {id}")));
    }

    /// Announces again which runs this process follows, because a run may have another driver by now.
    fn announce_all(&self) {
        self.runs().iter().filter(|(_, run)| run.follows > 0).for_each(|(id, _)| self.announce(id));
    }

    /// Forgets the followers in other processes that have not announced themselves again.
    fn end_follows(&self) {
        for run in self.runs().values_mut() {
            if run.followed.take_if(|until| *until < Instant::now()).is_some() {
                run.is_followed.send_replace(false);
            }
        }
    }
}

/// A watch of one run. The end of the last watch of a run removes the run from the listeners.
struct Watch {
    listeners: Arc<Listeners>,
    id: String,
    follows: bool,
    revs: Option<watch::Receiver<u64>>,
    gaps: watch::Receiver<()>,
}

impl Watch {
    async fn next(&mut self) -> Option<u64> {
        let revs = self.revs.as_mut()?;
        match select(pin!(revs.changed()), pin!(self.gaps.changed())).await {
            Either::Left((changed, _)) => changed.ok()?,
            Either::Right((missed, _)) => return missed.ok().map(|()| u64::MAX),
        }
        Some(*revs.borrow_and_update())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut runs = self.listeners.runs();
        self.revs = None;
        if let Some(run) = runs.get_mut(&self.id) {
            run.follows -= usize::from(self.follows);
            if run.rev.receiver_count() == 0 {
                runs.remove(&self.id);
            }
        }
    }
}

impl Notifications {
    /// Creates the notifications of the schema `schema`, received over a connection that `dial` makes.
    pub fn new(dial: Dial, schema: &str) -> Self {
        let (send, notes) = mpsc::unbounded_channel();
        let (pieces, collected) = mpsc::channel(MAX_QUEUED_PIECES);
        let listeners = Arc::new(Listeners { runs: Mutex::default(), gaps: watch::Sender::new(()), send, pieces });
        let channel = schema.to_owned();
        Self {
            wire: Arc::new(Wire { dial, channel, outgoing: AsyncMutex::new(Outgoing { notes, pieces: collected }) }),
            listeners,
            task: Mutex::default(),
        }
    }

    /// Returns whether another process follows the run with this stored id, which this process drives.
    pub fn is_followed(&self, id: &str) -> bool {
        self.listeners.runs().get(id).is_some_and(|run| run.followed.is_some_and(|until| until >= Instant::now()))
    }

    /// Reports an append to the run with this stored id that caused no notification, if another process follows the run by now.
    pub fn report_append(&self, id: &str) {
        if self.is_followed(id) {
            self.listeners.report_gap(id);
        }
    }

    /// Watches the run with this stored id. If `follows` is set, its driver notifies all of its appends. Returns `None` outside
    /// of a tokio runtime, or if `follows` is set and the id is too long for a notification.
    pub fn watch(&self, id: &str, follows: bool) -> Option<BoxStream<'static, u64>> {
        let (watch, ()) = self.begin_watch(id, follows, |_| ())?;
        Some(unfold(watch, |mut watch| async move { Some((watch.next().await?, watch)) }).boxed())
    }

    /// Publishes a piece of the run with this stored id.
    pub fn publish(&self, id: &str, piece: String) {
        if id.len() + piece.len() < MAX_NOTE_BYTES {
            // If too many pieces wait, this one is lost.
            drop(self.listeners.pieces.try_send((id.to_owned(), piece)));
        }
    }

    /// Returns the pieces of the run with this stored id. Its driver publishes them from now on.
    pub fn pieces(&self, id: &str) -> Option<BoxStream<'static, String>> {
        let (reader, pieces) = mpsc::channel(MAX_QUEUED_PIECES);
        let (watch, ()) = self.begin_watch(id, true, |run| {
            run.readers.retain(|reader| !reader.is_closed());
            run.readers.push(reader);
        })?;
        let next = |(mut pieces, watch): (mpsc::Receiver<String>, Watch)| async move {
            Some((pieces.recv().await?, (pieces, watch)))
        };
        Some(unfold((pieces, watch), next).boxed())
    }

    /// Returns a stream that yields `true` when another process announces that it follows the run, and `false` when none does.
    pub fn watch_readers(&self, id: &str) -> Option<BoxStream<'static, bool>> {
        let (watch, followed) = self.begin_watch(id, false, |run| {
            let mut followed = run.is_followed.subscribe();
            if *followed.borrow() {
                followed.mark_changed();
            }
            followed
        })?;
        let next = |(mut followed, watch): (watch::Receiver<bool>, Watch)| async move {
            followed.changed().await.ok()?;
            let is_followed = *followed.borrow_and_update();
            Some((is_followed, (followed, watch)))
        };
        Some(unfold((followed, watch), next).boxed())
    }

    /// Begins a watch, and then announces it if it follows the run. Returns the watch, and the value of `subscribe`.
    fn begin_watch<R>(
        &self,
        id: &str,
        follows: bool,
        subscribe: impl FnOnce(&mut WatchedRun) -> R,
    ) -> Option<(Watch, R)> {
        let runtime = Handle::try_current().ok().filter(|_| !follows || id.len() < MAX_NOTE_BYTES)?;
        let (revs, gaps, subscribed) = {
            let mut runs = self.listeners.runs();
            let new = || WatchedRun {
                rev: watch::Sender::new(0),
                follows: 0,
                followed: None,
                is_followed: watch::Sender::new(false),
                readers: Vec::new(),
            };
            let run = runs.entry(id.to_owned()).or_insert_with(new);
            run.follows += usize::from(follows);
            (Some(run.rev.subscribe()), self.listeners.gaps.subscribe(), subscribe(run))
        };
        if follows {
            self.listeners.announce(id);
        }
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        // The runtime of an earlier task may be gone.
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            let (wire, listeners) = (Arc::clone(&self.wire), Arc::clone(&self.listeners));
            *task = Some(runtime.spawn(async move { wire.run(&listeners).await }));
        }
        Some((Watch { listeners: Arc::clone(&self.listeners), id: id.to_owned(), follows, revs, gaps }, subscribed))
    }
}

impl Drop for Notifications {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

/// The connection of a store's notifications.
struct Wire {
    dial: Dial,
    channel: String,
    outgoing: AsyncMutex<Outgoing>,
}

/// The notifications to send, and the pieces to send with the stored ids of their runs.
struct Outgoing {
    notes: mpsc::UnboundedReceiver<String>,
    pieces: mpsc::Receiver<(String, String)>,
}

impl Outgoing {
    /// Waits for a notification or a piece.
    async fn next(&mut self) -> Either<Option<String>, Option<(String, String)>> {
        match select(pin!(self.notes.recv()), pin!(self.pieces.recv())).await {
            Either::Left((note, _)) => Either::Left(note),
            Either::Right((piece, _)) => Either::Right(piece),
        }
    }

    /// Takes all pieces that wait after `first`, and returns their notifications. Each holds as many pieces of one run as fit.
    fn take_pieces(&mut self, first: (String, String)) -> Vec<String> {
        let mut pieces = vec![first];
        while let Ok(piece) = self.pieces.try_recv() {
            pieces.push(piece);
        }
        // The sort keeps the order of the pieces of a run.
        pieces.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut payloads: Vec<String> = Vec::new();
        for (id, piece) in pieces {
            let begin = format!("{PIECES}{} {id}", id.len());
            match payloads.last_mut() {
                Some(last) if last.starts_with(&begin) && last.len() + piece.len() < MAX_NOTE_BYTES => {
                    last.push('\n');
                    last.push_str(&piece);
                }
                _ => payloads.push(begin + &piece),
            }
        }
        payloads
    }
}

impl Wire {
    /// Receives and sends notifications for ever. Connects again when the connection is lost.
    async fn run(&self, listeners: &Listeners) {
        let (first, max) = WAITS;
        let mut wait = first;
        loop {
            let mut has_listened = false;
            if let Ok(Ok((client, mut messages))) = timeout(RESPONSE_TIMEOUT, (self.dial)()).await {
                let sending = self.listen_and_send(&client, listeners, &mut has_listened);
                select(pin!(receive_all(&mut messages, listeners)), pin!(sending)).await;
            }
            if has_listened {
                wait = first;
            }
            sleep(wait).await;
            wait = (wait * 2).min(max);
        }
    }

    /// Listens, and sends notifications and pieces, until the connection is lost.
    async fn listen_and_send(&self, client: &Client, listeners: &Listeners, has_listened: &mut bool) {
        let listen = listen_statement(&self.channel);
        if !succeeds_in_time(client.batch_execute(&listen)).await {
            return;
        }
        *has_listened = true;
        // Appends before this moment caused no notification, so each watch must read its run.
        listeners.gaps.send_replace(());
        let mut outgoing = self.outgoing.lock().await;
        let mut beat = interval(CHECK_INTERVAL);
        loop {
            let next = match select(pin!(outgoing.next()), pin!(beat.tick())).await {
                Either::Left((next, _)) => Some(next),
                Either::Right(_) => None,
            };
            let payloads = match next {
                Some(Either::Left(note)) => {
                    let waiting = std::iter::from_fn(|| outgoing.notes.try_recv().ok());
                    note.into_iter().chain(waiting).collect()
                }
                Some(Either::Right(piece)) => {
                    sleep(PIECE_DELAY).await;
                    piece.map_or_else(Vec::new, |piece| outgoing.take_pieces(piece))
                }
                None => {
                    listeners.announce_all();
                    listeners.end_follows();
                    Vec::new()
                }
            };
            let is_alive = if payloads.is_empty() {
                succeeds_in_time(client.batch_execute("")).await
            } else {
                succeeds_in_time(client.query_typed(NOTIFY, &[self.channel.typed(), payloads.typed()])).await
            };
            if !is_alive {
                return;
            }
        }
    }
}

fn listen_statement(channel: &str) -> String {
    format!("LISTEN \"{channel}\"")
}

/// Returns whether a notification that one of `connections` sends arrives over a connection that `dial` makes. It does not if
/// `dial` leads to a pooler with transactions or without a free session, or to another database.
///
/// Fails if `dial` makes no connection, with the reason.
pub async fn are_delivered(dial: &Dial, channel: &str, connections: &Connections) -> Result<bool, String> {
    let connected = timeout(RESPONSE_TIMEOUT, dial()).await.map_err(|_| "no response".to_owned())?;
    let (client, mut messages) = connected.map_err(|error| describe(&error))?;
    let payload = format!("{PROBE} {:x}", RandomState::new().hash_one(channel));
    let arrived = async {
        while let Some(Ok(message)) = messages.next().await {
            if matches!(&message, AsyncMessage::Notification(news) if news.payload() == payload) {
                return true;
            }
        }
        false
    };
    // Another connection sends it: behind a pooler, this one could receive what its own statement causes.
    let sent = async {
        if succeeds_in_time(client.batch_execute(&listen_statement(channel))).await
            && let Ok(db) = connections.get().await
            && succeeds_in_time(db.query_typed("SELECT pg_notify($1, $2)", &[channel.typed(), payload.typed()])).await
        {
            drop(db);
            sleep(PROBE_TIMEOUT).await;
        }
        false
    };
    let are_delivered = match select(pin!(arrived), pin!(sent)).await {
        Either::Left((are_delivered, _)) | Either::Right((are_delivered, _)) => are_delivered,
    };
    if !are_delivered {
        // A pooler would go on to receive notifications on its connection of the server.
        let unlisten = format!("UNLISTEN \"{channel}\"");
        let ended = succeeds_in_time(client.batch_execute(&unlisten));
        let rest = async { while let Some(Ok(_)) = messages.next().await {} };
        select(pin!(ended), pin!(rest)).await;
    }
    Ok(are_delivered)
}

/// Returns whether `response` arrives in time, without an error.
async fn succeeds_in_time<T>(response: impl Future<Output = Result<T, tokio_postgres::Error>>) -> bool {
    matches!(timeout(RESPONSE_TIMEOUT, response).await, Ok(Ok(_)))
}

/// Receives the notifications of a connection until it is lost.
async fn receive_all(messages: &mut Messages, listeners: &Listeners) {
    while let Some(Ok(message)) = messages.next().await {
        if let AsyncMessage::Notification(notification) = message {
            listeners.receive(notification.payload());
        }
    }
}

/// The effect of notifications on one run.
#[cfg(fuzzing)]
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The last reported length of the log.
    pub rev: u64,
    /// The pieces of turns.
    pub pieces: Vec<String>,
    /// Set if another process announced that it follows the run.
    pub is_followed: bool,
}

/// Receives notifications for two runs that this process drives and follows, and returns their effects. For fuzz tests, which have no
/// server.
#[cfg(fuzzing)]
pub fn receive_notifications<'a>(runs: [&str; 2], payloads: impl IntoIterator<Item = &'a str>) -> [Received; 2] {
    let (send, _notes) = mpsc::unbounded_channel();
    let (pieces, _collected) = mpsc::channel(1);
    let listeners = Listeners { runs: Mutex::default(), gaps: watch::Sender::new(()), send, pieces };
    let mut watched = runs.map(|id| {
        let (reader, pieces) = mpsc::channel(MAX_QUEUED_PIECES);
        let (rev, revs) = watch::channel(0);
        let run = WatchedRun {
            rev,
            follows: 0,
            followed: None,
            is_followed: watch::Sender::new(false),
            readers: vec![reader],
        };
        listeners.runs().insert(id.to_owned(), run);
        (revs, pieces)
    });
    payloads.into_iter().for_each(|payload| listeners.receive(payload));
    std::array::from_fn(|at| {
        let (revs, pieces) = &mut watched[at];
        let is_followed = listeners.runs()[runs[at]].followed.is_some();
        Received { rev: *revs.borrow(), pieces: std::iter::from_fn(|| pieces.try_recv().ok()).collect(), is_followed }
    })
}
