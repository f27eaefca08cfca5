//! Tests of parts that a model cannot take: the request describes them, or the model is not asked. The conversation keeps them.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use serde_json::json;
use tool_runtime::{
    Agent, AgentError, Content, Media, Message, Part, Toolset,
    agent::UnreadableParts,
    message::MediaKind,
    model::{Delta, Model, ModelError, ModelErrorKind, Request, ScriptedModel, Turn},
    run::{Phase, StopReason},
    tool, toolset,
};

use crate::model::kit::Listener;

/// A model that takes only media of one kind.
struct Takes(&'static str, Option<MediaKind>, ScriptedModel);

impl Model for Takes {
    fn name(&self) -> &str {
        self.0
    }

    fn takes(&self, part: &Part) -> bool {
        part.as_media().is_none_or(|media| Some(media.kind) == self.1)
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        self.2.stream(request)
    }
}

fn image() -> Part {
    Part::Image(Media::base64("image/png", "AAAA"))
}

fn report() -> Part {
    Part::Document(Media::url("https://example.com/a.pdf").with_name("a.pdf"))
}

/// Records a sound.
#[tool(effect = read_only)]
fn record() -> Content {
    Content(vec![Part::text("done"), Part::Audio(Media::base64("audio/wav", "AAAA"))])
}

fn tools() -> Toolset {
    toolset!(record)
}

fn parts(message: &Message) -> &[Part] {
    match message {
        Message::User { content } => content,
        Message::Tool(result) => &result.content,
        _ => &[],
    }
}

fn described(listener: &Listener) -> Vec<String> {
    listener.lines().into_iter().filter(|line| line.starts_with("described")).collect()
}

#[tokio::test]
async fn a_part_is_described_once_and_stays_in_the_conversation() {
    let turns = [Turn::call("record", json!({})), Turn::call("record", json!({})), Turn::say("ok"), Turn::say("ok")];
    // The agent asks through `Arc` and `Box`, too.
    let model = Arc::new(Takes("seeing", Some(MediaKind::Image), ScriptedModel::new(turns)));
    let boxed: Box<dyn Model> = Box::new(Arc::clone(&model));
    let listener = Arc::<Listener>::default();
    let agent = Agent::new(boxed).tools(tools()).observer(Arc::clone(&listener));
    let mut session = agent.session();
    let prompt = vec![Part::text("look"), image(), report()];
    session.send_parts(prompt.clone()).await.unwrap();
    session.send("and?").await.unwrap();

    let words = Part::text("(a document, a.pdf)");
    for request in model.2.requests() {
        assert_eq!(parts(&request.messages[0]), [Part::text("look"), image(), words.clone()]);
    }
    let last = &model.2.requests()[3];
    let result = [Part::text("done"), Part::text("(sound, audio/wav)")];
    assert_eq!((parts(&last.messages[2]), parts(&last.messages[4])), (&result[..], &result[..]));

    assert_eq!(
        described(&listener),
        ["described to seeing: (a document, a.pdf)", "described to seeing: (sound, audio/wav)"]
    );
    assert_eq!(parts(&session.messages()[0]), prompt);
    assert_eq!(parts(&session.messages()[2])[1], Part::Audio(Media::base64("audio/wav", "AAAA")));
}

#[tokio::test]
async fn each_fallback_is_asked_again() {
    let down = ModelError::new(ModelErrorKind::Refused, "down");
    let first = Takes("hearing", Some(MediaKind::Audio), ScriptedModel::new([down]));
    let second = Arc::new(Takes("seeing", Some(MediaKind::Image), ScriptedModel::new([Turn::say("a cat")])));
    let listener = Arc::<Listener>::default();
    let agent = Agent::new(first).fallback(Arc::clone(&second)).observer(Arc::clone(&listener));
    let mut session = agent.session();
    session.send_parts(vec![image(), report()]).await.unwrap();
    let expected = [
        "described to hearing: (an image, image/png)",
        "described to hearing: (a document, a.pdf)",
        "described to seeing: (a document, a.pdf)",
    ];
    assert_eq!(described(&listener), expected);
    assert_eq!(parts(&second.2.requests()[0].messages[0])[0], image());
}

#[tokio::test]
async fn a_model_that_must_read_everything_is_not_asked() {
    let blind = Arc::new(Takes("blind", None, ScriptedModel::new([Turn::say("no")])));
    let agent = Agent::new(Arc::clone(&blind)).instructions("Be kind.").unreadable_parts(UnreadableParts::Refuse);
    let mut session = agent.session();
    let error = session.send_parts(vec![Part::text("look"), image()]).await.unwrap_err();
    let AgentError::Model(error) = error else { panic!("{error}") };
    assert_eq!(error.kind(), ModelErrorKind::Refused);
    let expected = "the model `blind` cannot take part 2 of message 2: (an image, image/png)";
    assert!(error.to_string().starts_with(expected), "{error}");
    assert!(blind.2.requests().is_empty());
    assert!(matches!(session.run().phase(), Phase::Stopped(StopReason::ModelFailed(_))));

    // The chat goes on with another setting, or with another model.
    session.change_agent(|agent| agent.unreadable_parts(UnreadableParts::Describe));
    assert_eq!(session.resume().await.unwrap().text, "no");
    let seeing = Arc::new(Takes("seeing", Some(MediaKind::Image), ScriptedModel::new([Turn::say("a cat")])));
    let reply = agent.fallback(Arc::clone(&seeing)).session().send_parts(vec![image()]).await.unwrap();
    assert_eq!((reply.text.as_str(), blind.2.requests().len()), ("a cat", 1));
}

#[tokio::test]
async fn an_agent_inside_of_a_call_does_the_same() {
    let turns = [Turn::call("record", json!({})), Turn::say("heard")];
    let inner = Arc::new(Takes("deaf", None, ScriptedModel::new(turns)));
    let helper = Agent::new(Arc::clone(&inner)).tools(tools());
    let outer = ScriptedModel::new([Turn::call("helper", json!({ "task": "listen" })), Turn::say("ok")]);
    let outer = Agent::new(outer).tools(Toolset::new().with(helper.as_tool("helper", "Listens.")).unwrap());
    outer.run("go").await.unwrap();
    assert_eq!(parts(&inner.2.requests()[1].messages[2])[1], Part::text("(sound, audio/wav)"));
}
