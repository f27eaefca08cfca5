//! Tests of tools that are made at run time, with any draft, schema and handler.

use std::{
    io::Read,
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use serde_json::{Value, json};
use tool_runtime::{
    CallError, Context, Failure, Output, Rejection, Toolset,
    tool::{Approval, Effect, ErasedTool},
    toolset::{ListFormat, RuntimeTool, ToolsetError},
};
use tool_test_kit::within_blocking;

/// Returns a tool that returns its arguments.
fn echo(schema: impl Into<Option<Value>>) -> RuntimeTool {
    let tool = RuntimeTool::new("echo", "Returns its arguments.");
    let tool = match schema.into() {
        Some(schema) => tool.input(schema),
        None => tool,
    };
    tool.handler(|arguments, _| async { Ok(arguments) }).unwrap()
}

async fn call(tool: RuntimeTool, arguments: &str) -> Result<Output, CallError> {
    Toolset::new().with(tool).unwrap().call("echo", arguments, &Context::new("c")).await
}

fn accepts(tool: &RuntimeTool, arguments: &str) -> bool {
    match tool.prepare(arguments, &Context::new("c")).now().unwrap() {
        Ok(_) => true,
        Err(CallError::Rejected(_)) => false,
        Err(other) => panic!("{arguments}: {other}"),
    }
}

fn refuse(tool: &RuntimeTool, arguments: &str) -> Rejection {
    match tool.prepare(arguments, &Context::new("c")).now().unwrap() {
        Err(CallError::Rejected(rejection)) => rejection,
        other => panic!("{arguments}: {other:?}"),
    }
}

#[test]
fn every_draft_of_json_schema_is_understood() {
    let bounded = |draft: &str, limit: Value| {
        echo(json!({"$schema": draft, "type": "object", "properties": {"n": limit}, "required": ["n"]}))
    };
    let four = bounded("http://json-schema.org/draft-04/schema#", json!({"maximum": 5, "exclusiveMaximum": true}));
    let six = bounded("http://json-schema.org/draft-06/schema#", json!({"exclusiveMaximum": 5, "const": 4}));
    let seven = bounded("http://json-schema.org/draft-07/schema#", json!({"if": {"minimum": 5}, "then": false}));
    let nineteen = bounded("https://json-schema.org/draft/2019-09/schema", json!({"exclusiveMaximum": 5}));
    let twenty = bounded("https://json-schema.org/draft/2020-12/schema", json!({"exclusiveMaximum": 5}));
    for tool in [four, six, seven, nineteen, twenty] {
        assert!(tool.warnings().is_empty(), "{tool:?}");
        assert!(accepts(&tool, r#"{"n":4}"#) && !accepts(&tool, r#"{"n":5}"#) && !accepts(&tool, "{}"), "{tool:?}");
    }
    let items =
        json!({"type": "object", "properties": {"l": {"items": [{"type": "string"}], "additionalItems": false}}});
    let mut old = items;
    old["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    assert!(!accepts(&echo(old.clone()), r#"{"l":["a","b"]}"#) && accepts(&echo(old), r#"{"l":["a"]}"#));
    let new = json!({"properties": {"l": {"prefixItems": [{"type": "string"}], "items": false}}});
    assert!(!accepts(&echo(new.clone()), r#"{"l":["a","b"]}"#) && accepts(&echo(new), r#"{"l":["a"]}"#));
}

#[tokio::test]
async fn without_a_schema_any_object_is_accepted() {
    for tool in [echo(None), echo(json!(true)), echo(json!({}))] {
        assert!(tool.warnings().is_empty() && !tool.spec().options.unvalidated);
        assert!(accepts(&tool, "") && accepts(&tool, " null\n") && accepts(&tool, r#"{"a":[1]}"#));
        for no_object in ["[]", "1", "\"a\""] {
            assert!(refuse(&tool, no_object).to_string().contains("an object"), "{no_object}");
        }
        let as_a_text = refuse(&tool, r#""{\"a\":1}""#).to_string();
        assert!(as_a_text.contains(r#"did you mean {\"a\":1}?"#) || as_a_text.contains(r#"{"a":1}"#), "{as_a_text}");
        for format in ListFormat::ALL {
            let tools = Toolset::new().with(echo(tool.spec().input.neutral().clone())).unwrap();
            let list: Value = serde_json::from_str(tools.list().json(format).get()).unwrap();
            assert!(list.to_string().contains("\"object\""), "providers require an object: {list}");
        }
        assert_eq!(call(tool, r#"{"a":[1]}"#).await.unwrap().as_json(), Some(r#"{"a":[1]}"#));
    }
    let never = echo(json!(false));
    assert!(!accepts(&never, "{}") && never.warnings().is_empty());
}

#[tokio::test]
async fn a_schema_that_cannot_be_compiled_leaves_the_tool_usable() {
    for schema in [json!(5), json!("x"), json!({"$ref": "#"}), json!({"allOf": [{"$ref": "#"}]})] {
        let tool = echo(schema.clone());
        let warning = tool.warnings().first().unwrap_or_else(|| panic!("{schema}"));
        assert!(warning.starts_with("arguments: ") && warning.len() < 1000, "{warning}");
        assert!(tool.spec().options.unvalidated, "{schema}");
        assert!(!accepts(&tool, "[]") && !accepts(&tool, "{") && !accepts(&tool, r#"{"a":1,"a":2}"#));
        for format in ListFormat::ALL {
            let _ = Toolset::new().with(echo(schema.clone())).unwrap().list().json(format);
        }
        assert_eq!(call(tool, r#"{"a":1}"#).await.unwrap().as_json(), Some(r#"{"a":1}"#));
    }
}

#[test]
fn an_invalid_keyword_takes_only_itself() {
    for invalid in [
        json!({"type": "strnig"}),
        json!({"required": true}),
        json!({"$ref": "#/nowhere"}),
        json!({"$schema": "http://example.com/own", "minimum": "x"}),
        json!({"properties": {"b": 5}}),
        json!({"allOf": [{"type": "objekt"}]}),
    ] {
        let mut schema = invalid.clone();
        schema["properties"]["a"] = json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true});
        let tool = echo(schema);
        assert!(!tool.spec().options.unvalidated && tool.warnings().len() >= 2, "{invalid}: {:?}", tool.warnings());
        assert!(tool.warnings().iter().all(|warning| warning.starts_with("arguments: ")), "{:?}", tool.warnings());
        assert!(
            accepts(&tool, r#"{"a":0}"#) && !accepts(&tool, r#"{"a":-1}"#) && !accepts(&tool, r#"{"a":"0"}"#),
            "{invalid}"
        );
        for format in ListFormat::ALL {
            let tools = Toolset::new().with(echo(tool.spec().input.neutral().clone())).unwrap();
            let list = tools.list().json(format).get();
            assert!(list.contains("integer"), "{invalid}: {list}");
        }
    }
}

#[test]
fn nothing_is_ever_fetched() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let remote = format!("http://{}/schema.json", listener.local_addr().unwrap());
    let file = concat!("file://", env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for reference in [&remote, file, "other.json", "//x/y", "https://json-schema.org/unknown"] {
        for schema in [
            json!({"$ref": reference}),
            json!({"properties": {"a": {"$ref": reference}}}),
            json!({"$schema": reference, "type": "object"}),
            json!({"$id": remote, "properties": {"a": {"$ref": "x#/y"}}}),
            json!({"$dynamicRef": reference}),
        ] {
            let tool = echo(schema);
            accepts(&tool, r#"{"a":1}"#);
            let _ = Toolset::new().with(tool).unwrap().list().json(ListFormat::OpenAi);
        }
    }
    match listener.accept() {
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        Ok((mut stream, _)) => {
            let mut asked = String::new();
            let _ = stream.read_to_string(&mut asked);
            panic!("a schema was requested: {asked}");
        }
    }
}

#[test]
fn hostile_schemas_cost_little() {
    let deep = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}));
    let doubling = |levels: usize| {
        let definition = |n: usize| json!({"allOf": [{"$ref": format!("#/$defs/d{}", n + 1)}, {"$ref": format!("#/$defs/d{}", n + 1)}]});
        let mut definitions: serde_json::Map<String, Value> =
            (0..levels).map(|n| (format!("d{n}"), definition(n))).collect();
        definitions.insert(format!("d{levels}"), json!({"type": "object"}));
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    };
    let hostile = [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"properties": {"a": {"$ref": "#"}}}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        json!({"properties": {"a": {"pattern": "^(a+)+$"}}}),
        json!({"properties": {"a": {"pattern": "(((((a{100}){100}){100}){100}){100})"}}}),
        json!({"properties": {"a": {"pattern": "^(?=a)(?!b).*\\1$"}}}),
        json!({"patternProperties": {"(x+x+)+y": false}}),
        json!({"enum": vec![json!("x".repeat(100)); 20_000]}),
        json!({"properties": (0..20_000).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect::<serde_json::Map<_, _>>()}),
        json!({"anyOf": vec![json!({"anyOf": vec![json!({"required": ["q"]}); 30]}); 30]}),
        deep(60),
        deep(300),
        doubling(40),
    ];
    let values = [
        format!(r#"{{"a":"{}!"}}"#, "a".repeat(50_000)),
        format!("{}{}", r#"{"a":"#.repeat(100), format_args!("1{}", "}".repeat(100))),
        format!(r#"{{"{}":1}}"#, "x".repeat(10_000)),
        format!("{{{}}}", (0..5_000).map(|n| format!(r#""k{n}":{n}"#)).collect::<Vec<_>>().join(",")),
    ];
    for schema in hostile {
        let shown: String = schema.to_string().chars().take(120).collect();
        within_blocking(&shown, || {
            let tool = echo(schema);
            for value in &values {
                if let Err(error) = tool.prepare(value, &Context::new("c")).now().unwrap() {
                    assert!(error.for_model().as_text().unwrap().len() < 20_000, "{shown}");
                }
            }
            let tools = Toolset::new().with(tool).unwrap();
            for format in ListFormat::ALL {
                assert!(tools.list().json(format).get().len() < 20_000_000, "{shown}");
            }
        });
    }
}

#[test]
fn external_tools_do_not_run_and_read_external_outputs() {
    let ask = RuntimeTool::new("ask", "Asks.")
        .output(json!({"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}))
        .external()
        .unwrap();
    assert!(ask.spec().options.external && ask.spec().output.is_some());
    assert_eq!(ask.read_external_output(r#"{"yes":true}"#).unwrap().decode::<Value>().unwrap(), json!({"yes": true}));
    for wrong in ["", "{}", r#"{"yes":1}"#, "yes", r#"{"yes":true}{}"#, r#"{"yes":true,"yes":false}"#] {
        assert!(matches!(ask.read_external_output(wrong), Err(CallError::Rejected(_))), "{wrong}");
    }
    let cx = Context::new("c");
    let run = ask.prepare("{}", &cx).now().unwrap().unwrap().work.now_or_never().unwrap();
    assert!(matches!(run, Err(CallError::NotExecuted)));
    let free = RuntimeTool::new("free", "").external().unwrap();
    assert_eq!(free.read_external_output("[1]").unwrap().as_json(), Some("[1]"));
    assert!(matches!(echo(None).read_external_output("1"), Err(CallError::NotExecuted)));
}

#[test]
fn unchecked_parts_of_schemas_cause_warnings() {
    let tool = RuntimeTool::new("a", "").output(json!({"type": "strnig"})).external().unwrap();
    assert_eq!(tool.warnings().len(), 1);
    assert!(tool.warnings()[0].starts_with("output: /type is left out"), "{:?}", tool.warnings());
    assert!(!tool.spec().options.unvalidated, "the arguments are checked");
    assert!(tool.read_external_output("1").is_ok());
    let tool = echo(json!({"properties": {"a": {"pattern": "^(?=x)", "minLength": 2}}}));
    assert!(tool.warnings()[0].contains("(?=x)") && !tool.spec().options.unvalidated, "{:?}", tool.warnings());
    assert!(accepts(&tool, r#"{"a":"yy"}"#) && !accepts(&tool, r#"{"a":"y"}"#), "the rest is checked");
}

#[tokio::test]
async fn failures_and_panics_of_handlers_hide_their_causes() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let tool = RuntimeTool::new("echo", "").handler(move |arguments, cx| {
        counted.fetch_add(1, Ordering::SeqCst);
        assert_ne!(arguments["how"], "at once", "token=123");
        async move {
            assert_ne!(arguments["how"], "later", "token=123");
            if arguments["how"] == "fail" {
                return Err(Failure::new("not now").source("token=123").retryable());
            }
            Ok(json!(cx.call_id()))
        }
    });
    let tools = Toolset::new().with(tool.unwrap()).unwrap();
    let call = |how: &str| {
        let (tools, arguments) = (tools.clone(), json!({ "how": how }).to_string());
        async move { tools.call("echo", &arguments, &Context::new("call_9")).await }
    };
    assert_eq!(call("well").await.unwrap().as_json(), Some("\"call_9\""));
    for how in ["at once", "later"] {
        let error = call(how).await.unwrap_err();
        assert!(!error.to_string().contains("token") && error.for_log().contains("token=123"), "{how}: {error:?}");
    }
    let failed = call("fail").await.unwrap_err();
    assert_eq!((failed.to_string().as_str(), failed.for_log().as_str()), ("not now", "not now: \"token=123\""));
    let before = runs.load(Ordering::SeqCst);
    drop(tools.prepare("echo", "{}", &Context::new("c")).now().unwrap().unwrap());
    assert_eq!(runs.load(Ordering::SeqCst), before, "a handler does not run before its work is polled");
}

#[test]
fn options_and_texts_are_kept() {
    let tool = RuntimeTool::new("wipe", "Wipes.")
        .title("Wipe it")
        .effect(Effect::Destructive)
        .require_approval()
        .options(|options| options.timeout = Some(Duration::from_secs(3)))
        .handler(|_, _| async { Ok(Value::Null) })
        .unwrap();
    let spec = tool.spec();
    assert_eq!((spec.name.as_str(), spec.title.as_deref()), ("wipe", Some("Wipe it")));
    assert_eq!((spec.options.effect, spec.options.approval), (Effect::Destructive, Approval::Always));
    assert_eq!(spec.options.timeout, Some(Duration::from_secs(3)));
    assert!(tool.prepare("{}", &Context::new("c")).now().unwrap().unwrap().needs_approval);
    for name in ["", "a b", "a.b", "ä", "a\n", &"x".repeat(65)] {
        assert!(matches!(RuntimeTool::new(name, "").external(), Err(ToolsetError::InvalidName { .. })), "{name}");
    }
}
