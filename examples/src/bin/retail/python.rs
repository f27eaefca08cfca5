//! JSON and floats as Python writes them, which is how the recorded results are written.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// `json.dumps(value)`: a space after `,` and `:`, and nothing but printable ASCII.
pub(crate) fn to_json(value: &impl Serialize) -> serde_json::Result<String> {
    let mut text = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut text, Dumps))?;
    Ok(String::from_utf8(text).expect("the formatter writes ASCII"))
}

/// `repr(float)`: the shortest digits that read back the same; an exponent below 1e-4 and from 1e16.
pub(crate) fn float(value: f64) -> String {
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(-4..=15) => format!("{value:?}"),
        Ok(exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        Err(_) => scientific,
    }
}

struct Dumps;

impl Dumps {
    fn separate<W: ?Sized + Write>(writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }
}

impl Formatter for Dumps {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        Self::separate(writer, first)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        Self::separate(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(float(value).as_bytes())
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        for character in fragment.chars() {
            match character {
                ' '..='~' => write!(writer, "{character}")?,
                _ => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        write!(writer, "\\u{unit:04x}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn json_is_spaced_and_ascii() {
        let value = json!({"name": "Zoë 😀 \u{7f}\n\"", "list": [1, 5.0, 0.1], "empty": {}, "none": null, "yes": true});
        let expected = r#"{"name": "Zo\u00eb \ud83d\ude00 \u007f\n\"", "list": [1, 5.0, 0.1], "empty": {}, "none": null, "yes": true}"#;
        assert_eq!(super::to_json(&value).unwrap(), expected);
    }

    #[test]
    fn floats_have_a_point_or_an_exponent() {
        for (value, text) in [
            (4.0, "4.0"),
            (-0.0, "-0.0"),
            (918.43, "918.43"),
            (0.049_999_999_999_997_16, "0.04999999999999716"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.25e100, "1.25e+100"),
        ] {
            assert_eq!(super::float(value), text);
        }
    }
}
