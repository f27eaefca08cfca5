//! What is read is what `serde_json` reads.

use std::{
    collections::BTreeMap,
    fmt::{Debug, Write as _},
};

use proptest::prelude::*;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{
    Error, Value,
    value::{Number, RawValue},
};

use super::Source;

/// The value that `text` is.
fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Error> {
    let mut source = Source::new(text);
    let value = T::deserialize(&mut source)?;
    let rest = text[source.read()..].trim_matches([' ', '\n', '\r', '\t']);
    if rest.is_empty() { Ok(value) } else { Err(serde::de::Error::custom("trailing characters")) }
}

/// Says how it reads `text` as a `T`, if `serde_json` does not say the same.
fn differs<T: DeserializeOwned + Debug>(text: &str) -> Option<String> {
    let (ours, theirs) = (read::<T>(text), serde_json::from_str::<T>(text));
    let [shown, wanted] = [&ours, &theirs].map(|read| format!("{:?}", read.as_ref().ok()));
    let kind = std::any::type_name::<T>();
    (shown != wanted).then(|| format!("{kind} of {text}: {ours:?}, serde_json {theirs:?}"))
}

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "shown by `Debug`")]
struct Record {
    name: String,
    size: Option<f32>,
    #[serde(default)]
    tags: Vec<(u8, char)>,
    rest: Option<Box<Record>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[allow(dead_code, reason = "shown by `Debug`")]
enum Either {
    Number(i64),
    Text(String),
    List(Vec<Either>),
}

/// Takes the default in place of what cannot be read, and reads on.
#[derive(Debug, Default)]
#[allow(dead_code, reason = "shown by `Debug`")]
struct Lenient<T>(T);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(T::deserialize(deserializer).unwrap_or_default()))
    }
}

#[derive(Debug, Default, Deserialize)]
#[allow(dead_code, reason = "shown by `Debug`")]
struct Mild {
    a: Lenient<u32>,
    b: Lenient<Vec<u8>>,
    c: Lenient<Pair>,
    d: Lenient<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[allow(dead_code, reason = "shown by `Debug`")]
struct Pair(u8, bool);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
enum Side {
    Left,
    Right,
}

/// Everything that reads `text` otherwise than `serde_json`.
fn all(text: &str) -> String {
    let found = [
        differs::<Value>(text),
        differs::<bool>(text),
        differs::<i8>(text),
        differs::<u16>(text),
        differs::<i64>(text),
        differs::<u64>(text),
        differs::<f64>(text),
        differs::<f32>(text),
        differs::<i128>(text),
        differs::<u128>(text),
        differs::<char>(text),
        differs::<String>(text),
        differs::<()>(text),
        differs::<Option<i32>>(text),
        differs::<Vec<f64>>(text),
        differs::<(u8, String)>(text),
        differs::<[i32; 2]>(text),
        differs::<BTreeMap<String, Value>>(text),
        differs::<BTreeMap<u8, i32>>(text),
        differs::<BTreeMap<i64, Vec<Option<bool>>>>(text),
        differs::<BTreeMap<bool, Option<u8>>>(text),
        differs::<BTreeMap<Side, u8>>(text),
        differs::<Number>(text),
        differs::<Box<RawValue>>(text),
        differs::<Either>(text),
        differs::<BTreeMap<Box<str>, Lenient<bool>>>(text),
        differs::<Vec<Option<Number>>>(text),
    ];
    found.into_iter().flatten().fold(String::new(), |mut all, found| {
        let _ = writeln!(all, "{found}");
        all
    })
}

#[test]
fn reads_what_serde_json_reads() {
    let texts = [
        "null",
        "nul",
        "true",
        "tru",
        "falsehood",
        "\"\"",
        "\"a\"",
        "\"ä\\n\\u00e4\\ud83d\\ude00\"",
        "\"\\ud83d\"",
        "\"a",
        "\"\u{1}\"",
        "0",
        "-0",
        "00",
        "01",
        "-1",
        "-",
        "1.",
        "1.5",
        "1e3",
        "1E-2",
        "-1.25e+2",
        "1e400",
        "255",
        "256",
        "65536",
        "9007199254740993",
        "999999999999999999",
        "1000000000000000000",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        "340282366920938463463374607431768211455",
        "16777217",
        "0.1",
        "3.4028236e38",
        "1e39",
        "1.00000017881393432617187499",
        "[]",
        "[ ]",
        "[1,2]",
        "[1, 2 ,3]",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1",
        "[",
        "[1,\"a\"]",
        "[[1],\"a\",[]]",
        "[0.5,1e2,-3]",
        "{}",
        "{ }",
        "{\"a\":1}",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{a:1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":",
        "{\"1\":2,\"3\":4}",
        "{\"01\":2}",
        "{\" 1\":2}",
        "{\"1 \":2}",
        "{\"\\u0031\":2}",
        "{\"-5\":[true,null]}",
        "{\"1.5\":[]}",
        "{\"256\":1}",
        "{\"true\":null}",
        "{\"Left\":1,\"Right\":2}",
        "{\"Up\":1}",
        "{\"a\":{\"b\":[{}]}}",
        " 1 ",
        "1 1",
        "",
        " ",
    ];
    let found: String = texts.into_iter().map(all).collect();
    assert_eq!(found, "");
}

#[test]
fn structs_are_read() {
    for text in [
        r#"{"name":"a"}"#,
        r#"{"name":"a","size":0.1,"tags":[[1,"x"],[255,"ä"]],"rest":{"name":"b","unknown":[{"deep":"er"}]}}"#,
        r#"{"name":"a","name":"b"}"#,
        r#"{"size":1}"#,
        r#"{"name":"a","size":"b"}"#,
        r#"{"name":"a","tags":[[1,"x",2]]}"#,
    ] {
        assert_eq!(differs::<Record>(text), None);
    }
    assert_eq!(read::<&str>(r#""lent""#).unwrap(), "lent");
    assert_eq!(read::<&RawValue>(" [1, {}] ").unwrap().get(), "[1, {}]");
}

#[test]
fn who_reads_on_after_a_mistake_reads_the_same() {
    for [a, b, c, d] in [
        ["1", "[2]", "[3,true]", "0.5"],
        ["-1", "[\"x\"]", "[3]", "1e400"],
        ["\"a\"", "{}", "[]", "null"],
        ["1.5", "[[]]", "7", "-1e999"],
        ["null", "[300]", "[\"\\u0041\"]", "\"\""],
        ["99999999999999999999999", "true", "[3,1]", "{}"],
    ] {
        let text = format!(r#"{{"a":{a},"b":{b},"c":{c},"d":{d}}}"#);
        assert_eq!(differs::<Mild>(&text), None);
    }
}

#[test]
fn no_mistake_makes_a_valid_text_of_another() {
    // One bracket is missing in each.
    for text in [r#"{"a":{},"b":[],"c":[1,true],"d":1"#, r#"{"a":1,"b":[1,"x",2],"c":[1,true],"d":[1}"#, r#"{"a":[}"#] {
        assert!(read::<Mild>(text).is_err(), "{text}");
    }
    assert!(read::<Vec<Lenient<u32>>>(r#"["a",[1]"#).is_err());
    assert!(read::<Vec<Lenient<Vec<u8>>>>(r#"[[1,"x",2]"#).is_err());
    assert!(read::<Lenient<Vec<Lenient<u32>>>>(&"[[,".repeat(1_000)).is_err());
}

#[test]
fn numbers_keep_what_serde_json_keeps() {
    for text in ["-0", "1e3", "18446744073709551616", "0.1000", "-12"] {
        let (ours, theirs) = (read::<Value>(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(ours.to_string(), theirs.to_string());
    }
}

#[test]
fn depth_is_limited_as_there() {
    for depth in [126, 127, 128, 10_000] {
        let lists = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let objects = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        // Nested enough, one beside the other.
        let wide = format!("[{}]", vec!["[[]]"; depth].join(","));
        for text in [lists, objects, wide] {
            assert_eq!(read::<Value>(&text).is_ok(), serde_json::from_str::<Value>(&text).is_ok(), "{depth}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn agrees_on_anything(text in r#"[{}\[\]",:0-9aeEtruflsn\\ \-+.]{0,24}"#) {
        prop_assert_eq!(all(&text), "");
    }

    #[test]
    fn agrees_on_numbers(text in r"-?[0-9]{1,25}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?", few in r"-?(0|[1-9][0-9]{0,8})\.[0-9]{1,10}") {
        prop_assert_eq!(all(&text), "");
        prop_assert_eq!(all(&few), "");
    }

    #[test]
    fn agrees_on_texts(text in any::<String>()) {
        prop_assert_eq!(all(&serde_json::to_string(&text).unwrap()), "");
    }
}
