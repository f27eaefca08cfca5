//! Texts that are JSON, or nearly.

use proptest::{collection::vec, prelude::*};

/// JSON texts with all that JSON has: white space, escapes, names given twice. Some have half a surrogate pair or a number
/// out of range.
pub(super) fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => number(),
        4 => string(),
        2 => prop_oneof![Just("true"), Just("false"), Just("null"), Just("[]"), Just("{ }")].prop_map(str::to_owned),
    ];
    let value = leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            vec((space(), inner.clone(), space()), 0..5).prop_map(|items| {
                let items: Vec<String> = items.into_iter().map(|(a, item, b)| a + &item + &b).collect();
                format!("[{}]", items.join(","))
            }),
            vec((space(), name(), space(), inner, space()), 0..5).prop_map(|entries| {
                let entries: Vec<String> =
                    entries.into_iter().map(|(a, name, b, value, c)| format!("{a}{name}{b}:{a}{value}{c}")).collect();
                format!("{{{}}}", entries.join(","))
            }),
        ]
    });
    (space(), value, space()).prop_map(|(a, value, b)| a + &value + &b)
}

/// JSON texts with something else in one place.
pub(super) fn broken() -> impl Strategy<Value = Vec<u8>> {
    let odd = prop_oneof![
        r#"[{}\[\]",:0-9a-c\\u \-.e+]{0,3}"#.prop_map(String::into_bytes),
        vec(any::<u8>(), 0..3),
        Just(b"\\ud83d".to_vec()),
        Just(b"\xc3".to_vec()),
    ];
    (json(), any::<prop::sample::Index>(), 0..3usize, odd).prop_map(|(text, at, gone, odd)| {
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len() + 1);
        let end = (at + gone).min(bytes.len());
        bytes.splice(at..end, odd);
        bytes
    })
}

/// The sizes of pieces.
pub(super) fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![Just(vec![1]), vec(1..10usize, 1..6), Just(vec![usize::MAX])]
}

fn space() -> impl Strategy<Value = String> {
    "[ \n\t\r]{0,2}"
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![3 => r#""[a-c]""#, 1 => string(), 1 => Just(r#""\u0061""#.to_owned())]
}

fn number() -> impl Strategy<Value = String> {
    const ODD: [&str; 6] =
        ["-0", "0.10", "18446744073709551615", "18446744073709551616", "-9223372036854775809", "1.1099999999999999"];
    prop_oneof![
        4 => "-?(0|[1-9][0-9]{0,4})",
        4 => r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
        1 => prop::sample::select(&ODD[..]).prop_map(str::to_owned),
    ]
}

fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => r#"[^"\\\x00-\x1f]{0,12}"#,
        2 => r#"\\["\\/bfnrt]"#,
        1 => r"\\u0[0-9a-fA-F]{3}",
        1 => r"\\ud[89abAB][0-9a-f]{2}\\u[dD][c-f][0-9a-f]{2}",
    ];
    vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}
