//! Tests of typed answers by the provider's structured output, from the request to the value.

use serde_json::{Value, json};
use tool_models::{Anthropic, Gemini, OpenAi, gemini};
use tool_runtime::Agent;

use super::server::{Server, Step, end, event, head};

fn stream(events: &[Value]) -> Vec<Step> {
    let events = events.iter().map(|data| event(&data.to_string()));
    [head()].into_iter().chain(events).chain([end()]).collect()
}

fn chat(text: &str) -> Vec<Step> {
    let choice =
        |delta, finish: Option<&str>| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let mut steps = stream(&[choice(json!({"content": text}), None), choice(json!({}), Some("stop"))]);
    steps.insert(3, event("[DONE]"));
    steps
}

fn messages(text: &str) -> Vec<Step> {
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    stream(&[
        json!({"type": "message_start", "message": {"usage": usage}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ])
}

fn contents(text: &str) -> Vec<Step> {
    let content = json!({"role": "model", "parts": [{"text": text}]});
    stream(&[json!({"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]})])
}

/// Asks for a number. Returns the two requests: the first answer breaks a limit that the strict schema lacks.
async fn ask(reply: fn(&str) -> Vec<Step>, agent: impl FnOnce(&str) -> Agent) -> [Value; 2] {
    let server = Server::start([reply(r#"{"answer": 300}"#), reply(r#"{"answer": 7}"#)]).await;
    let answered = agent(&server.url).ask("How many?").typed::<u8>().await.unwrap();
    assert_eq!(answered.value, 7);
    let requests = server.requests();
    let bodies: Vec<Value> = requests.iter().map(|request| serde_json::from_str(&request.body).unwrap()).collect();
    let bodies: [Value; 2] = bodies.try_into().unwrap();
    assert!(!bodies[0].to_string().contains("final_answer\",\"description"), "{}", bodies[0]);
    assert!(bodies[1].to_string().contains("got 300"), "{}", bodies[1]);
    bodies
}

#[tokio::test]
async fn a_refused_text_is_sent_back_to_each_provider() {
    let bodies = ask(chat, |url| Agent::new(OpenAi::new("m").base_url(url).structured_output(true))).await;
    for body in &bodies {
        assert_eq!((&body["tools"], &body["tool_choice"]), (&Value::Null, &Value::Null));
        let schema = &body["response_format"]["json_schema"];
        assert_eq!((&schema["name"], &schema["strict"]), (&json!("final_answer"), &json!(true)));
        assert_eq!(schema["schema"]["required"], json!(["answer"]));
    }
    let claude = |url: &str| Anthropic::new("claude-opus-5-5").base_url(url).structured_output(true);
    for body in &ask(messages, |url| Agent::new(claude(url))).await {
        assert_eq!((&body["tools"], &body["output_config"]["format"]["type"]), (&Value::Null, &json!("json_schema")));
    }
    let google = |url: &str| {
        let model = Gemini::new("gemini-2.5-flash").base_url(url).api(gemini::Api::GenerateContent);
        model.structured_output(true)
    };
    for body in &ask(contents, |url| Agent::new(google(url))).await {
        assert_eq!(body["tools"], Value::Null);
        assert_eq!(body["generationConfig"]["responseMimeType"], "application/json");
    }
}
