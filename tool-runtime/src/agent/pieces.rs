//! The pieces of the model's turn on their way from the process that drives a run to those that follow it, beside the log.
//!
//! A follower reports a piece if the piece continues what the follower has reported of the same turn. The log decides: at the
//! turn's end, the follower reports the rest, or the whole turn again if the pieces were wrong.

use std::borrow::Cow;

use futures_util::{
    StreamExt as _,
    future::pending,
    stream::{self, BoxStream},
};
use serde::{Deserialize, Serialize};

use crate::agent::{Agent, handle::Signal, turn::AnnouncedCall};
use crate::message::{AssistantPart, ProviderPart};
use crate::model::Turn;
use crate::run::{CallId, Phase, Run, RunId, Timestamp};
use crate::store::Store;

/// The largest number of bytes of text in one piece. Escaped as JSON, the text takes up to six times as many.
const MAX_TEXT_BYTES: usize = 1024;

/// The largest number of bytes of a whole piece. A longer piece, such as a provider's large result, is not published.
const MAX_PIECE_BYTES: usize = 7000;

/// A piece of the model's turn.
#[derive(Debug, Serialize, Deserialize)]
pub struct Piece<'a> {
    /// The number of the turn in the run.
    turn: u32,
    /// The time at which the model was asked. It differs if another process repeats the turn of one that is gone.
    pub asked: Timestamp,
    #[serde(flatten)]
    pub content: Content<'a>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content<'a> {
    /// A part of the turn begins, or goes on.
    Part {
        /// The number of the part in the turn, from 0.
        number: usize,
        /// The number of bytes of text and reasoning in the parts before.
        text_before: usize,
        /// The number of bytes of the part before this piece.
        from: usize,
        piece: PartPiece<'a>,
    },
    /// The arguments of a call go on.
    Arguments {
        /// The number of the call in the turn, from 0.
        call: usize,
        /// The number of bytes of the arguments before this piece.
        from: usize,
        text: Cow<'a, str>,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartPiece<'a> {
    Text(Cow<'a, str>),
    Reasoning(Cow<'a, str>),
    Call { id: Cow<'a, CallId>, name: Cow<'a, str> },
    Provided(Cow<'a, ProviderPart>),
}

impl Piece<'_> {
    /// Reads a piece. Returns `None` for other texts, such as pieces of a later version.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Returns whether the piece belongs to the turn that `run` waits for.
    pub fn is_of(&self, run: &Run) -> bool {
        self.turn == run.turn() && run.phase() == Phase::Generating
    }

    /// Returns whether the piece belongs to a turn that the log of `run` does not have yet.
    pub fn is_ahead_of(&self, run: &Run) -> bool {
        self.turn > run.turn()
    }

    /// Returns whether the piece is the beginning of the turn.
    pub fn begins(&self) -> bool {
        matches!(self.content, Content::Part { number: 0, from: 0, .. })
    }
}

/// The source of [`Signal`]s about pieces. It is kept between waits; `None` before the first.
pub type Source = Option<BoxStream<'static, Signal>>;

/// Waits for the next piece of `run` if it is driven elsewhere, or else for the news that others follow it.
pub async fn next(agent: &Agent, run: &RunId, is_elsewhere: bool, source: &mut Source) -> Signal {
    let signals = source.get_or_insert_with(|| {
        let store = agent.setup.store.as_ref();
        let signals = if is_elsewhere {
            store.and_then(|store| store.pieces(run)).map(|pieces| pieces.map(Signal::Piece).boxed())
        } else {
            store.and_then(|store| store.watch_readers(run)).map(|followed| followed.map(Signal::Followed).boxed())
        };
        signals.unwrap_or_else(|| stream::pending().boxed())
    });
    match signals.next().await {
        Some(signal) => signal,
        None => pending().await,
    }
}

/// The part of an open turn that was published, without the arguments of its calls.
#[derive(Debug, Default)]
pub struct PublishedTurn {
    /// The number of the last part that was begun.
    part: usize,
    /// The number of published bytes of that part; `None` before its first piece.
    from: Option<usize>,
    /// The number of bytes of text and reasoning in the parts before.
    text_before: usize,
    /// The number of calls in the parts before.
    calls: usize,
}

/// The publisher of the pieces of one turn.
pub struct Publisher<'a> {
    store: &'a dyn Store,
    run: &'a Run,
    asked: Timestamp,
}

impl<'a> Publisher<'a> {
    /// Creates the publisher of the turn for which `run` has asked the model at the time `asked`. Returns `None` without a store.
    pub fn new(agent: &'a Agent, run: &'a Run, asked: Timestamp) -> Option<Self> {
        Some(Self { store: &**agent.setup.store.as_ref()?, run, asked })
    }

    /// Publishes what `turn` has after `published`. `calls` are its calls.
    pub fn publish(&self, turn: &Turn, calls: &[AnnouncedCall], published: &mut PublishedTurn) {
        while let Some(part) = turn.content.get(published.part) {
            let length = match part {
                AssistantPart::Text { text } => self.say(text, PartPiece::Text, published),
                AssistantPart::Reasoning { text, .. } => self.say(text, PartPiece::Reasoning, published),
                AssistantPart::Call(call) => {
                    if let (None, Some(AnnouncedCall { id, .. })) = (published.from, calls.get(published.calls)) {
                        let (id, name) = (Cow::Borrowed(id), call.name.as_str().into());
                        self.send_part(published, 0, PartPiece::Call { id, name });
                        self.publish_arguments(published.calls, 0, &call.arguments);
                    }
                    0
                }
                AssistantPart::Provider(part) => {
                    if published.from.is_none() {
                        self.send_part(published, 0, PartPiece::Provided(Cow::Borrowed(part)));
                    }
                    0
                }
            };
            published.from = Some(length);
            if published.part + 1 == turn.content.len() {
                return;
            }
            let is_call = matches!(part, AssistantPart::Call(_));
            *published = PublishedTurn {
                part: published.part + 1,
                from: None,
                text_before: published.text_before + length,
                calls: published.calls + usize::from(is_call),
            };
        }
    }

    /// Publishes a piece of the arguments of the call number `call`, which begins after `from` bytes.
    pub fn publish_arguments(&self, call: usize, from: usize, text: &str) {
        for (at, text) in cut(text) {
            self.send(Content::Arguments { call, from: from + at, text: text.into() });
        }
    }

    /// Publishes the rest of a text that was not published yet, and returns the length of the whole text.
    fn say<'t>(&self, text: &'t str, piece: fn(Cow<'t, str>) -> PartPiece<'t>, published: &PublishedTurn) -> usize {
        let from = published.from.unwrap_or_default();
        if published.from.is_none() && text.is_empty() {
            self.send_part(published, 0, piece("".into()));
        }
        for (at, text) in cut(&text[from..]) {
            self.send_part(published, from + at, piece(text.into()));
        }
        text.len()
    }

    fn send_part(&self, published: &PublishedTurn, from: usize, piece: PartPiece<'_>) {
        self.send(Content::Part { number: published.part, text_before: published.text_before, from, piece });
    }

    fn send(&self, content: Content<'_>) {
        let piece = Piece { turn: self.run.turn(), asked: self.asked, content };
        // The piece is plain data, which can always be written as JSON.
        if let Ok(text) = serde_json::to_string(&piece)
            && text.len() <= MAX_PIECE_BYTES
        {
            self.store.publish(self.run.id(), text);
        }
    }
}

/// Cuts a text into short ones, each with its position.
fn cut(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let end = text.floor_char_boundary(at + MAX_TEXT_BYTES);
        let chunk = text.get(at..end).filter(|chunk| !chunk.is_empty())?;
        Some((std::mem::replace(&mut at, end), chunk))
    })
}
