//! Tests of layers that show the model other parameters than the tool has.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_runtime::{
    CallError, CallFuture, Context, Output, Rejection, ToolSpec, Toolset,
    layer::{Retry, Timeout, TypeMapping},
    tool,
    tool::{AcceptedCall, ErasedTool, PrepareFuture},
    toolset,
    toolset::{Invocation, Layer, Next},
};

/// Says hello several times.
#[tool(approval = when(|input| input.times > 2))]
async fn greet(name: String, #[arg(range(..=9))] times: u8) -> String {
    tokio::task::yield_now().await;
    name.repeat(times.into())
}

async fn call(tools: &Toolset, name: &str, arguments: &str) -> Result<Output, CallError> {
    tools.call(name, arguments, &Context::new("c")).await
}

/// A layer that replaces `name` by `who`, and sets `times`.
struct Who;

impl Layer for Who {
    fn spec(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        let mut spec = ToolSpec::clone(spec);
        let schema = json!({ "type": "object", "properties": { "who": {}, "times": { "default": 2 } } });
        spec.input = Arc::new(tool_runtime::schema::Schema::new(schema));
        Arc::new(spec)
    }

    fn translate_arguments<'a>(&self, call: Invocation<'a>, inner: &ToolSpec) -> Result<Cow<'a, str>, CallError> {
        assert!(
            inner.input.neutral()["properties"].get("name").is_some(),
            "the layer receives the spec of the inner tool"
        );
        let mut given: Value = serde_json::from_str(call.arguments).map_err(|_| Rejection::from_message("no JSON"))?;
        let who = given["who"].take();
        if who == "nobody" {
            return Err(Rejection::of("who", "say somebody").into());
        }
        let times = given.get("times").cloned().unwrap_or(json!(2));
        Ok(Cow::Owned(json!({ "name": who, "times": times }).to_string()))
    }

    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        assert!(call.arguments.contains("who"), "the layer's call receives the layer's parameters");
        next.run()
    }

    fn translate_error(&self, _: &ToolSpec, error: CallError) -> CallError {
        let text = error.to_string().replace("`name`", "`who`");
        Rejection::from_message(text).into()
    }
}

#[tokio::test]
async fn a_layer_replaces_the_parameters_of_its_tool() {
    let tools = toolset!(greet).layer(Who);
    let decoded = |output: Output| output.decode::<String>().unwrap();
    assert_eq!(decoded(call(&tools, "greet", r#"{"who":"ab"}"#).await.unwrap()), "abab");
    assert_eq!(decoded(call(&tools, "greet", r#"{"who":"ab","times":1}"#).await.unwrap()), "ab");
    for (arguments, expected) in [
        (r#"{"who":1}"#, "`who`: expected a string"),
        (r#"{"who":"nobody"}"#, "`who`: say somebody"),
        (r#"{"who":"a","times":10}"#, "`times`"),
        ("{", "no JSON"),
    ] {
        let refused = call(&tools, "greet", arguments).await.unwrap_err();
        assert!(refused.did_not_run() && refused.to_string().starts_with(expected), "{arguments}: {refused}");
    }
    let cx = Context::new("c");
    for (arguments, needs_approval) in [(r#"{"who":"a","times":3}"#, true), (r#"{"who":"a"}"#, false)] {
        let started = tools.prepare("greet", arguments, &cx).now().unwrap().unwrap();
        assert_eq!((started.needs_approval, started.normalized), (needs_approval, None), "{arguments}");
    }
    assert_eq!(
        tools.get("greet").unwrap().spec().fill_defaults(r#"{"who":"a"}"#).unwrap(),
        json!({ "who": "a", "times": 2 })
    );
}

#[tokio::test(start_paused = true)]
async fn a_layers_parameters_are_translated_again_for_each_attempt() {
    let inside = Flaky::default();
    let runs = Arc::clone(&inside.runs);
    let tools = Toolset::new().with(inside).unwrap().layer(ExtraParameter).layer(Timeout::new(Duration::from_secs(1)));
    let output = call(&tools.layer(Retry::new(3)), "flaky", r#"{"extra":true,"n":" seven "}"#).await.unwrap();
    assert_eq!((output.as_json(), runs.load(SeqCst)), (Some(r#""seven on try 3""#), 3));
}

/// A layer with the parameter `extra`, which the tool does not have.
struct ExtraParameter;

impl Layer for ExtraParameter {
    fn translate_arguments<'a>(&self, call: Invocation<'a>, _: &ToolSpec) -> Result<Cow<'a, str>, CallError> {
        let mut given: serde_json::Map<String, Value> = serde_json::from_str(call.arguments).unwrap();
        given.shift_remove("extra");
        Ok(Cow::Owned(Value::from(given).to_string()))
    }
}

/// A tool that counts its validations, trims its text, and fails on its first two runs.
struct Flaky {
    spec: Arc<ToolSpec>,
    validations: Arc<AtomicUsize>,
    runs: Arc<AtomicUsize>,
}

impl Default for Flaky {
    fn default() -> Self {
        let declared = tool_runtime::toolset::RuntimeTool::new("flaky", "Fails twice.").options(|options| {
            options.idempotent = true;
        });
        let spec = Arc::clone(declared.external().unwrap().spec());
        Self { spec, validations: Arc::default(), runs: Arc::default() }
    }
}

impl ErasedTool for Flaky {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: &'a str, _: &'a Context) -> PrepareFuture<'a> {
        PrepareFuture::asking(async move {
            self.validations.fetch_add(1, SeqCst);
            tokio::task::yield_now().await;
            let mut given: Value = serde_json::from_str(arguments).unwrap();
            for (name, value) in given.as_object_mut().unwrap() {
                let text = value.as_str().ok_or_else(|| Rejection::of(name, "not a text"))?;
                assert!(text != "panic", "of {name}");
                *value = text.trim().into();
            }
            let settled = given.to_string();
            let normalized = (settled != arguments).then(|| settled.into_boxed_str());
            let work = Box::pin(async move {
                tokio::task::yield_now().await;
                let run = self.runs.fetch_add(1, SeqCst) + 1;
                if run < 3 {
                    return Err(tool_runtime::Failure::new("busy").retryable().into());
                }
                Ok(Output::json(&format!("{} on try {run}", given["n"].as_str().unwrap()))?)
            });
            Ok(AcceptedCall { needs_approval: true, normalized, touches: None, work })
        })
    }

    fn read_external_output(&self, _: &str) -> Result<Output, CallError> {
        Err(CallError::NotExecuted)
    }
}

#[tokio::test]
async fn changes_by_validators_are_shown_in_the_layers_parameters_or_refused() {
    let inside = Flaky::default();
    let (validations, runs) = (Arc::clone(&inside.validations), Arc::clone(&inside.runs));
    runs.store(5, SeqCst);
    let tools = Toolset::new().with(inside).unwrap().layer(ExtraParameter);
    let cx = Context::new("c");
    let arguments = r#"{"n":" 7","extra":1}"#;
    let starting = tools.prepare("flaky", arguments, &cx).now().unwrap_err();
    assert_eq!(validations.load(SeqCst), 0, "no validator is called before the start is polled");
    let started = starting.await.unwrap();
    assert_eq!((started.needs_approval, started.normalized.as_deref()), (true, Some(r#"{"n":"7","extra":1}"#)));
    assert_eq!(
        (validations.load(SeqCst), runs.load(SeqCst)),
        (1, 5),
        "the tool does not run before its work is polled"
    );
    assert_eq!(started.work.await.unwrap().as_json(), Some(r#""7 on try 6""#));
    let settled = tools.prepare("flaky", r#"{"n":"7","extra":1}"#, &cx).await.unwrap();
    assert_eq!(settled.normalized, None, "the approved arguments are not changed again");
    for refused in [r#"{"n":7}"#, r#"{"n":"panic"}"#] {
        assert!(tools.prepare("flaky", refused, &cx).await.is_err());
    }

    let inexpressible = Toolset::new().with(Flaky::default()).unwrap().layer(Spaces);
    let refused = inexpressible.prepare("flaky", r#"{"n":"7"}"#, &cx).await.unwrap_err();
    assert!(refused.to_string().contains(r#"read the arguments as {"n":"7"}"#) && refused.did_not_run(), "{refused}");
    assert!(refused.for_log().contains("Layer::restore"), "{}", refused.for_log());
}

/// A layer that adds spaces, so that its parameters cannot express the tool's normalized value.
struct Spaces;

impl Layer for Spaces {
    fn translate_arguments<'a>(&self, call: Invocation<'a>, _: &ToolSpec) -> Result<Cow<'a, str>, CallError> {
        Ok(Cow::Owned(call.arguments.replace(":\"", ":\" ")))
    }
}

#[derive(Deserialize, JsonSchema, Serialize)]
struct Number {
    n: String,
}

#[derive(Deserialize, JsonSchema, Serialize)]
struct Quoted {
    quoted: String,
}

#[tokio::test]
async fn a_typed_chain_translates_changes_by_validators() {
    let to_number = |Quoted { quoted }: Quoted| Ok(Number { n: quoted.replace('\'', "") });
    let to_quoted = |Number { n }| Quoted { quoted: format!("'{n}'") };
    let tools = |layer: TypeMapping<Number, String, Quoted, String>| {
        Toolset::new().with(Flaky::default()).unwrap().layer(layer)
    };
    let cx = Context::new("c");
    let arguments = r#"{"quoted":"' 7'"}"#;
    let both = tools(TypeMapping::new().map_input_and_back(to_number, to_quoted));
    let started = both.prepare("flaky", arguments, &cx).await.unwrap();
    assert_eq!(started.normalized.as_deref(), Some(r#"{"quoted":"'7'"}"#));
    let one = tools(TypeMapping::new().map_input(to_number));
    assert!(one.prepare("flaky", arguments, &cx).await.unwrap_err().to_string().contains("cannot express"));
    let lying = tools(TypeMapping::new().map_input_and_back(to_number, |_| Quoted { quoted: "8".into() }));
    assert!(lying.prepare("flaky", arguments, &cx).await.unwrap_err().to_string().contains("cannot express"));
    let same = TypeMapping::<Number, String>::new().map_input(|number: Number| Ok(Number { n: number.n }));
    let same = Toolset::new().with(Flaky::default()).unwrap().layer(same);
    let started = same.prepare("flaky", r#"{"n":"7 "}"#, &cx).await.unwrap();
    assert_eq!(started.normalized.as_deref(), Some(r#"{"n":"7"}"#), "equal types need no translation back");
}
