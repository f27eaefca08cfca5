//! Plain calls, as most messages to a server are.

use std::{borrow::Cow, fmt, marker::PhantomData};

use rmcp::{
    RoleServer,
    model::{
        CallToolRequest, CallToolRequestMethod, CallToolRequestParams, ClientRequest, ConstString as _, JsonObject,
        JsonRpcMessage, JsonRpcVersion2_0, MetaObject, RequestId, RequestMetaObject,
    },
    service::RxJsonRpcMessage,
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};

/// A call with nothing in it that is not in most of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain<'a> {
    #[serde(rename = "jsonrpc")]
    version: &'a str,
    id: RequestId,
    method: &'a str,
    params: Object<Params>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    #[serde(rename = "_meta")]
    meta: Option<JsonObject>,
    name: String,
    arguments: Option<JsonObject>,
}

/// An object: a list of its values in their order, which serde takes for a struct too, is none.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members(PhantomData)).map(Self)
    }
}

struct Members<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

/// The message of a line, if it is a plain call: the same as rmcp reads. Anything else is rmcp's to read, or to refuse.
pub fn call(line: &[u8]) -> Option<RxJsonRpcMessage<RoleServer>> {
    let Object(Plain { version, id, method, params: Object(params) }) = serde_json::from_slice(line).ok()?;
    if version != JsonRpcVersion2_0::VALUE || method != CallToolRequestMethod::VALUE {
        return None;
    }
    let mut wanted = CallToolRequestParams::new(Cow::Owned(params.name));
    wanted.arguments = params.arguments;
    let mut request = CallToolRequest::new(wanted);
    if let Some(meta) = params.meta {
        request.extensions.insert(RequestMetaObject(MetaObject(meta)));
    }
    Some(JsonRpcMessage::request(ClientRequest::CallToolRequest(request), id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rmcp::{RoleServer, model::JsonRpcMessage, model::RequestMetaObject, service::RxJsonRpcMessage};

    use super::call;

    type Message = RxJsonRpcMessage<RoleServer>;

    /// Everything in a message that a handler can see.
    fn seen(message: &Message) -> String {
        let JsonRpcMessage::Request(request) = message else { return format!("{message:?}") };
        let rmcp::model::ClientRequest::CallToolRequest(call) = &request.request else { return format!("{request:?}") };
        format!("{request:?} {:?}", call.extensions.get::<RequestMetaObject>())
    }

    fn is_as_rmcp_reads(line: &str) -> bool {
        let theirs = serde_json::from_str::<Message>(line).ok();
        call(line.as_bytes()).is_none_or(|ours| Some(seen(&ours)) == theirs.as_ref().map(seen))
    }

    #[test]
    fn plain_calls_are_read() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search"}}"#,
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"s\u00e9","arguments":null,"_meta":null}}"#,
            " {\"id\":2.0,\"params\":{\"arguments\":{\"a\":[1,2.5,-0.0,1e400,99999999999999999999]},\"name\":\"x\"},\"method\":\"tools/call\",\"jsonrpc\":\"2.0\"}\r\n",
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":{"progressToken":7,"x":{}},"name":"x","arguments":{"a":1,"a":2}}}"#,
        ] {
            let (is_read, is_same) = (call(line.as_bytes()).is_some(), is_as_rmcp_reads(line));
            // A number that no `f64` holds is refused by both.
            assert_eq!((is_read, is_same), (!line.contains("1e400"), true), "{line}");
        }
    }

    #[test]
    fn what_is_not_plain_is_left_to_rmcp() {
        for line in [
            "",
            "\n",
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"x\"}}",
            r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}]"#,
            r#"["2.0",1,"tools/call",{"name":"x"}]"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[null,"x",{"a":1}]}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"x"}}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"},"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","name":"y"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","requestState":"s"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","inputResponses":{}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":[]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}} {}"#,
        ] {
            assert!(call(line.as_bytes()).is_none(), "{line}");
        }
        assert!(
            call(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"\xff\"}}").is_none()
        );
    }

    fn value() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            any::<i64>().prop_map(|number| number.to_string()),
            any::<f64>().prop_map(|number| format!("{number:e}")),
            "[a-z\\PC]{0,5}".prop_map(|text| serde_json::to_string(&text).unwrap()),
            "[-0-9.eE+]{1,6}",
            Just(r#""2.0""#.to_owned()),
            Just(r#""tools/call""#.to_owned()),
            Just(r#""\ud800""#.to_owned()),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(","))),
                prop::collection::vec((key(), inner), 0..4).prop_map(object),
            ]
        })
    }

    fn key() -> impl Strategy<Value = String> {
        let known = prop::sample::select(vec![
            "jsonrpc",
            "id",
            "method",
            "params",
            "name",
            "arguments",
            "_meta",
            "progressToken",
            "result",
            "error",
            "requestState",
            "inputResponses",
            "task",
            "$serde_json::private::Number",
        ]);
        prop_oneof![4 => known.prop_map(str::to_owned), 1 => "[a-z_]{0,3}"]
    }

    fn object(entries: Vec<(String, String)>) -> String {
        let entries: Vec<_> = entries.into_iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
        format!("{{{}}}", entries.join(","))
    }

    /// The entries of a plain call, some of them other than they should be, in any order.
    fn message() -> impl Strategy<Value = String> {
        let rarely = |usual: &'static str| prop_oneof![12 => Just(usual.to_owned()), 1 => value()];
        let members = || prop::collection::vec((key(), value()), 0..3).prop_map(object);
        let param = prop_oneof![
            4 => members().prop_map(|value| ("arguments".to_owned(), value)),
            2 => members().prop_map(|value| ("_meta".to_owned(), value)),
            1 => (key(), value()),
        ];
        let params = (rarely(r#""search""#), prop::collection::vec(param, 0..3))
            .prop_map(|(name, others)| object([vec![("name".to_owned(), name)], others].concat()));
        let params = prop_oneof![12 => params, 1 => value()];
        let extra = prop_oneof![6 => Just(None), 1 => (key(), value()).prop_map(Some)];
        let id = prop_oneof![6 => any::<i32>().prop_map(|id| id.to_string()), 1 => value()];
        (rarely(r#""2.0""#), id, rarely(r#""tools/call""#), params, extra)
            .prop_map(|(version, id, method, params, extra)| {
                let entries = [("jsonrpc", version), ("id", id), ("method", method), ("params", params)];
                entries.map(|(key, value)| (key.to_owned(), value)).into_iter().chain(extra).collect::<Vec<_>>()
            })
            .prop_shuffle()
            .prop_map(object)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn what_is_read_is_what_rmcp_reads(line in message(), other in value()) {
            prop_assert!(is_as_rmcp_reads(&line), "{line}");
            prop_assert!(is_as_rmcp_reads(&other), "{other}");
        }
    }
}
