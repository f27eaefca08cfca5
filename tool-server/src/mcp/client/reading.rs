//! The reading of a server's messages. A response is read by the method of its request, and a bad detail takes only itself.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
};

use rmcp::{
    ErrorData, RoleClient,
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, ConstString as _, CustomRequest,
        ElicitationCreateRequestMethod, ErrorCode, JsonRpcMessage, JsonRpcRequest, RequestId, ServerJsonRpcMessage,
        ServerRequest, ServerResult,
    },
};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

use super::results::{read_call_result, read_discovery, read_initialization, read_late_discovery, read_list};
use crate::{
    host::lock,
    mcp::message::{ExactArguments, InvalidMessage, Members, MessageReader, read, read_as_it_came},
};

/// The maximum number of messages in a batch.
const MAX_BATCH: usize = 1000;

/// The reader of a server's messages. Clones share the requests that wait for a response.
#[derive(Clone, Default)]
pub struct ServerMessages {
    waiting: Arc<Mutex<HashMap<RequestId, Method>>>,
    /// The result of `server/discover` that came too late.
    late_discovery: Arc<Mutex<Option<String>>>,
}

/// The method of a request, which determines how its result is read.
#[derive(Clone, Copy)]
enum Method {
    Initialize,
    Discover,
    /// A `server/discover` that rmcp has given up, because a slow server did not respond within 10 s.
    LateDiscover,
    ListTools,
    CallTool,
    Other,
}

impl Method {
    fn of(request: &ClientRequest) -> Self {
        match request {
            ClientRequest::InitializeRequest(_) => Self::Initialize,
            ClientRequest::DiscoverRequest(_) => Self::Discover,
            ClientRequest::ListToolsRequest(_) => Self::ListTools,
            ClientRequest::CallToolRequest(_) => Self::CallTool,
            _ => Self::Other,
        }
    }
}

impl MessageReader for ServerMessages {
    type Role = RoleClient;

    /// Also notes the method of a request, so that the response to it can be read.
    fn write(&self, message: &ClientJsonRpcMessage) -> serde_json::Result<Vec<u8>> {
        let mut waiting = lock(&self.waiting);
        match message {
            JsonRpcMessage::Request(request) => {
                let method = Method::of(&request.request);
                if matches!(method, Method::Initialize) {
                    let probes = waiting.values_mut().filter(|method| matches!(method, Method::Discover));
                    probes.for_each(|method| *method = Method::LateDiscover);
                }
                waiting.insert(request.id.clone(), method);
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    waiting.remove(id);
                }
            }
            _ => {}
        }
        write_call(message).unwrap_or_else(|| serde_json::to_vec(message))
    }

    /// The revision 2025-03-26 has batches.
    fn read_batch<'a>(&self, text: &'a [u8]) -> Vec<&'a RawValue> {
        let read = || serde_json::from_slice::<Vec<&RawValue>>(text).ok();
        let messages = text.starts_with(b"[").then(read).flatten().filter(|messages| messages.len() <= MAX_BATCH);
        messages.unwrap_or_default()
    }

    fn read(&self, text: &[u8]) -> Result<Option<ServerJsonRpcMessage>, InvalidMessage> {
        // A character in another encoding takes only itself.
        let text = String::from_utf8_lossy(text);
        let Some(members) = Members::of(&text) else { return read_as_it_came::<RoleClient>(&text) };
        let is_response = members.method.is_none()
            || members.error.is_some()
            || members.result.is_some_and(|result| result.get() != "null");
        match members.id {
            // A response that nobody waits for is ignored.
            Some(id) if is_response => {
                Ok(self.take(id).and_then(|(id, method)| self.read_response(id, method, &members)))
            }
            _ => match read_question(&members) {
                Some(question) => Ok(Some(question)),
                None => read_as_it_came::<RoleClient>(&text),
            },
        }
    }
}

/// Returns the JSON of a call whose arguments a [`Value`] cannot hold. Returns `None` for other messages.
fn write_call(message: &ClientJsonRpcMessage) -> Option<serde_json::Result<Vec<u8>>> {
    let JsonRpcMessage::Request(JsonRpcRequest { request: ClientRequest::CallToolRequest(call), .. }) = message else {
        return None;
    };
    let ExactArguments(arguments) = call.extensions.get()?;
    let write = || {
        let mut members = members_of(&serde_json::to_string(message)?)?;
        if let Some(params) = members.get_mut("params") {
            let mut inside = members_of(params.get())?;
            inside.insert("arguments".to_owned(), RawValue::from_string(arguments.clone())?);
            *params = to_raw_value(&inside)?;
        }
        serde_json::to_vec(&members)
    };
    Some(write())
}

fn members_of(json: &str) -> serde_json::Result<BTreeMap<String, Box<RawValue>>> {
    serde_json::from_str(json)
}

/// The method of a question whose form is as it came. rmcp's types for `elicitation/create` lose limits.
pub const QUESTION: &str = "tool-runtime/question";

/// Reads a question to a person. Returns `None` for other messages.
fn read_question(members: &Members<'_>) -> Option<ServerJsonRpcMessage> {
    let id: RequestId = read(members.id?)?;
    if members.method()? != ElicitationCreateRequestMethod::VALUE {
        return None;
    }
    let question = CustomRequest::new(QUESTION, members.params.and_then(read));
    Some(JsonRpcMessage::request(ServerRequest::CustomRequest(question), id))
}

impl ServerMessages {
    /// Returns the request with this id, which waits for a response no longer. Returns `None` if none waits.
    fn take(&self, id: &RawValue) -> Option<(RequestId, Method)> {
        let id = match read::<Value>(id)? {
            // Some servers respond with the number as a text, or as a float.
            Value::String(text) => text.parse().map_or_else(|_| RequestId::String(text.into()), RequestId::Number),
            #[expect(clippy::cast_possible_truncation, reason = "a number that is no id of ours finds no request")]
            Value::Number(number) => RequestId::Number(number.as_i64().or_else(|| Some(number.as_f64()? as i64))?),
            _ => return None,
        };
        lock(&self.waiting).remove_entry(&id)
    }

    fn read_response(&self, id: RequestId, method: Method, members: &Members<'_>) -> Option<ServerJsonRpcMessage> {
        if matches!(method, Method::LateDiscover) {
            *lock(&self.late_discovery) = members.result.map(|result| result.get().to_owned());
            return None;
        }
        if let Some(error) = members.error {
            // A server without `initialize` has responded to the first request, if late.
            let late = lock(&self.late_discovery).take_if(|_| matches!(method, Method::Initialize));
            return Some(match late.and_then(|late| read_late_discovery(&late)) {
                Some(result) => JsonRpcMessage::response(result, id),
                None => JsonRpcMessage::error(read_error(error), Some(id)),
            });
        }
        let Some(result) = members.result else {
            let error = ErrorData::internal_error("a response without a result", None);
            return Some(JsonRpcMessage::error(error, Some(id)));
        };
        let read = match method {
            Method::Initialize => read_initialization(result.get()),
            Method::Discover => read_discovery(result.get()),
            Method::ListTools => read_list(result.get()),
            Method::CallTool => read_call_result(result.get()),
            Method::LateDiscover | Method::Other => None,
        };
        if read.is_none() && matches!(method, Method::Initialize) {
            let error =
                ErrorData::invalid_request("the response to `initialize` names no version of the protocol", None);
            return Some(JsonRpcMessage::error(error, Some(id)));
        }
        Some(JsonRpcMessage::response(read.unwrap_or_else(|| read_other(result.get())), id))
    }
}

/// Reads a result as rmcp does. A result that is nested too deep becomes `null`.
fn read_other(text: &str) -> ServerResult {
    serde_json::from_str(text)
        .unwrap_or_else(|_| ServerResult::CustomResult(rmcp::model::CustomResult::new(Value::Null)))
}

/// Reads an error. A part of another type than the protocol's is replaced, and a message is made of the whole if there is none.
fn read_error(error: &RawValue) -> ErrorData {
    if let Some(error) = read(error) {
        return error;
    }
    let whole: Value = read(error).unwrap_or_default();
    let code = match &whole["code"] {
        Value::String(text) => text.parse().ok(),
        code => code.as_i64().and_then(|code| i32::try_from(code).ok()),
    };
    let message = match (&whole["message"], &whole) {
        (Value::String(message), _) | (_, Value::String(message)) => message.clone(),
        (_, whole) => whole.to_string(),
    };
    let code = code.map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
    ErrorData::new(code, message, whole.get("data").filter(|data| !data.is_null()).cloned())
}
