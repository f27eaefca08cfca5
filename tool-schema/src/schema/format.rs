//! The checks of `format`, `contentEncoding` and `contentMediaType`.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::sync::LazyLock;

use base64::{Engine, engine::general_purpose::STANDARD};
use email_address::EmailAddress;
use fluent_uri::{Iri, IriRef, Uri, UriRef};
use regex::{Captures, Regex};
use serde_json::Value;

use super::{draft::Draft, pattern};

pub type Check = fn(&str) -> bool;

/// The way in which a format is checked.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    /// A format that this crate checks.
    Checked(Check),
    /// A format that only the library `jsonschema` checks, because it needs the tables of internationalized names.
    Foreign,
    /// A name that does not restrict texts.
    Unknown,
}

impl Format {
    /// Returns the format with this name in `draft`.
    pub fn named(draft: Draft, name: &str) -> Self {
        Self::Checked(match name {
            "date" => is_date,
            "date-time" => is_date_time,
            "time" => is_time,
            "duration" if draft >= Draft::Nineteen => |text| DURATION.is_match(text),
            "email" => is_email,
            "hostname" if draft <= Draft::Six => is_old_host_name,
            "hostname" => is_host_name,
            "ipv4" => is_ipv4,
            "ipv6" => is_ipv6,
            "uri" => |text| Uri::parse(text).is_ok(),
            "uri-reference" if draft >= Draft::Six => |text| UriRef::parse(text).is_ok(),
            "iri" if draft >= Draft::Seven => |text| Iri::parse(text).is_ok(),
            "iri-reference" if draft >= Draft::Seven => |text| IriRef::parse(text).is_ok(),
            "uri-template" if draft >= Draft::Six => |text| URI_TEMPLATE.is_match(text),
            "json-pointer" if draft >= Draft::Six => |text| JSON_POINTER.is_match(text),
            "relative-json-pointer" if draft >= Draft::Seven => |text| RELATIVE_JSON_POINTER.is_match(text),
            "regex" => pattern::is_regex,
            "uuid" if draft >= Draft::Nineteen => is_uuid,
            // schemars names these. No draft defines them.
            "ip" => |text| is_ipv4(text) || is_ipv6(text),
            "partial-time" => is_partial_time,
            "partial-date-time" => is_partial_date_time,
            "zoned-date-time" => is_zoned_date_time,
            "idn-email" => return Self::Foreign,
            "idn-hostname" if draft >= Draft::Seven => return Self::Foreign,
            _ => return Self::Unknown,
        })
    }
}

fn is_uuid(text: &str) -> bool {
    let is_right = |(place, byte): (usize, u8)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_right)
}

/// Returns the check of `contentEncoding` and `contentMediaType`, or `None` for an unknown combination.
pub fn content_check(encoding: Option<&str>, media_type: Option<&str>) -> Option<Check> {
    match (encoding, media_type) {
        (Some("base64"), None) => Some(|text| STANDARD.decode(text).is_ok()),
        (Some("base64"), Some("application/json")) => {
            Some(|text| STANDARD.decode(text).is_ok_and(|bytes| serde_json::from_slice::<Value>(&bytes).is_ok()))
        }
        (None, Some("application/json")) => Some(|text| serde_json::from_str::<Value>(text).is_ok()),
        _ => None,
    }
}

const MINUTES_OF_A_DAY: u32 = 24 * 60;

static DATE: LazyLock<Regex> = LazyLock::new(|| compile("^([0-9]{4})-([0-9]{2})-([0-9]{2})$"));

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    let clock = "([01][0-9]|2[0-3]):([0-5][0-9])";
    compile(&format!(r"^{clock}:([0-5][0-9]|60)(?:\.[0-9]+)?(?:[Zz]|([+-]){clock})$"))
});

/// Returns the number that a group of a pattern has matched, or 0 if the group has matched nothing.
fn matched_number(found: &Captures<'_>, group: usize) -> u32 {
    found.get(group).and_then(|digits| digits.as_str().parse().ok()).unwrap_or(0)
}

fn is_date(text: &str) -> bool {
    let Some(date) = DATE.captures(text) else { return false };
    let [year, month, day] = [1, 2, 3].map(|group| matched_number(&date, group));
    let is_leap_year = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    text.split_once(['T', 't']).is_some_and(|(date, time)| is_date(date) && is_time(time))
}

fn is_time(text: &str) -> bool {
    let Some(time) = TIME.captures(text) else { return false };
    let minutes = |hour| 60 * matched_number(&time, hour) + matched_number(&time, hour + 1);
    let is_behind = time.get(4).is_some_and(|sign| sign.as_str() == "-");
    let offset = if is_behind { MINUTES_OF_A_DAY - minutes(5) } else { minutes(5) };
    // A leap second is the last second of a day in UTC.
    matched_number(&time, 3) < 60 || (minutes(1) + MINUTES_OF_A_DAY - offset) % MINUTES_OF_A_DAY == MINUTES_OF_A_DAY - 1
}

/// Returns whether `text` is a time of RFC 3339 without an offset.
fn is_partial_time(text: &str) -> bool {
    text.ends_with(|last: char| last.is_ascii_digit()) && is_time(&format!("{text}Z")) || is_leap_second(text)
}

/// Returns whether `text` is a second that some offset makes a leap second.
fn is_leap_second(text: &str) -> bool {
    text.get(5..8) == Some(":60") && is_partial_time(&format!("{}59{}", &text[..6], &text[8..]))
}

/// Returns whether `text` is a date and time of RFC 3339 without an offset.
fn is_partial_date_time(text: &str) -> bool {
    text.split_once(['T', 't']).is_some_and(|(date, time)| is_date(date) && is_partial_time(time))
}

/// Returns whether `text` is a date and time of RFC 9557 with a time zone in brackets.
fn is_zoned_date_time(text: &str) -> bool {
    let Some((date_time, zone)) = text.strip_suffix(']').and_then(|text| text.split_once('[')) else { return false };
    let is_zone = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '+' | '-' | '.' | ':');
    !zone.is_empty() && zone.chars().all(is_zone) && (is_date_time(date_time) || is_partial_date_time(date_time))
}

const MAX_HOST_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// The characters that a zero width joiner may follow: the viramas.
const VIRAMAS: &str = "\u{094D}\u{09CD}\u{0A4D}\u{0ACD}\u{0B4D}\u{0BCD}\u{0C4D}\u{0CCD}\u{0D4D}\u{0DCA}\u{0E3A}\u{0F84} \
    \u{1039}\u{1714}\u{1734}\u{17D2}\u{1A60}\u{1B44}\u{1BAA}\u{1BF2}\u{1BF3}\u{2D7F}\u{A806}\u{A8C4} \
    \u{A953}\u{ABED}\u{10A3F}\u{11046}\u{1107F}\u{110B9}\u{11133}\u{111C0}\u{11235}\u{112EA}\u{1134D} \
    \u{11442}\u{114C2}\u{115BF}\u{1163F}\u{116B6}\u{1172B}\u{11839}\u{119E0}\u{11A34}\u{11A47}\u{11A99} \
    \u{11C3F}\u{11D44}\u{11D45}\u{11D97}";

fn is_ipv4(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok()
}

fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// Returns whether `text` is an address of RFC 5321, with or without a name: `Ada <ada@example.com>`.
fn is_email(text: &str) -> bool {
    EmailAddress::from_str(text).is_ok_and(|address| is_mail_domain(address.domain()))
}

fn is_mail_domain(text: &str) -> bool {
    match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(literal) => literal.strip_prefix("IPv6:").map_or_else(|| is_ipv4(literal), is_ipv6),
        None => is_host_name(text),
    }
}

/// Returns whether `text` is a host name of RFC 1034 and 1123.
fn is_old_host_name(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=MAX_LABEL).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= MAX_HOST_NAME && text.split('.').all(is_label)
}

/// Returns whether `text` is a host name with valid internationalized labels (RFC 5891).
fn is_host_name(text: &str) -> bool {
    is_old_host_name(text)
        && text.split('.').all(|label| match label.strip_prefix("xn--") {
            Some(encoded) => decode_punycode(encoded).is_some_and(|label| is_unicode_label(&label)),
            None => label.get(2..4) != Some("--"),
        })
}

/// Returns whether a label in Unicode follows the rules of RFC 5892.
fn is_unicode_label(label: &[char]) -> bool {
    if label.first().is_some_and(|first| matches(&MARK, *first)) {
        return false;
    }
    let neighbour = |place: usize| label.get(place).copied();
    let between = |c: Option<char>, first: char, last: char| c.is_some_and(|c| (first..=last).contains(&c));
    let is_right = |(place, &c): (usize, &char)| {
        let before = place.checked_sub(1).and_then(neighbour);
        let after = neighbour(place + 1);
        match c {
            '\u{200d}' => before.is_some_and(|before| VIRAMAS.contains(before)),
            '\u{b7}' => before == Some('l') && after == Some('l'),
            '\u{375}' => between(after, '\u{370}', '\u{3ff}'),
            '\u{5f3}' | '\u{5f4}' => between(before, '\u{590}', '\u{5ff}'),
            '\u{640}' | '\u{7fa}' | '\u{302e}' | '\u{302f}' | '\u{3031}'..='\u{3035}' | '\u{303b}' => false,
            '\u{200c}' | '\u{30fb}' | '\u{6fd}' | '\u{6fe}' | '\u{f0b}' | '\u{3007}' => true,
            c => c.is_ascii() || matches(&LETTER_MARK_OR_DIGIT, c),
        }
    };
    let has = |ranges: &[(char, char)]| {
        label.iter().any(|c| *c != '\u{30fb}' && ranges.iter().any(|(first, last)| (first..=last).contains(&c)))
    };
    let is_middle_dot_right =
        !label.contains(&'\u{30fb}') || has(&[('\u{3040}', '\u{30ff}'), ('\u{4e00}', '\u{9fff}')]);
    let mixes_digits = has(&[('\u{660}', '\u{669}')]) && has(&[('\u{6f0}', '\u{6f9}')]);
    label.iter().enumerate().all(is_right) && is_middle_dot_right && !mixes_digits
}

static JSON_POINTER: LazyLock<Regex> = LazyLock::new(|| compile(r"^(/([^~/]|~[01])*)*$"));

static RELATIVE_JSON_POINTER: LazyLock<Regex> = LazyLock::new(|| compile(r"^(0|[1-9][0-9]*)(#|(/([^~/]|~[01])*)*)$"));

/// A duration of ISO 8601: weeks alone, or the other units one after the other, without a gap.
static DURATION: LazyLock<Regex> = LazyLock::new(|| {
    let day = "[0-9]+D";
    let month = format!("[0-9]+M({day})?");
    let time = "T([0-9]+H([0-9]+M([0-9]+S)?)?|[0-9]+M([0-9]+S)?|[0-9]+S)";
    compile(&format!("^P(([0-9]+W|[0-9]+Y({month})?|{month}|{day})({time})?|{time})$"))
});

/// A template of RFC 6570.
static URI_TEMPLATE: LazyLock<Regex> = LazyLock::new(|| {
    let encoded = "%[0-9A-Fa-f]{2}";
    let literal = r#"[^\x00-\x20\x7f"'<>%\\^`{|}]"#;
    let name = format!("([A-Za-z0-9_]|{encoded})+");
    let variable = format!(r"{name}(\.{name})*(:[1-9][0-9]{{0,3}}|\*)?");
    compile(&format!(r"^({literal}|{encoded}|\{{[+#./;?&=,!@|]?{variable}(,{variable})*\}})*$"))
});

static MARK: LazyLock<Regex> = LazyLock::new(|| compile(r"\p{M}"));

static LETTER_MARK_OR_DIGIT: LazyLock<Regex> = LazyLock::new(|| compile(r"[\p{L}\p{Mn}\p{Mc}\p{Nd}]"));

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("it is a pattern")
}

fn matches(class: &Regex, c: char) -> bool {
    class.is_match(c.encode_utf8(&mut [0; 4]))
}

/// The parameters of Punycode (RFC 3492, section 5).
const BASE: u32 = 36;
const MIN_THRESHOLD: u32 = 1;
const MAX_THRESHOLD: u32 = 26;
const SKEW: u32 = 38;
const DAMP: u32 = 700;
const INITIAL_BIAS: u32 = 72;
const INITIAL_POINT: u32 = 128;

/// Decodes `encoded` (RFC 3492, section 6.2).
fn decode_punycode(encoded: &str) -> Option<Vec<char>> {
    let (mut decoded, digits): (Vec<char>, &str) = match encoded.rsplit_once('-') {
        Some((base, digits)) if !base.is_empty() => (base.chars().collect(), digits),
        _ => (Vec::new(), encoded),
    };
    let mut digits = digits.bytes();
    let (mut point, mut index, mut bias): (u32, u32, u32) = (INITIAL_POINT, 0, INITIAL_BIAS);
    while let Some(mut digit) = digits.next() {
        let before = index;
        let mut weight = 1_u32;
        for place in 1.. {
            let value = u32::from(match digit {
                b'0'..=b'9' => digit - b'0' + 26,
                letter => letter.to_ascii_lowercase().checked_sub(b'a').filter(|value| *value < 26)?,
            });
            index = index.checked_add(value.checked_mul(weight)?)?;
            let threshold = (BASE * place).saturating_sub(bias).clamp(MIN_THRESHOLD, MAX_THRESHOLD);
            if value < threshold {
                break;
            }
            weight = weight.checked_mul(BASE - threshold)?;
            digit = digits.next()?;
        }
        let length = u32::try_from(decoded.len()).ok()? + 1;
        bias = adapt(index - before, length, before == 0);
        point = point.checked_add(index / length)?;
        index %= length;
        decoded.insert(usize::try_from(index).ok()?, char::from_u32(point)?);
        index += 1;
    }
    Some(decoded)
}

/// Returns the bias after a step of `delta`, when there are `length` characters (RFC 3492, section 6.1).
fn adapt(delta: u32, length: u32, is_first: bool) -> u32 {
    let mut delta = if is_first { delta / DAMP } else { delta / 2 };
    delta += delta / length;
    let mut bias = 0;
    while delta > (BASE - MIN_THRESHOLD) * MAX_THRESHOLD / 2 {
        delta /= BASE - MIN_THRESHOLD;
        bias += BASE;
    }
    bias + BASE * delta / (delta + SKEW)
}

/// A URI in words.
pub const URI_IN_WORDS: &str = "a URI with its scheme, such as https://example.com/";

/// Returns a format of JSON Schema in words.
pub fn describe(name: &str) -> Option<&'static str> {
    Some(match name {
        "date-time" => "a date and time with its offset, such as 2025-01-31T12:00:00Z",
        "date" => "a date such as 2025-01-31",
        "time" => "a time with its offset, such as 12:00:00Z",
        "partial-date-time" => "a date and time without an offset, such as 2025-01-31T12:00:00",
        "partial-time" => "a time without an offset, such as 12:00:00",
        "zoned-date-time" => "a date and time with its time zone, such as 2025-01-31T12:00:00+01:00[Europe/Paris]",
        "duration" => "a duration such as P1DT2H",
        "email" | "idn-email" => "an e-mail address",
        "hostname" | "idn-hostname" => "a host name",
        "ipv4" => "an IPv4 address",
        "ipv6" => "an IPv6 address",
        "ip" => "an IPv4 or IPv6 address",
        "uri" | "iri" => URI_IN_WORDS,
        "uri-reference" | "iri-reference" => "a URI or a relative reference",
        "uri-template" => "a URI template",
        "uuid" => "a UUID",
        "json-pointer" => "a JSON Pointer",
        "relative-json-pointer" => "a relative JSON Pointer",
        "regex" => "a regular expression",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use crate::schema::CompiledSchema;

    const DRAFTS: [&str; 5] = [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ];

    /// The names of formats, an unknown name, and an empty one.
    const FORMATS: &str = "date date-time time duration email hostname ipv4 ipv6 uri uri-reference iri iri-reference uri-template \
        json-pointer relative-json-pointer regex uuid int32 ";

    /// Texts that are valid or nearly so, ordered by format.
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

    /// Returns whether the library may read `+` or `.` in `text` as a digit of a date or a time, as version 0.46 does.
    fn has_punctuation_for_digits(format: &str, text: &str) -> bool {
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
        let ours = CompiledSchema::compile(schema).unwrap_or_else(|error| panic!("{schema}: {error}"));
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
    fn formats_of_schemars_are_checked() {
        use super::{Draft, Format};
        let accepts = |format: &str, text: &str| match Format::named(Draft::Twenty, format) {
            Format::Checked(check) => check(text),
            other => panic!("{format}: {other:?}"),
        };
        for (format, right, wrong) in [
            ("ip", &["127.0.0.1", "::1"][..], &["", "127.0.0.256", "localhost"][..]),
            (
                "partial-time",
                &["23:30:00", "23:30:00.5", "23:30:60"],
                &["", "23:30", "23:30:00Z", "24:00:00", "23:30:61"],
            ),
            (
                "partial-date-time",
                &["2026-11-27T10:00:00", "2026-11-27t10:00:00.25"],
                &["2026-11-27", "2026-11-27T10:00:00Z", "2026-11-27 10:00:00", "2026-02-30T10:00:00", "éééé"],
            ),
            (
                "zoned-date-time",
                &["2026-11-27T10:00:00+01:00[Europe/Berlin]", "2026-11-27T10:00:00[UTC]"],
                &["2026-11-27T10:00:00+01:00", "2026-11-27[UTC]", "2026-11-27T10:00:00[]"],
            ),
        ] {
            for text in right {
                assert!(accepts(format, text), "{format} {text}");
            }
            for text in wrong {
                assert!(!accepts(format, text), "{format} {text}");
            }
        }
    }

    #[test]
    fn formats_are_those_of_the_library() {
        let mut texts: Vec<Value> = TEXTS.split_whitespace().map(Value::from).collect();
        texts.extend(
            ["", " ", "a b@c", "\"a b\"@c", "Ada <a@b>", "Ada <a@b", " <a@b>", "Ada <a@b> ", "x <<a@b>", "a b"]
                .map(Value::from),
        );
        for draft in DRAFTS {
            for format in FORMATS.split(' ') {
                agree(&json!({ "$schema": draft, "format": format }), &texts).unwrap();
            }
        }
    }

    #[test]
    fn contents_of_texts_are_checked_like_in_the_library() {
        let texts =
            ["", "e30=", "e30", "e3==", "e31=", "eA==", "eB==", "{}", "{", "ezp9Cg==", "=", "====", "a===", "é==="];
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
        let patterns = r"
            ^\d+$ \D ^\w+$ \W \s ^\S*$ [\d\s] [^\w-] \cA \ca|b ^a.b$ \/ ^(a|ab1)$ ^a ^\p{L}$ ^[é]$ ^(?:a|b)?$ ^[A-Z]\.[a-z]$
            \\cA ^\u0061$ [\D] ^[\S]$
        ";
        for pattern in patterns.split_whitespace() {
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
            // To the library, as to the crate `regex`, `[`, `&&`, `--` and `~~` are operators in a class.
            let differs = |format: &str| has_punctuation_for_digits(format, &text) || format == "regex";
            for format in FORMATS.split(' ').filter(|format| !differs(format)) {
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

        // No second opinion of the library: it reads 2.01 as no multiple of 0.01 (jsonschema 0.46.10).
        #[test]
        fn multiples_are_those_of_the_decimal_digits(
            step in 1..400_i64, power in 0..4_u32, value in -4000..4000_i64, other in 0..4_u32,
        ) {
            let decimal = |digits: i64, power: u32| -> Value {
                let (whole, rest) = (digits.abs() / 10_i64.pow(power), digits.abs() % 10_i64.pow(power));
                let sign = if digits < 0 { "-" } else { "" };
                let text = format!("{sign}{whole}.{rest:0width$}", width = power as usize);
                serde_json::from_str(text.trim_end_matches('.')).expect("a number in JSON")
            };
            let ours = CompiledSchema::compile(&json!({ "multipleOf": decimal(step, power) })).unwrap();
            let exact = value * 10_i64.pow(power) % (step * 10_i64.pow(other)) == 0;
            let value = decimal(value, other);
            prop_assert_eq!(ours.is_valid(&value), exact, "{} {}", decimal(step, power), value);
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
}
