//! Tests of layers that change a tool, and of chains of layers.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use futures_util::FutureExt;
use proptest::prelude::*;
use serde_json::{Value, json};
use tool_runtime::{
    CallError, CallFuture, Context, Output, ToolSpec, Toolset,
    layer::Retry,
    tool,
    tool::ErasedTool,
    toolset,
    toolset::{Invocation, Layer, Next},
};

/// Returns its value.
#[tool(effect = read_only)]
fn echo(value: i64) -> Value {
    json!({ "result": value })
}

/// Says hello.
#[tool]
fn greet(name: String) -> String {
    format!("hello {name}")
}

async fn call(tools: &Toolset, name: &str, arguments: &str) -> Result<Output, CallError> {
    tools.call(name, arguments, &Context::new("c")).await
}

/// A layer of a chain. It changes the result, and records when it is called.
#[derive(Clone, Debug)]
struct Step {
    name: String,
    times: i64,
    plus: i64,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Step {
    fn record(&self, what: &str) {
        self.seen.lock().unwrap().push(format!("{what} {}", self.name));
    }
}

impl Layer for Step {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            self.record("before");
            let output: Value = next.run().await?.decode().unwrap();
            self.record("after");
            let result = output["result"].as_i64().unwrap().wrapping_mul(self.times).wrapping_add(self.plus);
            Ok(Output::json(&json!({ "result": result }))?)
        })
    }

    fn spec(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        self.record("transform");
        let mut spec = ToolSpec::clone(spec);
        spec.description.push_str(&self.name);
        Arc::new(spec)
    }
}

/// A chain of layers, which can contain chains.
#[derive(Clone, Debug)]
enum Chain {
    Step(i64, i64),
    Pipe(Box<Chain>, Box<Chain>),
}

impl Chain {
    fn to_layer(&self, seen: &Arc<Mutex<Vec<String>>>, count: &mut usize) -> Arc<dyn Layer> {
        match self {
            Self::Step(times, plus) => {
                *count += 1;
                let name = format!("{count}");
                Arc::new(Step { name, times: *times, plus: *plus, seen: Arc::clone(seen) })
            }
            Self::Pipe(inner, outer) => {
                let (inner, outer) = (inner.to_layer(seen, count), outer.to_layer(seen, count));
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
    /// The first layer is the innermost one, for any placement of brackets.
    #[test]
    fn a_chain_applies_its_layers_in_order(chain in chain(), value: i64) {
        let (seen, mut count) = (Arc::default(), 0);
        let layer = chain.to_layer(&seen, &mut count);
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

/// A layer that allows one call: for each tool, or for all tools together.
#[derive(Default)]
struct Once(AtomicUsize);
struct OnceEach;

impl Layer for Once {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        if self.0.fetch_add(1, SeqCst) == 0 { next.run() } else { Box::pin(async { Err(CallError::Cancelled) }) }
    }
}

impl Layer for OnceEach {
    fn apply(self: Arc<Self>, tool: Arc<dyn ErasedTool>) -> Arc<dyn ErasedTool> {
        Arc::new(Once::default()).apply(tool)
    }
}

#[tokio::test]
async fn a_layer_shares_its_state_or_has_one_for_each_tool() {
    let tools = || toolset!(echo, greet);
    let greeted = r#"{"name":"a"}"#;
    let shared = tools().layer(Once::default());
    assert!(call(&shared, "echo", r#"{"value":1}"#).await.is_ok() && call(&shared, "greet", greeted).await.is_err());
    for each in
        [tools().layer(OnceEach), tools().layer(Arc::new(OnceEach)), tools().layer(OnceEach.pipe(Retry::new(1)))]
    {
        assert!(call(&each, "echo", r#"{"value":1}"#).await.is_ok() && call(&each, "greet", greeted).await.is_ok());
        assert!(call(&each, "echo", r#"{"value":1}"#).await.is_err());
    }
}

/// A layer that forwards `call`, and nothing else.
struct Forgetful<L>(L);

impl<L: Layer> Layer for Forgetful<L> {
    fn call<'a>(&'a self, call: Invocation<'a>, next: Next<'a>) -> CallFuture<'a> {
        self.0.call(call, next)
    }
}

/// A layer that renames a tool, against the rules.
struct Rename;

impl Layer for Rename {
    fn apply(self: Arc<Self>, _: Arc<dyn ErasedTool>) -> Arc<dyn ErasedTool> {
        Arc::clone(toolset!(greet).get("greet").unwrap())
    }
}

#[tokio::test]
async fn a_layer_cannot_skip_another_or_rename_a_tool() {
    let tools = toolset!(echo).layer(Forgetful(Once::default().pipe(Once::default())));
    let failed = call(&tools, "echo", r#"{"value":1}"#).await.unwrap_err();
    assert!(failed.for_log().contains("without being applied"), "a layer that is not applied is an error: {failed:?}");
    assert_eq!(failed.to_string(), "the tool failed");
    let tools = toolset!(echo).layer(Rename);
    assert_eq!((tools.names().collect::<Vec<_>>(), &*tools.list().specs()[0].name), (vec!["echo"], "echo"));
    assert!(call(&tools, "echo", r#"{"name":"a"}"#).await.is_ok());
}
