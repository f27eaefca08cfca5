//! A page of a frontend, which reads streams, shows their content, and sends requests.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{Protocol, ag_ui, ai_sdk, world::World};
use crate::{ai_sdk::reload::Stream, kit::input, model::Step};

/// The id of the only chat.
const CHAT: &str = "c";

/// The content that a page shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// The messages, in the form of the protocol.
    pub(crate) messages: Vec<Value>,
    /// The open interrupts of AG-UI.
    pub(crate) interrupts: Vec<Value>,
    /// The ids of the calls that the client of AG-UI has to execute.
    pub(crate) pending: Vec<String>,
    /// The principals that decided about calls, as the server reports them.
    pub(crate) decided: BTreeMap<String, Vec<String>>,
    /// The error that ended the response.
    pub(crate) error: Option<String>,
}

/// An open request, which a person or the page's own code has to answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Open {
    /// The id of a request for an approval.
    Approval(String),
    /// The id of a question.
    Question(String),
    /// The id of a call that the page executes.
    Execute(String),
}

/// The answer to an open request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
}

/// A response that the page reads.
struct Reading {
    /// The received text.
    text: Arc<Mutex<String>>,
    /// The length of the text that is shown.
    shown: usize,
    task: JoinHandle<()>,
    /// Set if the response is replayed from its beginning.
    is_replay: bool,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) struct Page {
    pub(crate) shown: Shown,
    /// The content that the page of a stateless server keeps: as at the last request, or after the last whole response.
    kept: Shown,
    reading: Option<Reading>,
    /// The last response without a stream.
    pub(crate) refusal: String,
}

impl Page {
    /// Returns the page of a chat that does not exist yet.
    pub(crate) fn new() -> Self {
        Self { shown: Shown::default(), kept: Shown::default(), reading: None, refusal: String::new() }
    }

    /// Loads a page. It begins empty if the server has a store, and with the kept content of `kept` otherwise.
    pub(crate) async fn load(world: &World, kept: Option<&Self>) -> Self {
        let mut page = Self::new();
        if let Some(kept) = kept.filter(|_| world.kind.is_sealed) {
            page.shown = kept.kept.clone();
            page.kept = kept.kept.clone();
        }
        let stream = match world.kind.protocol {
            Protocol::AiSdk => {
                if !world.kind.is_sealed {
                    let response = world.ask("GET", "/api/chat/c", None).await;
                    assert_eq!(response.status, 200);
                    page.shown.messages = serde_json::from_str(&response.read_all().await).unwrap();
                    ai_sdk::read_decisions(&mut page.shown);
                }
                world.ask("GET", "/api/chat/c/stream", None).await
            }
            Protocol::AgUi if world.kind.is_sealed => world.ask("GET", "/agent/c/stream", None).await,
            Protocol::AgUi => {
                let more = json!({ "runId": "connecting" });
                let body = serde_json::from_str(&input(CHAT, &json!([]), &more)).unwrap();
                world.ask("POST", "/agent/connect", Some(&body)).await
            }
        };
        match stream.status {
            200 => page.read(stream, true),
            status => assert_eq!(status, 204),
        }
        page.settle(world).await;
        page
    }

    fn read(&mut self, mut stream: Stream, is_replay: bool) {
        let text = Arc::new(Mutex::new(String::new()));
        let received = Arc::clone(&text);
        let task = tokio::spawn(async move {
            while let Some(more) = stream.next().await {
                received.lock().unwrap().push_str(&more);
            }
        });
        self.reading = Some(Reading { text, shown: 0, task, is_replay });
    }

    /// Waits until nothing more arrives, and shows the received events.
    pub(crate) async fn settle(&mut self, world: &World) {
        world.settle().await;
        self.catch_up(world);
    }

    /// Shows the received events.
    pub(crate) fn catch_up(&mut self, world: &World) {
        let Some(reading) = &mut self.reading else { return };
        let text = reading.text.lock().unwrap()[reading.shown..].to_owned();
        let is_over = reading.task.is_finished();
        for frame in text.split_inclusive("\n\n").filter(|frame| frame.ends_with("\n\n")) {
            reading.shown += frame.len();
            let Some(data) = frame.trim_end().strip_prefix("data: ").filter(|data| *data != "[DONE]") else { continue };
            let event = serde_json::from_str(data).unwrap();
            match world.kind.protocol {
                Protocol::AiSdk => ai_sdk::read(&mut self.shown, &event, reading.is_replay),
                Protocol::AgUi => ag_ui::read(&mut self.shown, &event),
            }
        }
        if is_over {
            self.reading = None;
            self.kept = self.shown.clone();
        }
    }

    /// Returns `true` if a response is in progress.
    pub(crate) fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// Sends a message that is a script for the model.
    pub(crate) async fn say(&mut self, world: &World, id: &str, turns: &[Vec<Step>]) -> u16 {
        let text = serde_json::to_string(turns).unwrap();
        let prompt = match world.kind.protocol {
            Protocol::AiSdk => json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": text }] }),
            Protocol::AgUi => json!({ "id": id, "role": "user", "content": text }),
        };
        self.shown.messages.push(prompt);
        self.send(world, json!({})).await
    }

    /// Answers an open request.
    pub(crate) async fn answer(&mut self, world: &World, open: &Open, answer: Answer) -> u16 {
        let more = match world.kind.protocol {
            Protocol::AiSdk => ai_sdk::answer(&mut self.shown, open, answer),
            Protocol::AgUi => ag_ui::answer(&mut self.shown, open, answer),
        };
        self.send(world, more).await
    }

    async fn send(&mut self, world: &World, more: Value) -> u16 {
        self.kept = self.shown.clone();
        let messages = json!(self.shown.messages);
        let (path, body) = match world.kind.protocol {
            Protocol::AiSdk => {
                let mut body = json!({ "id": CHAT, "messages": messages, "resumable": true });
                body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                ("/api/chat", body)
            }
            Protocol::AgUi => ("/agent", serde_json::from_str(&input(CHAT, &messages, &more)).unwrap()),
        };
        let stream = world.ask("POST", path, Some(&body)).await;
        let status = stream.status;
        if status == 200 {
            self.read(stream, false);
        } else {
            self.refusal = stream.read_all().await;
        }
        status
    }

    pub(crate) fn open_requests(&self, world: &World) -> Vec<Open> {
        if self.is_reading() {
            return Vec::new();
        }
        let mut requests = match world.kind.protocol {
            Protocol::AiSdk => ai_sdk::open_requests(&self.shown),
            Protocol::AgUi => ag_ui::open_requests(&self.shown),
        };
        requests.sort();
        requests
    }

    /// Returns the shown content as text, without the ids of assistant messages, which differ between pages by design.
    pub(crate) fn view(&self, world: &World) -> String {
        let mut view = match world.kind.protocol {
            Protocol::AiSdk => ai_sdk::view(&self.shown),
            Protocol::AgUi => ag_ui::view(&self.shown),
        };
        view.extend(self.open_requests(world).iter().map(|open| format!("open {open:?}")));
        view.extend(self.shown.error.iter().map(|error| format!("error {error}")));
        view.join("\n")
    }

    /// Returns the shown states of calls.
    pub(crate) fn states(&self, world: &World) -> Vec<String> {
        match world.kind.protocol {
            Protocol::AiSdk => ai_sdk::states(&self.shown),
            Protocol::AgUi => ag_ui::states(&self.shown, self.is_reading()),
        }
    }
}
