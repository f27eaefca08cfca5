//! Clients of both protocols, as far as they are asked something and answer.

use serde_json::{Value, json};

use crate::lost_connections::world::{Answer, World};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    AiSdk,
    AgUi,
}

/// An answer of a person, or of a client for its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    Yes,
    /// Yes, with another amount.
    Edit,
    No,
    /// Yes, and something new in the same request.
    YesAndMore,
    /// The result of a client's call.
    Result,
}

/// A client that was asked something.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) protocol: Protocol,
    prompt: String,
    /// The names of the calls, their ids, and those of the questions about them.
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
    /// Says `prompt`, and is asked about the calls that it names.
    pub(crate) async fn asked(world: &World, protocol: Protocol, prompt: &str) -> Self {
        let mut client = Self { protocol, prompt: prompt.to_owned(), calls: Vec::new(), sealed: None };
        let answer = world.post(protocol.path(), &client.says()).await;
        client.read(&answer);
        assert_eq!(client.calls.len(), prompt.split(' ').count(), "{}", answer.text);
        assert_eq!(client.sealed.is_some(), world.is_sealed, "{}", answer.text);
        client
    }

    /// The client with the sealed run of another answer.
    pub(crate) fn with_seal_of(&self, answer: &Answer) -> Self {
        let mut client = self.clone();
        client.sealed = None;
        client.keep(&answer.events());
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

    fn read(&mut self, answer: &Answer) {
        let events = answer.events();
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
                let asked = &answer.event("RUN_FINISHED")["outcome"]["interrupts"];
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

    fn says(&self) -> String {
        self.body(&[], &[], None)
    }

    /// The request that says something new.
    pub(crate) fn says_more(&self) -> String {
        self.body(&[], &[], Some("more"))
    }

    /// The request that says `says` about the calls of `about`.
    pub(crate) fn answers(&self, says: Says, about: &[&str]) -> String {
        let about: Vec<_> = self.calls.iter().filter(|(name, ..)| about.contains(&name.as_str())).collect();
        match self.protocol {
            Protocol::AiSdk => {
                let part = |(name, call, question): &&(String, String, String)| {
                    let input = if name == "Locate" { json!({}) } else { json!({ "amount": 5 }) };
                    let mut part = json!({ "type": format!("tool-{name}"), "toolCallId": call, "input": input });
                    if says == Says::Result {
                        part["state"] = "output-available".into();
                        part["output"] = json!({ "at": "home" });
                    } else if says != Says::Edit {
                        part["state"] = "approval-responded".into();
                        part["approval"] = json!({ "id": question, "approved": says != Says::No });
                    }
                    part
                };
                let parts: Vec<Value> = about.iter().map(part).collect();
                let edit = json!({ "decision": "edit", "arguments": { "amount": 4 } });
                let edits: Vec<_> = about.iter().map(|(_, _, question)| (question.as_str(), &edit)).collect();
                let edits = if says == Says::Edit { edits } else { Vec::new() };
                self.body(&parts, &edits, (says == Says::YesAndMore).then_some("more"))
            }
            Protocol::AgUi => {
                let answer = |(_, call, question): &&(String, String, String)| {
                    let payload = match says {
                        Says::Yes | Says::YesAndMore => json!({ "approved": true }),
                        Says::Edit => json!({ "approved": true, "editedArgs": { "amount": 4 } }),
                        Says::No => json!({ "approved": false }),
                        Says::Result => {
                            let content = r#"{"at":"home"}"#;
                            return json!({ "id": "r1", "role": "tool", "toolCallId": call, "content": content });
                        }
                    };
                    json!({ "interruptId": question, "status": "resolved", "payload": payload })
                };
                let answers: Vec<Value> = about.iter().map(answer).collect();
                self.body(&answers, &[], (says == Says::YesAndMore).then_some("more"))
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
