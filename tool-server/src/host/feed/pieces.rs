//! The bytes of an answer: what was written, and what of it is kept.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// What is written at once and has at least so many bytes is kept as it is. Smaller pieces are gathered, so that each does not
/// cost an allocation of its own.
const LARGE: usize = 4 * 1024;

/// How many bytes are gathered together.
const BLOCK: usize = 1024;

/// An answer's bytes, in pieces. Each is asked for by its number; the oldest are let go of.
#[derive(Default)]
pub(super) struct Pieces {
    /// Written, and not asked for yet.
    pub(super) fresh: Vec<u8>,
    block: BytesMut,
    kept: VecDeque<Bytes>,
    kept_bytes: usize,
    /// Where in the answer `kept` begins.
    first: u64,
    /// The number of the first piece in `kept`.
    number: u64,
}

impl Pieces {
    /// Makes what was written a piece, and lets go of the oldest where that is more than `most`.
    pub(super) fn freeze(&mut self, most: usize) {
        if self.fresh.is_empty() {
            return;
        }
        let piece = if self.fresh.len() >= LARGE {
            Bytes::from(std::mem::take(&mut self.fresh))
        } else {
            if self.block.capacity() < self.fresh.len() {
                self.block.reserve(BLOCK.max(self.fresh.len()));
            }
            self.block.extend_from_slice(&self.fresh);
            self.fresh.clear();
            self.block.split().freeze()
        };
        self.kept_bytes += piece.len();
        self.kept.push_back(piece);
        while self.kept_bytes > most && self.kept.len() > 1 {
            self.let_go_of_one();
        }
    }

    /// Lets go of the pieces before `number`.
    pub(super) fn let_go(&mut self, number: u64) {
        while self.number < number && self.let_go_of_one() {}
    }

    fn let_go_of_one(&mut self) -> bool {
        let Some(oldest) = self.kept.pop_front() else { return false };
        self.kept_bytes -= oldest.len();
        self.first += oldest.len() as u64;
        self.number += 1;
        true
    }

    /// Where the answer ends, as far as it is written.
    pub(super) fn end(&self) -> u64 {
        self.first + (self.kept_bytes + self.fresh.len()) as u64
    }

    /// The piece with this number: `Err` if it is gone, `None` if it is not there yet.
    pub(super) fn piece(&self, number: u64) -> Result<Option<&Bytes>, Gone> {
        let at = number.checked_sub(self.number).ok_or(Gone)?;
        Ok(usize::try_from(at).ok().and_then(|at| self.kept.get(at)))
    }

    /// The number of the piece in which the byte `at` is, or will be, and its place there; `None` if it is gone.
    pub(super) fn find(&self, at: u64) -> Option<(u64, usize)> {
        let mut left = usize::try_from(at.checked_sub(self.first)?).ok()?;
        let mut number = self.number;
        for piece in &self.kept {
            if left < piece.len() {
                break;
            }
            left -= piece.len();
            number += 1;
        }
        Some((number, left))
    }
}

/// A piece that is not kept any more.
pub(super) struct Gone;

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pieces: &mut Pieces, text: &str, most: usize) {
        pieces.fresh.extend_from_slice(text.as_bytes());
        pieces.freeze(most);
    }

    #[test]
    fn small_and_large_pieces_come_as_they_were_written() {
        let mut pieces = Pieces::default();
        let texts: Vec<String> = (1..200).map(|size| "x".repeat(size * size % 6000 + 1)).collect();
        for text in &texts {
            written(&mut pieces, text, usize::MAX);
        }
        for (number, text) in (0..).zip(&texts) {
            assert_eq!(pieces.piece(number).ok().flatten().unwrap(), text.as_bytes());
        }
        assert!(matches!(pieces.piece(texts.len() as u64), Ok(None)));
        assert_eq!(pieces.end(), texts.iter().map(String::len).sum::<usize>() as u64);
    }

    #[test]
    fn the_oldest_are_let_go_of() {
        let mut pieces = Pieces::default();
        for text in ["abc", "de", "fgh"] {
            written(&mut pieces, text, 5);
        }
        assert!(pieces.piece(0).is_err() && pieces.find(2).is_none());
        assert_eq!(pieces.find(4), Some((1, 1)));
        assert_eq!(pieces.find(5), Some((2, 0)));
        assert_eq!(pieces.find(8), Some((3, 0)));
        assert_eq!(pieces.end(), 8);
        // The latest is kept, whatever its size.
        written(&mut pieces, &"x".repeat(9000), 5);
        assert!(pieces.piece(3).ok().flatten().is_some());
    }
}
