//! Mutates texts: their bytes, or their JSON.

use serde_json::{Value, json};

/// A generator of pseudo-random numbers.
pub struct Random(u64);

impl Random {
    /// Creates a generator. The seed 0 means 1.
    pub fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    /// Returns the next number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap_or_default()
    }
}

/// Returns `text` with a few mutations.
pub fn change(text: &str, corpus: &[(String, String)], random: &mut Random) -> String {
    let mut text = text.to_owned();
    for _ in 0..=random.below(3) {
        text = match serde_json::from_str::<Value>(&text) {
            Ok(mut value) if random.below(5) > 0 => {
                let donor = &corpus[random.below(corpus.len())].1;
                let donor = serde_json::from_str(donor).unwrap_or(Value::Null);
                change_value(&mut value, &donor, random);
                value.to_string()
            }
            _ => change_bytes(&text, random),
        };
    }
    text
}

fn change_bytes(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    if bytes.is_empty() {
        return "{".to_owned();
    }
    let at = random.below(bytes.len());
    match random.below(4) {
        0 => bytes[at] = u8::try_from(random.below(256)).unwrap_or_default(),
        1 => bytes.truncate(at),
        2 => {
            let end = at + random.below(bytes.len() - at);
            bytes.extend_from_within(at..end);
        }
        _ => {
            let end = at + random.below(bytes.len() - at);
            bytes.drain(at..end);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Mutates a random node of a value: replaces, removes, repeats or moves it.
pub fn change_value(value: &mut Value, donor: &Value, random: &mut Random) {
    let index = random.below(size(value));
    let other = nth(donor, random.below(size(donor))).clone();
    let Some(at) = nth_mut(value, index) else { return };
    match (random.below(6), &mut *at) {
        (0, at) => *at = odd_value(random),
        (1, at) => *at = other,
        (2 | 3, Value::Array(list)) if !list.is_empty() => {
            let (from, to) = (random.below(list.len()), random.below(list.len()));
            match random.below(3) {
                0 => list.swap(from, to),
                1 => drop(list.remove(from)),
                _ => list.insert(to, list[from].clone()),
            }
        }
        (2 | 3, Value::Object(map)) if !map.is_empty() => {
            let key = map.keys().nth(random.below(map.len())).cloned().unwrap_or_default();
            map.shift_remove(&key);
        }
        (4, Value::Number(number)) => {
            let near = number.as_u64().unwrap_or_default();
            *at = json!(if random.below(2) == 0 { near.wrapping_add(1) } else { near.saturating_sub(1) });
        }
        (_, Value::Array(list)) => list.push(other),
        (_, at) => *at = odd_value(random),
    }
}

fn odd_value(random: &mut Random) -> Value {
    let odd = [
        json!(null),
        json!(0),
        json!(1),
        json!(u32::MAX),
        json!(u64::MAX),
        json!(-1),
        json!(1.5),
        json!(""),
        json!("call_1"),
        json!("call_1.1"),
        json!([]),
        json!({}),
        json!(true),
        json!("\u{0}\u{202e}"),
    ];
    odd[random.below(odd.len())].clone()
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(size).sum(),
        Value::Object(map) => map.values().map(size).sum(),
        _ => 0,
    }
}

fn nth(value: &Value, mut index: usize) -> &Value {
    if index == 0 {
        return value;
    }
    index -= 1;
    let children: Vec<&Value> = match value {
        Value::Array(list) => list.iter().collect(),
        Value::Object(map) => map.values().collect(),
        _ => Vec::new(),
    };
    for child in children {
        let size = size(child);
        if index < size {
            return nth(child, index);
        }
        index -= size;
    }
    value
}

fn nth_mut(value: &mut Value, mut index: usize) -> Option<&mut Value> {
    if index == 0 {
        return Some(value);
    }
    index -= 1;
    let children: Vec<&mut Value> = match value {
        Value::Array(list) => list.iter_mut().collect(),
        Value::Object(map) => map.values_mut().collect(),
        _ => Vec::new(),
    };
    for child in children {
        let size = size(child);
        if index < size {
            return nth_mut(child, index);
        }
        index -= size;
    }
    None
}
