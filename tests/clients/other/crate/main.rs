//! The crate `ag-ui-client`, unmodified: the flows that it can express. `ag-ui-client-flows URL`
//!
//! The client knows no interrupts, so it can neither show nor answer approvals. It loses calls without a text before them.

use ag_ui_client::{Agent, HttpAgent, agent::RunAgentParams};
use ag_ui_core::{
    JsonValue,
    event::Event,
    types::{
        ids::{MessageId, RunId, ThreadId},
        input::RunAgentInput,
        message::Message,
        tool::Tool,
    },
};
use futures::StreamExt;
use serde_json::json;

const END: &str = "All is well that ends.";

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result {
    let base = std::env::args().nth(1).ok_or("usage: ag-ui-client-flows URL")?;
    let agent = HttpAgent::builder().with_url_str(&format!("{base}/agent"))?.with_bearer_token("anna")?.build()?;
    text_and_calls(&agent).await?;
    println!("ag-ui-client: text_and_calls: ok");
    page_tools(&agent).await?;
    println!("ag-ui-client: page_tools: ok");
    old_thread_after_a_stop(&agent).await?;
    println!("ag-ui-client: old_thread_after_a_stop: ok");
    approval(&agent).await?;
    println!("ag-ui-client: approval: ok");
    Ok(())
}

fn user(script: &JsonValue) -> Message {
    let gate = MessageId::random();
    Message::User { id: MessageId::random(), content: format!("{gate} {script}"), name: None }
}

fn call(tool: &str, arguments: JsonValue) -> JsonValue {
    json!({ "tool": tool, "pieces": [arguments.to_string()] })
}

fn page_tool() -> Tool {
    let parameters = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
    Tool::new("show".to_owned(), "Show a text.".to_owned(), parameters)
}

/// Runs the agent with a whole conversation, as the client's `run_agent` does: each request has a thread of its own.
async fn run(agent: &HttpAgent, messages: &[Message]) -> Result<Vec<Message>> {
    let params = RunAgentParams::<JsonValue, _> {
        forwarded_props: Some(json!({})),
        messages: messages.to_vec(),
        tools: Some(vec![page_tool()]),
        ..Default::default()
    };
    Ok(agent.run_agent(&params, ()).await?.new_messages)
}

fn calls(messages: &[Message]) -> Vec<(String, JsonValue)> {
    let calls = messages.iter().filter_map(Message::tool_calls).flatten();
    calls
        .map(|call| (call.function.name.clone(), serde_json::from_str(&call.function.arguments).unwrap_or_default()))
        .collect()
}

async fn text_and_calls(agent: &HttpAgent) -> Result {
    let cities = ["Bern", "Oslo", "Rome"].map(|city| call("weather", json!({ "city": city })));
    let script = json!([["Look: ", cities[0]], ["And: ", cities[1], call("breaks", json!({ "why": "rust" })), cities[2]], [END]]);
    let messages = run(agent, &[user(&script)]).await?;
    let texts: Vec<_> = messages.iter().filter_map(Message::content).collect();
    assert_eq!(texts, ["Look: ", "And: ", END]);
    let weather = |city: &str| ("weather".to_owned(), json!({ "city": city }));
    let breaks = ("breaks".to_owned(), json!({ "why": "rust" }));
    assert_eq!(calls(&messages), [weather("Bern"), weather("Oslo"), breaks, weather("Rome")]);
    Ok(())
}

async fn page_tools(agent: &HttpAgent) -> Result {
    let [one, two] = ["one", "two"].map(|text| call("show", json!({ "text": text })));
    let mut messages = vec![user(&json!([["Look: ", one, two], [END]]))];
    messages.extend(run(agent, &messages).await?);
    assert_eq!(calls(&messages), ["one", "two"].map(|text| ("show".to_owned(), json!({ "text": text }))));
    // The application executes the calls.
    let ids: Vec<_> = messages.iter().filter_map(Message::tool_calls).flatten().map(|call| call.id.clone()).collect();
    messages.extend(ids.into_iter().map(|tool_call_id| Message::Tool {
        id: MessageId::random(),
        content: json!({ "shown": true }).to_string(),
        tool_call_id,
        error: None,
    }));
    let answer = run(agent, &messages).await?;
    assert_eq!(answer.last().and_then(Message::content), Some(END));
    Ok(())
}

/// Returns the input of a request to a thread that the server knows.
fn input(thread: &ThreadId, message: Message) -> RunAgentInput {
    RunAgentInput::new(thread.clone(), RunId::random(), json!({}), vec![message], vec![], vec![], json!({}))
}

/// Returns the text that the server sends in a thread, up to `limit` bytes. Then it stops the answer.
async fn text(agent: &HttpAgent, input: &RunAgentInput, limit: usize) -> Result<String> {
    let mut events = agent.run(input).await?;
    let mut text = String::new();
    while text.len() < limit
        && let Some(event) = events.next().await
    {
        if let Event::TextMessageContent(piece) = event? {
            text.push_str(&piece.delta);
        }
    }
    Ok(text)
}

async fn old_thread_after_a_stop(agent: &HttpAgent) -> Result {
    let thread = ThreadId::random();
    let first = input(&thread, user(&json!([["Once upon ", null, "a time."]])));
    assert_eq!(text(agent, &first, 1).await?, "Once upon ");
    let second = input(&thread, user(&json!([["Again."]])));
    assert_eq!(text(agent, &second, usize::MAX).await?, "Again.");
    Ok(())
}

/// A call that waits for an approval ends the client's run without an error, and the call does not run.
async fn approval(agent: &HttpAgent) -> Result {
    let thread = ThreadId::random();
    let input = input(&thread, user(&json!([["Look: ", call("remove", json!({ "what": "it" }))], [END]])));
    let mut events = agent.run(&input).await?;
    let mut kinds = Vec::new();
    while let Some(event) = events.next().await {
        kinds.push(event?.event_type());
    }
    assert!(!kinds.iter().any(|kind| format!("{kind:?}") == "ToolCallResult"), "{kinds:?}");
    assert_eq!(kinds.last().map(|kind| format!("{kind:?}")).as_deref(), Some("RunFinished"));
    Ok(())
}
