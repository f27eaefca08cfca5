//! A model without a key: rules for what the dojo's pages ask.

use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use tool_runtime::{
    Message, Part,
    model::{Asked, Delta, FinishReason, ModelError},
};

/// How fast it writes.
const PAUSE: Duration = Duration::from_millis(15);

#[allow(clippy::needless_pass_by_value, reason = "a model is asked like this")]
pub(crate) fn play(asked: Asked) -> impl Stream<Item = Result<Delta, ModelError>> + Send + 'static {
    stream::iter(turn(&asked)).then(|delta| async {
        tokio::time::sleep(PAUSE).await;
        Ok(delta)
    })
}

fn turn(asked: &Asked) -> Vec<Delta> {
    let said = asked.messages.iter().rev().find_map(|message| match message {
        Message::User { content } => Some(content.iter().filter_map(Part::as_text).collect::<Vec<_>>().join(" ")),
        _ => None,
    });
    let said = said.unwrap_or_default();
    if let Some(Message::Tool(answer)) = asked.messages.last() {
        let text = answer.content.iter().filter_map(Part::as_text).collect::<Vec<_>>().join(" ");
        return say(&after(&answer.tool, &text));
    }
    let call = asked.tools.iter().find_map(|tool| Some((tool, arguments(tool, &said)?)));
    match call {
        Some((tool, arguments)) => write(tool, &arguments),
        None => say("Hello! Ask me for what this page can do."),
    }
}

/// With what a tool is called, if it is what the person wants.
fn arguments(tool: &str, said: &str) -> Option<Value> {
    let low = said.to_lowercase();
    match tool {
        "change_background" if low.contains("background") || low.contains("colo") => {
            let colours = ["red", "orange", "yellow", "green", "blue", "purple", "pink", "white", "black"];
            let wanted: Vec<_> = colours.into_iter().filter(|colour| low.contains(colour)).collect();
            Some(json!({ "background": match wanted[..] {
                [] => "linear-gradient(135deg, #667eea, #764ba2)".to_owned(),
                [one] => one.to_owned(),
                _ => format!("linear-gradient(135deg, {})", wanted.join(", ")),
            } }))
        }
        "get_weather" => Some(json!({ "location": place(said) })),
        "generate_haiku" => Some(json!({
            "japanese": ["古池や", "蛙飛び込む", "水の音"],
            "english": ["The old pond —", "a frog jumps in:", "the sound of water."],
            "image_name": "Osaka_Castle_Turret_Stone_Wall_Pine_Trees_Daytime.jpg",
            "gradient": "linear-gradient(135deg, #a8edea, #fed6e3)",
        })),
        "generate_task_steps" => {
            let what = said.trim_end_matches(['.', '!', '?']);
            let steps =
                ["Find out what is needed", "Get what is missing", "Begin", "Look at what came of it", "Clean up"];
            let step = |step: &str| json!({ "description": format!("{step}: {what}"), "status": "enabled" });
            Some(json!({ "steps": steps.map(step) }))
        }
        "add_ingredient" if low.contains("add") => {
            let name = said.split_whitespace().last().unwrap_or("salt").trim_end_matches(['.', '!']);
            Some(json!({ "ingredient": { "icon": "🧂", "name": name, "amount": "1 pinch" } }))
        }
        "write_recipe" if !low.contains("add") => Some(json!({
            "title": "Tomato soup",
            "ingredients": [
                { "icon": "🍅", "name": "Tomatoes", "amount": "1 kg" },
                { "icon": "🧅", "name": "Onion", "amount": "1" },
            ],
            "instructions": ["Chop everything.", "Simmer for 20 minutes.", "Blend, and season."],
        })),
        _ => None,
    }
}

/// Returns the words after "in", or the last word.
fn place(said: &str) -> &str {
    let place =
        said.rsplit_once(" in ").map_or_else(|| said.split_whitespace().last().unwrap_or("Oslo"), |(_, place)| place);
    place.trim_end_matches(['?', '.', '!'])
}

/// Returns the text for a call that ended.
fn after(tool: &str, result: &str) -> String {
    match tool {
        "get_weather" => {
            let weather: Value = serde_json::from_str(result).unwrap_or_default();
            format!(
                "In {} it is {} at {} °C.",
                weather["city"].as_str().unwrap_or("there"),
                weather["conditions"].as_str().unwrap_or("so so"),
                weather["temperature"]
            )
        }
        "generate_task_steps" => format!("Then this is the plan. {result}"),
        "generate_haiku" => "There it is.".to_owned(),
        "change_background" => "How do you like it?".to_owned(),
        _ => format!("Done: {result}."),
    }
}

fn say(text: &str) -> Vec<Delta> {
    let words = text.split_inclusive(' ').map(|word| Delta::Text(word.to_owned()));
    words.chain([Delta::Finish(FinishReason::Stop)]).collect()
}

fn write(tool: &str, arguments: &Value) -> Vec<Delta> {
    let text: Vec<char> = arguments.to_string().chars().collect();
    let id = format!(
        "call_{}",
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_micros()
    );
    let pieces = text.chunks(12).map(|piece| Delta::CallArguments { index: 0, text: piece.iter().collect() });
    let begin = Delta::CallStart { index: 0, id, name: tool.to_owned() };
    let end = [Delta::CallEnd { index: 0 }, Delta::Finish(FinishReason::ToolCalls)];
    [begin].into_iter().chain(pieces).chain(end).collect()
}
