//! Layers that change what a tool is: its parameters, its output, what is known about it; and chains of them.

use std::{
    borrow::Cow,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use futures_util::FutureExt;
use proptest::prelude::*;
use serde_json::{Value, json};
use tool_runtime::{
    CallError, CallFuture, Context, Output, Rejection, ToolSpec, Toolset,
    layer::{Retry, TimeLimit},
    tool,
    tool::{DynTool, Started, Starting},
    toolset,
    toolset::{Invocation, Layer, Next},
};

/// Gives its value back.
#[tool(effect = read_only)]
fn echo(value: i64) -> Value {
    json!({ "result": value })
}

/// Says hello so many times.
#[tool(approval = when(|input| input.times > 2))]
async fn greet(name: String, #[arg(range(..=9))] times: u8) -> String {
    tokio::task::yield_now().await;
    name.repeat(times.into())
}

async fn call(tools: &Toolset, name: &str, arguments: &str) -> Result<Output, CallError> {
    tools.call(name, arguments, &Context::new("c")).await
}

/// One step of a chain: changes the result, and notes where it is.
#[derive(Clone, Debug)]
struct Step {
    name: String,
    times: i64,
    plus: i64,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Step {
    fn note(&self, what: &str) {
        self.seen.lock().unwrap().push(format!("{what} {}", self.name));
    }
}

impl Layer for Step {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            self.note("before");
            let output: Value = next.run().await?.decode().unwrap();
            self.note("after");
            let result = output["result"].as_i64().unwrap().wrapping_mul(self.times).wrapping_add(self.plus);
            Ok(Output::json(&json!({ "result": result }))?)
        })
    }

    fn spec(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        self.note("transform");
        let mut spec = ToolSpec::clone(spec);
        spec.description.push_str(&self.name);
        Arc::new(spec)
    }
}

/// A chain with brackets.
#[derive(Clone, Debug)]
enum Chain {
    Step(i64, i64),
    Pipe(Box<Chain>, Box<Chain>),
}

impl Chain {
    fn layer(&self, seen: &Arc<Mutex<Vec<String>>>, count: &mut usize) -> Arc<dyn Layer> {
        match self {
            Self::Step(times, plus) => {
                *count += 1;
                let name = format!("{count}");
                Arc::new(Step { name, times: *times, plus: *plus, seen: Arc::clone(seen) })
            }
            Self::Pipe(inner, outer) => {
                let (inner, outer) = (inner.layer(seen, count), outer.layer(seen, count));
                Arc::new(inner.pipe(outer))
            }
        }
    }

    fn steps(&self) -> Vec<(i64, i64)> {
        match self {
            Self::Step(times, plus) => vec![(*times, *plus)],
            Self::Pipe(inner, outer) => [inner.steps(), outer.steps()].concat(),
        }
    }
}

fn chain() -> impl Strategy<Value = Chain> {
    (any::<i64>(), any::<i64>()).prop_map(|(times, plus)| Chain::Step(times, plus)).prop_recursive(6, 24, 2, |inner| {
        (inner.clone(), inner).prop_map(|(inner, outer)| Chain::Pipe(Box::new(inner), Box::new(outer)))
    })
}

proptest! {
    /// However the brackets are set: the first is the innermost.
    #[test]
    fn a_chain_is_its_steps_in_order(chain in chain(), value: i64) {
        let (seen, mut count) = (Arc::default(), 0);
        let layer = chain.layer(&seen, &mut count);
        let tools = Toolset::of(vec![layer.apply(Arc::clone(toolset!(echo).get("echo").unwrap()))]).unwrap();
        let numbers = || (1..=count).map(|number| number.to_string());
        prop_assert!(tools.list().specs()[0].description.ends_with(&numbers().collect::<String>()));
        let output: Value = call(&tools, "echo", &json!({ "value": value }).to_string())
            .now_or_never().unwrap().unwrap().decode().unwrap();
        let expected = chain.steps().iter().fold(value, |value, (times, plus)| value.wrapping_mul(*times).wrapping_add(*plus));
        prop_assert_eq!(&output["result"], &json!(expected));
        let trace = numbers().map(|name| format!("transform {name}"))
            .chain(numbers().collect::<Vec<_>>().into_iter().rev().map(|name| format!("before {name}")))
            .chain(numbers().map(|name| format!("after {name}")));
        prop_assert_eq!(&*seen.lock().unwrap(), &trace.collect::<Vec<_>>());
    }
}

/// Lets each tool be called once; or all of them together.
#[derive(Default)]
struct Once(AtomicUsize);
struct OnceEach;

impl Layer for Once {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        if self.0.fetch_add(1, SeqCst) == 0 { next.run() } else { Box::pin(async { Err(CallError::Cancelled) }) }
    }
}

impl Layer for OnceEach {
    fn apply(self: Arc<Self>, tool: Arc<dyn DynTool>) -> Arc<dyn DynTool> {
        Arc::new(Once::default()).apply(tool)
    }
}

#[tokio::test]
async fn what_a_layer_remembers_is_shared_or_made_for_each_tool() {
    let tools = || toolset!(echo, greet);
    let greeted = r#"{"name":"a","times":1}"#;
    let shared = tools().layer(Once::default());
    assert!(call(&shared, "echo", r#"{"value":1}"#).await.is_ok() && call(&shared, "greet", greeted).await.is_err());
    for each in
        [tools().layer(OnceEach), tools().layer(Arc::new(OnceEach)), tools().layer(OnceEach.pipe(Retry::new(1)))]
    {
        assert!(call(&each, "echo", r#"{"value":1}"#).await.is_ok() && call(&each, "greet", greeted).await.is_ok());
        assert!(call(&each, "echo", r#"{"value":1}"#).await.is_err());
    }
}

/// Hands on `call`, and forgets the rest.
struct Forgetful<L>(L);

impl<L: Layer> Layer for Forgetful<L> {
    fn call<'a>(&'a self, call: Invocation<'a>, next: Next<'a>) -> CallFuture<'a> {
        self.0.call(call, next)
    }
}

/// Gives a tool another name, against the rules.
struct Rename;

impl Layer for Rename {
    fn apply(self: Arc<Self>, _: Arc<dyn DynTool>) -> Arc<dyn DynTool> {
        Arc::clone(toolset!(greet).get("greet").unwrap())
    }
}

#[tokio::test]
async fn what_would_break_a_set_does_not() {
    let tools = toolset!(echo).layer(Forgetful(Once::default().pipe(Once::default())));
    let failed = call(&tools, "echo", r#"{"value":1}"#).await.unwrap_err();
    assert!(failed.for_log().contains("without being applied"), "a layer is never left out in silence: {failed:?}");
    assert_eq!(failed.to_string(), "the tool failed");
    let tools = toolset!(echo).layer(Rename);
    assert_eq!((tools.names().collect::<Vec<_>>(), &*tools.list().specs()[0].name), (vec!["echo"], "echo"));
    assert!(call(&tools, "echo", r#"{"name":"a","times":1}"#).await.is_ok());
}

/// Takes `who` in place of `name`, and gives `times` a value.
struct Who;

impl Layer for Who {
    fn spec(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        let mut spec = ToolSpec::clone(spec);
        let schema = json!({ "type": "object", "properties": { "who": {}, "times": { "default": 2 } } });
        spec.input = Arc::new(tool_runtime::schema::Schema::new(schema));
        Arc::new(spec)
    }

    fn arguments<'a>(&self, call: Invocation<'a>, inner: &ToolSpec) -> Result<Cow<'a, str>, CallError> {
        assert!(inner.input.neutral()["properties"].get("name").is_some(), "it sees what is inside");
        let mut given: Value = serde_json::from_str(call.arguments).map_err(|_| Rejection::told("no JSON"))?;
        let who = given["who"].take();
        if who == "nobody" {
            return Err(Rejection::of("who", "say somebody").into());
        }
        let times = given.get("times").cloned().unwrap_or(json!(2));
        Ok(Cow::Owned(json!({ "name": who, "times": times }).to_string()))
    }

    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        assert!(call.arguments.contains("who"), "the layer's call has the layer's parameters");
        next.run()
    }

    fn refused(&self, _: &ToolSpec, error: CallError) -> CallError {
        let text = error.to_string().replace("`name`", "`who`");
        Rejection::told(text).into()
    }
}

#[tokio::test]
async fn a_layer_shows_other_parameters() {
    let tools = toolset!(greet).layer(Who);
    let said = |output: Output| output.decode::<String>().unwrap();
    assert_eq!(said(call(&tools, "greet", r#"{"who":"ab"}"#).await.unwrap()), "abab");
    assert_eq!(said(call(&tools, "greet", r#"{"who":"ab","times":1}"#).await.unwrap()), "ab");
    for (arguments, told) in [
        (r#"{"who":1}"#, "`who`: expected a text"),
        (r#"{"who":"nobody"}"#, "`who`: say somebody"),
        (r#"{"who":"a","times":10}"#, "`times`"),
        ("{", "no JSON"),
    ] {
        let refused = call(&tools, "greet", arguments).await.unwrap_err();
        assert!(refused.did_not_run() && refused.to_string().starts_with(told), "{arguments}: {refused}");
    }
    let cx = Context::new("c");
    for (arguments, asks) in [(r#"{"who":"a","times":3}"#, true), (r#"{"who":"a"}"#, false)] {
        let started = tools.start("greet", arguments, &cx).now().unwrap().unwrap();
        assert_eq!((started.needs_approval, started.normalized), (asks, None), "{arguments}");
    }
    assert_eq!(
        tools.get("greet").unwrap().spec().with_defaults(r#"{"who":"a"}"#).unwrap(),
        json!({ "who": "a", "times": 2 })
    );
}

#[tokio::test(start_paused = true)]
async fn other_parameters_are_read_again_for_another_try_or_another_context() {
    let inside = Flaky::default();
    let runs = Arc::clone(&inside.runs);
    let tools = Toolset::new().with(inside).unwrap().layer(Add).layer(TimeLimit::new(Duration::from_secs(1)));
    let output = call(&tools.layer(Retry::new(3)), "flaky", r#"{"extra":true,"n":" seven "}"#).await.unwrap();
    assert_eq!((output.as_json(), runs.load(SeqCst)), (Some(r#""seven on try 3""#), 3));
}

/// Takes `extra`, which the tool knows nothing of.
struct Add;

impl Layer for Add {
    fn arguments<'a>(&self, call: Invocation<'a>, _: &ToolSpec) -> Result<Cow<'a, str>, CallError> {
        let mut given: serde_json::Map<String, Value> = serde_json::from_str(call.arguments).unwrap();
        given.shift_remove("extra");
        Ok(Cow::Owned(Value::from(given).to_string()))
    }
}

/// A tool that asks around before it reads, takes spaces off its texts, and fails twice.
struct Flaky {
    spec: Arc<ToolSpec>,
    asked: Arc<AtomicUsize>,
    runs: Arc<AtomicUsize>,
}

impl Default for Flaky {
    fn default() -> Self {
        let declared = tool_runtime::toolset::RuntimeTool::new("flaky", "Fails twice.").traits(|traits| {
            traits.idempotent = true;
        });
        let spec = Arc::clone(declared.external().unwrap().spec());
        Self { spec, asked: Arc::default(), runs: Arc::default() }
    }
}

impl DynTool for Flaky {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn start<'a>(&'a self, arguments: &'a str, _: &'a Context) -> Starting<'a> {
        Starting::asking(async move {
            self.asked.fetch_add(1, SeqCst);
            tokio::task::yield_now().await;
            let mut given: Value = serde_json::from_str(arguments).unwrap();
            for (name, value) in given.as_object_mut().unwrap() {
                let text = value.as_str().ok_or_else(|| Rejection::of(name, "not a text"))?;
                assert!(text != "panic", "of {name}");
                *value = text.trim().into();
            }
            let normalized = (given.to_string() != arguments).then(|| given.to_string().into_boxed_str());
            let work = Box::pin(async move {
                tokio::task::yield_now().await;
                let run = self.runs.fetch_add(1, SeqCst) + 1;
                if run < 3 {
                    return Err(tool_runtime::Failure::told("busy").retryable().into());
                }
                Ok(Output::json(&format!("{} on try {run}", given["n"].as_str().unwrap()))?)
            });
            Ok(Started { needs_approval: true, normalized, work })
        })
    }

    fn answer(&self, _: &str) -> Result<Output, CallError> {
        Err(CallError::NotExecuted)
    }
}

#[tokio::test]
async fn what_validators_change_is_shown_in_the_layers_parameters_or_refused() {
    let inside = Flaky::default();
    let (asked, runs) = (Arc::clone(&inside.asked), Arc::clone(&inside.runs));
    runs.store(5, SeqCst);
    let tools = Toolset::new().with(inside).unwrap().layer(Add);
    let cx = Context::new("c");
    let arguments = r#"{"n":" 7","extra":1}"#;
    let starting = tools.start("flaky", arguments, &cx).now().unwrap_err();
    assert_eq!(asked.load(SeqCst), 0, "nobody is asked before somebody waits");
    let started = starting.await.unwrap();
    assert_eq!((started.needs_approval, started.normalized.as_deref()), (true, Some(r#"{"n":"7","extra":1}"#)));
    assert_eq!((asked.load(SeqCst), runs.load(SeqCst)), (1, 5), "and nothing runs before it is polled");
    assert_eq!(started.work.await.unwrap().as_json(), Some(r#""7 on try 6""#));
    let settled = tools.start("flaky", r#"{"n":"7","extra":1}"#, &cx).await.unwrap();
    assert_eq!(settled.normalized, None, "what was approved means the same again");
    for refused in [r#"{"n":7}"#, r#"{"n":"panic"}"#] {
        assert!(tools.start("flaky", refused, &cx).await.is_err());
    }

    let unsayable = Toolset::new().with(Flaky::default()).unwrap().layer(Spaces);
    let refused = unsayable.start("flaky", r#"{"n":"7"}"#, &cx).await.unwrap_err();
    assert!(refused.to_string().contains(r#"understood as {"n":"7"}"#) && refused.did_not_run(), "{refused}");
    assert!(refused.for_log().contains("Layer::restore"), "{}", refused.for_log());
}

/// Puts spaces around, so that what the tool makes of it cannot be said.
struct Spaces;

impl Layer for Spaces {
    fn arguments<'a>(&self, call: Invocation<'a>, _: &ToolSpec) -> Result<Cow<'a, str>, CallError> {
        Ok(Cow::Owned(call.arguments.replace(":\"", ":\" ")))
    }
}
