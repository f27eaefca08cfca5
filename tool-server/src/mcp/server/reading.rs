//! The reading of a client's messages.

use rmcp::{
    RoleServer,
    model::{
        CallToolRequest, CallToolRequestMethod, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest,
        ConstString as _, Extensions, JsonObject, JsonRpcMessage, RequestId,
    },
};

use crate::mcp::message::{ExactArguments, InvalidMessage, Members, MessageReader, read, read_as_it_came, read_object};

/// The reader of a client's messages. It reads calls by their method: rmcp tries every kind of request until one fits.
pub struct ClientMessages;

impl MessageReader for ClientMessages {
    type Role = RoleServer;

    fn read(&self, text: &[u8]) -> Result<Option<ClientJsonRpcMessage>, InvalidMessage> {
        // Another encoding is not JSON, and a call with changed characters must not run.
        let Ok(text) = std::str::from_utf8(text) else { return Ok(None) };
        match Members::of(text).and_then(|members| read_call(&members)) {
            Some(call) => Ok(Some(call)),
            None => read_as_it_came::<RoleServer>(text),
        }
    }
}

/// Reads a valid call. Returns `None` for other messages.
fn read_call(members: &Members<'_>) -> Option<ClientJsonRpcMessage> {
    let is_request = members.result.is_none() && members.error.is_none();
    if !is_request || members.jsonrpc?.get() != "\"2.0\"" || members.method()? != CallToolRequestMethod::VALUE {
        return None;
    }
    let id: RequestId = read(members.id?)?;
    let exact = ExactArguments::of_params(members.params?);
    let mut params: CallToolRequestParams = read_object(members.params?.get())?;
    let meta = params.meta.take();
    let mut call = CallToolRequest::new(params);
    if let Some(meta) = meta {
        call.extensions.insert(meta);
    }
    if let Some(exact) = exact {
        call.extensions.insert(exact);
    }
    Some(JsonRpcMessage::request(ClientRequest::CallToolRequest(call), id))
}

/// A request of a call, and the JSON of its arguments with all digits.
pub struct GivenCall {
    pub params: CallToolRequestParams,
    pub arguments: String,
}

impl GivenCall {
    /// Creates the call from a request with these extensions.
    pub fn new(params: CallToolRequestParams, extensions: &Extensions) -> Self {
        let of_body = || extensions.get::<http::request::Parts>()?.extensions.get::<ExactArguments>();
        let arguments = match extensions.get().or_else(of_body) {
            Some(ExactArguments(json)) => json.clone(),
            None => serde_json::to_string(params.arguments.as_ref().unwrap_or(&JsonObject::new())).unwrap_or_default(),
        };
        Self { params, arguments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways of reading lead to the same message.
    #[test]
    fn a_call_is_read_as_rmcp_reads_it() {
        let calls = [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"a","arguments":{"b":[1.0,null]}}}"#,
            r#"{"id":1,"params":{"_meta":{"progressToken":7,"z":{}},"arguments":{},"name":"a"},"method":"tools/call","jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":null,"_meta":null,"more":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","requestState":"s","inputResponses":{"q":{"action":"accept"}}}}"#,
        ];
        for text in calls {
            let ours = Members::of(text).and_then(|members| read_call(&members)).unwrap_or_else(|| panic!("{text}"));
            let theirs: ClientJsonRpcMessage = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_value(&ours).unwrap(), serde_json::to_value(&theirs).unwrap(), "{text}");
            assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "{text}");
        }
    }

    #[test]
    fn all_else_goes_to_rmcp() {
        let others = [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["a"]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":[]}}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"},"result":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"a"}}"#,
        ];
        for text in others {
            assert!(Members::of(text).and_then(|members| read_call(&members)).is_none(), "{text}");
        }
    }
}
