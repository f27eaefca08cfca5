//! Clients of both protocols, which answer approval requests and return results.

use serde_json::{Value, json};

use crate::lost_connections::world::{Response, World};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    AiSdk,
    AgUi,
}

/// An answer of a person, or a client's result of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    /// Yes, with another amount.
    Edit,
    No,
    /// Yes, and a new message in the same request.
    YesAndMore,
    /// The result of a client's call.
    Result,
}

/// A client with open calls.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) protocol: Protocol,
    prompt: String,
    /// The names of the calls, their ids, and the ids of their approval requests.
    calls: Vec<(String, String, String)>,
    sealed: Option<String>,
}

impl Protocol {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::AiSdk => "/api/chat",
            Self::AgUi => "/agent",
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

impl Client {
    /// Sends `prompt`, and returns the client with the calls that it names.
    pub(crate) async fn begin(world: &World, protocol: Protocol, prompt: &str) -> Self {
        let mut client = Self { protocol, prompt: prompt.to_owned(), calls: Vec::new(), sealed: None };
        let response = world.post(protocol.path(), &client.first_body()).await;
        client.read(&response);
        assert_eq!(client.calls.len(), prompt.split(' ').count(), "{}", response.text);
        assert_eq!(client.sealed.is_some(), world.is_sealed, "{}", response.text);
        client
    }

    /// Returns the client with the sealed run of another response.
    pub(crate) fn with_seal_of(&self, response: &Response) -> Self {
        let mut client = self.clone();
        client.sealed = None;
        client.keep(&response.events());
        client
    }

    fn keep(&mut self, events: &[Value]) {
        for event in events {
            match self.protocol {
                Protocol::AiSdk if event["messageMetadata"].is_object() => {
                    self.sealed = Some(event["messageMetadata"].to_string());
                }
                Protocol::AgUi if event["type"] == "REASONING_ENCRYPTED_VALUE" && event["entityId"] == "m1" => {
                    self.sealed = Some(text(&event["encryptedValue"]));
                }
                _ => {}
            }
        }
    }

    fn read(&mut self, response: &Response) {
        let events = response.events();
        self.keep(&events);
        let named = |kind: &str, name: &str| {
            let of_kind = events.iter().filter(|event| event["type"] == kind);
            of_kind.map(|event| (text(&event[name]), text(&event["toolCallId"]))).collect::<Vec<_>>()
        };
        let (calls, questions): (_, Vec<(String, String)>) = match self.protocol {
            Protocol::AiSdk => {
                let asked = events.iter().filter(|event| event["type"] == "tool-approval-request");
                let asked = asked.map(|event| (text(&event["toolCallId"]), text(&event["approvalId"])));
                (named("tool-input-available", "toolName"), asked.collect())
            }
            Protocol::AgUi => {
                let asked = &response.event("RUN_FINISHED")["outcome"]["interrupts"];
                let asked = asked.as_array().into_iter().flatten().filter(|asked| asked["toolCallId"].is_string());
                let asked = asked.map(|asked| (text(&asked["toolCallId"]), text(&asked["id"])));
                (named("TOOL_CALL_START", "toolCallName"), asked.collect())
            }
        };
        for (name, call) in calls {
            let question = questions.iter().find(|(of, _)| *of == call).map(|(_, id)| id.clone());
            self.calls.push((name, call, question.unwrap_or_default()));
        }
    }

    fn first_body(&self) -> String {
        self.body(&[], &[], None)
    }

    /// Returns the request with a new message.
    pub(crate) fn next_body(&self) -> String {
        self.body(&[], &[], Some("more"))
    }

    /// Returns the request that gives the calls of the tools `about` this answer.
    pub(crate) fn answer_body(&self, answer: Answer, about: &[&str]) -> String {
        let about: Vec<_> = self.calls.iter().filter(|(name, ..)| about.contains(&name.as_str())).collect();
        match self.protocol {
            Protocol::AiSdk => {
                let part = |(name, call, question): &&(String, String, String)| {
                    let input = if name == "Locate" { json!({}) } else { json!({ "amount": 5 }) };
                    let mut part = json!({ "type": format!("tool-{name}"), "toolCallId": call, "input": input });
                    if answer == Answer::Result {
                        part["state"] = "output-available".into();
                        part["output"] = json!({ "at": "home" });
                    } else if answer != Answer::Edit {
                        part["state"] = "approval-responded".into();
                        part["approval"] = json!({ "id": question, "approved": answer != Answer::No });
                    }
                    part
                };
                let parts: Vec<Value> = about.iter().map(part).collect();
                let edit = json!({ "decision": "edit", "arguments": { "amount": 4 } });
                let edits: Vec<_> = about.iter().map(|(_, _, question)| (question.as_str(), &edit)).collect();
                let edits = if answer == Answer::Edit { edits } else { Vec::new() };
                self.body(&parts, &edits, (answer == Answer::YesAndMore).then_some("more"))
            }
            Protocol::AgUi => {
                let entry = |(_, call, question): &&(String, String, String)| {
                    let payload = match answer {
                        Answer::Yes | Answer::YesAndMore => json!({ "approved": true }),
                        Answer::Edit => json!({ "approved": true, "editedArgs": { "amount": 4 } }),
                        Answer::No => json!({ "approved": false }),
                        Answer::Result => {
                            let content = r#"{"at":"home"}"#;
                            return json!({ "id": "r1", "role": "tool", "toolCallId": call, "content": content });
                        }
                    };
                    json!({ "interruptId": question, "status": "resolved", "payload": payload })
                };
                let answers: Vec<Value> = about.iter().map(entry).collect();
                self.body(&answers, &[], (answer == Answer::YesAndMore).then_some("more"))
            }
        }
    }

    fn body(&self, answers: &[Value], edits: &[(&str, &Value)], more: Option<&str>) -> String {
        match self.protocol {
            Protocol::AiSdk => {
                let prompt = |id: &str, text: &str| json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": text }] });
                let mut messages = vec![prompt("m1", &self.prompt)];
                if !answers.is_empty() {
                    let metadata: Option<Value> = self.sealed.as_ref().map(|data| serde_json::from_str(data).unwrap());
                    messages.push(json!({ "id": "a1", "role": "assistant", "parts": answers, "metadata": metadata }));
                }
                messages.extend(more.map(|more| prompt("m2", more)));
                let edits: Value = edits.iter().map(|(id, edit)| ((*id).to_owned(), (*edit).clone())).collect();
                json!({ "id": "t", "messages": messages, "decisions": edits }).to_string()
            }
            Protocol::AgUi => {
                let mut prompt = json!({ "id": "m1", "role": "user", "content": self.prompt });
                if let Some(sealed) = &self.sealed {
                    prompt["encryptedValue"] = sealed.as_str().into();
                }
                let (results, resume): (Vec<_>, Vec<_>) =
                    answers.iter().cloned().partition(|answer| answer["role"] == "tool");
                let more = more.map(|more| json!({ "id": "m2", "role": "user", "content": more }));
                let messages: Vec<Value> = std::iter::once(prompt).chain(results).chain(more).collect();
                json!({
                    "threadId": "t", "runId": "run", "protocolVersion": "1.0", "messages": messages, "tools": [],
                    "context": [], "state": {}, "forwardedProps": {}, "resume": resume,
                })
                .to_string()
            }
        }
    }
}
