//! Text that arrives in many small pieces and is sent in fewer ones. Both protocols use it.

use std::time::Duration;

/// The number of sent bytes after which a piece may wait longer than [`MAX_HOLD`].
const LONG_TEXT: usize = 16 * 1024;

/// The maximum time for which a piece is held back.
const MAX_HOLD: Duration = Duration::from_millis(50);

/// A piece is sent at once if it has at least the number of sent bytes, divided by this number. Clients parse all arguments
/// again with each piece: pieces of equal size cost quadratic time, growing ones linear time.
const MIN_GROWTH_DIVISOR: usize = 16;

/// A text whose first part was sent, and whose rest is held back.
#[derive(Debug, Default)]
pub struct HeldText {
    sent: usize,
    text: String,
    since: Duration,
    /// The least size of a piece that is sent at once, in bytes.
    least: usize,
    /// Set if no piece may wait longer than [`MAX_HOLD`], even in a long text.
    is_prose: bool,
}

impl HeldText {
    /// Creates a text that a person reads while it arrives.
    pub fn prose() -> Self {
        Self { is_prose: true, ..Self::default() }
    }

    /// Creates a text whose pieces have at least `least` bytes, unless they become due earlier.
    pub fn at_least(least: usize) -> Self {
        Self { least, ..Self::default() }
    }

    /// Adds a piece, and passes the text that is due now to `send`.
    pub fn push(&mut self, piece: &str, now: Duration, send: impl FnOnce(&str)) {
        if piece.is_empty() {
            return;
        }
        let all = self.text.len() + piece.len();
        if self.text.is_empty() {
            self.since = now;
        }
        let is_large = all >= self.least && all.saturating_mul(MIN_GROWTH_DIVISOR) >= self.sent;
        let is_due = self.due().is_some_and(|due| due <= now);
        if self.text.is_empty() && is_large {
            self.sent += piece.len();
            return send(piece);
        }
        self.text.push_str(piece);
        if is_large || is_due {
            self.send_rest(send);
        }
    }

    /// Passes all text that is held back to `send`.
    pub fn send_rest(&mut self, send: impl FnOnce(&str)) {
        if self.text.is_empty() {
            return;
        }
        self.sent += self.text.len();
        send(&self.text);
        self.text.clear();
    }

    /// Returns whether no piece has arrived yet.
    pub fn is_new(&self) -> bool {
        self.sent == 0 && self.text.is_empty()
    }

    /// Returns the time at which the text that is held back must be sent.
    pub fn due(&self) -> Option<Duration> {
        let waits = !self.text.is_empty() && (self.is_prose || self.sent < LONG_TEXT);
        waits.then(|| self.since + MAX_HOLD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the sizes that are sent of a text of `size` bytes, which arrives in pieces of `piece` bytes, one after each `gap`.
    fn sent_sizes(size: usize, piece: usize, gap: Duration) -> Vec<usize> {
        let (mut held, mut sent, text) = (HeldText::default(), Vec::new(), "x".repeat(piece));
        let mut now = Duration::ZERO;
        for _ in 0..size / piece {
            now += gap;
            held.push(&text, now, |text| sent.push(text.len()));
        }
        held.send_rest(|text| sent.push(text.len()));
        assert_eq!(sent.iter().sum::<usize>(), size / piece * piece);
        sent
    }

    #[test]
    fn arguments_are_sent_in_growing_pieces() {
        // A client that parses the whole text with each piece reads 17 times its length, not the square of it.
        let fast = |size| sent_sizes(size, 20, Duration::ZERO);
        assert!(fast(100_000).len() < 130, "{}", fast(100_000).len());
        assert!(fast(1_000_000).len() < 170, "{}", fast(1_000_000).len());
        assert!(fast(1_000_000).windows(2).all(|pair| pair[1] <= pair[0].max(20) * 2));
        // Pieces of a short text are sent as they arrive.
        assert_eq!(fast(300).len(), 15);
    }

    #[test]
    fn short_texts_are_sent_soon() {
        let slow = sent_sizes(10_000, 20, Duration::from_millis(20));
        assert!(slow.iter().all(|size| *size <= 80), "a piece waited for more than three gaps: {slow:?}");
        let mut held = HeldText::default();
        held.push(&"x".repeat(1_000), Duration::ZERO, |_| {});
        held.push("y", Duration::from_millis(7), |_| panic!("one byte was sent after a thousand"));
        assert_eq!(held.due(), Some(Duration::from_millis(57)));
        held.push(&"x".repeat(20_000), Duration::from_millis(8), |_| {});
        held.push("y", Duration::from_millis(9), |_| panic!("one byte was sent after twenty thousand"));
        assert_eq!(held.due(), None, "a piece of a long text waits for others");
        let mut gathered = HeldText::at_least(512);
        for _ in 0..25 {
            gathered.push(&"x".repeat(20), Duration::ZERO, |_| panic!("fewer than 512 bytes were sent"));
        }
        assert_eq!(gathered.due(), Some(Duration::from_millis(50)));
        gathered.push(&"x".repeat(20), Duration::ZERO, |text| assert_eq!(text.len(), 520));
        assert_eq!(gathered.due(), None);
        let mut prose = HeldText::prose();
        prose.push(&"x".repeat(20_000), Duration::ZERO, |_| {});
        prose.push("y", Duration::ZERO, |_| panic!("one byte was sent after twenty thousand"));
        assert_eq!(prose.due(), Some(Duration::from_millis(50)), "a person reads the text while it arrives");
    }
}
