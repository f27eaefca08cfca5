//! The words of a JSON text: its texts, names, numbers and literals.

/// `json` with the words replaced for which `change` gives a text; `None` if it gives none. Everything else stays as it is
/// written. A text and a name are given without quotes and escapes.
pub(super) fn replaced(json: &str, mut change: impl FnMut(&str) -> Option<String>) -> Option<String> {
    let (bytes, mut at) = (json.as_bytes(), 0);
    let (mut out, mut copied) = (String::new(), 0);
    while at < bytes.len() {
        let start = at;
        let changed = match bytes[at] {
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(bytes.len());
                // What is no text is left to whoever reads the rest.
                serde_json::from_str::<String>(json.get(start..at).unwrap_or_default())
                    .ok()
                    .and_then(|text| change(&text))
            }
            byte if byte.is_ascii_alphanumeric() || byte == b'-' => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || b"+-.".contains(&bytes[at])) {
                    at += 1;
                }
                change(&json[start..at])
            }
            _ => {
                at += 1;
                None
            }
        };
        if let Some(text) = changed {
            out.push_str(&json[copied..start]);
            out.push_str(&serde_json::Value::from(text).to_string());
            copied = at;
        }
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&json[copied..]);
    Some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::replaced;

    #[test]
    fn words_are_replaced_and_the_rest_is_as_written() {
        let upper = |word: &str| word.contains('a').then(|| word.to_uppercase());
        let json = r#"{ "\u0061\"": [1.50, "b", false, {"n": "aé\\"}] }"#;
        assert_eq!(replaced(json, upper).unwrap(), r#"{ "A\"": [1.50, "b", "FALSE", {"n": "AÉ\\"}] }"#);
        assert_eq!(replaced(json, |_| None), None);
        assert_eq!(replaced("-12e+3", |word| Some(format!("<{word}>"))).unwrap(), r#""<-12e+3>""#);
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<Option<bool>>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC{0,6}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("\\PC{0,4}", inner, 0..4)
                    .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_text_is_walked_without_a_panic(text in "[\"\\\\{}a-c0-9é\\-.]{0,20}") {
            let _ = replaced(&text, |word| Some(word.to_owned()));
        }

        #[test]
        fn every_word_is_seen_once(value in json()) {
            fn words(value: &Value, all: &mut Vec<String>) {
                match value {
                    Value::Array(items) => items.iter().for_each(|item| words(item, all)),
                    Value::Object(map) => map.iter().for_each(|(name, value)| {
                        all.push(name.clone());
                        words(value, all);
                    }),
                    Value::String(text) => all.push(text.clone()),
                    other => all.push(other.to_string()),
                }
            }
            let (mut expected, mut seen) = (Vec::new(), Vec::new());
            words(&value, &mut expected);
            let note = |word: &str| {
                seen.push(word.to_owned());
                None
            };
            prop_assert_eq!(replaced(&value.to_string(), note), None);
            prop_assert_eq!(seen, expected);
        }
    }
}
