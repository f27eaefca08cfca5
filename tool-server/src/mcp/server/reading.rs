//! The reading of a client's messages.

use bytes::Bytes;
use rmcp::{
    RoleServer,
    model::{
        CallToolRequest, CallToolRequestMethod, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest,
        ConstString as _, Extensions, InputResponses, JsonObject, JsonRpcMessage, RequestId, RequestMetaObject,
    },
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::mcp::message::{ExactArguments, InvalidMessage, Members, MessageReader, read, read_as_it_came, read_object};

/// The reader of a client's messages. It reads calls by their method: rmcp tries every kind of request until one fits.
#[derive(Clone)]
pub struct ClientMessages;

impl MessageReader for ClientMessages {
    type Role = RoleServer;

    fn read(&self, text: &[u8]) -> Result<Option<ClientJsonRpcMessage>, InvalidMessage> {
        // Another encoding is not JSON, and a call with changed characters must not run.
        let Ok(text) = std::str::from_utf8(text) else { return Ok(None) };
        match read_call(text) {
            Some(call) => Ok(Some(call)),
            None => read_as_it_came::<RoleServer>(text),
        }
    }
}

/// The parameters of a call, whose arguments stay as they came.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallParams<'a> {
    #[serde(rename = "_meta")]
    meta: Option<RequestMetaObject>,
    name: String,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    input_responses: Option<InputResponses>,
    request_state: Option<String>,
}

impl<'a> CallParams<'a> {
    /// Reads the id and the parameters of a call. Returns `None` for other messages.
    fn of(text: &'a str) -> Option<(RequestId, Self)> {
        let members = Members::of(text)?;
        let is_request = members.result.is_none() && members.error.is_none() && members.jsonrpc?.get() == "\"2.0\"";
        if !is_request || members.method()? != CallToolRequestMethod::VALUE {
            return None;
        }
        Some((read(members.id?)?, read_object(members.params?.get())?))
    }
}

/// Reads a valid call. Returns `None` for other messages.
fn read_call(text: &str) -> Option<ClientJsonRpcMessage> {
    let (id, given) = CallParams::of(text)?;
    let mut params = CallToolRequestParams::new(given.name);
    params.input_responses = given.input_responses;
    params.request_state = given.request_state;
    let mut call = CallToolRequest::new(params);
    if let Some(meta) = given.meta {
        call.extensions.insert(meta);
    }
    if let Some(arguments) = given.arguments {
        call.extensions.insert(ExactArguments::read(arguments.get())?);
    }
    Some(JsonRpcMessage::request(ClientRequest::CallToolRequest(call), id))
}

/// Takes the arguments of a call out of its message, because rmcp would read them several times. Returns the message with empty
/// arguments, and the arguments. The message stays as it is if `keeps` returns `true` for the name of the tool. Returns `None`
/// for other messages.
pub fn take_arguments(message: &Bytes, keeps: impl FnOnce(&str) -> bool) -> Option<(Bytes, ExactArguments)> {
    let text = std::str::from_utf8(message).ok()?;
    let (_, CallParams { name, arguments, .. }) = CallParams::of(text)?;
    let json = arguments?.get();
    let exact = ExactArguments::read(json)?;
    if keeps(&name) {
        return Some((message.clone(), exact));
    }
    let start = json.as_ptr().addr() - text.as_ptr().addr();
    let (before, behind) = (&text[..start], &text[start + json.len()..]);
    Some(([before, "{}", behind].concat().into(), exact))
}

/// A request of a call, and the JSON of its arguments with all digits.
pub struct GivenCall {
    pub params: CallToolRequestParams,
    pub arguments: String,
}

impl GivenCall {
    /// Creates the call from a request with these extensions, and takes the arguments from them.
    pub fn new(params: CallToolRequestParams, extensions: &mut Extensions) -> Self {
        let of_body = |extensions: &mut Extensions| {
            extensions.get_mut::<http::request::Parts>()?.extensions.remove::<ExactArguments>()
        };
        let arguments = match extensions.remove().or_else(|| of_body(extensions)) {
            Some(ExactArguments(json)) => json,
            None => serde_json::to_string(params.arguments.as_ref().unwrap_or(&JsonObject::new())).unwrap_or_default(),
        };
        Self { params, arguments }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::GetExtensions as _;
    use serde_json::Value;

    use super::*;
    use crate::mcp::message::ReadMessage;

    /// Parameters of every kind: valid ones, and those of no call.
    fn all_params() -> Vec<String> {
        let arguments = [
            "{}",
            r#"{"b":[1.0,1e2,-0,null,{"c":"\u00e9\n"}]}"#,
            r#"{"a":1,"b":2,"a":3}"#,
            r#"{"n":123456789012345678901234567890,"x":0.10000000000000000001}"#,
            r#"{"n":1e999}"#,
            r#"{"s":"\ud83d"}"#,
            "null",
            "[]",
            r#""{}""#,
            "5",
        ];
        let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        let arguments = arguments.into_iter().map(str::to_owned).chain([deep]);
        let with_arguments = arguments.map(|arguments| format!(r#"{{"name":"a","arguments":{arguments}}}"#));
        let others = [
            r#"{"name":"a"}"#,
            r#"{ "name" : "\u0061" , "arguments" : { } }"#,
            r#"{"_meta":{"progressToken":7,"z":{}},"arguments":{},"name":"a"}"#,
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"name":"a"}"#,
            r#"{"_meta":null,"name":"a"}"#,
            r#"{"_meta":5,"name":"a"}"#,
            r#"{"_meta":{},"_meta":{},"name":"a"}"#,
            r#"{"name":"a","task":{"ttl":60}}"#,
            r#"{"name":"a","more":1,"arguments":{}}"#,
            r#"{"name":"a","arguments":{},"arguments":{"b":1}}"#,
            r#"{"name":"a","requestState":"s","inputResponses":{"q":{"action":"accept"}}}"#,
            r#"{"name":"a","requestState":null,"inputResponses":null}"#,
            r#"{"name":"a","requestState":5}"#,
            r#"{"name":"a","inputResponses":[]}"#,
            r#"{"name":1}"#,
            r#"{"name":null}"#,
            r#"{"arguments":{}}"#,
            "{}",
            "[]",
            r#"["a"]"#,
            r#"[null,"a",{"b":1},null,null]"#,
            "null",
            "5",
        ];
        with_arguments.chain(others.map(str::to_owned)).collect()
    }

    /// Messages of every kind that have a method.
    fn all_messages() -> Vec<String> {
        let mut messages = Vec::new();
        for params in all_params() {
            let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
            let mut change = |from: &str, to: &str| messages.push(call.replacen(from, to, 1));
            change("", "");
            for id in [r#""x""#, r#""1""#, "-1", "1.5", "1e2", "9223372036854775808", "null", "[]", "{}", r#"1,"id":2"#]
            {
                change(r#""id":1"#, &format!(r#""id":{id}"#));
            }
            for version in [r#""1.0""#, r#""\u0032.0""#, "2.0", "null"] {
                change(r#""2.0""#, version);
            }
            for method in [r#""tools\/call""#, r#""tools/list""#, r#""ping""#, r#""none""#, "5", "null"] {
                change(r#""tools/call""#, method);
            }
            for extra in [r#""more":1"#, r#""result":null"#, r#""result":{}"#, r#""error":{}"#, r#""params":null"#] {
                change("{", &format!("{{{extra},"));
            }
            for missing in
                [r#""jsonrpc":"2.0","#, r#""id":1,"#, r#""method":"tools/call","#, r#""id":1,"method":"tools/call","#]
            {
                change(missing, "");
            }
            change(r#""id":1,"#, "");
            change("}", "");
            messages.push(format!(r#" {{ "params" : {params} , "method":"tools/call","id":1,"jsonrpc":"2.0"}} "#));
            messages.push(format!(r#"["2.0",1,"tools/call",{params}]"#));
        }
        messages
    }

    /// Returns a message whose arguments are in its parameters, as rmcp reads it.
    fn with_arguments(message: ClientJsonRpcMessage) -> ClientJsonRpcMessage {
        let JsonRpcMessage::Request(mut request) = message else { return message };
        if let ClientRequest::CallToolRequest(call) = &mut request.request
            && let Some(ExactArguments(json)) = call.extensions.remove()
        {
            call.params.arguments = Some(serde_json::from_str(&json).unwrap());
            if call.extensions.is_empty() {
                call.extensions = Extensions::new();
            }
        }
        JsonRpcMessage::Request(request)
    }

    /// Returns the content of a message, with its `_meta`, and the form in which it was read.
    fn describe(read: &ReadMessage<RoleServer>) -> (Option<Value>, String) {
        let message = read.as_ref().ok().and_then(Option::as_ref);
        (message.map(|message| serde_json::to_value(message).unwrap()), format!("{read:?}"))
    }

    #[test]
    fn a_message_is_read_as_rmcp_reads_it() {
        let mut calls = 0;
        for text in all_messages() {
            let theirs = read_as_it_came::<RoleServer>(&text);
            let ours = ClientMessages.read(text.as_bytes()).map(|read| read.map(with_arguments));
            assert_eq!(describe(&ours), describe(&theirs), "{text}");
            calls += usize::from(read_call(&text).is_some());
        }
        assert!(calls > 80, "only {calls} messages were read by their method");
    }

    #[test]
    fn a_body_without_its_arguments_is_the_same_call() {
        let mut taken = 0;
        for text in all_messages() {
            let Some((rest, arguments)) = take_arguments(&Bytes::from(text.clone()), |_| false) else { continue };
            let Ok(Some(JsonRpcMessage::Request(mut request))) =
                read_as_it_came::<RoleServer>(std::str::from_utf8(&rest).unwrap())
            else {
                panic!("{text}: {rest:?}")
            };
            request.request.extensions_mut().insert(arguments);
            let ours = Ok(Some(with_arguments(JsonRpcMessage::Request(request))));
            assert_eq!(describe(&ours), describe(&read_as_it_came::<RoleServer>(&text)), "{text}");
            taken += 1;
        }
        assert!(taken > 40, "only {taken} messages had arguments to take");
    }

    #[test]
    fn a_call_may_have_an_error_that_is_null() {
        let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","error":null,"params":{"name":"a"}}"#;
        assert!(read_call(text).is_some());
    }

    #[test]
    fn arguments_keep_their_digits() {
        let json = r#"{"n": 123456789012345678901234567890, "m": 1e2}"#;
        let text =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a","arguments":{json}}}}}"#);
        let Some(JsonRpcMessage::Request(mut request)) = read_call(&text) else { panic!("no call") };
        let given = GivenCall::new(CallToolRequestParams::new("a"), request.request.extensions_mut());
        assert_eq!(given.arguments, r#"{"n":123456789012345678901234567890,"m":1e2}"#);
    }
}
