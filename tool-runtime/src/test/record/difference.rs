//! How a request differs from a recorded one, for people.

use serde_json::Value;

use crate::feedback::excerpt;

/// How many differences are told.
const MOST: usize = 5;

/// How long a value may be that is shown.
const LONGEST: usize = 200;

/// Where `asked` differs from `recorded`, a line for each place.
pub(super) fn difference(recorded: &Value, asked: &Value) -> String {
    let mut found = Vec::new();
    compare("", recorded, asked, &mut found);
    let more = found.len().saturating_sub(MOST);
    found.truncate(MOST);
    if more > 0 {
        found.push(format!("  and {more} more"));
    }
    found.join("\n")
}

fn compare(path: &str, recorded: &Value, asked: &Value, found: &mut Vec<String>) {
    match (recorded, asked) {
        (Value::Object(before), Value::Object(now)) => {
            for (name, value) in before {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                compare_or(&path, Some(value), now.get(name), found);
            }
            for (name, value) in now.iter().filter(|(name, _)| !before.contains_key(*name)) {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                compare_or(&path, None, Some(value), found);
            }
        }
        (Value::Array(before), Value::Array(now)) => {
            for at in 0..before.len().max(now.len()) {
                compare_or(&format!("{path}[{at}]"), before.get(at), now.get(at), found);
            }
        }
        _ if recorded == asked => {}
        _ => found.push(format!("  {path}: recorded {}, asked {}", shown(recorded, asked), shown(asked, recorded))),
    }
}

fn compare_or(path: &str, recorded: Option<&Value>, asked: Option<&Value>, found: &mut Vec<String>) {
    match (recorded, asked) {
        (Some(recorded), Some(asked)) => compare(path, recorded, asked, found),
        (Some(recorded), None) => found.push(format!("  {path}: recorded {}, not asked", short(recorded))),
        (None, Some(asked)) => found.push(format!("  {path}: not recorded, asked {}", short(asked))),
        (None, None) => {}
    }
}

fn short(value: &Value) -> String {
    excerpt(&value.to_string(), LONGEST)
}

/// A value; of a long text the part where it begins to differ from `other`.
fn shown(value: &Value, other: &Value) -> String {
    let (Some(text), Some(other)) = (value.as_str(), other.as_str()) else { return short(value) };
    let same = text.chars().zip(other.chars()).take_while(|(one, two)| one == two).count();
    if text.chars().count() <= LONGEST || same < LONGEST / 2 {
        return short(value);
    }
    let from: String = text.chars().skip(same - LONGEST / 4).collect();
    format!("…{}", short(&Value::from(from)))
}
