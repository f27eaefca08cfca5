//! The value so far, by the simplest means: repair the text and read it from its start.

use serde_json::Value;

/// The value of a beginning of a JSON text: what can be read when as little as possible of its end is left out, a word is
/// completed, and what is open is closed.
pub(super) fn view(text: &str) -> Option<Value> {
    const WORDS: [&str; 3] = ["true", "false", "null"];
    let endings = WORDS.iter().flat_map(|word| (1..word.len()).map(|at| &word[at..]));
    let endings: Vec<&str> = std::iter::once("").chain(endings).collect();
    (0..=text.len()).rev().filter(|&end| text.is_char_boundary(end)).find_map(|end| {
        // Only the word that the text ends with is completed: not one whose end was left out, and none in quotes.
        let letter = text.ends_with(|c: char| c.is_ascii_lowercase());
        let endings = if end == text.len() && letter && !closed(text).contains('"') { &endings[..] } else { &[""] };
        endings.iter().find_map(|ending| {
            let text = format!("{}{ending}", &text[..end]);
            serde_json::from_str(&(text.clone() + &closed(&text))).ok()
        })
    })
}

/// What closes everything that is open at the end of `text`.
fn closed(text: &str) -> String {
    let (mut open, mut quoted, mut escaped) = (Vec::new(), false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => drop(open.pop()),
            _ => {}
        }
    }
    let quote = if quoted { "\"" } else { "" };
    format!("{quote}{}", open.iter().rev().collect::<String>())
}

#[test]
fn the_model_shows_what_is_documented() {
    use serde_json::json;

    for (text, expected) in [
        ("", None),
        (" -", None),
        ("{", Some(json!({}))),
        (r#"{"a"#, Some(json!({}))),
        (r#"{"a": "#, Some(json!({}))),
        (r#"{"a": ""#, Some(json!({"a": ""}))),
        (r#"{"a": "x\"#, Some(json!({"a": "x"}))),
        (r#"{"a": "x\ud83d\ude0"#, Some(json!({"a": "x"}))),
        (r#"{"a": 12."#, Some(json!({"a": 12}))),
        (r#"{"a": 12,"#, Some(json!({"a": 12}))),
        (r"[t", Some(json!([true]))),
        (r"[nul", Some(json!([null]))),
        (r"[null, -", Some(json!([null]))),
    ] {
        assert_eq!(view(text), expected, "{text}");
    }
}
