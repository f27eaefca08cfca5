//! Lists of alike objects as a table.

use serde_json::Value;

use super::{render, words};

/// As many columns, and characters in a line, a table has at most.
const COLUMNS: usize = 10;
const WIDTH: usize = 100;

/// The lines of a table, where the items are alike and small enough for one.
pub(super) fn table(items: &[Value]) -> Option<Vec<String>> {
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
        if keys.len() > COLUMNS {
            return None;
        }
    }
    let mut rows = vec![keys.iter().map(|key| words::human(&render::printable(key))).collect::<Vec<_>>()];
    for item in items.iter().take(render::SHOWN) {
        rows.push(keys.iter().map(|key| item.get(key.as_str()).map_or(String::new(), render::inline)).collect());
    }
    let count = |text: &String| text.chars().count();
    let widths: Vec<usize> =
        (0..keys.len()).map(|at| rows.iter().map(|row| count(&row[at])).max().unwrap_or(0)).collect();
    if widths.iter().sum::<usize>() + 2 * widths.len() > WIDTH {
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
    lines.extend(render::rest(items));
    Some(lines)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn alike_objects_are_a_table() {
        let items = [json!({"from": "Paris", "seats": 5}), json!({"from": "Rome", "seats": 120, "note": "full"})];
        let expected = ["from   seats  note", "------------------", "Paris      5", "Rome     120  full"];
        assert_eq!(table(&items), Some(expected.map(str::to_owned).to_vec()));
    }

    #[test]
    fn what_is_nested_or_too_wide_is_none() {
        assert_eq!(table(&[json!({"a": {"b": 1}})]), None);
        assert_eq!(table(&[json!({"a": "x".repeat(200)})]), None);
        assert_eq!(table(&[json!(1)]), None);
    }
}
