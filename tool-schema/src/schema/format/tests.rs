//! Formats, patterns and numbers, with the library `jsonschema` as the second opinion.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::schema::Validator;

const DRAFTS: [&str; 5] = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
];

const FORMATS: [&str; 19] = [
    "date",
    "date-time",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
    "uuid",
    "int32",
    "",
];

/// Texts that are right or nearly so, one format after the other.
const TEXTS: &str = "
2024-02-29 2023-02-29 1900-02-29 2000-02-29 2024-13-01 2024-00-10 2024-04-31 2024-1-01 20240101 2024-01-011 ２024-01-1
2024-02-29T12:00:00Z 2024-02-29t12:00:00.5z 2024-02-29T12:00:00 2024-02-29T12:00:00+01:00 2024-02-29T24:00:00Z T12:00:00Z
2016-12-31T23:59:60Z 2016-12-31T22:59:60Z 2016-12-31T23:59:61Z 2024-02-29T12:00:00+0100 2024-02-29TT12:00:00Z
12:00:00Z 23:59:60Z 00:29:60+00:30 23:29:60+23:30 01:29:60+01:30 15:59:60-08:00 15:59:60-07:59 12:00:00.Z 12:00:00.123456789Z
12:00:00+24:00 12:00:00-00:60 12:00Z 1:00:00Z 12:00:00z 12:00:00+01:0 12:00:00+01:000 12:00:0éZ
P1Y P1Y2M3DT4H5M6S P1W P1W2D P2D1M PT1H1S PT1H2M P P1 PT P1YT P1DT PT1S1M P1Y2D P1.5D P-1D p1d P1WT1H P1Y1Y PT1H1H P１D 1D
a@b a@b.c @b a@ a.b@c.d a..b@c .a@b a.@b \"a\\ b\"@c \"\"@c \"@c a@[127.0.0.1] a@[IPv6:::1] a@[1.2] a@-b a@b- é@b a@é a@b@c
a!#$%&'*+-/=?^_`{|}~@b a(b)@c aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@b <a@b> \"a\\\"b\"@c \"a\"b\"@c a@b..c
localhost a-b.c -a a- a_b a..b .a a. xn--nxasmq6b xn--X xn--ihqwcrb4cv8a8dqg056pqjye xn--a ab--cd xn--07jt112bpxg.xn--9t4b11yi5a
xn--wgv71a xn--zckzah xn-- xn--l-fda xn--al-0ea xn--5ca XN--nxasmq6b xn--11b4c3d xn--02b508i xn--02b1a xn--9dbb xn--a-2hc5h
xn--hello-txk xn--defabc-k64e xn--ngb6iyr xn--rt-kfa xn---aaa xn--99zzzz9 xn--99999999
1.2.3.4 01.2.3.4 256.1.1.1 1.2.3 1.2.3.4.5 0x7f.1 ::1 1::2::3 ::ffff:1.2.3.4 1:2:3:4:5:6:7:8 1:2:3:4:5:6:7:: fe80::1%eth0 :: 12345:: g::
http://a http://a/b?c#d http:/a //a a:b :a 1a:b a http://[::1]:80/x http://[::1 http://[v1.a:b]/ http://[vg.a] http://a:b http://a:80:80
http://u:p@h/ http://u@p@h/ http://a/%41 http://a/%4 http://a/%zz http://a/b|c http://a/é http://é/ urn:isbn:1 mailto:a@b a/b:c ./a:b ../a
?a #a #a#b http://a?b?c#d?e http://a/[x] http://a\\b a%20b http: http:// http:///a http://a:/ ://a http://\u{e000}/ http://a/?\u{e000} \u{10fffd}
{a} {+a,b*} {a:3} {a:0} {a:99999} {a:1234} {} {a {a}} a}b {a.b} {a..b} {.a} {?a*,b:2} {a-b} {%41} {%4} {a*:3} {#a}x{b} x'y \"x x<y éa {é} {|a} {$a}
/a/b /a~0b /a~1b /a~2b /a~ a/b / // ~ /~0 0 0# 0/a 01 1/a 1# 1#a 1/~2 10/a 0#a -1 1a
a+b ^[a-z]$ [ ( (?=a) (a)\\1 \\d+ [\\d\\w] \\cA \\c \\c1 \\a a{2,1} \\p{L} \\u0041 \\z (?<n>a) a** [a-\\w] \\_ \\/ \\- \\
123e4567-e89b-12d3-a456-426614174000 123E4567-E89B-12D3-A456-42661417400F 123e4567e89b12d3a456426614174000 {123e4567-e89b-12d3-a456-426614174000}
123e4567-e89b-12d3-a456_426614174000 123e4567-e89b-12d3-a456-42661417400 123e4567-e89b-12d3-a456-42661417400g
";

/// Returns whether the library may accept `text` as a date or a time although it has no such form: in 0.46 it reads `+`
/// and `.` as digits.
fn takes_punctuation_for_digits(format: &str, text: &str) -> bool {
    const TIME: &str = r"[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?([zZ]|[+-][0-9]{2}:[0-9]{2})";
    const DATE: &str = "[0-9]{4}-[0-9]{2}-[0-9]{2}";
    let form = match format {
        "date" => DATE.to_owned(),
        "time" => TIME.to_owned(),
        "date-time" => format!("{DATE}[tT]{TIME}"),
        _ => return false,
    };
    !regex::Regex::new(&format!("^{form}$")).unwrap().is_match(text)
}

fn agree(schema: &Value, values: &[Value]) -> Result<(), TestCaseError> {
    let ours = Validator::compile(schema).unwrap_or_else(|error| panic!("{schema}: {error}"));
    let theirs = jsonschema::options()
        .should_validate_formats(true)
        .with_pattern_options(jsonschema::PatternOptions::regex())
        .build(schema)
        .unwrap_or_else(|error| panic!("{schema}: {error}"));
    for value in values {
        prop_assert_eq!(ours.is_valid(value), theirs.is_valid(value), "{} {}", schema, value);
    }
    Ok(())
}

#[test]
fn formats_are_those_of_the_library() {
    let mut texts: Vec<Value> = TEXTS.split_whitespace().map(Value::from).collect();
    texts.extend(
        ["", " ", "a b@c", "\"a b\"@c", "Ada <a@b>", "Ada <a@b", " <a@b>", "Ada <a@b> ", "x <<a@b>", "a b"]
            .map(Value::from),
    );
    for draft in DRAFTS {
        for format in FORMATS {
            agree(&json!({ "$schema": draft, "format": format }), &texts).unwrap();
        }
    }
}

#[test]
fn what_texts_hold_is_checked_as_in_the_library() {
    let texts = ["", "e30=", "e30", "e3==", "e31=", "eA==", "eB==", "{}", "{", "ezp9Cg==", "=", "====", "a===", "é==="];
    for draft in DRAFTS {
        for encoding in [json!("base64"), json!("quoted-printable"), Value::Null] {
            for media_type in [json!("application/json"), json!("text/plain"), Value::Null] {
                let mut schema =
                    json!({ "$schema": draft, "contentEncoding": encoding, "contentMediaType": media_type });
                schema.as_object_mut().unwrap().retain(|_, value| !value.is_null());
                agree(&schema, &texts.map(Value::from)).unwrap();
            }
        }
    }
}

#[test]
fn patterns_are_those_of_the_library() {
    let texts =
        ["", "a", "ab1", "é", "_", "\n", "\u{a0}", "1", "٣", "\x01", "a\nb", "-", "/", "A.b", "aé1 _", "\u{2003}"];
    let patterns = [
        r"^\d+$",
        r"\D",
        r"^\w+$",
        r"\W",
        r"\s",
        r"^\S*$",
        r"[\d\s]",
        r"[^\w-]",
        r"\cA",
        r"\ca|b",
        r"^a.b$",
        r"\/",
        r"^(a|ab1)$",
        r"^a",
        r"^\p{L}$",
        r"^[é]$",
        r"^(?:a|b)?$",
        r"^[A-Z]\.[a-z]$",
        r"\\cA",
        r"^\u0061$",
        r"[\D]",
        r"^[\S]$",
        r"\ba\b",
    ];
    for pattern in patterns {
        agree(&json!({ "pattern": pattern }), &texts.map(Value::from)).unwrap();
    }
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-20..20_i64).prop_map(Value::from),
        (-20..20_i32).prop_map(|tenth| json!(f64::from(tenth) / 10.0)),
        (-300..300_i32, -12..12_i32).prop_map(|(digits, power)| json!(f64::from(digits) * 10_f64.powi(power))),
        any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(Value::from),
        prop::sample::select(vec![
            json!(9_007_199_254_740_993_u64),
            json!(9_007_199_254_740_992.0),
            json!(-0.0),
            json!(1e300)
        ]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn texts_near_a_format_agree(
        place in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        with in "[0-9a-zA-Z:.@/%\\-+TZ#?\\[\\]{}~]{0,2}",
    ) {
        let texts: Vec<&str> = TEXTS.split_whitespace().collect();
        let mut text: Vec<char> = place.get(&texts).chars().collect();
        let at = cut.index(text.len());
        text.splice(at..=at, with.chars());
        let text: String = text.into_iter().collect();
        for format in FORMATS.into_iter().filter(|format| !takes_punctuation_for_digits(format, &text)) {
            agree(&json!({ "format": format }), &[Value::from(text.as_str())])?;
        }
    }

    #[test]
    fn numbers_are_compared_as_the_library_does(bound in number(), values in prop::collection::vec(number(), 1..8)) {
        let values: Vec<Value> = values.into_iter().chain([bound.clone()]).collect();
        for keyword in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "const"] {
            agree(&json!({ keyword: bound }), &values)?;
        }
        for kind in ["integer", "number"] {
            for draft in DRAFTS {
                agree(&json!({ "$schema": draft, "type": kind }), &values)?;
            }
        }
    }

    #[test]
    fn multiples_are_those_of_the_library(step in 1..400_u32, power in 0..4_i32, value in -4000..4000_i32, other in 0..4_i32) {
        let (step, value) = (f64::from(step) / 10_f64.powi(power), f64::from(value) / 10_f64.powi(other));
        agree(&json!({ "multipleOf": step }), &[json!(value)])?;
    }

    #[test]
    fn items_are_as_unique_as_in_the_library(
        mut items in prop::collection::vec(crate::schema::testing::value(), 0..40),
        numbers in prop::bool::ANY,
    ) {
        if numbers {
            items = (0..items.len()).map(|index| json!([index, index % 2 == 0])).collect();
            items.push(json!([1.0, false]));
        }
        agree(&json!({ "uniqueItems": true }), &[Value::from(items)])?;
    }
}
