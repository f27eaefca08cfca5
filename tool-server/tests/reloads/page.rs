//! A page of a frontend: what it has read, what it shows, and what it sends.

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
    /// The open interrupts of AG-UI, and the calls that the client has to execute.
    pub(crate) interrupts: Vec<Value>,
    pub(crate) pending: Vec<String>,
    /// The principals that decided about calls, as the server reports them.
    pub(crate) decided: BTreeMap<String, Vec<String>>,
    /// The error that ended the answer.
    pub(crate) error: Option<String>,
}

/// Something that a person, or the page's own code, has to answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Open {
    /// A call that may run or not, by the id of the request.
    Approval(String),
    Question(String),
    /// A call that the page executes.
    Execute(String),
}

/// The answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    Yes,
    No,
}

/// An answer that the page reads.
struct Reading {
    text: Arc<Mutex<String>>,
    at: usize,
    task: JoinHandle<()>,
    /// Set if the answer comes again from its beginning.
    is_replay: bool,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) struct Page {
    pub(crate) shown: Shown,
    /// The messages that a page keeps whose server keeps nothing: those of the last request, or of the last whole answer.
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

    /// Opens a page that has nothing, as it is loaded from a server with a store; or one that has `kept`.
    pub(crate) async fn load(world: &World, kept: Option<&Self>) -> Self {
        let mut page = Self::new();
        if let Some(kept) = kept.filter(|_| world.kind.is_sealed) {
            page.shown = kept.kept.clone();
            page.kept = kept.kept.clone();
        }
        let stream = match world.kind.protocol {
            Protocol::AiSdk => {
                if !world.kind.is_sealed {
                    let answer = world.ask("GET", "/api/chat/c", None).await;
                    assert_eq!(answer.status, 200);
                    page.shown.messages = serde_json::from_str(&answer.whole().await).unwrap();
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
        let read = Arc::clone(&text);
        let task = tokio::spawn(async move {
            while let Some(more) = stream.next().await {
                read.lock().unwrap().push_str(&more);
            }
        });
        self.reading = Some(Reading { text, at: 0, task, is_replay });
    }

    /// Waits until nothing more comes, and shows what has come.
    pub(crate) async fn settle(&mut self, world: &World) {
        world.settle().await;
        self.catch_up(world);
    }

    /// Shows what has come.
    pub(crate) fn catch_up(&mut self, world: &World) {
        let Some(reading) = &mut self.reading else { return };
        let text = reading.text.lock().unwrap()[reading.at..].to_owned();
        let is_over = reading.task.is_finished();
        for frame in text.split_inclusive("\n\n").filter(|frame| frame.ends_with("\n\n")) {
            reading.at += frame.len();
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

    /// Returns `true` if an answer is in progress.
    pub(crate) fn is_answered(&self) -> bool {
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

    /// Answers something that is open.
    pub(crate) async fn answer(&mut self, world: &World, open: &Open, says: Says) -> u16 {
        let more = match world.kind.protocol {
            Protocol::AiSdk => ai_sdk::answer(&mut self.shown, open, says),
            Protocol::AgUi => ag_ui::answer(&mut self.shown, open, says),
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
            self.refusal = stream.whole().await;
        }
        status
    }

    /// Returns what is open.
    pub(crate) fn open(&self, world: &World) -> Vec<Open> {
        if self.is_answered() {
            return Vec::new();
        }
        let mut open = match world.kind.protocol {
            Protocol::AiSdk => ai_sdk::open(&self.shown),
            Protocol::AgUi => ag_ui::open(&self.shown),
        };
        open.sort();
        open
    }

    /// Returns what the page shows, without what differs between two pages by design: ids of answers.
    pub(crate) fn view(&self, world: &World) -> String {
        let mut view = match world.kind.protocol {
            Protocol::AiSdk => ai_sdk::view(&self.shown),
            Protocol::AgUi => ag_ui::view(&self.shown),
        };
        view.extend(self.open(world).iter().map(|open| format!("open {open:?}")));
        view.extend(self.shown.error.iter().map(|error| format!("error {error}")));
        view.join("\n")
    }

    /// Returns the states of calls that the page shows.
    pub(crate) fn states(&self, world: &World) -> Vec<String> {
        match world.kind.protocol {
            Protocol::AiSdk => ai_sdk::states(&self.shown),
            Protocol::AgUi => ag_ui::states(&self.shown, self.is_answered()),
        }
    }
}
