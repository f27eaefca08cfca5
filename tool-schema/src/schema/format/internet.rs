//! Names and addresses of the internet.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::sync::LazyLock;

use email_address::EmailAddress;
use regex::Regex;

const LONGEST_HOST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// The characters after which a zero width joiner may stand: the viramas.
const VIRAMAS: &str = "\u{094D}\u{09CD}\u{0A4D}\u{0ACD}\u{0B4D}\u{0BCD}\u{0C4D}\u{0CCD}\u{0D4D}\u{0DCA}\u{0E3A}\u{0F84} \
    \u{1039}\u{1714}\u{1734}\u{17D2}\u{1A60}\u{1B44}\u{1BAA}\u{1BF2}\u{1BF3}\u{2D7F}\u{A806}\u{A8C4} \
    \u{A953}\u{ABED}\u{10A3F}\u{11046}\u{1107F}\u{110B9}\u{11133}\u{111C0}\u{11235}\u{112EA}\u{1134D} \
    \u{11442}\u{114C2}\u{115BF}\u{1163F}\u{116B6}\u{1172B}\u{11839}\u{119E0}\u{11A34}\u{11A47}\u{11A99} \
    \u{11C3F}\u{11D44}\u{11D45}\u{11D97}";

pub fn is_ipv4(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok()
}

pub fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// Returns whether `text` is an address of RFC 5321, also behind a name: `Ada <ada@example.com>`.
pub fn is_email(text: &str) -> bool {
    EmailAddress::from_str(text).is_ok_and(|address| is_mail_domain(address.domain()))
}

fn is_mail_domain(text: &str) -> bool {
    match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(literal) => literal.strip_prefix("IPv6:").map_or_else(|| is_ipv4(literal), is_ipv6),
        None => is_host_name(text),
    }
}

/// Returns whether `text` is a host name of RFC 1034 and 1123.
pub fn is_old_host_name(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=LONGEST_LABEL).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= LONGEST_HOST_NAME && text.split('.').all(is_label)
}

/// Returns whether `text` is a host name whose internationalized labels are right too (RFC 5891).
pub fn is_host_name(text: &str) -> bool {
    is_old_host_name(text)
        && text.split('.').all(|label| match label.strip_prefix("xn--") {
            Some(encoded) => decode_punycode(encoded).is_some_and(|label| is_unicode_label(&label)),
            None => label.get(2..4) != Some("--"),
        })
}

/// Returns whether a label in Unicode keeps the rules of RFC 5892.
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

static MARK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\p{M}").expect("it is a pattern"));

static LETTER_MARK_OR_DIGIT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[\p{L}\p{Mn}\p{Mc}\p{Nd}]").expect("it is a pattern"));

fn matches(class: &Regex, c: char) -> bool {
    class.is_match(c.encode_utf8(&mut [0; 4]))
}

/// Returns the text that `encoded` stands for (RFC 3492).
fn decode_punycode(encoded: &str) -> Option<Vec<char>> {
    let (mut decoded, digits): (Vec<char>, &str) = match encoded.rsplit_once('-') {
        Some((base, digits)) if !base.is_empty() => (base.chars().collect(), digits),
        _ => (Vec::new(), encoded),
    };
    let mut digits = digits.bytes();
    let (mut point, mut index, mut bias): (u32, u32, u32) = (128, 0, 72);
    while let Some(mut digit) = digits.next() {
        let before = index;
        let mut weight = 1_u32;
        for place in 1.. {
            let value = u32::from(match digit {
                b'0'..=b'9' => digit - b'0' + 26,
                letter => letter.to_ascii_lowercase().checked_sub(b'a').filter(|value| *value < 26)?,
            });
            index = index.checked_add(value.checked_mul(weight)?)?;
            let threshold = (36_u32 * place).saturating_sub(bias).clamp(1, 26);
            if value < threshold {
                break;
            }
            weight = weight.checked_mul(36 - threshold)?;
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

/// Returns the bias after a step of `delta`, when there are `length` characters.
fn adapt(delta: u32, length: u32, is_first: bool) -> u32 {
    let mut delta = if is_first { delta / 700 } else { delta / 2 };
    delta += delta / length;
    let mut bias = 0;
    while delta > 455 {
        delta /= 35;
        bias += 36;
    }
    bias + 36 * delta / (delta + 38)
}

/// Returns whether `text` has only characters that are `allowed`, and bytes written as `%` and two digits.
fn is_encoded(text: &str, allowed: impl Fn(char) -> bool) -> bool {
    let mut parts = text.split('%');
    let is_plain = |part: &str| part.chars().all(&allowed);
    parts.next().is_none_or(is_plain)
        && parts.all(|part| {
            let digits = part.bytes().take(2).filter(u8::is_ascii_hexdigit).count();
            digits == 2 && is_plain(&part[2..])
        })
}

/// Returns whether `text` is a template of RFC 6570.
pub fn is_uri_template(text: &str) -> bool {
    let mut parts = text.split('{');
    let is_literal = |part: &str| is_encoded(part, is_literal_char);
    parts.next().is_none_or(is_literal)
        && parts.all(|part| {
            part.split_once('}').is_some_and(|(expression, literal)| is_expression(expression) && is_literal(literal))
        })
}

fn is_literal_char(c: char) -> bool {
    !c.is_ascii() || (c.is_ascii_graphic() && !"\"'<>%\\^`{|}".contains(c))
}

fn is_expression(text: &str) -> bool {
    let variables = text.strip_prefix(['+', '#', '.', '/', ';', '?', '&', '=', ',', '!', '@', '|']).unwrap_or(text);
    variables.split(',').all(|variable| {
        let name = match variable.split_once(':') {
            Some((name, length)) => {
                let is_length = (1..=4).contains(&length.len()) && length.bytes().all(|byte| byte.is_ascii_digit());
                if !is_length || length.starts_with('0') {
                    return false;
                }
                name
            }
            None => variable.strip_suffix('*').unwrap_or(variable),
        };
        let is_variable_char = |c: char| c.is_ascii_alphanumeric() || c == '_';
        name.split('.').all(|part| !part.is_empty() && is_encoded(part, is_variable_char))
    })
}
