//! Tests of agents whose model fails in disguise: with status 200, and a stream that looks like a turn. The request is repeated, or the
//! next model takes over.

use tool_models::{
    Anthropic, Gemini, OpenAi,
    gemini::Api,
    http::{Http, HttpRetry},
    openai,
};
use tool_runtime::{
    Agent, AgentError,
    model::{ModelErrorKind, ScriptedModel, Turn},
    run::Phase,
};
use tool_test_kit::{stream_rules::stream_rules, streams::WireFormat};

use super::server::{Server, Step, end, head};

/// Returns a reply with this stream.
fn reply(sse: &str) -> Vec<Step> {
    vec![head(), Step::Send(format!("{:x}\r\n{sse}\r\n", sse.len())), end()]
}

fn agent(format: WireFormat, url: &str, retry: HttpRetry) -> Agent {
    let http = Http::new().retry(retry);
    match format {
        WireFormat::Chat => Agent::new(OpenAi::new("m").base_url(url).http(http)),
        WireFormat::Responses => Agent::new(OpenAi::new("m").base_url(url).api(openai::Api::Responses).http(http)),
        WireFormat::Anthropic => Agent::new(Anthropic::new("m").base_url(url).http(http)),
        WireFormat::Interactions => Agent::new(Gemini::new("m").base_url(url).http(http)),
        WireFormat::GenerateContent => Agent::new(Gemini::new("m").base_url(url).api(Api::GenerateContent).http(http)),
    }
}

#[tokio::test]
async fn the_next_model_answers_in_place_of_a_failure_in_disguise() {
    let failing: Vec<_> = stream_rules().iter().filter(|rule| rule.stream.expect.get("error").is_some()).collect();
    assert!(failing.len() >= 15);
    for rule in failing {
        let server = Server::start_with(|_| reply(&rule.stream.sse)).await;
        let agent = agent(rule.stream.format, &server.url, HttpRetry::never());
        let mut session = agent.clone().fallback(ScriptedModel::new([Turn::say("Here I am.")])).session();
        let reply = session.send("go").await.unwrap_or_else(|error| panic!("{}: {error}", rule.does));
        assert_eq!((reply.text.as_str(), server.requests().len()), ("Here I am.", 1), "{}", rule.does);
        assert_eq!(session.run().phase(), Phase::Finished, "{}", rule.does);
        // Without another model, the run fails with the server's words.
        let Err(AgentError::Model(error)) = agent.run("go").await else { panic!("{}: it finished", rule.does) };
        let says = rule.stream.expect["says"].as_str().unwrap();
        assert!(error.to_string().contains(says), "{}: {error}", rule.does);
    }
}

#[tokio::test]
async fn a_request_without_content_is_repeated() {
    let empty = "data: {\"choices\":[{\"delta\":{}}]}\n\ndata: [DONE]\n\n";
    let text = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi.\"}}]}\n\ndata: [DONE]\n\n";
    let server = Server::start([reply(empty), reply(text)]).await;
    let retry = HttpRetry { max_retries: 1, first_wait: std::time::Duration::ZERO, ..HttpRetry::default() };
    let answer = agent(WireFormat::Chat, &server.url, retry).run("go").await.unwrap();
    assert_eq!((answer.text.as_str(), server.requests().len()), ("Hi.", 2));
}

#[tokio::test]
async fn a_turn_that_fails_after_its_text_is_repeated_by_the_agent() {
    let failing = "data: {\"choices\":[{\"delta\":{\"content\":\"Partial \"}}]}\n\n\
                   data: {\"choices\":[{\"delta\":{},\"error\":{\"message\":\"upstream timed out\"}}]}\n\n\
                   data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let text = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi.\"}}]}\n\ndata: [DONE]\n\n";
    let server = Server::start([reply(failing), reply(text)]).await;
    let agent = agent(WireFormat::Chat, &server.url, HttpRetry::never()).model_retries(1);
    let mut session = agent.session();
    assert_eq!(session.send("go").await.unwrap().text, "Hi.");
    assert_eq!((session.run().retries(), server.requests().len()), (1, 2));
}

#[tokio::test]
async fn a_call_that_the_provider_could_not_read_may_pass() {
    let malformed = "data: {\"candidates\":[{\"finishReason\":\"MALFORMED_FUNCTION_CALL\"}]}\n\n";
    let server = Server::start_with(|_| reply(malformed)).await;
    let agent = agent(WireFormat::GenerateContent, &server.url, HttpRetry::never()).model_retries(1);
    let Err(AgentError::Model(error)) = agent.run("go").await else { panic!("it finished") };
    assert_eq!((error.kind(), server.requests().len()), (ModelErrorKind::Protocol, 2));
}
