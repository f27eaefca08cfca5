//! Tests of files that a person attaches to a message: the model reads them or their descriptions, the client learns of it, and a page
//! that loads the chat again has them. Both protocols do the same.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tool_runtime::{
    Agent, Media, Message, Part,
    agent::UnreadableParts,
    model::{Delta, FinishReason, Model, ModelError, Request as ModelRequest},
    store::{MemoryStore, Store},
    tool, toolset,
};
use tool_server::{AgUi, Server};
use tool_stores::sealed::{Key, Keyring, MemoryNonces};
use tool_test_kit::within;
use tower::ServiceExt as _;

use super::shared_store::send;
use crate::kit::{Response, input};

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ";
const PDF: &str = "JVBERi0xLjcK";

/// A file as a client sends it: its source, its type and its name.
#[derive(Clone, Copy, Debug)]
struct File {
    url: &'static str,
    kind: &'static str,
    name: &'static str,
    /// Set if no model gets it, whatever it reads.
    is_unusable: bool,
}

const FILES: [File; 9] = [
    file("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", "image/png", "a.png"),
    file("data:application/pdf;base64,JVBERi0xLjcK", "application/pdf", "a.pdf"),
    file("data:audio/wav;base64,UklGRiQAAABXQVZFZm10IA==", "audio/wav", "a.wav"),
    file("data:application/x-odd;base64,AAECAwQF", "application/x-odd", "a.odd"),
    // The bytes are those of a PDF.
    file("data:image/png;base64,JVBERi0xLjcK", "image/png", "b.png"),
    file("https://files.example/a.pdf", "application/pdf", "far.pdf"),
    unusable("http://10.0.0.1/a.png", "image/png", "near.png"),
    unusable("data:image/png;base64,%41", "image/png", "broken.png"),
    unusable("blob:https://app.example/1", "image/png", "blob.png"),
];

const fn file(url: &'static str, kind: &'static str, name: &'static str) -> File {
    File { url, kind, name, is_unusable: false }
}

const fn unusable(url: &'static str, kind: &'static str, name: &'static str) -> File {
    File { url, kind, name, is_unusable: true }
}

impl File {
    /// Returns the part that the conversation has.
    fn part(&self) -> Part {
        Media::url(self.url).with_media_type(self.kind).with_name(self.name).into_part()
    }

    fn words(&self) -> Part {
        Part::text(self.part().in_words())
    }

    /// Returns the type of the bytes, or else the declared one.
    fn real_kind(&self) -> String {
        self.part().as_media().unwrap().media_type.unwrap().to_owned()
    }

    fn in_ai_sdk(&self) -> Value {
        json!({ "type": "file", "mediaType": self.kind, "filename": self.name, "url": self.url })
    }

    fn in_ag_ui(&self) -> Value {
        let kinds = ["image", "audio"];
        let kind = kinds.into_iter().find(|kind| self.kind.starts_with(kind)).unwrap_or("document");
        let source = match self.url.split_once(";base64,") {
            Some((_, data)) => json!({ "type": "data", "value": data, "mimeType": self.kind }),
            None => json!({ "type": "url", "value": self.url, "mimeType": self.kind }),
        };
        json!({ "type": kind, "source": source, "metadata": { "filename": self.name } })
    }

    fn in_ag_ui_0(&self) -> Value {
        let (name, value) = match self.url.split_once(";base64,") {
            Some((_, data)) => ("data", data),
            None => ("url", self.url),
        };
        json!({ "type": "binary", "mimeType": self.kind, name: value, "filename": self.name })
    }
}

/// A client: its protocol and version.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Client {
    AiSdk,
    AgUi,
    AgUi0,
}

const CLIENTS: [Client; 3] = [Client::AiSdk, Client::AgUi, Client::AgUi0];

impl Client {
    fn part(self, file: File) -> Value {
        match self {
            Self::AiSdk => file.in_ai_sdk(),
            Self::AgUi => file.in_ag_ui(),
            Self::AgUi0 => file.in_ag_ui_0(),
        }
    }

    fn message(self, id: &str, parts: &[Value]) -> Value {
        let content = if self == Self::AiSdk { "parts" } else { "content" };
        json!({ "id": id, "role": "user", content: parts })
    }

    fn post(self, messages: &[Value]) -> (&'static str, Value) {
        if self == Self::AiSdk {
            return ("/api/chat", json!({ "id": "c", "messages": messages }));
        }
        ("/agent", self.input(messages))
    }

    fn input(self, messages: &[Value]) -> Value {
        let mut input: Value = serde_json::from_str(&input("c", &json!(messages), &json!({}))).unwrap();
        if self == Self::AgUi0 {
            input.as_object_mut().unwrap().remove("protocolVersion");
        }
        input
    }

    /// Returns the notices about files that the model could not read.
    fn notices(self, response: &Response) -> Vec<Value> {
        let events = frames(response);
        let (kind, data) = if self == Self::AiSdk { ("data-unreadable-part", "data") } else { ("CUSTOM", "value") };
        let of_kind = events.iter().filter(|event| event["type"] == kind);
        let of_kind = of_kind.filter(|event| self == Self::AiSdk || event["name"] == "unreadable_part");
        of_kind.map(|event| event[data].clone()).collect()
    }
}

impl Client {
    fn check_that_notices_come_first(self, response: &Response) {
        let events = frames(response);
        let is_notice = |event: &Value| event["type"] == "data-unreadable-part" || event["name"] == "unreadable_part";
        let is_text = |event: &Value| matches!(event["type"].as_str(), Some("text-start" | "TEXT_MESSAGE_START"));
        let last = events.iter().rposition(is_notice).expect("a notice");
        assert!(events.iter().position(is_text).is_some_and(|text| last < text), "{self:?}: {}", response.text);
    }
}

fn frames(response: &Response) -> Vec<Value> {
    let text = response.text.strip_suffix("data: [DONE]\n\n").unwrap_or(&response.text).to_owned();
    Response { status: response.status, text }.events()
}

/// A model that reads all files or none, and keeps what it was asked.
struct Reads(bool, Arc<Mutex<Vec<Vec<Message>>>>);

impl Model for Reads {
    fn name(&self) -> &'static str {
        "reader"
    }

    fn takes(&self, _: &Part) -> bool {
        self.0
    }

    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        self.1.lock().unwrap().push(request.messages.to_vec());
        Box::pin(stream::iter([Ok(Delta::Text("done".to_owned())), Ok(Delta::Finish(FinishReason::Stop))]))
    }
}

struct World {
    router: Router,
    asked: Arc<Mutex<Vec<Vec<Message>>>>,
}

impl World {
    fn new(reads: bool, is_sealed: bool) -> Self {
        Self::with(reads, is_sealed, |agent| agent)
    }

    fn with(reads: bool, is_sealed: bool, change: impl FnOnce(Agent) -> Agent) -> Self {
        let asked = Arc::<Mutex<Vec<Vec<Message>>>>::default();
        let agent = change(Agent::new(Reads(reads, Arc::clone(&asked))));
        let mut server = Server::new(agent).ag_ui(AgUi::new()).max_body_bytes(16 << 20);
        if is_sealed {
            let keys = Keyring::new("test", Key::from_bytes([7; 32]));
            server = server.stateless(&keys, "desk", Arc::new(MemoryNonces::new()));
        }
        Self { router: server.router(), asked }
    }

    async fn ask(&self, method: &str, path: &str, body: &Value) -> Response {
        let request = Request::builder().method(method).uri(format!("http://localhost{path}"));
        let request = request.header("content-type", "application/json");
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        send(self.router.clone(), request, body).await
    }

    async fn say(&self, client: Client, messages: &[Value]) -> Response {
        let (path, body) = client.post(messages);
        self.ask("POST", path, &body).await
    }

    /// Returns what the model was asked last: the content of the person's last message.
    fn last_prompt(&self) -> Vec<Part> {
        let asked = self.asked.lock().unwrap();
        match asked.last().and_then(|messages| messages.last()) {
            Some(Message::User { content }) => content.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the content of the person's first message, as a page that loads the chat again receives it.
    async fn reload(&self, client: Client) -> Value {
        if client == Client::AiSdk {
            let loaded = self.ask("GET", "/api/chat/c", &Value::Null).await;
            return serde_json::from_str::<Value>(&loaded.text).unwrap()[0]["parts"].clone();
        }
        let loaded = self.ask("POST", "/agent/connect", &client.input(&[])).await;
        loaded.event("MESSAGES_SNAPSHOT")["messages"][0]["content"].clone()
    }
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

#[tokio::test]
async fn a_file_beside_a_text_is_never_dropped() {
    for client in CLIENTS {
        for (reads, is_sealed) in [(true, false), (false, false), (true, true), (false, true)] {
            for file in FILES {
                let case = format!("{client:?} reads: {reads}, sealed: {is_sealed}, {file:?}");
                let world = World::new(reads, is_sealed);
                let message = client.message("m1", &[text("Look."), client.part(file)]);
                let response = world.say(client, std::slice::from_ref(&message)).await;
                assert_eq!(response.status, 200, "{case}: {}", response.text);
                let is_read = reads && !file.is_unusable;
                let seen = if is_read { file.part() } else { file.words() };
                assert_eq!(world.last_prompt(), [Part::text("Look."), seen], "{case}");
                let notice = json!({
                    "description": file.part().in_words(), "filename": file.name, "mediaType": file.real_kind(),
                });
                let expected = if is_read { vec![] } else { vec![notice] };
                assert_eq!(client.notices(&response), expected, "{case}: {}", response.text);
                if is_sealed {
                    continue;
                }
                let mut expected = client.message("m1", &[text("Look."), client.part(file)]);
                let kept = expected.get_mut(if client == Client::AiSdk { "parts" } else { "content" }).unwrap();
                correct_kind(client, &mut kept[1], file);
                assert_eq!(world.reload(client).await, *kept, "{case}");
            }
        }
    }
}

/// A page receives the type of the bytes, if the person's label was wrong.
fn correct_kind(client: Client, part: &mut Value, file: File) {
    let kind = file.real_kind();
    match client {
        Client::AiSdk => {
            part["url"] = file.url.replace(file.kind, &kind).into();
            part["mediaType"] = kind.into();
        }
        Client::AgUi => {
            if kind != file.kind {
                part["type"] = "document".into();
            }
            part["source"]["mimeType"] = kind.into();
        }
        Client::AgUi0 => part["mimeType"] = kind.into(),
    }
}

#[tokio::test]
async fn a_message_of_one_file_is_refused_alike_if_the_model_does_not_read_it() {
    for (reads, is_sealed) in [(true, false), (false, false), (true, true), (false, true)] {
        for file in FILES {
            let mut refusals = Vec::new();
            for client in CLIENTS {
                let case = format!("{client:?} reads: {reads}, sealed: {is_sealed}, {file:?}");
                let world = World::new(reads, is_sealed);
                let response = world.say(client, &[client.message("m1", &[client.part(file)])]).await;
                if reads && !file.is_unusable {
                    assert_eq!(response.status, 200, "{case}: {}", response.text);
                    assert_eq!(world.last_prompt(), [file.part()], "{case}");
                    continue;
                }
                assert!(world.asked.lock().unwrap().is_empty(), "{case}");
                assert_eq!(response.status, 422, "{case}: {}", response.text);
                refusals.push(response.text);
                let loaded = world.ask("GET", "/api/chat/c", &Value::Null).await;
                assert_eq!(loaded.status, 404, "{case}");
            }
            let what = file.part().in_words().into_owned();
            let text = format!("the model cannot read {what}; send a text with it, or a file that the model reads");
            let expected = json!({ "error": { "code": "unreadable_message", "message": text } }).to_string();
            assert!(refusals.iter().all(|refusal| *refusal == expected), "{refusals:?}");
        }
    }
}

/// Each file has its own notice, before the text of the answer to its message, and in no other answer.
#[tokio::test]
async fn each_unread_file_is_named_once_with_the_answer_to_its_message() {
    let twin = File { url: "data:application/pdf;base64,JVBERi0xLjgK", ..FILES[1] };
    for client in CLIENTS {
        for is_sealed in [false, true] {
            let world = World::new(false, is_sealed);
            let first = [client.message("m1", &[client.part(FILES[1]), text("Look."), client.part(twin)])];
            let response = world.say(client, &first).await;
            let notice = json!({
                "description": "(a document, a.pdf)", "filename": "a.pdf", "mediaType": "application/pdf",
            });
            let both = vec![notice.clone(), notice];
            assert_eq!(client.notices(&response), both, "{client:?}: {}", response.text);
            client.check_that_notices_come_first(&response);
            // A part of `useChat` replaces another with its id.
            let parts = frames(&response).into_iter().filter(|event| event["type"] == "data-unreadable-part");
            let ids: Vec<Value> = parts.map(|part| part["id"].clone()).collect();
            assert_eq!(ids, if client == Client::AiSdk { vec![json!("m1-0"), json!("m1-2")] } else { vec![] });
            let mut messages = first.to_vec();
            if is_sealed {
                keep_seal(client, &response, &mut messages);
            } else {
                // The same request again, after its end.
                let again = world.say(client, &first).await;
                assert_eq!(client.notices(&again), both, "{client:?}: {}", again.text);
                client.check_that_notices_come_first(&again);
                assert_eq!(world.asked.lock().unwrap().len(), 1, "{client:?}");
            }
            messages.push(client.message("m2", &[text("Go on.")]));
            let response = world.say(client, &messages).await;
            assert_eq!((response.status, client.notices(&response)), (200, vec![]), "{client:?}: {}", response.text);
        }
    }
}

/// A server that follows the answer of another one did not ask the model.
#[tokio::test]
async fn the_second_copy_of_a_request_on_another_server_names_the_files_too() {
    for client in CLIENTS {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let slow = Slow::default();
        let router = || {
            let agent = Agent::new(slow.clone()).store(Arc::clone(&store));
            Server::new(agent).ag_ui(AgUi::new()).router()
        };
        let (path, body) = client.post(&[client.message("m1", &[text("Look."), client.part(FILES[1])])]);
        let ask = |router: Router| {
            let request = Request::post(format!("http://localhost{path}")).header("content-type", "application/json");
            router.oneshot(request.body(Body::from(body.to_string())).unwrap())
        };
        let first = within("the first response", ask(router())).await.unwrap();
        within("the model", slow.asked.acquire()).await.unwrap().forget();
        let second = within("the second response", ask(router())).await.unwrap();
        slow.may_answer.add_permits(1);
        for response in [first, second] {
            let (status, body) =
                (response.status().as_u16(), to_bytes(response.into_body(), usize::MAX).await.unwrap());
            let response = Response { status, text: String::from_utf8(body.to_vec()).unwrap() };
            assert_eq!(client.notices(&response).len(), 1, "{client:?}: {}", response.text);
            client.check_that_notices_come_first(&response);
        }
    }
}

/// A model that reads no file, and answers with a permit.
#[derive(Clone)]
struct Slow {
    asked: Arc<Semaphore>,
    may_answer: Arc<Semaphore>,
}

impl Default for Slow {
    fn default() -> Self {
        Self { asked: Arc::new(Semaphore::new(0)), may_answer: Arc::new(Semaphore::new(0)) }
    }
}

impl Model for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn takes(&self, _: &Part) -> bool {
        false
    }

    fn stream<'a>(&'a self, _: ModelRequest<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        self.asked.add_permits(1);
        let answer = async {
            self.may_answer.acquire().await.expect("it is never closed").forget();
            Ok(Delta::Text("done".to_owned()))
        };
        Box::pin(stream::once(answer).chain(stream::iter([Ok(Delta::Finish(FinishReason::Stop))])))
    }
}

/// The next message has the text, and the client's history still has the file.
#[tokio::test]
async fn a_text_after_a_refused_file_comes_with_its_description() {
    for client in CLIENTS {
        let world = World::new(false, false);
        let first = client.message("m1", &[text("Hello.")]);
        world.say(client, std::slice::from_ref(&first)).await;
        let file = client.message("m2", &[client.part(FILES[1])]);
        assert_eq!(world.say(client, &[first.clone(), file.clone()]).await.status, 422);
        let text = client.message("m3", &[text("What is in it?")]);
        let response = world.say(client, &[first, file, text]).await;
        assert_eq!(response.status, 200, "{client:?}: {}", response.text);
        assert_eq!(world.last_prompt(), [FILES[1].words(), Part::text("What is in it?")], "{client:?}");
        assert_eq!(client.notices(&response).len(), 1, "{client:?}: {}", response.text);
    }
}

#[tokio::test]
async fn an_agent_that_refuses_files_refuses_the_message_and_the_chat_goes_on() {
    for client in CLIENTS {
        for is_sealed in [false, true] {
            let world = World::with(false, is_sealed, |agent| agent.unreadable_parts(UnreadableParts::Refuse));
            let first = client.message("m1", &[text("Hello.")]);
            assert_eq!(world.say(client, std::slice::from_ref(&first)).await.status, 200);
            let file = client.message("m2", &[text("Look."), client.part(FILES[1])]);
            let refused = world.say(client, &[first.clone(), file.clone()]).await;
            assert_eq!(refused.status, 422, "{client:?}: {}", refused.text);
            let message = "the model cannot read (a document, a.pdf); send the message without it";
            assert!(refused.text.contains(message), "{}", refused.text);
            // The client still has the refused message.
            let next = client.message("m3", &[text("Go on.")]);
            let response = world.say(client, &[first, file, next]).await;
            assert_eq!(response.status, 200, "{client:?}: {}", response.text);
            assert_eq!(world.last_prompt(), [Part::text("Go on.")], "{client:?}");
        }
    }
}

#[tokio::test]
async fn the_model_reads_descriptions_of_files_in_a_history_that_the_server_does_not_know() {
    let client = Client::AiSdk;
    let world = World::new(true, false);
    let before = client.message("m1", &[text("Look."), client.part(FILES[1])]);
    let answer = json!({ "id": "a1", "role": "assistant", "parts": [text("I see.")] });
    world.say(client, &[before, answer, client.message("m2", &[text("And?")])]).await;
    let asked = world.asked.lock().unwrap();
    let Message::User { content } = &asked[0][0] else { panic!() };
    assert!(content.iter().any(|part| part.in_words().contains("(a document, a.pdf)")), "{content:?}");
}

#[tokio::test]
async fn a_file_that_does_not_fit_into_the_sealed_run_is_refused() {
    for client in [Client::AiSdk, Client::AgUi0] {
        let world = World::new(true, true);
        let large = |kilobytes: usize| {
            let data = PNG[..40].to_owned() + &"A".repeat(kilobytes * 1000);
            match client {
                Client::AiSdk => {
                    json!({ "type": "file", "mediaType": "image/png", "url": format!("data:image/png;base64,{data}") })
                }
                _ => json!({ "type": "binary", "mimeType": "image/png", "data": data }),
            }
        };
        let message = client.message("m1", &[text("Look."), large(3_000)]);
        let refused = world.say(client, &[message]).await;
        assert_eq!(refused.status, 413, "{client:?}: {}", refused.text);
        assert!(refused.text.contains("this server keeps no chats"), "{}", refused.text);

        // One that fits is there for the next question.
        let first = client.message("m1", &[text("Look."), large(2_000)]);
        let response = world.say(client, std::slice::from_ref(&first)).await;
        let mut messages = vec![first];
        keep_seal(client, &response, &mut messages);
        messages.push(client.message("m2", &[text("Again.")]));
        assert_eq!(world.say(client, &messages).await.status, 200);
        let count = world.asked.lock().unwrap().last().unwrap().iter().filter(|message| has_image(message)).count();
        assert_eq!(count, 1, "{client:?}");
        // A second one does not fit beside it.
        messages.pop();
        messages.push(client.message("m3", &[text("Look."), large(2_000)]));
        let refused = world.say(client, &messages).await;
        assert_eq!(refused.status, 413, "{client:?}: {}", refused.text);
    }
}

fn has_image(message: &Message) -> bool {
    matches!(message, Message::User { content } if content.iter().any(|part| matches!(part, Part::Image(_))))
}

/// Keeps the sealed run of a response, as the clients do.
fn keep_seal(client: Client, response: &Response, messages: &mut Vec<Value>) {
    for event in frames(response) {
        if let Some(sealed) = event["messageMetadata"]["toolRun"].as_str() {
            let metadata = json!({ "toolRun": sealed });
            messages.push(json!({ "id": "a1", "role": "assistant", "parts": [], "metadata": metadata }));
        }
        if event["type"] == "REASONING_ENCRYPTED_VALUE" && client != Client::AiSdk {
            let keeper = messages.iter_mut().find(|message| message["id"] == event["entityId"]).unwrap();
            keeper["encryptedValue"] = event["encryptedValue"].clone();
        }
    }
    if client != Client::AiSdk {
        messages.push(json!({ "id": "a1", "role": "assistant", "content": "done" }));
    }
}

/// Draw a picture.
#[tool(effect = read_only)]
fn picture() -> tool_runtime::Content {
    tool_runtime::Content(vec![Part::Document(Media::base64("application/pdf", PDF).with_name("secret.pdf"))])
}

/// A client did not attach the files in results, and may not see them.
#[tokio::test]
async fn files_in_results_are_no_attachments() {
    for client in CLIENTS {
        let (asked, turns) = (Arc::default(), Arc::new(Mutex::new(0)));
        let agent = Agent::new(Calls(Reads(false, asked), turns)).tools(toolset!(picture));
        let world = World { router: Server::new(agent).ag_ui(AgUi::new()).router(), asked: Arc::default() };
        let response = world.say(client, &[client.message("m1", &[text("Draw.")])]).await;
        assert_eq!((response.status, client.notices(&response)), (200, vec![]), "{}", response.text);
    }
}

/// A model that calls `picture` first.
struct Calls(Reads, Arc<Mutex<usize>>);

impl Model for Calls {
    fn name(&self) -> &'static str {
        "caller"
    }

    fn takes(&self, part: &Part) -> bool {
        self.0.takes(part)
    }

    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let mut turns = self.1.lock().unwrap();
        *turns += 1;
        if *turns > 1 {
            return self.0.stream(request);
        }
        let start = Delta::CallStart { index: 0, id: "c1".to_owned(), name: "picture".to_owned() };
        let rest = [Delta::CallEnd { index: 0 }, Delta::Finish(FinishReason::ToolCalls)];
        Box::pin(stream::iter([start].into_iter().chain(rest).map(Ok)))
    }
}
