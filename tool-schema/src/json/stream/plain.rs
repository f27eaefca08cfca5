//! How far a text goes on without a character that means something.

/// Where from `at` on the first of `bytes` is that does not mean itself in a text; their end if there is none.
///
/// Eight bytes are looked at at a time, for the last ones together with some that were looked at before.
#[inline]
pub(super) fn plain(bytes: &[u8], at: usize) -> usize {
    let mut rest = &bytes[at..];
    while let Some((word, behind)) = rest.split_first_chunk() {
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return bytes.len() - rest.len() + first(marks);
        }
        rest = behind;
    }
    let at = bytes.len() - rest.len();
    match bytes.last_chunk() {
        Some(_) if rest.is_empty() => at,
        // What is shifted in is zero, a control character: so the end is found.
        Some(word) => at + first(marks(u64::from_le_bytes(*word) >> (64 - 8 * rest.len()))),
        None => at + rest.iter().position(|&byte| marks(byte.into()) & 0xff != 0).unwrap_or(rest.len()),
    }
}

/// Marks, of eight bytes, the first that means something in a text, by its high bit; some behind it may be marked too.
#[inline]
fn marks(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    // Subtracting sets the high bit of a byte that is smaller than what is subtracted, if it was not set before. It may
    // set those of bytes behind the first of them too. Turning one bit puts the quote behind the control characters, and the
    // space where the quote was.
    let low = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES);
    (low | backslash) & !word & (ONES << 7)
}

/// Which of eight bytes is the first that is marked.
#[inline]
fn first(marks: u64) -> usize {
    marks.trailing_zeros() as usize / 8
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
                for at in 0..=found.unwrap_or(bytes.len()) {
                    prop_assert_eq!(plain(bytes, at), found.unwrap_or(bytes.len()));
                }
            }
        }
    }
}
