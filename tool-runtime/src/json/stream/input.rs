//! A cursor over one delta.

/// A delta, and how far it was read.
#[derive(Debug)]
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
    #[inline]
    pub(super) fn plain(&mut self) -> &'a str {
        let start = self.at;
        self.at += plain(&self.text.as_bytes()[start..]);
        &self.text[start..self.at]
    }
}

/// How many bytes at the start of `bytes` mean themselves in a text.
#[inline]
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    let mut at = 0;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        // Eight bytes at a time: subtracting sets the high bit of those that are below 0x20, or equal to the other two.
        let chunk = u64::from_le_bytes(*chunk);
        let below = |word: u64, least: u64| word.wrapping_sub(ONES * least) & !word;
        let found = below(chunk, 0x20)
            | below(chunk ^ (ONES * u64::from(b'"')), 1)
            | below(chunk ^ (ONES * u64::from(b'\\')), 1);
        let found = found & (ONES << 7);
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = &bytes[at..];
    at + rest.iter().position(|&byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::plain;

    proptest! {
        #[test]
        fn plain_stops_where_a_byte_means_something(bytes in any::<Vec<u8>>(), some in r#"[a-z\x80\xff!#\[\]]{0,20}["\\\x00\x1f]?[a-z]{0,9}"#) {
            for bytes in [&bytes[..], some.as_bytes()] {
                let found = bytes.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\');
                prop_assert_eq!(plain(bytes), found.unwrap_or(bytes.len()));
            }
        }
    }
}
