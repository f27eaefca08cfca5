//! Text that arrives in small pieces, and is sent in fewer.

use std::time::Duration;

/// Until this much was sent, nothing waits longer than [`PATIENCE`].
const SMALL: usize = 16 * 1024;

/// How long a piece is held.
const PATIENCE: Duration = Duration::from_millis(50);

/// Which part of what was sent a piece must be to be sent at once. Clients read all that they have again with each piece
/// of arguments, so equal pieces would cost them the square of the whole; growing ones cost them a multiple of it.
const PART: usize = 16;

/// What of a text was sent, and what is held back.
#[derive(Debug, Default)]
pub(super) struct Held {
    sent: usize,
    text: String,
    since: Duration,
    /// Whether even of a long text nothing is held longer.
    is_prose: bool,
}

impl Held {
    /// Of a text that a person reads as it comes.
    pub(super) fn prose() -> Self {
        Self { is_prose: true, ..Self::default() }
    }

    /// Takes the next piece, and gives what is to be sent now to `send`.
    pub(super) fn push(&mut self, piece: &str, now: Duration, send: impl FnOnce(&str)) {
        if piece.is_empty() {
            return;
        }
        let all = self.text.len() + piece.len();
        if self.text.is_empty() {
            self.since = now;
        }
        let is_large = all.saturating_mul(PART) >= self.sent;
        let is_due = self.due().is_some_and(|due| due <= now);
        if self.text.is_empty() && is_large {
            self.sent += piece.len();
            return send(piece);
        }
        self.text.push_str(piece);
        if is_large || is_due {
            self.take(send);
        }
    }

    /// Gives everything that is held to `send`.
    pub(super) fn take(&mut self, send: impl FnOnce(&str)) {
        if self.text.is_empty() {
            return;
        }
        self.sent += self.text.len();
        send(&self.text);
        self.text.clear();
    }

    /// When what is held is to be sent.
    pub(super) fn due(&self) -> Option<Duration> {
        let waits = !self.text.is_empty() && (self.is_prose || self.sent < SMALL);
        waits.then(|| self.since + PATIENCE)
    }
}
