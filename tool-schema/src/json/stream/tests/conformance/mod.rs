//! The cases of JSON test suites: what every parser must accept, what it must refuse, and what it may do as it likes.
//!
//! The names of Nicolas Seriot's `JSONTestSuite` would be `y_`, `n_` and `i_`.

mod accepted;
mod refused;

use serde_json::Value;

use super::read;
use accepted::ACCEPTED;
use refused::REFUSED;

/// Numbers too large or too small, halves of pairs, other encodings, byte order marks, depth.
const EITHER: &[&[u8]] = &[
    b"[123.456e-789]",
    b"[0.4e00669999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999969999999006]",
    b"[-1e+9999]",
    b"[1.5e+9999]",
    b"[-123123e100000]",
    b"[123123e100000]",
    b"[123e-10000000]",
    b"[0e99999999999]",
    b"[-123123123123123123123123123123]",
    b"[100000000000000000000]",
    b"[-237462374673276894279832749832423479823246327846]",
    b"{\"\\uDFAA\":0}",
    b"[\"\\uDADA\"]",
    b"[\"\\uD888\\u1234\"]",
    b"[\"\\uD800\\n\"]",
    b"[\"\\uDd1ea\"]",
    b"[\"\\uD800\\uD800\\n\"]",
    b"[\"\\ud800\"]",
    b"[\"\\ud800abc\"]",
    b"[\"\\uDd1e\\uD834\"]",
    b"[\"\\uDFAA\"]",
    b"[\"\xe6\x97\xa5\xd1\x88\xfa\"]",
    b"[\"\xff\"]",
    b"[\"\xed\xa0\x80\"]",
    b"[\"\x81\"]",
    b"[\"\xf4\xbf\xbf\xbf\"]",
    b"[\"\xc0\xaf\"]",
    b"[\"\xfc\x83\xbf\xbf\xbf\xbf\"]",
    b"[\"\xe0\xff\"]",
    b"\xff\xfe[\x00\"\x00\xe9\x00\"\x00]\x00",
    b"\xef\xbb\xbf{}",
];

#[test]
fn the_suite_is_passed() {
    let accepted = ACCEPTED.iter().map(|text| (text, Some(true)));
    let refused = REFUSED.iter().map(|text| (text, Some(false)));
    for (text, expected) in accepted.chain(refused).chain(EITHER.iter().map(|text| (text, None))) {
        let shown = text.escape_ascii();
        let theirs = serde_json::from_slice::<Value>(text);
        for sizes in [&[1][..], &[2], &[3, 1], &[usize::MAX]] {
            let ours = read(text, sizes);
            assert!(expected.is_none_or(|expected| expected == ours.is_ok()), "{shown}: {ours:?}");
            assert_eq!(ours.as_ref().ok(), theirs.as_ref().ok(), "{shown}");
            assert_eq!(ours.ok().map(|it| it.to_string()), theirs.as_ref().ok().map(ToString::to_string), "{shown}");
        }
    }
}
