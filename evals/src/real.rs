//! Wrong calls from the right ones of the Berkeley function-calling leaderboard, which have the request of a person.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::answers::{Case, Mistake, UserRequest, reject};
use crate::make::make_mistakes;
use crate::random::Random;
use tool_runtime::Toolset;

/// The largest size of a tool's declaration and of a request, in bytes, so that a small model has room for both.
const MAX_BYTES: usize = 1_500;

/// A record of the data set.
#[derive(Deserialize)]
struct Record {
    id: String,
    messages: Vec<Vec<Message>>,
    tools: Vec<Tool>,
    calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: String,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    #[serde(default)]
    description: String,
    parameters: Value,
}

#[derive(Deserialize)]
struct Call {
    arguments: Map<String, Value>,
    #[serde(default)]
    allowed: Map<String, Value>,
}

/// The number of values from which a dynamic parameter chooses.
const CHOICES: usize = 4;

/// Returns `count` calls like [`cases`], in which one text is a dynamic parameter: a validator accepts the right value, and three that
/// other requests have for a text. The call has no value for it, or one that the validator refuses.
pub async fn dynamic_cases(records: &str, seed: u64, count: usize) -> Result<Vec<Case>, String> {
    let sources = sources(records).await?;
    let texts = |case: &Case| -> Vec<(String, Value)> {
        let is_choice = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty() && text.len() <= 40);
        let given = case.right.iter().filter(|(_, value)| is_choice(value));
        given.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let pool: Vec<Value> = sources.iter().flat_map(texts).map(|(_, value)| value).collect();
    let mut random = Random::new(seed);
    let mut cases: Vec<Case> = Vec::new();
    let mut left: Vec<&Case> = sources.iter().filter(|case| !texts(case).is_empty()).collect();
    while cases.len() < count && !left.is_empty() {
        let case = left.swap_remove(random.below(left.len()));
        let (name, right) = random.pick(&texts(case)).clone();
        let mut choices = vec![right.clone()];
        while choices.len() < CHOICES {
            let other = random.pick(&pool);
            if !choices.contains(other) {
                choices.push(other.clone());
            }
        }
        let last = random.below(CHOICES);
        choices.swap(0, last);
        let mut sent = case.right.clone();
        let class = match random.below(3) {
            0 => {
                sent.shift_remove(&name);
                "not-given"
            }
            1 => {
                sent.insert(name.clone(), Value::from(random.word()));
                "not-available"
            }
            _ => {
                sent.insert(
                    name.clone(),
                    Value::from(format!("{} {}", random.word(), right.as_str().unwrap_or_default())),
                );
                "with-a-word-more"
            }
        };
        let mut request = case.request.clone().expect("a case of the data set has a request");
        request.choices.insert(name.clone(), choices.into());
        let mistakes = vec![Mistake { class: class.to_owned(), parameter: name }];
        let new = Case { id: cases.len(), sent, mistakes, request: Some(request), ..case.clone() };
        // An enum of the schema refuses what the validator would accept.
        if reject(&new.tools(&Toolset::new()), &Case { sent: new.right.clone(), ..new.clone() }).await.is_none() {
            cases.push(new);
        }
    }
    Ok(cases)
}

async fn sources(records: &str) -> Result<Vec<Case>, String> {
    let mut sources = Vec::new();
    for line in records.lines() {
        let record: Record = serde_json::from_str(line).map_err(|error| format!("a record cannot be read: {error}"))?;
        sources.extend(source(record).await);
    }
    if sources.is_empty() {
        return Err("no record has one request, one tool and one right call".to_owned());
    }
    Ok(sources)
}

/// Returns `count` wrong calls from `records`, one a line: those with one request, one tool, and one call that the tool accepts.
/// The same seed gives the same calls.
pub async fn cases(records: &str, seed: u64, count: usize) -> Result<Vec<Case>, String> {
    let sources = sources(records).await?;
    let mut random = Random::new(seed);
    let mut cases: Vec<Case> = Vec::new();
    // Each round takes every record once, in another order.
    while cases.len() < count {
        let mut left: Vec<&Case> = sources.iter().collect();
        while cases.len() < count && !left.is_empty() {
            let case = left.swap_remove(random.below(left.len()));
            let request = case.request.as_ref().expect("a case of the data set has a request");
            let (sent, mistakes) = make_mistakes(&mut random, &request.parameters, &case.right);
            if !mistakes.is_empty() {
                cases.push(Case { id: cases.len(), sent, mistakes, ..case.clone() });
            }
        }
    }
    Ok(cases)
}

/// Returns the record as a case without mistakes, if it is one that can be used.
async fn source(record: Record) -> Option<Case> {
    let ([messages], [tool], [call]) = (&record.messages[..], &record.tools[..], &record.calls[..]) else {
        return None;
    };
    let [Message { role, content }] = &messages[..] else { return None };
    let name = tool.name.replace('.', "_");
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let mut parameters = tool.parameters.clone();
    close(&mut parameters);
    let size = parameters.to_string().len() + tool.description.len() + content.len();
    if role != "user" || !is_name || name.len() > 64 || size > MAX_BYTES || call.arguments.is_empty() {
        return None;
    }
    let request = UserRequest {
        source: record.id.clone(),
        text: content.clone(),
        description: tool.description.clone(),
        parameters,
        allowed: call.allowed.clone(),
        choices: Map::new(),
    };
    let right = call.arguments.clone();
    let case = Case { id: 0, tool: name, mistakes: Vec::new(), sent: right.clone(), right, request: Some(request) };
    // Some of the data set's own answers are against their schema.
    reject(&case.tools(&Toolset::new()), &case).await.is_none().then_some(case)
}

/// Lets each object with declared members refuse others, as the structs of a Rust program do.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            let is_closed = members.get("properties").is_some_and(Value::is_object);
            members.values_mut().for_each(close);
            if is_closed {
                members.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}
