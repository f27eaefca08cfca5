//! The texts that a person reads.

use serde_json::Value;

use tool_runtime::message::Part;
use tool_runtime::tool::ToolSpec;

/// The number of choices or tools that are listed at once.
const MAX_LISTED: usize = 15;
/// The longest description in a list, and the longest value, in characters.
const MAX_CHARACTERS: usize = 160;

/// Returns the name of a tool for people.
pub fn title(spec: &ToolSpec) -> String {
    capitalize(&spec.title.clone().unwrap_or_else(|| label(&spec.name)))
}

/// Returns a name in words: `order_id` is `order id`.
pub fn label(name: &str) -> String {
    name.replace(['_', '-'], " ")
}

/// Returns a text in small letters with single spaces, by which names are compared.
pub fn fold(text: &str) -> String {
    let words = label(text).to_lowercase();
    words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns the words of a request that may name a tool: those of [`fold`] without articles and words of politeness.
pub fn request(text: &str) -> String {
    const OTHER: &str = "a an the please i d want would like to can could you";
    let folded = fold(text);
    let words: Vec<&str> = folded.split(' ').filter(|word| !OTHER.split(' ').any(|other| other == *word)).collect();
    if words.is_empty() { folded } else { words.join(" ") }
}

/// Returns a text with a capital letter at its beginning.
pub fn capitalize(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// Returns the first sentence of a description, without its end.
pub fn first_sentence(text: &str) -> String {
    let sentence = text.split_once(". ").map_or(text, |(first, _)| first).trim().trim_end_matches('.');
    let end = sentence.char_indices().nth(MAX_CHARACTERS).map_or(sentence.len(), |(at, _)| at);
    sentence[..end].lines().collect::<Vec<_>>().join(" ")
}

/// Returns a list with a number before each line.
pub fn numbered(lines: impl ExactSizeIterator<Item = String>) -> String {
    let rest = lines.len().saturating_sub(MAX_LISTED);
    let mut out: Vec<String> =
        lines.take(MAX_LISTED).enumerate().map(|(at, line)| format!("{:>3}. {line}", at + 1)).collect();
    if rest > 0 {
        out.push(format!("     … and {rest} more"));
    }
    out.join("\n")
}

/// Returns a value in one line: a text without quotation marks, and anything else as JSON.
pub fn inline(value: &Value) -> String {
    first_line(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Returns the content of a result: texts as they are, and the members of an object as lines.
pub fn render(content: &[Part]) -> String {
    let parts = content.iter().map(|part| match part {
        Part::Text { text: json } | Part::Json { json } => match serde_json::from_str(json) {
            Ok(value) => render_value(&value),
            Err(_) => json.clone(),
        },
        part => part.in_words().into_owned(),
    });
    parts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn render_value(value: &Value) -> String {
    let Value::Object(members) = value else { return multiline(value) };
    // An answer says `ok` beside its members, or beside its only `value`.
    let mut members = members.iter().filter(|(name, value)| *name != "ok" || **value != Value::Bool(true)).peekable();
    if members.clone().count() == 1
        && let Some((_, value)) = members.next_if(|(name, _)| *name == "value")
    {
        return render_value(value);
    }
    members.map(|(name, value)| format!("{}: {}", label(name), multiline(value))).collect::<Vec<_>>().join("\n")
}

/// Returns a text as it is, and anything else as indented JSON.
fn multiline(value: &Value) -> String {
    value.as_str().map_or_else(|| serde_json::to_string_pretty(value).unwrap_or_default(), str::to_owned)
}

/// Returns the text without control characters and without characters that change the direction of text.
pub fn printable(text: &str) -> String {
    let hidden = |c: char| {
        (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().filter(|c| !hidden(*c)).collect()
}
