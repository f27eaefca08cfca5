//! Bodies as clients write them that cut texts in the middle of a character.

use std::borrow::Cow;

/// How many bytes `\uXXXX` has.
const ESCAPE: usize = 6;

/// `body`, with the replacement character for each half of a surrogate pair that stands alone: JavaScript writes such halves when
/// a text was cut inside of a character, and whoever refused them would refuse the conversation for good.
pub fn whole(body: &[u8]) -> Cow<'_, [u8]> {
    let mut whole: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(found) = body.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        at += found;
        match (half(body, at), half(body, at + ESCAPE)) {
            (Some(true), Some(false)) => at += 2 * ESCAPE,
            (Some(_), _) => {
                // Of the same length, so that places stay what they are.
                let whole = whole.get_or_insert_with(|| body.to_vec());
                whole[at..at + ESCAPE].copy_from_slice(b"\\ufffd");
                at += ESCAPE;
            }
            // Whatever is escaped is no escape itself.
            (None, _) => at += 2,
        }
    }
    whole.map_or(Cow::Borrowed(body), Cow::Owned)
}

/// Returns `true` if the escape at `at` is the first half of a pair, or the second; `None` if it is neither.
fn half(body: &[u8], at: usize) -> Option<bool> {
    match body.get(at..at + ESCAPE)? {
        [b'\\', b'u', b'd' | b'D', kind, rest @ ..] if rest.iter().all(u8::is_ascii_hexdigit) => match kind {
            b'8' | b'9' | b'a' | b'A' | b'b' | b'B' => Some(true),
            b'c' | b'C' | b'd' | b'D' | b'e' | b'E' | b'f' | b'F' => Some(false),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(body: &str) -> String {
        serde_json::from_slice(&whole(body.as_bytes())).unwrap()
    }

    #[test]
    fn halves_that_stand_alone_are_replaced_and_pairs_are_not() {
        assert_eq!(text(r#""a\ud83d""#), "a\u{fffd}");
        assert_eq!(text(r#""\uDE00\ud83d\ude00\ud83d\ud83d\uDE00\udbff""#), "\u{fffd}😀\u{fffd}😀\u{fffd}");
        assert_eq!(text(r#""\\ud83d \\\ud83d \u00e9 \n""#), "\\ud83d \\\u{fffd} é \n");
        assert!(matches!(whole(br#"{"a":"\ud83d\ude00 \\ud83d"}"#), Cow::Borrowed(_)));
        // The reader of the body reports an end that comes too early.
        assert_eq!(whole(br#""\ud8"#).as_ref(), br#""\ud8"#);
    }

    proptest! {
        #[test]
        fn what_can_be_read_is_read_as_it_is(value: String, cut in 0usize..64) {
            let escaped: String = value.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            prop_assert_eq!(text(&format!("\"{escaped}\"")), value.clone());
            // And what was cut between two units is read, too.
            let units: Vec<u16> = value.encode_utf16().skip(cut % (value.encode_utf16().count() + 1)).collect();
            let cut: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            prop_assert_eq!(text(&format!("\"{cut}\"")), String::from_utf16_lossy(&units));
        }
    }
}
