//! A cursor over one delta.

use super::plain::plain;

/// A delta, and how far it was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'a> {
    text: &'a str,
    /// Always at the start of a character.
    at: usize,
}

impl<'a> Input<'a> {
    #[inline]
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// How many bytes were read.
    #[inline]
    pub(super) fn read(&self) -> usize {
        self.at
    }

    /// The next character.
    pub(super) fn character(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// The next byte.
    #[inline]
    pub(super) fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Moves behind the next byte, which is ASCII.
    #[inline]
    pub(super) fn bump(&mut self) {
        self.at += 1;
    }

    /// The next byte that is not white space.
    #[inline]
    pub(super) fn significant(&mut self) -> Option<u8> {
        loop {
            let byte = self.byte()?;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Reads the bytes, all of them ASCII, that `wanted` says yes to.
    #[inline]
    pub(super) fn ascii_while(&mut self, mut wanted: impl FnMut(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.byte().is_some_and(&mut wanted) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    /// Reads up to the next byte that means something in a text: a quote, a backslash, a control character.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call more is a twentieth of what a short piece of a text costs")]
    pub(super) fn plain(&mut self) -> &'a str {
        let start = self.at;
        self.at = plain(self.text.as_bytes(), start);
        &self.text[start..self.at]
    }
}
