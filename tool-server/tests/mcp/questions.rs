//! Tests of servers that ask the person behind a call.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use rmcp::model::{ElicitResult, ElicitationAction};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tool_runtime::{
    Agent, Context, Failure,
    agent::{Decision, Operator, QuestionRequest, Session},
    test::Person,
    tool, toolset,
};
use tool_server::mcp::{McpServer, RemoteServer};
use tool_test_kit::within;

use crate::mcp::{
    kit,
    nonsense::{correct_response, raw_server},
};

fn seat() -> Value {
    json!({ "type": "object", "properties": { "seat": { "type": "string" } }, "required": ["seat"] })
}

/// Returns the line of a question that belongs to the call `call`.
fn question(call: i64, params: &Value) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": call + 1000, "method": "elicitation/create", "params": params }))
}

/// Returns a server with sessions whose tool asks as soon as `at_once` calls run. The result of a call is the response to its
/// question.
fn asking_server(at_once: usize, schema: Value) -> RemoteServer {
    asking_server_in_order(at_once, schema, |_| {})
}

/// Returns a server like [`asking_server`], whose questions come in the order that `sort` gives to the calls.
fn asking_server_in_order(at_once: usize, schema: Value, sort: fn(&mut [(i64, Value)])) -> RemoteServer {
    let calls: Arc<Mutex<Vec<(i64, Value)>>> = Arc::default();
    let server = raw_server(move |line| match (line["method"].as_str(), line["id"].as_i64()) {
        (Some("tools/call"), Some(id)) => {
            let mut calls = calls.lock().unwrap();
            calls.push((id, line["params"]["arguments"].clone()));
            if calls.len() < at_once {
                return String::new();
            }
            let ask = |(id, arguments): (i64, Value)| {
                let message = format!("Which seat for {}?", arguments["who"]);
                question(id, &json!({ "message": message, "requestedSchema": schema }))
            };
            sort(&mut calls);
            calls.drain(..).map(ask).collect()
        }
        (None, Some(id)) => {
            let response = line.get("result").or_else(|| line.get("error")).cloned().unwrap_or_default();
            let result = json!({ "content": [{ "type": "text", "text": response.to_string() }] });
            correct_response(&json!({ "id": id - 1000, "method": "tools/call" }), &result.to_string())
        }
        _ => correct_response(line, ""),
    });
    server.questions().allow(["t"])
}

fn answer(seat: &str) -> Decision {
    Decision::Answer { value: json!({ "seat": seat }) }
}

/// Calls the tool, and returns the session and the text of the result.
async fn call(agent: &Agent, who: &str) -> (Session, String) {
    let mut session = agent.session();
    let called = session.call("far_t", json!({ "who": who }).to_string());
    let call = within("a call", called).await.unwrap();
    let result = call.result().expect("a call that has ended");
    let text = match result.output() {
        Some(output) => output.text(),
        None => result.for_people("far_t", call.extent()),
    };
    (session, text)
}

#[tokio::test]
async fn calls_that_ask_at_once_are_asked_one_after_the_other() {
    let tools = asking_server(2, seat()).connect().await.unwrap().toolset();
    let person = Person::deciding([answer("1A"), answer("2B")]);
    let agent = Agent::tools_only(tools).operator(person.clone());
    let ((one, first), (two, second)) = tokio::join!(call(&agent, "ann"), call(&agent, "bob"));
    let texts: Vec<String> = person.questions().iter().map(|asked| asked.question.text.clone()).collect();
    // Each call got one question, and each person's answer went to the question that was shown.
    for (session, text, who, seat) in [(&one, &first, "ann", "1A"), (&two, &second, "bob", "2B")] {
        assert_eq!(serde_json::from_str::<Value>(text).unwrap()["content"]["seat"], seat, "{text}");
        assert_eq!(session.run().calls()[0].answers().len(), 1, "the log has the question");
        assert!(texts.iter().any(|text| text.ends_with(&format!("Which seat for \"{who}\"?"))), "{texts:?}");
    }
    let both = "The MCP server `far` asks during one of these calls, `t` {\"who\":\"ann\"}, `t` {\"who\":\"bob\"}: ";
    assert!(texts[0].starts_with(both), "{texts:?}");
}

#[tokio::test]
async fn a_question_of_the_only_call_names_no_call() {
    let tools = asking_server(1, seat()).connect().await.unwrap().toolset();
    let person = Person::deciding([answer("1A"), Decision::deny("no")]);
    let agent = Agent::tools_only(tools).operator(person.clone());
    assert!(call(&agent, "ann").await.1.contains("accept"));
    assert_eq!(person.questions()[0].question.text, "The MCP server `far` asks: Which seat for \"ann\"?");
    // A person who has read the question can decline it.
    assert!(call(&agent, "ann").await.1.contains("decline"));
}

#[tokio::test]
async fn nobody_reads_a_question_that_may_be_another_persons() {
    let tools = asking_server(2, seat()).connect().await.unwrap().toolset();
    let (ann, bob) = (Person::deciding([answer("1A")]), Person::deciding([answer("2B")]));
    let agent = |name: &str, person: &Person| Agent::tools_only(tools.clone()).principal(name).operator(person.clone());
    let (agent_of_ann, agent_of_bob) = (agent("ann", &ann), agent("bob", &bob));
    let ((_, first), (_, second)) = tokio::join!(call(&agent_of_ann, "ann"), call(&agent_of_bob, "bob"));
    for text in [first, second] {
        assert!(text.contains("nobody was asked: calls of several people") && !text.contains("decline"), "{text}");
    }
    assert!(ann.questions().is_empty() && bob.questions().is_empty());
}

/// The client takes the first question for Ann's and the second for Bob's. The answer to the first one ends Bob's call, so the second is
/// Ann's.
#[tokio::test]
async fn a_question_outlives_the_call_that_it_was_taken_for() {
    let server = asking_server_in_order(2, seat(), <[_]>::reverse);
    let tools = server.connect().await.unwrap().toolset();
    let person = Person::deciding([answer("1A"), answer("2B")]);
    let agent = Agent::tools_only(tools).operator(person.clone());
    let ((_, first), (_, second)) = tokio::join!(call(&agent, "ann"), call(&agent, "bob"));
    for (text, seat) in [(first, "2B"), (second, "1A")] {
        assert!(text.contains("accept") && text.contains(seat), "{text}");
    }
}

/// A person who takes an hour for each answer.
#[derive(Default)]
struct Slow {
    asked: AtomicUsize,
    at_once: AtomicUsize,
}

impl Operator for Slow {
    fn answer<'a>(&'a self, _: &'a QuestionRequest) -> BoxFuture<'a, Decision> {
        Box::pin(async {
            assert_eq!(self.at_once.fetch_add(1, Ordering::SeqCst), 0, "one question at a time");
            tokio::time::sleep(Duration::from_hours(1)).await;
            self.at_once.fetch_sub(1, Ordering::SeqCst);
            self.asked.fetch_add(1, Ordering::SeqCst);
            answer("1A")
        })
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_person_does_not_count() {
    let tools = asking_server(3, seat()).connect().await.unwrap().toolset();
    let person = Arc::new(Slow::default());
    let agent = Agent::tools_only(tools).operator(Arc::clone(&person));
    let calls = ["ann", "bob", "eve"].map(|who| {
        let agent = agent.clone();
        async move {
            let mut session = agent.session();
            session.call("far_t", json!({ "who": who }).to_string()).await.unwrap().result().unwrap().is_success()
        }
    });
    assert_eq!(futures_util::future::join_all(calls).await, [true; 3]);
    assert_eq!(person.asked.load(Ordering::SeqCst), 3);
}

/// Ask for a size.
#[tool(effect = read_only)]
async fn ask(
    /** The thing. */
    of: String,
    #[context] cx: &Context,
) -> Result<String, Failure> {
    let size: u32 = cx.ask(format!("Which size of {of}?")).await?;
    Ok(format!("{of} {size}"))
}

/// Over HTTP, a question comes on the stream of its call.
#[tokio::test]
async fn over_http_each_person_reads_their_own_question() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(McpServer::new(toolset!(ask)).http().serve(listener, std::future::pending()));
    let server = RemoteServer::http("far", url).questions().older_revision().allow(["ask"]);
    let tools = server.connect().await.unwrap().toolset();
    let calls = (0..8).map(|size| {
        let person = Person::deciding([Decision::Answer { value: json!({ "answer": size }) }]);
        let name = format!("person {size}");
        let agent = Agent::tools_only(tools.clone()).principal(name.as_str()).operator(person.clone());
        async move {
            let mut session = agent.session();
            let called = session.call("far_ask", json!({ "of": name }).to_string());
            let call = within("a call", called).await.unwrap();
            let output = call.result().unwrap().output().unwrap_or_else(|| panic!("{call:?}")).text();
            assert_eq!(output, format!("{name} {size}"));
            assert_eq!(
                person.questions()[0].question.text,
                format!("The MCP server `far` asks: Which size of {name}?")
            );
        }
    });
    futures_util::future::join_all(calls).await;
}

/// Returns a server that offers both ways to connect, and whose tool asks as in revisions with sessions. Also returns the methods
/// that it was asked for.
fn server_of_both_ways(refusal: Value) -> (RemoteServer, Arc<Mutex<Vec<String>>>) {
    let methods: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&methods);
    let server = raw_server(move |line| {
        let method = line["method"].as_str().unwrap_or_default();
        seen.lock().unwrap().push(method.to_owned());
        let is_modern = line["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string();
        let id = line["id"].as_i64().unwrap_or_default();
        match method {
            "server/discover" => {
                let found = json!({
                    "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} }, "resultType": "complete",
                    "serverInfo": { "name": "x", "version": "1" }, "ttlMs": 0, "cacheScope": "private",
                });
                format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "result": found }))
            }
            "tools/call" if is_modern => {
                let mut response = json!({ "jsonrpc": "2.0", "id": id });
                response.as_object_mut().unwrap().extend(refusal.as_object().unwrap().clone());
                format!("{response}\n")
            }
            "tools/call" => question(id, &json!({ "message": "Which seat?", "requestedSchema": seat() })),
            "" => {
                let result = json!({ "content": [{ "type": "text", "text": line["result"].to_string() }] });
                correct_response(&json!({ "id": id - 1000, "method": "tools/call" }), &result.to_string())
            }
            _ => correct_response(line, ""),
        }
    });
    (server.questions().allow(["t"]), methods)
}

#[tokio::test]
async fn a_server_that_cannot_ask_in_its_revision_is_asked_to_use_the_older_one() {
    let refusals = [
        // PyPI's `mcp` 2.3, `fastmcp` 4.2, and npm's `@modelcontextprotocol/server` 2.4.
        json!({ "error": { "code": -32600, "message": "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests." } }),
        json!({ "result": { "isError": true, "content": [{ "type": "text", "text": "elicitation via server-initiated requests is unavailable on 2026-07-28 connections." }] } }),
        json!({ "result": { "isError": true, "content": [{ "type": "text", "text": "Client does not support form elicitation." }] } }),
    ];
    for refusal in refusals {
        let (server, methods) = server_of_both_ways(refusal);
        let person = Person::deciding([answer("1A")]);
        let agent = |tools| Agent::tools_only(tools).operator(person.clone());
        let text = call(&agent(server.clone().connect().await.unwrap().toolset()), "ann").await.1;
        assert!(text.contains("RemoteServer::older_revision"), "{text}");
        let calls = methods.lock().unwrap().iter().filter(|method| *method == "tools/call").count();
        assert_eq!(calls, 1, "the call is not repeated");
        methods.lock().unwrap().clear();
        let text = call(&agent(server.older_revision().connect().await.unwrap().toolset()), "ann").await.1;
        assert!(text.contains("1A"), "{text}");
        let methods: HashSet<String> = methods.lock().unwrap().iter().cloned().collect();
        assert!(!methods.contains("server/discover") && !methods.contains("subscriptions/listen"), "{methods:?}");
    }
}

/// The form of a Python server, whose keywords are kept.
#[tokio::test]
async fn forms_keep_their_limits() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "pattern": "^[A-Z]", "minLength": 2 },
            "age": { "anyOf": [{ "type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 150 }, { "type": "null" }], "default": null },
            "tags": { "type": "array", "items": { "type": "string" }, "default": [], "maxItems": 2 },
            "kind": { "const": "person", "type": "string" },
            "part": { "type": "number", "exclusiveMinimum": 0.5 },
        },
        "required": ["name"],
    });
    let tools = asking_server(1, schema.clone()).connect().await.unwrap().toolset();
    // Also if each field is one of the protocol.
    let plain = json!({ "type": "object", "properties": { "name": { "type": "string", "pattern": "^[A-Z]" } }, "title": "Who" });
    let plain_tools = asking_server(1, plain.clone()).connect().await.unwrap().toolset();
    let other = Person::deciding([Decision::Answer { value: json!({}) }]);
    call(&Agent::tools_only(plain_tools).operator(other.clone()), "ann").await;
    assert_eq!(other.questions()[0].question.schema.as_ref(), Some(&plain));
    let person = Person::deciding(
        [
            json!({ "name": "ann" }),
            json!({ "name": "Ann", "age": 0 }),
            json!({ "name": "Ann", "tags": ["a", "b", "c"] }),
        ]
        .into_iter()
        .chain([json!({ "name": "Ann", "part": 0.5 }), json!({ "name": "Ann", "kind": "robot" })])
        .chain([json!({ "name": "Ann", "age": null, "tags": ["a"] })])
        .map(|value| Decision::Answer { value }),
    );
    let agent = Agent::tools_only(tools).operator(person.clone());
    let text = call(&agent, "ann").await.1;
    let response: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(response, json!({ "action": "accept", "content": { "name": "Ann", "age": null, "tags": ["a"] } }));
    let questions = person.questions();
    assert_eq!(questions.len(), 6, "five answers break a limit");
    assert_eq!(questions[0].question.schema.as_ref(), Some(&schema));
}

#[tokio::test]
async fn a_client_that_offers_no_questions_refuses_them() {
    let server = raw_server(|line| match (line["method"].as_str(), line["id"].as_i64()) {
        (Some("tools/call"), Some(id)) => {
            let params =
                json!({ "mode": "url", "message": "Sign in", "url": "https://example.com", "elicitationId": "1" });
            question(id, &params)
        }
        (None, Some(id)) => {
            let result = json!({ "content": [{ "type": "text", "text": line["error"].to_string() }] });
            correct_response(&json!({ "id": id - 1000, "method": "tools/call" }), &result.to_string())
        }
        _ => correct_response(line, ""),
    });
    let person = Person::approving();
    for (server, code) in [(server.clone(), "-32601"), (server.questions(), "-32602")] {
        let tools = server.allow(["t"]).connect().await.unwrap().toolset();
        let text = call(&Agent::tools_only(tools).operator(person.clone()), "ann").await.1;
        assert!(text.contains(code), "{text}");
    }
    assert!(person.questions().is_empty());
}

/// In the revision without sessions, a question is in the result of its call.
#[tokio::test]
async fn a_result_that_asks_keeps_the_form() {
    let schema = json!({ "type": "object", "properties": { "tags": { "type": "array", "items": { "type": "string", "pattern": "^[a-z]+$" } } } });
    let asked = schema.clone();
    let server = raw_server(move |line| match line["params"].get("inputResponses") {
        Some(responses) => {
            let text = json!([responses, line["params"]["requestState"]]).to_string();
            correct_response(line, &json!({ "content": [{ "type": "text", "text": text }] }).to_string())
        }
        None => {
            let params = json!({ "mode": "form", "message": "Which?", "requestedSchema": asked });
            let requests = json!({ "q": { "method": "elicitation/create", "params": params } });
            let asks = json!({ "resultType": "input_required", "requestState": "s", "inputRequests": requests });
            correct_response(line, &asks.to_string())
        }
    });
    let tools = server.questions().allow(["t"]).connect().await.unwrap().toolset();
    let answers = [json!({ "tags": ["A"] }), json!({ "tags": ["a"] })].map(|value| Decision::Answer { value });
    let person = Person::deciding(answers);
    let text = call(&Agent::tools_only(tools).operator(person.clone()), "ann").await.1;
    assert_eq!(text, r#"[{"q":{"action":"accept","content":{"tags":["a"]}}},"s"]"#);
    assert_eq!(person.questions()[0].question.schema.as_ref(), Some(&schema));
}

/// Behind a server of ours, too: a client that cannot ask, or that shows no form, has not asked anybody.
#[tokio::test]
async fn only_a_person_declines() {
    type Answer = fn(&str) -> ElicitResult;
    let list =
        json!({ "type": "object", "properties": { "seats": { "type": "array", "items": { "type": "string" } } } });
    let answers: [(Value, Option<Answer>, &str); 5] = [
        (
            list,
            Some(|_| unreachable!("no form has a list of texts")),
            "nobody was asked: somebody would have to decide",
        ),
        (seat(), None, "nobody was asked: somebody would have to decide"),
        (seat(), Some(|_| ElicitResult::new(ElicitationAction::Cancel)), r#"{"action":"cancel"}"#),
        (seat(), Some(|_| ElicitResult::new(ElicitationAction::Decline)), r#"{"action":"decline"}"#),
        (
            seat(),
            Some(|_| ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "seat": "1A" }))),
            r#"{"action":"accept","content":{"seat":"1A"}}"#,
        ),
    ];
    for (schema, answer, expected) in answers {
        let tools = asking_server(1, schema).connect().await.unwrap().toolset();
        let client = kit::client(&McpServer::new(tools), kit::Person::new(answer), false).await;
        let result = client.call_tool(kit::params("far_t", json!({ "who": "ann" }))).await.unwrap();
        assert!(kit::text(&result).contains(expected), "{expected}: {result:?}");
    }
}

/// Agents without an operator, with one that panics and with one whose answers never fit have no person who declines.
#[tokio::test]
async fn an_operator_that_cannot_answer_does_not_decline() {
    struct Panicking;
    impl Operator for Panicking {
        fn answer<'a>(&'a self, _: &'a QuestionRequest) -> BoxFuture<'a, Decision> {
            panic!("no hands")
        }
    }
    struct Wrong;
    impl Operator for Wrong {
        fn answer<'a>(&'a self, _: &'a QuestionRequest) -> BoxFuture<'a, Decision> {
            Box::pin(async { Decision::Answer { value: json!({ "seat": 1 }) } })
        }
    }
    let tools = asking_server(1, seat()).connect().await.unwrap().toolset();
    let agent = Agent::tools_only(tools);
    let agents = [
        (agent.clone(), "no operator can answer it"),
        (agent.clone().operator(Panicking), "the operator failed"),
        (agent.operator(Wrong), "the operator failed"),
    ];
    for (agent, reason) in agents {
        let text = call(&agent, "ann").await.1;
        assert!(text.contains(&format!("nobody was asked: somebody would have to decide, and {reason}")), "{text}");
    }
}

/// Returns the client's responses to these questions of one call, which come at once.
async fn respond(questions: Vec<Value>, person: &Person) -> Vec<Value> {
    let count = questions.len();
    let responses: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = Arc::clone(&responses);
    let request: Arc<Mutex<Value>> = Arc::default();
    let server = raw_server(move |line| match line["method"].as_str() {
        Some("tools/call") => {
            *request.lock().unwrap() = line.clone();
            let ask = |(id, params): (usize, &Value)| {
                format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params }))
            };
            questions.iter().enumerate().map(ask).collect()
        }
        None => {
            let mut seen = seen.lock().unwrap();
            seen.push(line.clone());
            if seen.len() < count {
                return String::new();
            }
            correct_response(&request.lock().unwrap(), r#"{"content":[]}"#)
        }
        Some(_) => correct_response(line, ""),
    });
    let tools = server.questions().allow(["t"]).connect().await.unwrap().toolset();
    drop(call(&Agent::tools_only(tools).operator(person.clone()), "ann").await);
    let mut responses = responses.lock().unwrap().clone();
    responses.sort_by_key(|response| response["id"].as_u64());
    responses
}

#[tokio::test]
async fn odd_questions_are_refused_or_read() {
    let any = json!({ "type": "object" });
    let refused = [
        Value::Null,
        json!([]),
        json!({ "requestedSchema": any }),
        json!({ "message": 5, "requestedSchema": any }),
        json!({ "message": "Which?" }),
        json!({ "message": "Which?", "requestedSchema": null }),
        json!({ "message": "Which?", "requestedSchema": true }),
        json!({ "mode": "page", "message": "Which?", "requestedSchema": any }),
        json!({ "mode": "url", "message": "Which?", "url": "https://example.com", "elicitationId": "1" }),
        json!({ "message": "x".repeat(300_000), "requestedSchema": any }),
    ];
    let person = Person::deciding([]);
    for response in respond(refused.to_vec(), &person).await {
        assert_eq!(response["error"]["code"], -32602, "{response}");
    }
    assert!(person.questions().is_empty());

    let read = [
        json!({ "message": "", "requestedSchema": {} }),
        json!({ "mode": null, "message": "a\u{202e}b", "requestedSchema": any, "more": 1 }),
        json!({ "mode": "form", "message": "Which?", "requestedSchema": { "properties": { "a": { "type": "str" } } } }),
        json!({ "message": "Which?", "requestedSchema": { "$ref": "#/$defs/a", "$defs": { "a": { "type": "object" } } } }),
        json!({ "message": "Which?", "requestedSchema": { "type": "object", "required": true, "properties": 5 } }),
        json!({ "message": "Which?", "requestedSchema": { "type": "object", "properties": { "a": { "pattern": "(" } } } }),
    ];
    let count = read.len();
    let answers = (0..count).map(|_| Decision::Answer { value: json!({}) });
    let person = Person::deciding(answers);
    for response in respond(read.to_vec(), &person).await {
        assert_eq!(response["result"], json!({ "action": "accept", "content": {} }), "{response}");
    }
    assert_eq!(person.questions().len(), count);
    assert!(!person.questions().iter().any(|asked| asked.question.text.contains('\u{202e}')));
}

#[tokio::test]
async fn a_call_asks_a_limited_number_of_questions() {
    let question = json!({ "message": "Which?", "requestedSchema": seat() });
    let person = Person::deciding((0..20).map(|_| answer("1A")));
    let responses = respond(vec![question; 20], &person).await;
    let (asked, refused): (Vec<_>, Vec<_>) = responses.iter().partition(|response| response.get("result").is_some());
    assert_eq!((asked.len(), refused.len(), person.questions().len()), (8, 12, 8));
    assert!(
        refused.iter().all(|response| response["error"]["message"].as_str().unwrap().contains("as many questions"))
    );
}
