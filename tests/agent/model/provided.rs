//! Tests of tools that the provider executes, and of parts of a definition for one provider only.

use std::sync::Arc;

use serde_json::{Value, json};
use tool_runtime::{
    Agent, Message,
    message::{AssistantPart, ProviderPart, ProviderPartKind},
    model::{Delta, FunctionModel, Turn},
    toolset::{ListFormat, ProviderTool},
};

use crate::model::kit::{Listener, Runs, count, tools};

#[tokio::test]
async fn a_providers_tool_is_part_of_the_turn_and_not_a_call() {
    let part = |kind| ProviderPart::new("anthropic", "s1", "web_search", kind, r#"{"type":"server_tool_use"}"#);
    let model = FunctionModel::new(move |request| {
        assert_eq!(request.tools.provider_tools(ListFormat::Anthropic).count(), 1);
        if request.messages.len() > 2 {
            return Turn::say("done");
        }
        let mut turn = Turn::default();
        turn.push(Delta::Provider(part(ProviderPartKind::Call)));
        turn.push(Delta::Provider(part(ProviderPartKind::Result)));
        turn.then_say("found").then_call("add", "{\"n\":1}")
    });
    let runs = Arc::<Runs>::default();
    let listener = Arc::<Listener>::default();
    let search = ProviderTool::anthropic("web_search_20250305", "web_search").arg("max_uses", 3);
    let agent = Agent::new(model).tools(tools(&runs)).provider_tool(search).observer(Arc::clone(&listener));
    let mut session = agent.session();
    session.send("go").await.unwrap();
    assert_eq!((session.run().calls().len(), count(&runs)), (1, 1));
    let Message::Assistant { content } = &session.messages()[1] else { panic!() };
    assert!(matches!(&content[0], AssistantPart::Provider(part) if part.kind == ProviderPartKind::Call));
    assert!(matches!(&content[1], AssistantPart::Provider(part) if part.kind == ProviderPartKind::Result));
    assert!(listener.lines().contains(&"provider's Result: web_search".to_owned()));
    // The run stores the provider's parts.
    let frozen = session.run().freeze();
    assert_eq!(tool_runtime::run::Run::thaw(&frozen).unwrap().messages(), session.messages());
}

#[test]
fn each_provider_receives_only_its_own_parts() {
    let runs = Arc::<Runs>::default();
    let tools = tools(&runs).filter(|spec| spec.name == "done");
    let tools = tools.with_provider_member("done", ListFormat::Anthropic, "defer_loading", true).unwrap();
    let tools = tools.with_provider_member("done", ListFormat::Anthropic, "name", "other").unwrap();
    assert!(
        tools
            .clone()
            .with_provider_member("dnoe", ListFormat::OpenAi, "x", 1)
            .unwrap_err()
            .to_string()
            .contains("done")
    );
    let specs = tools.list().specs().to_vec();
    let provided = vec![
        ProviderTool::anthropic("web_search_20250305", "web_search"),
        ProviderTool::openai("web_search"),
        ProviderTool::responses("web_search").arg("search_context_size", "low"),
        ProviderTool::new(ListFormat::GeminiInteractions, "google_search"),
    ];
    let list = tool_runtime::toolset::ToolList::with_provided(specs, provided);
    let json = |format| serde_json::from_str::<Value>(list.json(format).get()).unwrap();
    let anthropic = json(ListFormat::Anthropic);
    assert_eq!(anthropic[0]["defer_loading"], true);
    assert_eq!(anthropic[0]["name"], "done", "a provider's part does not replace the definition's name");
    assert_eq!(anthropic[1], json!({"type": "web_search_20250305", "name": "web_search"}));
    let openai = json(ListFormat::OpenAi);
    assert_eq!((openai[0].get("defer_loading"), &openai[1]), (None, &json!({"type": "web_search"})));
    let responses = json(ListFormat::Responses);
    assert_eq!(responses[1], json!({"type": "web_search", "search_context_size": "low"}));
    assert_eq!(json(ListFormat::Gemini).as_array().unwrap().len(), 1);
    assert_eq!(json(ListFormat::GeminiInteractions)[1], json!({"type": "google_search"}));
    assert!(!list.is_empty_in(ListFormat::Gemini) && list.get("web_search").is_none());
}
