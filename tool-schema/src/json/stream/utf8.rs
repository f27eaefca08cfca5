//! Characters that were cut in the middle.

/// The first bytes of a character whose others are still to come.
#[derive(Debug, Default)]
pub(super) struct Cut {
    bytes: [u8; 4],
    length: usize,
}

/// Bytes that are no UTF-8, whatever follows.
pub(super) struct NotUtf8;

impl Cut {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Takes from `bytes` what belongs to the character: the character, once it is whole.
    pub(super) fn complete(&mut self, bytes: &mut &[u8]) -> Result<Option<char>, NotUtf8> {
        while let Some((byte, rest)) = bytes.split_first() {
            self.bytes[self.length] = *byte;
            self.length += 1;
            match str::from_utf8(&self.bytes[..self.length]) {
                Ok(text) => {
                    *bytes = rest;
                    self.length = 0;
                    return Ok(text.chars().next());
                }
                Err(error) if error.error_len().is_some() => return Err(NotUtf8),
                Err(_) => *bytes = rest,
            }
        }
        Ok(None)
    }

    /// The text that `bytes` begins with. What is left of it is the beginning of a character, or else not UTF-8.
    #[inline]
    pub(super) fn text<'a>(&mut self, bytes: &'a [u8]) -> (&'a str, Result<(), NotUtf8>) {
        match str::from_utf8(bytes) {
            Ok(text) => (text, Ok(())),
            Err(error) => {
                let (text, rest) = bytes.split_at(error.valid_up_to());
                if error.error_len().is_none() {
                    self.length = rest.len();
                    self.bytes[..rest.len()].copy_from_slice(rest);
                }
                (
                    str::from_utf8(text).unwrap_or_default(),
                    if error.error_len().is_none() { Ok(()) } else { Err(NotUtf8) },
                )
            }
        }
    }
}
