//! Tests of servers with odd details: each takes only itself.

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex, split};
use tokio::net::TcpListener;
use tool_runtime::{Approval, Context, Effect, Toolset};
use tool_server::mcp::{RemoteServer, RemoteTools, client::SkippedPart};
use tool_test_kit::within;

use crate::mcp::nonsense::raw_server;

/// Returns the line of a response with the members `members`, such as `"result":{}`.
fn line(request: &Value, members: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{members}}}\n", request["id"])
}

fn unknown_method(request: &Value) -> String {
    line(request, r#""error":{"code":-32601,"message":"no"}"#)
}

const INITIALIZED: &str =
    r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}"#;

const DISCOVERED: &str = r#""result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}"#;

/// Returns a server whose list is the text `tools`, and whose calls have the result `call`.
fn server(tools: &str, call: &str) -> RemoteServer {
    let (tools, call) = (tools.to_owned(), call.to_owned());
    raw_server(move |request| match request["method"].as_str() {
        Some("initialize") => line(request, INITIALIZED),
        Some("tools/list") => line(request, &format!(r#""result":{{"tools":{tools}}}"#)),
        Some("tools/call") => line(request, &format!(r#""result":{call}"#)),
        _ => unknown_method(request),
    })
}

const PLAIN: &str = r#"{"name":"t","inputSchema":{"type":"object"}}"#;

async fn connect(server: RemoteServer) -> RemoteTools {
    within("connecting", server.connect()).await.unwrap_or_else(|error| panic!("{error}"))
}

fn names(tools: &Toolset) -> Vec<String> {
    tools.names().map(str::to_owned).collect()
}

/// The expected treatment of a definition.
enum Expected {
    /// All of it is used.
    Whole,
    /// These parts are left out.
    Without(&'static [&'static str]),
    /// The tool is skipped, with a reason that contains this text.
    Skipped(&'static str),
}
use Expected::{Skipped, Whole, Without};

#[tokio::test]
async fn a_bad_detail_of_a_definition_takes_only_itself() {
    let deep = format!("{}{}", r#"{"properties":{"a":"#.repeat(200), "1") + &"}}".repeat(200);
    let deep = format!(r#"{{"name":"b","inputSchema":{deep}}}"#);
    let cases = [
        // The schema of the arguments.
        (r#"{"name":"b"}"#, Skipped("has no `inputSchema`")),
        (r#"{"name":"b","inputSchema":null}"#, Skipped("has no `inputSchema`")),
        (r#"{"name":"b","inputSchema":true}"#, Skipped("`inputSchema` is no object")),
        (r#"{"name":"b","inputSchema":[]}"#, Skipped("`inputSchema` is no object")),
        (r#"{"name":"b","inputSchema":"{}"}"#, Skipped("`inputSchema` is no object")),
        (r#"{"name":"b","inputSchema":{}}"#, Whole),
        (&deep, Skipped("cannot be read")),
        // Names.
        (r#"{"inputSchema":{"type":"object"}}"#, Skipped("has no name")),
        (r#"{"name":null,"inputSchema":{}}"#, Skipped("has no name")),
        (r#"{"name":7,"inputSchema":{}}"#, Skipped("has no name")),
        ("5", Skipped("is no object")),
        ("null", Skipped("is no object")),
        (r#"["b",{}]"#, Skipped("is no object")),
        // Texts and hints.
        (
            r#"{"name":"b","description":null,"title":null,"annotations":null,"icons":null,"_meta":null,"inputSchema":{}}"#,
            Whole,
        ),
        (r#"{"name":"b","description":["d"],"inputSchema":{}}"#, Without(&["/description"])),
        (r#"{"name":"b","title":{"en":"B"},"inputSchema":{}}"#, Without(&["/title"])),
        (
            r#"{"name":"b","annotations":{"readOnlyHint":"yes","destructiveHint":false},"inputSchema":{}}"#,
            Without(&["/annotations/readOnlyHint"]),
        ),
        (
            r#"{"name":"b","annotations":{"readOnlyHint":1,"idempotentHint":null},"inputSchema":{}}"#,
            Without(&["/annotations/readOnlyHint"]),
        ),
        (r#"{"name":"b","annotations":"read-only","inputSchema":{}}"#, Without(&["/annotations"])),
        (r#"{"name":"b","annotations":{"title":5,"more":[]},"inputSchema":{}}"#, Whole),
        (r#"{"name":"b","icons":"x","_meta":5,"more":{"a":1},"inputSchema":{}}"#, Whole),
        // Tasks.
        (r#"{"name":"b","execution":{"taskSupport":"required"},"inputSchema":{}}"#, Skipped("as a task")),
        (r#"{"name":"b","execution":{"taskSupport":"optional"},"inputSchema":{}}"#, Whole),
        (r#"{"name":"b","execution":"required","inputSchema":{}}"#, Whole),
        (r#"{"name":"b","execution":{"taskSupport":["required"]},"inputSchema":{}}"#, Whole),
        // The schema of the output.
        (r#"{"name":"b","inputSchema":{},"outputSchema":true}"#, Without(&["/outputSchema"])),
        (r#"{"name":"b","inputSchema":{},"outputSchema":null}"#, Whole),
        (
            r##"{"name":"b","inputSchema":{},"outputSchema":{"type":"object","properties":{"x":{"$ref":"#/$defs/Missing"}}}}"##,
            Without(&["/outputSchema/properties/x/$ref"]),
        ),
        // Keywords.
        (
            r#"{"name":"b","inputSchema":{"properties":{"n":{"type":"integer","required":true}}}}"#,
            Without(&["/inputSchema/properties/n/required"]),
        ),
        (
            r#"{"name":"b","inputSchema":{"properties":{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true}}}}"#,
            Without(&["/inputSchema/properties/n/exclusiveMinimum"]),
        ),
        (
            r#"{"name":"b","inputSchema":{"properties":{"n":{"type":"str"},"m":{"type":"any"}}}}"#,
            Without(&["/inputSchema/properties/n/type", "/inputSchema/properties/m/type"]),
        ),
        (
            r#"{"name":"b","inputSchema":{"properties":null,"required":null}}"#,
            Without(&["/inputSchema/properties", "/inputSchema/required"]),
        ),
        (r#"{"name":"b","inputSchema":{"type":"object","properties":[]}}"#, Without(&["/inputSchema/properties"])),
        (r#"{"name":"b","inputSchema":{"required":["n",null]}}"#, Without(&["/inputSchema/required"])),
        (
            r#"{"name":"b","inputSchema":{"properties":{"n":{"enum":[]}}}}"#,
            Without(&["/inputSchema/properties/n/enum"]),
        ),
        (
            r#"{"name":"b","inputSchema":{"properties":{"n":{"enum":"a|b"}}}}"#,
            Without(&["/inputSchema/properties/n/enum"]),
        ),
        (r#"{"name":"b","inputSchema":{"properties":{"n":true,"m":{"format":"int64","nullable":true}}}}"#, Whole),
        (r#"{"name":"b","inputSchema":{"properties":{"type":"object"}}}"#, Without(&["/inputSchema/properties/type"])),
        (r##"{"name":"b","inputSchema":{"$ref":"#/$defs/Gone"}}"##, Without(&["/inputSchema/$ref"])),
        (
            r#"{"name":"b","inputSchema":{"$schema":5,"anyOf":{"type":"object"}}}"#,
            Without(&["/inputSchema/$schema", "/inputSchema/anyOf"]),
        ),
        (r##"{"name":"b","inputSchema":{"allOf":[{"$ref":"#"}]}}"##, Without(&["/inputSchema"])),
    ];
    for (definition, expected) in cases {
        let shown: String = definition.chars().take(120).collect();
        let remote = connect(server(&format!("[{definition},{PLAIN}]"), r#"{"content":[]}"#)).await;
        let (tools, skipped) = (remote.toolset(), remote.skipped());
        assert!(tools.call("far_t", "{}", &Context::new("1")).await.is_ok(), "{shown}");
        let tool = tools.get("far_b");
        match expected {
            Whole => assert_eq!((tool.is_some(), &skipped[..]), (true, &[][..]), "{shown}"),
            Without(places) => {
                let found: Vec<_> = skipped.iter().map(|part| part.place.as_deref().unwrap_or_default()).collect();
                assert_eq!((tool.is_some(), &found[..]), (true, places), "{shown}: {skipped:?}");
                assert!(skipped.iter().all(|part| part.tool == "b"), "{shown}: {skipped:?}");
            }
            Skipped(reason) => {
                let [SkippedPart { place: None, reason: given, .. }] = &skipped[..] else {
                    panic!("{shown}: {skipped:?}")
                };
                assert!(given.contains(reason) && tool.is_none(), "{shown}: {given}");
            }
        }
    }
}

#[tokio::test]
async fn the_rest_of_a_schema_is_checked() {
    let schema = json!({
        "properties": {
            "page": { "type": "integer", "minimum": 0, "exclusiveMinimum": true },
            "query": { "type": "string", "minLength": 1 },
            "kind": { "type": "str", "description": "The kind." },
        },
        "required": ["query"],
    });
    let tools = json!([{ "name": "find", "inputSchema": schema }]).to_string();
    let tools = connect(server(&tools, r#"{"content":[]}"#)).await.toolset();
    for (arguments, is_ok) in [
        (r#"{"query":"a","page":0,"kind":5}"#, true),
        (r#"{"query":"a","page":-1}"#, false),
        (r#"{"query":"a","page":"1"}"#, false),
        (r#"{"query":""}"#, false),
        ("{}", false),
    ] {
        assert_eq!(tools.call("far_find", arguments, &Context::new("1")).await.is_ok(), is_ok, "{arguments}");
    }
}

#[tokio::test]
async fn a_tool_that_lost_a_part_is_not_read_only_by_its_own_claim() {
    let tool = |limit: Value| {
        let property = json!({ "type": "integer", "minimum": 0, "exclusiveMinimum": limit });
        let hints = json!({ "readOnlyHint": true });
        json!([{ "name": "read", "inputSchema": { "properties": { "n": property } }, "annotations": hints }])
            .to_string()
    };
    let listed = Arc::new(Mutex::new(tool(json!(5))));
    let given = Arc::clone(&listed);
    let server = raw_server(move |request| match request["method"].as_str() {
        Some("initialize") => line(request, INITIALIZED),
        Some("tools/list") => line(request, &format!(r#""result":{{"tools":{}}}"#, given.lock().unwrap())),
        Some("tools/call") => line(request, r#""result":{"content":[]}"#),
        _ => unknown_method(request),
    });
    let server = server.trust_hints();
    let remote = connect(server.clone()).await;
    let whole = Arc::clone(remote.toolset().get("far_read").unwrap().spec());
    assert_eq!((whole.options.approval, whole.options.effect), (Approval::Never, Effect::ReadOnly));
    assert_eq!(whole.options.origin.as_deref(), Some("MCP server far"));
    assert_eq!(remote.skipped(), []);

    // Between the list and the approval, the server changes the keyword.
    *listed.lock().unwrap() = tool(json!(true));
    let changes = remote.refresh().await.unwrap();
    assert_eq!(changes.len(), 1);
    assert!(changes[0].definition.as_ref().unwrap().contains(r#""exclusiveMinimum": true"#), "{changes:?}");
    assert!(remote.toolset().is_empty(), "it is a change, which somebody must accept");
    remote.accept(&changes[0]);
    let lost = Arc::clone(remote.toolset().get("far_read").unwrap().spec());
    assert_eq!((lost.options.approval, lost.options.effect), (Approval::Always, Effect::Destructive));
    let origin = lost.options.origin.clone().unwrap_or_default();
    assert!(origin.contains("/inputSchema/properties/n/exclusiveMinimum"), "{origin}");
    // In any process, a waiting call of the tool is of another tool now.
    assert_ne!(lost.fingerprint(), whole.fingerprint());

    // The digest covers the invalid part, too, and what is not known here.
    *listed.lock().unwrap() = tool(json!("true"));
    assert_eq!(remote.refresh().await.unwrap().len(), 1);
    *listed.lock().unwrap() = tool(json!(true));
    assert_eq!(remote.refresh().await.unwrap(), []);
    *listed.lock().unwrap() = tool(json!(true)).replace(r#""name":"read""#, r#""name":"read","execution":{}"#);
    assert_eq!(remote.refresh().await.unwrap().len(), 1);
    // Another process, with the pins.
    let another = connect(server.pins(remote.pins())).await;
    assert!(another.toolset().is_empty() && another.changes().len() == 1);
}

/// The results of calls: the text that a model reads, or the text of the failure.
fn results() -> Vec<(String, Result<&'static str, &'static str>)> {
    let deep = format!("{}{}", "[".repeat(2_000), "]".repeat(2_000));
    let cases = [
        (r#"{"content":[{"type":"text","text":"seen"}]}"#, Ok("seen")),
        // Kinds that are not known.
        (
            r#"{"content":[{"type":"hologram","data":"x"},{"type":"text","text":"seen"}]}"#,
            Ok("(content of the kind `hologram`, which is not known here)\nseen"),
        ),
        (r#"{"content":[{"type":"hologram"}]}"#, Ok("(content of the kind `hologram`, which is not known here)")),
        (
            r#"{"content":[{"type":5},{"text":"no kind"},{"type":"text","text":"seen"}]}"#,
            Ok("(content without a kind)\n(content without a kind)\nseen"),
        ),
        (
            r#"{"content":["a",5,null,{"type":"text","text":"seen"}]}"#,
            Ok("a\n(content that is no object: 5)\n(content that is no object: null)\nseen"),
        ),
        // Annotations are not used.
        (r#"{"content":[{"type":"text","text":"x","annotations":{"audience":["system"]}}]}"#, Ok("x")),
        (
            r#"{"content":[{"type":"text","text":"x","annotations":{"audience":"user","priority":"high"},"_meta":5}]}"#,
            Ok("x"),
        ),
        (r#"{"content":[{"type":"text","text":"x","annotations":[]}],"_meta":"m"}"#, Ok("x")),
        // Texts, links and resources.
        (
            r#"{"content":[{"type":"text","text":null},{"type":"text"},{"type":"text","text":5}]}"#,
            Ok("(a text that cannot be read)\n(a text that cannot be read)\n(a text that cannot be read)"),
        ),
        (r#"{"content":[{"type":"resource_link","uri":"ui://demo/view"}]}"#, Ok("ui://demo/view")),
        (r#"{"content":[{"type":"resource_link","uri":"a:b","name":"n","size":"big","mimeType":5}]}"#, Ok("a:b (n)")),
        (r#"{"content":[{"type":"resource_link","name":"n"}]}"#, Ok("(a link without an address: n)")),
        (r#"{"content":[{"type":"resource","resource":{"text":"x"}}]}"#, Ok("x")),
        (
            r#"{"content":[{"type":"resource","resource":{"uri":"a:b"}},{"type":"resource"}]}"#,
            Ok("(a:b, a resource without contents)\n(a resource without contents)"),
        ),
        (r#"{"content":[{"type":"resource","resource":{"blob":"aGk="}}]}"#, Ok("(a resource without an address)")),
        // Images and sound.
        (
            r#"{"content":[{"type":"image","data":"iVBORw0KGgo="},{"type":"audio","mimeType":"audio/wav"}]}"#,
            Ok("(an image without a media type)\n(sound without data)"),
        ),
        (r#"{"content":[{"type":"image","data":[1],"mimeType":"image/png"}]}"#, Ok("(an image without data)")),
        // The content as a whole.
        ("{}", Ok("")),
        (r#"{"content":null,"structuredContent":null,"isError":null,"_meta":null}"#, Ok("")),
        (r#"{"content":"a text"}"#, Ok("a text")),
        (r#"{"content":{"type":"text","text":"one"}}"#, Ok("one")),
        (r#"{"content":5}"#, Ok("(content that is no object: 5)")),
        (
            r#"{"resultType":"complete","content":[{"type":"hologram"},{"type":"text","text":"seen"}]}"#,
            Ok("(content of the kind `hologram`, which is not known here)\nseen"),
        ),
        (
            r#"{"resultType":5,"action":"accept","content":[{"type":"text","text":"seen"}],"messages":[],"task":1}"#,
            Ok("seen"),
        ),
        // Structured content.
        (r#"{"content":[{"type":"text","text":"y"}],"structuredContent":null}"#, Ok("y")),
        // Failures.
        (
            r#"{"isError":true,"content":[{"type":"widget","x":1},{"type":"text","text":"the disk is full"}]}"#,
            Err("the disk is full"),
        ),
        (r#"{"isError":"true","content":[{"type":"text","text":"no"}]}"#, Err("no")),
        (
            r#"{"isError":"maybe","content":[{"type":"text","text":"x"}]}"#,
            Ok("x\n(`isError` is \"maybe\", which is not known here)"),
        ),
        (r#"{"isError":true,"content":"quota"}"#, Err("quota")),
        (r#"{"isError":true}"#, Err("the tool failed")),
        // A result of another form than an object.
        (r#""done""#, Ok("done")),
        (r#"[{"type":"text","text":"a"},"b"]"#, Ok("a\nb")),
        ("[]", Ok("")),
        (r#"{"toolResult":{"x":1},"more":2}"#, Ok("(only `toolResult`, `more`, which is not known here)")),
        ("null", Err("not one to a call")),
        ("5", Err("not one to a call")),
        (r#"{"resultType":"task","taskId":"1"}"#, Err("not one to a call")),
    ];
    let mut cases: Vec<_> = cases.into_iter().map(|(result, expected)| (result.to_owned(), expected)).collect();
    cases.push((
        format!(r#"{{"content":[{{"type":"text","text":"seen"}},{{"type":"text","text":"a","x":{deep}}}],"structuredContent":{deep}}}"#),
        Ok("seen"),
    ));
    cases
}

async fn check_call(tools: &Toolset, result: &str, expected: Result<&str, &str>) {
    let shown: String = result.chars().take(120).collect();
    let called = within(&shown, tools.call("far_t", "{}", &Context::new("1"))).await;
    match (called.map(|output| output.text()), expected) {
        (Ok(text), Ok(expected)) if result.len() > 2_000 => {
            assert!(text.starts_with(expected) && text.contains("cannot be read"), "{shown}: {text}");
        }
        (Ok(text), Ok(expected)) => assert_eq!(text, expected, "{shown}"),
        (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{shown}: {error}"),
        (called, _) => panic!("{shown}: {called:?}"),
    }
}

#[tokio::test]
async fn a_bad_part_of_a_result_takes_only_itself() {
    for (result, expected) in results() {
        let tools = connect(server(&format!("[{PLAIN}]"), &result)).await.toolset();
        check_call(&tools, &result, expected).await;
    }
}

#[tokio::test]
async fn null_is_no_value_where_the_declared_schema_refuses_it() {
    for (schema, expected) in [
        (r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#, None),
        (r#"{"type":["object","null"]}"#, Some("null")),
    ] {
        let tool = format!(r#"[{{"name":"t","inputSchema":{{}},"outputSchema":{schema}}}]"#);
        let result = r#"{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":null}"#;
        let tools = connect(server(&tool, result)).await.toolset();
        let output = tools.call("far_t", "{}", &Context::new("1")).await.unwrap();
        assert_eq!(output.as_json(), expected, "{schema}");
        assert!(output.text().contains(r#"{"n":1}"#) || expected.is_some(), "{schema}: {}", output.text());
    }
}

#[tokio::test]
async fn an_odd_response_is_read_by_the_id_of_its_request() {
    let text = r#"{"content":[{"type":"text","text":"seen"}]}"#;
    let cases = [
        (r#"{"id":ID,"result":TEXT}"#, Ok("seen")),
        (r#"{"jsonrpc":2.0,"id":ID,"result":TEXT}"#, Ok("seen")),
        (r#"{"jsonrpc":"2.0","id":"ID","result":TEXT}"#, Ok("seen")),
        (r#"{"jsonrpc":"2.0","id":ID.0,"result":TEXT}"#, Ok("seen")),
        (r#"{"jsonrpc":"2.0","id":ID,"result":TEXT,"error":null}"#, Ok("seen")),
        (r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","result":TEXT}"#, Ok("seen")),
        (r#"{"jsonrpc":"2.0","id":ID,"result":TEXT,"method":null,"params":null}"#, Ok("seen")),
        ("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":TEXT}\r", Ok("seen")),
        ("a log line\n\n{}\n5\n[]\n{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":TEXT}", Ok("seen")),
        (
            r#"{"jsonrpc":"2.0","id":9999,"result":TEXT}
{"jsonrpc":"2.0","id":ID,"result":TEXT}
{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"again"}]}}"#,
            Ok("seen"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"k must be positive","data":{"path":["k"]}}}"#,
            Err("k must be positive"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":ID,"result":null,"error":{"code":-32602,"message":"k must be positive"}}"#,
            Err("k must be positive"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":ID,"error":{"code":"E_K","message":"k must be positive"}}"#,
            Err("k must be positive"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":null,"reason":"k must be positive"}}"#,
            Err("k must be positive"),
        ),
        (r#"{"jsonrpc":"2.0","id":ID,"error":"k must be positive"}"#, Err("k must be positive")),
        (
            r#"{"jsonrpc":"2.0","id":ID,"error":{"message":"k must be positive","code":1e300}}"#,
            Err("k must be positive"),
        ),
        (r#"{"jsonrpc":"2.0","id":ID}"#, Err("without a result")),
    ];
    for (response, expected) in cases {
        let server = raw_server(move |request| match request["method"].as_str() {
            Some("initialize") => line(request, INITIALIZED),
            Some("tools/list") => line(request, &format!(r#""result":{{"tools":[{PLAIN}]}}"#)),
            Some("tools/call") => response.replace("ID", &request["id"].to_string()).replace("TEXT", text) + "\n",
            _ => unknown_method(request),
        });
        check_call(&connect(server).await.toolset(), response, expected).await;
    }
}

#[tokio::test]
async fn an_odd_detail_of_the_handshake_takes_only_itself() {
    let version = r#""protocolVersion":"2025-06-18""#;
    for rest in [
        r#""capabilities":{"tools":{}}"#,
        r#""capabilities":{"tools":{}},"serverInfo":{"name":"x"}"#,
        r#""capabilities":{"tools":{}},"serverInfo":"x""#,
        r#""capabilities":{"tools":{}},"serverInfo":{"name":"x","version":1.2,"icons":5}"#,
        r#""capabilities":{"tools":{"listChanged":"yes"},"logging":null},"serverInfo":{"name":"x","version":"1"}"#,
        r#""capabilities":{"tools":true,"experimental":[]},"serverInfo":{"name":"x","version":"1"}"#,
        r#""capabilities":null,"serverInfo":{"name":"x","version":"1"},"instructions":["a"],"_meta":1"#,
        r#""serverInfo":{"name":"x","version":"1"}"#,
    ] {
        let server = raw_server(move |request| match request["method"].as_str() {
            Some("initialize") => line(request, &format!(r#""result":{{{version},{rest}}}"#)),
            Some("tools/list") => line(request, &format!(r#""result":{{"tools":[{PLAIN}]}}"#)),
            _ => unknown_method(request),
        });
        assert_eq!(names(&connect(server).await.toolset()), ["far_t"], "{rest}");
    }
}

#[tokio::test]
async fn a_page_or_a_cursor_that_comes_again_ends_the_list() {
    let tool = |name: &str| format!(r#"{{"name":"{name}","inputSchema":{{}}}}"#);
    let page = |names: &[&str], more: &str| {
        let tools: Vec<String> = names.iter().map(|name| tool(name)).collect();
        format!(r#"{{"tools":[{}]{more}}}"#, tools.join(","))
    };
    // The page for each request, by its number from 0. The last page comes again and again.
    let cases: Vec<(Vec<String>, &[&str])> = vec![
        (vec![page(&["a"], r#","nextCursor":"1""#), page(&["b"], "")], &["far_a", "far_b"]),
        (vec![page(&["a"], r#","nextCursor":"""#), page(&["b"], r#","nextCursor":null"#)], &["far_a", "far_b"]),
        (vec![page(&["a", "b"], r#","nextCursor":"1""#)], &["far_a", "far_b"]),
        (vec![page(&["a"], r#","nextCursor":"1""#), page(&["b"], r#","nextCursor":"1""#)], &["far_a", "far_b"]),
        (
            vec![
                page(&["a"], r#","nextCursor":1"#),
                page(&[], r#","nextCursor":2"#),
                page(&["b"], r#","nextCursor":false"#),
            ],
            &["far_a", "far_b"],
        ),
        (
            vec![
                page(&["a"], r#","nextCursor":"1""#),
                page(&["a", "b"], r#","nextCursor":"2""#),
                page(&["b"], r#","nextCursor":"3""#),
            ],
            &["far_a", "far_b"],
        ),
        (vec![r#"{"tools":null}"#.to_owned()], &[]),
        (vec!["{}".to_owned()], &[]),
    ];
    for (pages, expected) in cases {
        let (shown, asked) = (format!("{pages:?}"), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&asked);
        let server = raw_server(move |request| match request["method"].as_str() {
            Some("initialize") => line(request, INITIALIZED),
            Some("tools/list") => {
                let at = counted.fetch_add(1, Ordering::SeqCst).min(pages.len() - 1);
                line(request, &format!(r#""result":{}"#, pages[at]))
            }
            _ => unknown_method(request),
        });
        let remote = connect(server).await;
        assert_eq!(names(&remote.toolset()), expected, "{shown}");
        assert!(remote.skipped().is_empty() && asked.load(Ordering::SeqCst) <= 4, "{shown}: {:?}", remote.skipped());
    }
}

#[tokio::test]
async fn a_later_page_that_is_refused_takes_only_itself() {
    for first_fails in [false, true] {
        let server = raw_server(move |request| match request["method"].as_str() {
            Some("initialize") => line(request, INITIALIZED),
            Some("tools/list") if request["params"]["cursor"].is_null() && !first_fails => {
                line(request, &format!(r#""result":{{"tools":[{PLAIN}],"nextCursor":"2"}}"#))
            }
            Some("tools/list") => line(request, r#""error":{"code":-32602,"message":"bad cursor"}"#),
            _ => unknown_method(request),
        });
        let connected = within("connecting", server.connect()).await;
        if first_fails {
            assert!(connected.unwrap_err().to_string().contains("bad cursor"));
            continue;
        }
        let remote = connected.unwrap();
        assert_eq!(names(&remote.toolset()), ["far_t"]);
        let skipped: Vec<String> = remote.skipped().iter().map(ToString::to_string).collect();
        assert_eq!(skipped, ["`(the rest of the list)` is left out: page 2 of the list was refused: bad cursor"]);
    }
}

/// A response may come in a batch, together with other messages.
#[tokio::test]
async fn the_messages_of_a_batch_are_read() {
    fn in_batch(line: &str) -> String {
        format!("[{}, 5, {}]\n", r#"{"jsonrpc":"2.0","method":"notifications/x"}"#, line.trim())
    }
    let server = raw_server(move |request| match request["method"].as_str() {
        Some("initialize") => in_batch(&line(request, INITIALIZED)),
        Some("tools/list") => in_batch(&line(request, &format!(r#""result":{{"tools":[{PLAIN}]}}"#))),
        Some("tools/call") => in_batch(&line(request, r#""result":{"content":[{"type":"text","text":"ran"}]}"#)),
        _ => unknown_method(request),
    });
    let output = connect(server).await.toolset().call("far_t", "{}", &Context::new("1")).await.unwrap();
    assert_eq!(output.text(), "ran");
    for streams in [false, true] {
        let result = r#"{"content":[{"type":"text","text":"ran"}]}"#.to_owned();
        let server = http_server_with(streams, format!("[{PLAIN}]"), result, in_batch).await;
        let output = connect(server).await.toolset().call("far_t", "{}", &Context::new("1")).await.unwrap();
        assert_eq!(output.text(), "ran", "{streams}");
    }
}

#[tokio::test]
async fn a_handshake_without_a_version_says_so() {
    let server = raw_server(|request| match request["method"].as_str() {
        Some("initialize") => line(request, r#""result":{"protocolVersion":7,"capabilities":{},"instructions":"hi"}"#),
        _ => unknown_method(request),
    });
    let error = within("connecting", server.connect()).await.unwrap_err().to_string();
    assert!(error.contains("names no version of the protocol") && !error.contains("hi"), "{error}");
}

#[tokio::test]
async fn equal_definitions_count_once_and_different_ones_collide() {
    let tools = r#"[{"name":"a","inputSchema":{"type":"object"}},{"inputSchema":{ "type":"object" },"name":"a"},
        {"name":"b","inputSchema":{}},{"name":"b","description":"another","inputSchema":{}}]"#
        .replace('\n', " ");
    let remote = connect(server(&tools, "{}")).await;
    assert_eq!(names(&remote.toolset()), ["far_a"]);
    assert!(
        remote.skipped().iter().all(|part| part.tool == "far_b" && part.reason.contains("several")),
        "{:?}",
        remote.skipped()
    );
}

#[tokio::test]
async fn a_server_without_tools_is_no_error() {
    for capabilities in ["{}", r#"{"prompts":{}}"#, r#"{"tools":{}}"#] {
        let server = raw_server(move |request| match request["method"].as_str() {
            Some("initialize") => line(request, &INITIALIZED.replace(r#"{"tools":{}}"#, capabilities)),
            _ => unknown_method(request),
        });
        let remote = connect(server).await;
        assert!(remote.toolset().is_empty() && remote.skipped().is_empty(), "{capabilities}");
    }
    // Another error of a server that declares tools is an error.
    let server = raw_server(|request| match request["method"].as_str() {
        Some("initialize") => line(request, INITIALIZED),
        Some("tools/list") => line(request, r#""error":{"code":-32603,"message":"the database is away"}"#),
        _ => unknown_method(request),
    });
    let error = server.connect().await.unwrap_err().to_string();
    assert!(error.contains("the database is away"), "{error}");
    for list in [r#"{"tools":{}}"#, r#"{"tools":"none"}"#, "[]", "null"] {
        let server = raw_server(move |request| match request["method"].as_str() {
            Some("initialize") => line(request, INITIALIZED),
            Some("tools/list") => line(request, &format!(r#""result":{list}"#)),
            _ => unknown_method(request),
        });
        let error = server.connect().await.unwrap_err().to_string();
        assert!(error.contains("not a list of tools"), "{list}: {error}");
    }
}

/// The clock stands still while a task can run, so the test takes no time.
#[tokio::test(start_paused = true)]
async fn a_server_that_reads_late_is_started_once() {
    // A server may respond to `server/discover` with an error, not at all, or as the only way to begin.
    for kind in ["error", "nothing", "only"] {
        let opened = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&opened);
        let server = RemoteServer::streams("far", move || {
            counted.fetch_add(1, Ordering::SeqCst);
            async move {
                let (near, far) = duplex(1 << 20);
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(12)).await;
                    let (read, mut write) = split(far);
                    let mut lines = BufReader::new(read).lines();
                    while let Ok(Some(text)) = lines.next_line().await {
                        let request: Value = serde_json::from_str(&text).unwrap();
                        let response = match request["method"].as_str() {
                            Some("server/discover") if kind == "nothing" => continue,
                            Some("server/discover") if kind == "only" => line(&request, DISCOVERED),
                            Some("initialize") if kind != "only" => line(&request, INITIALIZED),
                            Some("tools/list") => line(&request, &format!(r#""result":{{"tools":[{PLAIN}]}}"#)),
                            _ if request["id"].is_null() => continue,
                            _ => unknown_method(&request),
                        };
                        write.write_all(response.as_bytes()).await.unwrap();
                    }
                });
                io::Result::Ok(split(near))
            }
        });
        let tools = server.connect().await.unwrap_or_else(|error| panic!("{kind}: {error}")).toolset();
        assert_eq!((names(&tools), opened.load(Ordering::SeqCst)), (vec!["far_t".to_owned()], 1), "{kind}");
    }
}

/// Starts an HTTP server whose responses are JSON, or events if `streams`. Its list is `tools`, and its calls have the result
/// `call`.
async fn http_server(streams: bool, tools: String, call: String) -> RemoteServer {
    http_server_with(streams, tools, call, str::to_owned).await
}

/// Starts a server like [`http_server`], which sends what `change` makes of each response.
async fn http_server_with(streams: bool, tools: String, call: String, change: fn(&str) -> String) -> RemoteServer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let respond = move |body: String| {
        let request: Value = serde_json::from_str(&body).unwrap_or_default();
        let response = match request["method"].as_str() {
            Some("initialize") => line(&request, INITIALIZED),
            Some("tools/list") => line(&request, &format!(r#""result":{{"tools":{tools}}}"#)),
            Some("tools/call") => line(&request, &format!(r#""result":{call}"#)),
            _ if request["id"].is_null() => return (http::StatusCode::ACCEPTED, "text/plain", String::new()),
            _ => unknown_method(&request),
        };
        let response = change(&response);
        if streams {
            (http::StatusCode::OK, "text/event-stream", format!("event: message\ndata: {}\n\n", response.trim_end()))
        } else {
            (http::StatusCode::OK, "application/json; charset=utf-8", response)
        }
    };
    let respond = move |body: String| {
        let (status, kind, body) = respond(body);
        async move { (status, [(http::header::CONTENT_TYPE, kind)], body) }
    };
    let router = axum::Router::new().route("/mcp", axum::routing::post(respond));
    tokio::spawn(async move { axum::serve(listener, router).await });
    RemoteServer::http("far", format!("http://{address}/mcp"))
}

#[tokio::test]
async fn results_and_lists_are_read_over_http_as_over_streams() {
    for streams in [false, true] {
        let tools = format!(r#"[{{"name":"b"}},{{"name":"c","inputSchema":{{"type":"objct"}}}},{PLAIN}]"#);
        for (result, expected) in results() {
            let remote = connect(http_server(streams, tools.clone(), result.clone()).await).await;
            assert_eq!(names(&remote.toolset()), ["far_c", "far_t"], "{streams}");
            let places: Vec<_> = remote.skipped().into_iter().map(|part| (part.tool, part.place)).collect();
            let expected_places = [("b".to_owned(), None), ("c".to_owned(), Some("/inputSchema/type".to_owned()))];
            assert_eq!(places, expected_places, "{streams}");
            check_call(&remote.toolset(), &result, expected).await;
        }
    }
}
