//! Numbers as the arguments of tools. The feature `arbitrary-precision` turns on `serde_json/arbitrary_precision` for all crates of
//! the build, as a dependency of an application may do, and every number must still be read: `cargo test -p tool-types --test
//! numbers --features arbitrary-precision`.

use serde_json::{Value, json};
use tool_runtime::{Context, Toolset, tool, toolset, toolset::RuntimeTool};

#[test]
fn the_feature_reaches_serde_json() {
    let digits = serde_json::from_str::<Value>("0.10").unwrap().to_string();
    assert_eq!(digits, if cfg!(feature = "arbitrary-precision") { "0.10" } else { "0.1" });
}

async fn call(tools: &Toolset, arguments: &str) -> Result<String, String> {
    let name = tools.iter().next().unwrap().name().to_owned();
    match tools.call(&name, arguments, &Context::new("1")).await {
        Ok(output) => Ok(output.as_json().unwrap_or_default().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[tokio::test]
async fn a_run_time_tool_reads_fractions() {
    let schema = json!({
        "type": "object",
        "properties": {
            "share": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
            "step": {"type": "number", "multipleOf": 0.25},
            "count": {"type": "integer"},
            "one": {"enum": [1.5, 2]},
            "any": true,
        },
        "additionalProperties": false,
    });
    let tool = RuntimeTool::new("scale", "Scales.").input(schema).handler(|arguments, _| async move { Ok(arguments) });
    let tools = Toolset::new().with(tool.unwrap()).unwrap();
    for arguments in [
        r#"{"share":0.5,"step":1.75,"count":3,"one":1.5,"any":[0.1,{"a":-2.5}]}"#,
        r#"{"share":0.25,"count":-7,"one":2}"#,
        r#"{"count":18446744073709551615,"any":{"deep":[1.25]}}"#,
    ] {
        assert_eq!(call(&tools, arguments).await.as_deref(), Ok(arguments));
    }
    for (arguments, place) in [
        (r#"{"share":1.0}"#, "share"),
        (r#"{"share":-0.1}"#, "share"),
        (r#"{"step":0.3}"#, "step"),
        (r#"{"count":1.5}"#, "count"),
        (r#"{"one":1.25}"#, "one"),
        (r#"{"any":0.5,"any":1.5}"#, "any"),
    ] {
        let error = call(&tools, arguments).await.unwrap_err();
        assert!(error.contains(place) && !error.contains("private"), "{arguments}: {error}");
    }
    assert!(call(&tools, r#"{"count":5.0}"#).await.is_ok(), "5.0 is an integer");
}

/// Scale something.
#[tool]
fn scale(#[arg(range(0.0..1.0))] share: f64, sizes: Vec<f32>, count: Option<u32>, any: Option<Value>) -> String {
    format!("{share} {sizes:?} {count:?} {}", any.unwrap_or_default())
}

#[tokio::test]
async fn a_declared_tool_reads_fractions() {
    let tools = toolset!(scale);
    let output = call(&tools, r#"{"share":0.5,"sizes":[1.5,2,-0.25],"count":5.0,"any":{"a":2.5}}"#).await.unwrap();
    assert_eq!(output, r#""0.5 [1.5, 2.0, -0.25] Some(5) {\"a\":2.5}""#);
    let error = call(&tools, r#"{"share":1.5,"sizes":["x"],"count":0.5}"#).await.unwrap_err();
    for place in ["share", "sizes", "count"] {
        assert!(error.contains(place) && !error.contains("private"), "{error}");
    }
    let error = call(&tools, r#"{"share":0.5,"sizes":[0.25],"more":1.5}"#).await.unwrap_err();
    assert!(error.starts_with("`more`: unknown name") && error.lines().count() == 1, "{error}");
}
