//! What is read exactly, and what is refused.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Exact;

#[derive(Debug, PartialEq, Deserialize)]
struct Point {
    x: i32,
    y: Option<i32>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Shape {
    Dot,
    Circle(f64),
    Line(Point, Point),
    Rect { at: Point, size: u8 },
}

#[derive(Debug, PartialEq, Deserialize)]
struct All {
    shapes: Vec<Shape>,
    names: BTreeMap<String, Point>,
    pair: (u8, char),
    nothing: (),
}

fn exact<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = T::deserialize(Exact(&mut json)).ok()?;
    json.end().ok().map(|()| value)
}

#[test]
fn reads_what_the_schema_allows() {
    let text = r#"{"shapes":["dot",{"circle":1.5},{"line":[{"x":1},{"x":2,"y":null}]},{"rect":{"at":{"x":1,"y":2},"size":3}}],
        "names":{"a":{"x":-1}},"pair":[1,"c"],"nothing":null}"#;
    assert_eq!(exact::<All>(text), serde_json::from_str(text).ok());
    assert!(exact::<All>(text).is_some());
    assert_eq!(exact::<Shape>(r#""\u0064ot""#), Some(Shape::Dot));
    assert_eq!(exact::<&str>(r#""borrowed""#), Some("borrowed"));
}

#[test]
fn refuses_what_only_serde_allows() {
    assert!(serde_json::from_str::<Point>("[1,2]").is_ok());
    assert_eq!(exact::<Point>("[1,2]"), None);
    assert_eq!(exact::<Vec<Point>>("[[1,2]]"), None);
    assert_eq!(exact::<Option<Point>>("[1,2]"), None);
    assert!(serde_json::from_str::<Shape>(r#"{"dot":null}"#).is_ok());
    assert_eq!(exact::<Shape>(r#"{"dot":null}"#), None);
    assert_eq!(exact::<Shape>(r#"{"rect":[{"x":1},3]}"#), None);
}

#[test]
fn refuses_what_serde_refuses() {
    for text in ["1", "null", "{}", r#"{"circle":1,"dot":2}"#, r#"{"line":[{"x":1}]}"#, r#""circle""#, r#"{"round":1}"#]
    {
        assert!(serde_json::from_str::<Shape>(text).is_err(), "{text}");
        assert_eq!(exact::<Shape>(text), None, "{text}");
    }
}
