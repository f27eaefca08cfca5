//! Wrong calls from right ones: each has one to three mistakes, at different parameters.

use serde_json::{Map, Value, json};

use crate::answers::{Case, Mistake};
use crate::random::Random;
use crate::tools;

/// Returns `count` wrong calls. The same seed gives the same calls.
pub fn cases(seed: u64, count: usize) -> Vec<Case> {
    let mut random = Random::new(seed);
    let tools = tools::all();
    let schemas: Vec<(&str, &Value)> = tools.iter().map(|tool| (tool.name(), tool.spec().input.neutral())).collect();
    let mut cases = Vec::new();
    while cases.len() < count {
        let (tool, schema) = *random.pick(&schemas);
        let right = right_arguments(&mut random, schema);
        let (sent, mistakes) = make_mistakes(&mut random, schema, &right);
        if !mistakes.is_empty() {
            cases.push(Case { id: cases.len(), tool: tool.to_owned(), mistakes, sent, right, request: None });
        }
    }
    cases
}

/// Returns wrong arguments from right ones, and their mistakes: none if each would not be one.
pub fn make_mistakes(
    random: &mut Random,
    schema: &Value,
    right: &Map<String, Value>,
) -> (Map<String, Value>, Vec<Mistake>) {
    let wanted = 1 + random.below(10).saturating_sub(6).min(2);
    let (mut sent, mut mistakes) = (right.clone(), Vec::<Mistake>::new());
    for _ in 0..wanted {
        let free: Vec<&String> =
            right.keys().filter(|name| mistakes.iter().all(|known| known.parameter != **name)).collect();
        if free.is_empty() {
            break;
        }
        let name = random.pick(&free).as_str();
        if let Some(class) = make_mistake(random, schema, name, &mut sent) {
            mistakes.push(Mistake { class: class.to_owned(), parameter: name.to_owned() });
        }
    }
    (sent, mistakes)
}

fn right_arguments(random: &mut Random, schema: &Value) -> Map<String, Value> {
    let required = required_names(schema);
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let mut arguments = Map::new();
    for (name, property) in properties {
        if required.contains(&name) || random.below(2) == 0 {
            arguments.insert(name, right_value(random, schema, &property));
        }
    }
    arguments
}

fn required_names(schema: &Value) -> Vec<String> {
    schema["required"].as_array().into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Returns the schema behind a reference, and without `null`.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(target) = schema["$ref"].as_str().and_then(|target| root.pointer(target.strip_prefix('#')?)) {
        return resolve(root, target);
    }
    let alternatives = schema["anyOf"].as_array();
    match alternatives.and_then(|all| all.iter().find(|one| one["type"] != "null")) {
        Some(one) => resolve(root, one),
        None => schema,
    }
}

/// Returns the values of an enum without null; empty if there is none.
fn choices(schema: &Value) -> Vec<&Value> {
    schema["enum"].as_array().into_iter().flatten().filter(|value| !value.is_null()).collect()
}

fn kind(schema: &Value) -> &str {
    match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or_default(),
        name => name.as_str().unwrap_or_default(),
    }
}

fn right_value(random: &mut Random, root: &Value, schema: &Value) -> Value {
    let schema = resolve(root, schema);
    let choices = choices(schema);
    if !choices.is_empty() {
        return (*random.pick(&choices)).clone();
    }
    match kind(schema) {
        "integer" => {
            let low = schema["minimum"].as_i64().filter(|low| *low >= 0).unwrap_or(1);
            let high = schema["maximum"].as_i64().map_or(900, |high| high.min(9000));
            let span = usize::try_from(high - low + 1).unwrap_or(1);
            json!(low + i64::try_from(random.below(span)).unwrap_or_default())
        }
        "number" => json!(f64::from(u16::try_from(random.below(4000)).unwrap_or_default()) / 4.0 + 0.5),
        "boolean" => json!(random.below(2) == 0),
        "array" => {
            let count = 1 + random.below(3);
            (0..count).map(|_| right_value(random, root, &schema["items"])).collect()
        }
        "object" => right_object(random, root, schema),
        _ => Value::from(random.word()),
    }
}

fn right_object(random: &mut Random, root: &Value, schema: &Value) -> Value {
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    properties
        .into_iter()
        .map(|(name, property)| (name, right_value(random, root, &property)))
        .collect::<Map<_, _>>()
        .into()
}

/// Makes one mistake at the parameter `name`, and returns its class. Returns `None` if the mistake would not be one.
fn make_mistake(random: &mut Random, root: &Value, name: &str, sent: &mut Map<String, Value>) -> Option<&'static str> {
    let schema = resolve(root, &root["properties"][name]);
    let value = sent.get(name)?.clone();
    let choices = choices(schema);
    let mut classes = Vec::new();
    if required_names(root).iter().any(|required| required == name) {
        classes.extend(["missing", "misspelt-name"]);
    }
    classes.extend(match kind(schema) {
        _ if !choices.is_empty() => &["near-choice", "far-choice", "wrong-type"][..],
        "integer" | "number" => &["number-as-text", "words-for-number"],
        "boolean" => &["word-for-boolean", "boolean-as-text"],
        "array" => &["array-as-text", "item-for-array"],
        "object" if schema["properties"].is_object() => &["object-as-text", "unknown-member", "missing-member"],
        "object" => &["object-as-text"],
        "string" => &["object-for-text", "number-for-text"],
        // Any value is right, or one of several kinds.
        _ => &[],
    });
    if schema["maximum"].as_i64().is_some_and(|high| high <= 9000) {
        classes.push("out-of-range");
    }
    if classes.is_empty() {
        return None;
    }
    let class = *random.pick(&classes);
    let wrong = match class {
        "missing" => {
            sent.shift_remove(name);
            return Some(class);
        }
        "misspelt-name" => {
            let typo = swap_letters(random, name);
            if root["properties"].get(&typo).is_some() || sent.contains_key(&typo) {
                return None;
            }
            sent.shift_remove(name);
            sent.insert(typo, value);
            return Some(class);
        }
        "near-choice" => Value::from(swap_letters(random, value.as_str()?)),
        "far-choice" => json!("whatever fits"),
        "wrong-type" | "number-for-text" => json!(7),
        "number-as-text" | "boolean-as-text" | "object-as-text" => Value::from(value.to_string()),
        "words-for-number" => json!("a few"),
        "word-for-boolean" => json!(if value == json!(true) { "sure" } else { "nope" }),
        "array-as-text" => {
            let items: Vec<String> = value.as_array()?.iter().map(ToString::to_string).collect();
            Value::from(items.join(", "))
        }
        "item-for-array" => value.get(0)?.clone(),
        "unknown-member" => {
            let mut members = value.as_object()?.clone();
            members.insert("remark".to_owned(), json!(true));
            members.into()
        }
        "missing-member" => {
            let mut members = value.as_object()?.clone();
            members.shift_remove(required_names(schema).first()?);
            members.into()
        }
        "object-for-text" => json!({ "value": value }),
        "out-of-range" => json!(schema["maximum"].as_i64()? * 7 + 3),
        _ => return None,
    };
    if wrong == value || choices.contains(&&wrong) {
        return None;
    }
    sent.insert(name.to_owned(), wrong);
    Some(class)
}

/// Returns a text with two neighbouring letters swapped, or one letter more.
fn swap_letters(random: &mut Random, text: &str) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    if letters.len() < 4 {
        return format!("{text}s");
    }
    let at = 1 + random.below(letters.len() - 2);
    if letters[at] == letters[at + 1] {
        letters.remove(at);
    } else {
        letters.swap(at, at + 1);
    }
    letters.into_iter().collect()
}
