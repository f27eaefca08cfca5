//! Rendering of tools' results for a person.

use serde_json::{Map, Value};

use super::{scalar, words};
use tool_runtime::message::Part;

/// The maximum number of items that are shown.
pub const MAX_ITEMS: usize = 20;
/// The depth below which values are shown as JSON.
const MAX_DEPTH: usize = 5;

/// Returns the content of a result as text, without control characters.
pub fn render_content(parts: &[Part]) -> String {
    let mut out: Vec<String> = Vec::new();
    for part in parts {
        let text = match part {
            Part::Image(_) | Part::Audio(_) | Part::Document(_) | Part::Resource { .. } => {
                part.in_words().trim().to_owned()
            }
            Part::Text { text: json } | Part::Json { json } => match serde_json::from_str::<Value>(json) {
                Ok(value) if value.is_object() || value.is_array() || matches!(part, Part::Json { .. }) => {
                    render_result(&value)
                }
                _ => json.trim().to_owned(),
            },
        };
        if !text.is_empty() {
            out.push(text);
        }
    }
    printable(&out.join("\n\n"))
}

/// Returns a successful result as text: its data without the member `ok`, and then its feedback and instructions.
fn render_result(value: &Value) -> String {
    let Some(map) = value.as_object().filter(|map| map.get("ok") == Some(&Value::Bool(true))) else {
        return render_value(value);
    };
    let envelope = ["ok", "feedback", "instructions"];
    let data: Map<String, Value> =
        map.iter().filter(|(key, _)| !envelope.contains(&key.as_str())).map(|(k, v)| (k.clone(), v.clone())).collect();
    let mut out = match data.get("value") {
        Some(only) if data.len() == 1 => render_value(only),
        _ => render_value(&Value::Object(data)),
    };
    for note in envelope[1..].iter().filter_map(|key| map.get(*key)?.as_array()).flatten().filter_map(Value::as_str) {
        out.push('\n');
        out.push_str(note);
    }
    out.trim().to_owned()
}

pub fn render_value(value: &Value) -> String {
    let mut lines = Vec::new();
    write_lines(value, 0, &mut lines);
    lines.join("\n")
}

fn write_lines(value: &Value, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) if depth < MAX_DEPTH => {
            let labels: Vec<String> = map.keys().map(|key| words::humanize(&printable(key))).collect();
            let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0).min(24);
            for (label, value) in labels.iter().zip(map.values()) {
                if is_nested(value) {
                    lines.push(format!("{indent}{label}:"));
                    write_lines(value, depth + 1, lines);
                } else {
                    let gap = " ".repeat(width.saturating_sub(label.chars().count()));
                    let hanging = format!("\n{indent}{}", " ".repeat(width + 2));
                    lines.push(format!("{indent}{label}: {gap}{}", render_inline(value).replace('\n', &hanging)));
                }
            }
        }
        Value::Array(items) if depth < MAX_DEPTH && is_nested(value) => {
            if let Some(table) = render_table(items) {
                lines.extend(table.into_iter().map(|line| format!("{indent}{line}")));
                return;
            }
            for item in items.iter().take(MAX_ITEMS) {
                let from = lines.len();
                write_lines(item, depth + 1, lines);
                if let Some(first) = lines.get_mut(from) {
                    let text = first.trim_start().to_owned();
                    *first = format!("{indent}- {text}");
                }
            }
            lines.extend(render_rest(items).map(|line| format!("{indent}{line}")));
        }
        Value::String(text) => lines.extend(text.lines().map(|line| format!("{indent}{line}"))),
        value => lines.push(format!("{indent}{}", render_inline(value))),
    }
}

/// Returns the line with the number of items that are not shown.
pub fn render_rest(items: &[Value]) -> Option<String> {
    let more = items.len().checked_sub(MAX_ITEMS).filter(|more| *more > 0)?;
    Some(format!("… and {more} more"))
}

/// Returns whether a value needs separate lines.
fn is_nested(value: &Value) -> bool {
    match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => {
            let long: usize = items.iter().map(|item| item.as_str().map_or(8, str::len)).sum();
            items.iter().any(|item| item.is_object() || item.is_array()) || long > 80
        }
        _ => false,
    }
}

pub fn render_inline(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Object(map) if map.is_empty() => "none".to_owned(),
        value => scalar::to_plain_text(value),
    }
}

/// Returns the text without control characters and without characters that change the direction of text.
pub fn printable(text: &str) -> String {
    let hidden = |c: char| {
        (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().filter(|c| !hidden(*c)).collect()
}

/// The maximum number of columns in a table.
const MAX_COLUMNS: usize = 10;
/// The maximum number of characters in a line of a table.
const MAX_LINE_WIDTH: usize = 100;

/// Returns the lines of a table, if the items are similar and small enough.
pub fn render_table(items: &[Value]) -> Option<Vec<String>> {
    let mut keys: Vec<&String> = Vec::new();
    for item in items {
        let map = item.as_object().filter(|map| !map.is_empty())?;
        if map
            .values()
            .any(|value| value.is_object() || value.is_array() || value.as_str().is_some_and(|s| s.contains('\n')))
        {
            return None;
        }
        for key in map.keys() {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        if keys.len() > MAX_COLUMNS {
            return None;
        }
    }
    let mut rows = vec![keys.iter().map(|key| words::humanize(&printable(key))).collect::<Vec<_>>()];
    for item in items.iter().take(MAX_ITEMS) {
        rows.push(keys.iter().map(|key| item.get(key.as_str()).map_or(String::new(), render_inline)).collect());
    }
    let count = |text: &String| text.chars().count();
    let widths: Vec<usize> =
        (0..keys.len()).map(|at| rows.iter().map(|row| count(&row[at])).max().unwrap_or(0)).collect();
    if widths.iter().sum::<usize>() + 2 * widths.len() > MAX_LINE_WIDTH {
        return None;
    }
    let numeric: Vec<bool> =
        keys.iter().map(|key| items.iter().all(|item| item.get(key.as_str()).is_some_and(Value::is_number))).collect();
    let line = |row: &Vec<String>| {
        let mut out = String::new();
        for ((cell, width), right) in row.iter().zip(&widths).zip(&numeric) {
            let gap = " ".repeat(width - count(cell));
            let (before, after) = if *right { (gap.as_str(), "") } else { ("", gap.as_str()) };
            out.extend([before, cell.as_str(), after, "  "]);
        }
        out.trim_end().to_owned()
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    lines.insert(1, "-".repeat(lines.iter().map(|line| line.chars().count()).max().unwrap_or(0)));
    lines.extend(render_rest(items));
    Some(lines)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use tool_runtime::Media;

    fn shown(value: &Value) -> String {
        render_content(&[Part::Json { json: value.to_string() }])
    }

    #[test]
    fn an_object_is_lines_that_line_up() {
        let text = shown(&json!({"ok": true, "temperature": 21.5, "feelsLike": 20, "sunny": true, "wind": null,
            "place": {"city": "Paris", "codes": [1, 2]}, "feedback": ["Mild."]}));
        assert_eq!(
            text,
            "temperature: 21.5\nfeels like:  20\nsunny:       yes\nwind:        –\nplace:\n  city:  Paris\n  codes: 1, 2\nMild."
        );
    }

    #[test]
    fn other_results() {
        assert_eq!(shown(&json!({"ok": true, "value": "done"})), "done");
        assert_eq!(shown(&json!({"ok": true})), "");
        assert_eq!(shown(&json!(["a", "b"])), "a, b");
        assert_eq!(render_content(&[Part::text(" as is\u{1b}[31m ")]), "as is[31m");
        assert_eq!(render_content(&[Part::text("12 apples"), Part::text("{\"a\":1}")]), "12 apples\n\na: 1");
        let image = Part::Image(Media::base64("image/png", ""));
        assert_eq!(render_content(&[image]), "(an image, image/png)");
    }

    #[test]
    fn lists_without_a_table_are_bullets() {
        assert_eq!(shown(&json!([{"a": 1, "b": {"c": 2}}, [1, [2]]])), "- a: 1\n  b:\n    c: 2\n- - 1\n  - 2");
        let many: Vec<_> = (0..25).map(|n| json!({ "n": {"m": n} })).collect();
        assert!(shown(&json!(many)).ends_with("… and 5 more"));
    }

    #[test]
    fn alike_objects_are_a_table() {
        let items = [json!({"from": "Paris", "seats": 5}), json!({"from": "Rome", "seats": 120, "note": "full"})];
        let expected = ["from   seats  note", "------------------", "Paris      5", "Rome     120  full"];
        assert_eq!(render_table(&items), Some(expected.map(str::to_owned).to_vec()));
    }

    #[test]
    fn nested_and_wide_items_are_not_a_table() {
        assert_eq!(render_table(&[json!({"a": {"b": 1}})]), None);
        assert_eq!(render_table(&[json!({"a": "x".repeat(200)})]), None);
        assert_eq!(render_table(&[json!(1)]), None);
    }
}
