//! Tests of whole conversations: what a provider receives after empty turns, cancelled work, odd results and odd histories.

use std::{future::pending, time::Duration};

use serde_json::{Value, json};
use tokio::{sync::Notify, time::sleep};
use tool_models::{Anthropic, Gemini, OpenAi, gemini, openai};
use tool_runtime::{Agent, AgentError, Content, Failure, Image, Message, Part, Text, run::Refusal, tool, toolset};
use tool_test_kit::{provider_rules::violations, within};

use super::{
    Format,
    server::{Server, Step, end, event, head},
};

/// Returns nothing.
#[tool(effect = read_only)]
fn empty() -> Text {
    Text(String::new())
}

/// Returns white space.
#[tool(effect = read_only)]
fn blank() -> Text {
    Text(" \n".into())
}

/// Returns no parts.
#[tool(effect = read_only)]
fn no_parts() -> Content {
    Content(Vec::new())
}

/// Fails without a reason.
#[tool(effect = read_only)]
fn fails() -> Result<String, String> {
    Err(String::new())
}

/// Fails with white space as the reason.
#[tool(effect = read_only)]
fn fails_blank() -> Result<String, Failure> {
    Err(Failure::new(" "))
}

/// Returns a picture.
#[tool(effect = read_only)]
fn picture() -> Image {
    Image { media_type: "image/png".into(), data: "iVBORw0KGgo=".into() }
}

static STARTED: Notify = Notify::const_new();

/// Never ends.
#[tool(effect = read_only)]
async fn slow() -> Text {
    STARTED.notify_one();
    pending().await
}

fn says(format: Format, text: &str) -> Vec<Step> {
    let events = match format {
        Format::Chat => vec![
            json!({"choices": [{"index": 0, "delta": {"content": text}}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        ],
        Format::Responses => vec![
            json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "content": []}}),
            json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text}),
            json!({"type": "response.output_item.done", "output_index": 0, "item":
                {"type": "message", "content": [{"type": "output_text", "text": text}]}}),
            json!({"type": "response.completed", "response": {"status": "completed"}}),
        ],
        Format::Anthropic => vec![
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
            json!({"type": "message_stop"}),
        ],
        Format::Interactions => vec![
            json!({"event_type": "step.start", "index": 0, "step": {"type": "model_output"}}),
            json!({"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": text}}),
            json!({"event_type": "step.stop", "index": 0}),
            json!({"event_type": "interaction.completed", "interaction": {"status": "completed"}}),
        ],
        Format::GenerateContent => vec![
            json!({"candidates": [{"content": {"parts": [{"text": text}]}}]}),
            json!({"candidates": [{"finishReason": "STOP"}]}),
        ],
    };
    stream(&events)
}

fn calls(format: Format, names: &[&str]) -> Vec<Step> {
    let names = names.iter().enumerate();
    let events = match format {
        Format::Chat => {
            let call = |(at, name): (usize, &&str)| {
                json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": at, "id": format!("functions.{name}:{at}"),
                    "type": "function", "function": {"name": name, "arguments": "{}"}}]}}]})
            };
            let stop = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
            names.map(call).chain([stop]).collect()
        }
        Format::Responses => {
            let call = |(at, name): (usize, &&str)| {
                json!({"type": "response.output_item.done", "output_index": at, "item": {"type": "function_call",
                    "call_id": format!("call.{at}"), "name": name, "arguments": "{}", "status": "completed"}})
            };
            let stop = json!({"type": "response.completed", "response": {"status": "completed"}});
            names.map(call).chain([stop]).collect()
        }
        Format::Anthropic => {
            let start = json!({"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 1}}});
            let call = |(at, name): (usize, &&str)| {
                [
                    json!({"type": "content_block_start", "index": at, "content_block":
                        {"type": "tool_use", "id": format!("toolu_{at}"), "name": name, "input": {}}}),
                    json!({"type": "content_block_stop", "index": at}),
                ]
            };
            let stop = [
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}}),
                json!({"type": "message_stop"}),
            ];
            std::iter::once(start).chain(names.flat_map(call)).chain(stop).collect::<Vec<_>>()
        }
        Format::Interactions => {
            let call = |(at, name): (usize, &&str)| {
                [
                    json!({"event_type": "step.start", "index": at, "step":
                        {"type": "function_call", "id": format!("61nzpsv{at}"), "name": name, "arguments": {}}}),
                    json!({"event_type": "step.stop", "index": at}),
                ]
            };
            let stop = json!({"event_type": "interaction.completed", "interaction": {"status": "requires_action"}});
            names.flat_map(call).chain([stop]).collect()
        }
        Format::GenerateContent => {
            let call = |(_, name): (usize, &&str)| json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": name, "args": {}}}]}}]});
            names.map(call).chain([json!({"candidates": [{"finishReason": "STOP"}]})]).collect()
        }
    };
    stream(&events)
}

fn stream(events: &[Value]) -> Vec<Step> {
    let events = events.iter().map(|data| event(&data.to_string()));
    std::iter::once(head()).chain(events).chain([end()]).collect()
}

fn agent(format: Format, server: &Server) -> Agent {
    let agent = match format {
        Format::Chat => Agent::new(OpenAi::new("m").base_url(&server.url)),
        Format::Responses => Agent::new(OpenAi::new("m").base_url(&server.url).api(openai::Api::Responses)),
        Format::Anthropic => Agent::new(Anthropic::new("m").base_url(&server.url).api_key("k")),
        Format::Interactions => Agent::new(Gemini::new("m").base_url(&server.url)),
        Format::GenerateContent => Agent::new(Gemini::new("m").base_url(&server.url).api(gemini::Api::GenerateContent)),
    };
    agent.instructions("Be brief.").tools(toolset!(empty, blank, no_parts, fails, fails_blank, picture, slow))
}

/// Plays a conversation with a provider of each format, and checks that each request follows the rules, and that the last one has
/// all of `texts`.
async fn check(texts: &[&str], script: impl Fn(Format) -> Vec<Vec<Step>>, play: impl AsyncFn(Agent, &Server)) {
    for format in Format::ALL {
        let server = Server::start(script(format)).await;
        within("a conversation", Box::pin(play(agent(format, &server), &server))).await;
        let (protocol, hosts) = match format {
            Format::Chat => ("chat_completions", &["openai", "deepseek", "gateways", "perplexity", "templates"][..]),
            Format::Responses => ("responses", &["openai"][..]),
            Format::Anthropic => ("messages", &["anthropic"][..]),
            Format::Interactions => ("interactions", &["gemini"][..]),
            Format::GenerateContent => ("generate_content", &["gemini"][..]),
        };
        let requests = server.requests();
        for request in &requests {
            let body: Value = serde_json::from_str(&request.body).unwrap();
            let broken = violations(protocol, hosts, &body);
            assert!(broken.is_empty(), "{}\nin {body:#}", broken.join("\n"));
        }
        let last = &requests.last().expect("a request").body;
        assert!(texts.iter().all(|text| last.contains(text)), "{texts:?} in {last}");
    }
}

async fn until_requested(server: &Server) {
    while server.requests().is_empty() {
        sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_prompt_after_a_text_that_ends_with_space() {
    let script = |format| vec![says(format, "Well, \n"), says(format, "Hi."), says(format, "Bye.")];
    check(&["one", "two", "three"], script, async |agent, _| {
        let mut session = agent.session();
        for prompt in ["one", "two", "three"] {
            session.send(prompt).await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_prompt_after_a_cancelled_turn() {
    let script = |format| vec![vec![Step::AwaitDisconnect], says(format, "Hi.")];
    check(&["one", "two"], script, async |agent, server| {
        let mut session = agent.session();
        let cancelled = session.send_until("one", until_requested(server)).await;
        assert!(matches!(cancelled, Err(AgentError::Cancelled)), "{cancelled:?}");
        session.send("two").await.unwrap();
        let user: Vec<_> =
            session.run().messages().iter().filter(|message| matches!(message, Message::User { .. })).collect();
        assert_eq!(user, [&Message::user("one"), &Message::user("two")], "the stored conversation stays");
    })
    .await;
}

#[tokio::test]
async fn a_prompt_after_a_cancelled_call() {
    let script = |format| vec![calls(format, &["slow", "empty"]), says(format, "Hi.")];
    check(&["one", "two"], script, async |agent, _| {
        let mut session = agent.session();
        let cancelled = session.send_until("one", STARTED.notified()).await;
        assert!(matches!(cancelled, Err(AgentError::Cancelled)), "{cancelled:?}");
        session.send("two").await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_message_that_steers_after_results() {
    let script = |format| vec![calls(format, &["empty", "picture"]), says(format, "Hi.")];
    check(&["one", "rather that"], script, async |agent, _| {
        let mut session = agent.session();
        session.steering().say("rather that");
        session.send("one").await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn results_without_content_and_unknown_names() {
    let odd = ["empty", "blank", "no_parts", "fails", "fails_blank", "picture", "multi_tool_use.parallel", "größe"];
    let script = |format| vec![calls(format, &odd), says(format, "Well."), says(format, "Hi.")];
    check(&["one", "two", "iVBORw0KGgo="], script, async |agent, _| {
        let mut session = agent.session();
        session.send("one").await.unwrap();
        session.send_parts(vec![Part::text(""), Part::text("two")]).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn histories_from_outside() {
    let answer = |text: &str| Message::assistant(text);
    let histories = [
        vec![
            answer("How can I help?"),
            Message::user(""),
            answer(""),
            Message::system("Be kind."),
            answer("b "),
            answer("   "),
        ],
        vec![Message::system("Be kind."), answer("b "), Message::user("x"), answer(" ")],
        vec![answer("b ")],
    ];
    for history in histories {
        let script = |format| vec![says(format, "Hi."), says(format, "Bye.")];
        check(&["go", "b "], script, async |agent, _| {
            agent.session_from_messages(history.clone()).resume().await.unwrap();
            let (before, own) = (history.clone(), history.clone());
            let agent = agent.prepare_step(move |step| {
                step.set_messages([&own[..], &[Message::user("go")]].concat(), "a test");
            });
            agent.session_from_messages(before).send("now").await.unwrap();
        })
        .await;
    }
}

#[tokio::test]
async fn a_blank_prompt_is_refused() {
    check(
        &["one", "two"],
        |format| vec![says(format, "Hi."), says(format, "Bye.")],
        async |agent, _| {
            let mut session = agent.session();
            for content in [vec![], vec![Part::text("")], vec![Part::text(" \n"), Part::text("")]] {
                let refused = session.send_parts(content).await;
                assert!(matches!(refused, Err(AgentError::Refused(Refusal::EmptyPrompt))), "{refused:?}");
            }
            session.send("one").await.unwrap();
            let before = session.run().rev();
            let error = session.send("").await.unwrap_err();
            assert_eq!(error.to_string(), "the prompt is empty; send a text or an image");
            assert_eq!(session.run().rev(), before, "the run does not change");
            session.send("two").await.unwrap();
        },
    )
    .await;
}
