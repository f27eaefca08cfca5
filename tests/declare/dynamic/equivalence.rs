//! Tests that nested fields behave like top-level fields, and that accepted values fit the schema.

use std::convert::Infallible;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tool_runtime::{Context, DynamicInput, Execute, Judged, Validation, schema::CompiledSchema, tool, toolset};

use super::call;

/// One way.
#[derive(DynamicInput)]
struct Leg {
    #[arg(range(1..=2))]
    class: u8,
    #[dynamic(validate = leg_from, requires(class))]
    from: String,
    #[dynamic(validate = leg_to, requires(from), hints(stops))]
    to: String,
    #[dynamic(validate = leg_stops, after(to))]
    stops: Vec<u8>,
    #[arg(default)]
    note: Option<String>,
}

/// Has the fields in one parameter.
#[tool]
fn nested(#[dynamic(nested)] leg: Leg) -> Value {
    json!([leg.class, leg.from, leg.to, leg.stops, leg.note])
}

/// Has the fields in each element of a list.
#[tool]
fn listed(#[dynamic(nested)] legs: Vec<Leg>) -> Vec<Value> {
    legs.into_iter().map(|leg| json!([leg.class, leg.from, leg.to, leg.stops, leg.note])).collect()
}

/// Has the fields in one parameter, and refuses every call.
#[tool]
fn refused(#[dynamic(nested)] leg: Leg, #[dynamic(validate = never)] other: u8) -> u8 {
    leg.class + other
}

fn never<C>(_: Option<u8>, _: C) -> Validation<u8> {
    Validation::reject("never")
}

/// Has the fields as parameters.
#[tool]
fn flat(
    #[arg(rename = "leg.class", range(1..=2))] class: u8,
    #[arg(rename = "leg.from")]
    #[dynamic(validate = flat_from, requires(class))]
    from: String,
    #[arg(rename = "leg.to")]
    #[dynamic(validate = flat_to, requires(from), hints(stops))]
    to: String,
    #[arg(rename = "leg.stops")]
    #[dynamic(validate = flat_stops, after(to))]
    stops: Vec<u8>,
    #[arg(rename = "leg.note", default)] note: Option<String>,
) -> Value {
    json!([class, from, to, stops, note])
}

fn from(value: Option<String>, class: u8) -> Validation<String> {
    let all = [format!("A{class}"), "B".to_owned()];
    match value.map(|value| value.to_uppercase()).filter(|value| all.contains(value)) {
        Some(value) => Validation::accept(value),
        None => Validation::reject("not from there").allowed(&all),
    }
}

fn to(value: Option<String>, from: &str, stops: Option<&Vec<u8>>) -> Validation<String> {
    let hint = format!("{stops:?}");
    match value.filter(|value| *value != from) {
        Some(value) => Validation::accept(value).remark(hint),
        None => Validation::reject(hint),
    }
}

fn stops(value: Option<Vec<u8>>, to: Judged<'_, String>) -> Validation<Vec<u8>> {
    match (value, to) {
        (Some(value), _) if value.len() > 1 => Validation::reject("too many"),
        (value, Judged::Accepted(_)) => Validation::accept(value.unwrap_or_default()),
        (_, to) => Validation::reject(format!("where to? {to:?}")).suggested([vec![1]]),
    }
}

fn leg_from(value: Option<String>, known: LegFrom<'_>) -> Validation<String> {
    from(value, *known.class)
}

fn flat_from(value: Option<String>, known: FlatFrom<'_>) -> Validation<String> {
    from(value, *known.class)
}

async fn leg_to(value: Option<String>, known: LegTo<'_>) -> Validation<String> {
    to(value, known.from, known.stops)
}

async fn flat_to(value: Option<String>, known: FlatTo<'_>) -> Validation<String> {
    to(value, known.from, known.stops)
}

fn leg_stops(value: Option<Vec<u8>>, known: LegStops<'_>) -> Validation<Vec<u8>> {
    stops(value, known.to)
}

fn flat_stops(value: Option<Vec<u8>>, known: FlatStops<'_>) -> Validation<Vec<u8>> {
    stops(value, known.to)
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(vec![json!(1), json!(2), json!(9), json!("a1"), json!("B"), json!("b"), json!(null)]),
        prop::sample::select(vec![json!([]), json!([3]), json!([1, 2]), json!(["x"]), json!({}), json!(true)]),
    ]
}

/// Generates values that are mostly valid for their names.
fn arguments() -> impl Strategy<Value = Map<String, Value>> {
    let names =
        [("class", json!(1)), ("from", json!("a1")), ("to", json!("c")), ("stops", json!([4])), ("note", json!("n"))];
    let one = |(name, right): (&'static str, Value)| {
        let given = prop_oneof![4 => Just(Some(right)), 1 => Just(None), 2 => value().prop_map(Some)];
        given.prop_map(move |value| Some((name.to_owned(), value?)))
    };
    let [a, b, c, d, e] = names.map(one);
    let shuffled = (a, b, c, d, e).prop_map(|(a, b, c, d, e)| vec![a, b, c, d, e]).prop_shuffle();
    shuffled.prop_map(|entries| entries.into_iter().flatten().collect())
}

proptest! {
    #[test]
    fn nested_fields_behave_like_parameters_with_dotted_names(given in arguments()) {
        let flattened: Map<String, Value> =
            given.iter().map(|(name, value)| (format!("leg.{name}"), value.clone())).collect();
        let nested = call(&toolset!(nested), "nested", json!({ "leg": given }));
        let flat = call(&toolset!(flat), "flat", Value::Object(flattened));
        // An optional parameter is named by its path, which differs.
        let flat = format!("{flat:?}").replace("or no `leg.", "or no `");
        prop_assert_eq!(format!("{nested:?}"), flat);
    }

    #[test]
    fn each_element_of_a_list_behaves_like_one_object(given in prop::collection::vec(arguments(), 0..4)) {
        let each = given.iter().map(|given| call(&toolset!(nested), "nested", json!({ "leg": given })));
        let each: Vec<Result<Value, Value>> = each.collect();
        let expected = if each.iter().all(Result::is_ok) {
            Ok(each.into_iter().map(Result::unwrap).collect())
        } else {
            // The reports on an accepted object are those of a call that is refused for another reason.
            let mut reports = Map::new();
            for (index, given) in given.iter().enumerate() {
                let refused = call(&toolset!(refused), "refused", json!({ "leg": given })).unwrap_err();
                for (name, report) in refused["validationResults"].as_object().unwrap() {
                    if let Some(part) = name.strip_prefix("leg") {
                        let place = format!("legs.{index}");
                        let text = report.to_string().replace("\"leg.", &format!("\"{place}."));
                        let text = text.replace("`leg.", &format!("`{place}."));
                        reports.insert(format!("{place}{part}"), serde_json::from_str(&text).unwrap());
                    }
                }
            }
            Err(json!({ "ok": false, "validationResults": reports }))
        };
        prop_assert_eq!(call(&toolset!(listed), "listed", json!({ "legs": given })), expected);
    }

    #[test]
    fn accepted_values_fit_the_declared_schema(given in arguments(), more in prop::option::of(value())) {
        let (mut given, tools) = (given, toolset!(lenient, lenient_list, Lenient));
        given.extend(more.map(|value| ("more".to_owned(), value)));
        let agree = |name: &str, arguments: Value| {
            let schema = CompiledSchema::compile(tools.get(name).unwrap().spec().input.neutral()).unwrap();
            let accepted = call(&tools, name, arguments.clone());
            prop_assert_eq!(schema.is_valid(&arguments), accepted.is_ok(), "{} {:?}", arguments, accepted);
            Ok(())
        };
        agree("lenient", json!({ "leg": given }))?;
        for legs in [json!([]), json!([given]), json!([given, given]), json!([given, given, given]), json!(given)] {
            agree("lenient_list", json!({ "legs": legs }))?;
        }
        for tag in ["way", "stay", "neither"] {
            let mut tagged = given.clone();
            tagged.insert("kind".to_owned(), json!(tag));
            agree("Lenient", Value::Object(tagged))?;
        }
        agree("Lenient", Value::Object(given))?;
    }
}

/// Fields whose validators accept anything.
#[derive(DynamicInput)]
struct Any {
    #[arg(range(1..=2))]
    class: u8,
    #[dynamic(validate = any)]
    from: String,
    #[dynamic(validate = any)]
    stops: Vec<u8>,
    note: Option<String>,
    #[arg(default)]
    to: String,
}

fn any<T: Default, C>(value: Option<T>, _: C) -> Validation<T> {
    Validation::accept(value.unwrap_or_default())
}

/// Has one lenient parameter.
#[tool]
fn lenient(#[dynamic(nested)] leg: Any) -> usize {
    leg.from.len() + leg.stops.len() + usize::from(leg.class) + leg.note.map_or(0, |note| note.len()) + leg.to.len()
}

/// Has one lenient parameter, which is a list.
#[tool]
fn lenient_list(
    #[dynamic(nested)]
    #[arg(length(1..=2))]
    legs: Vec<Any>,
) -> usize {
    legs.len()
}

/// Has two lenient variants.
#[tool]
enum Lenient {
    Way {
        #[dynamic(validate = any)]
        from: String,
        #[dynamic(validate = any)]
        stops: Vec<u8>,
        class: u8,
        #[arg(default)]
        to: Value,
    },
    Stay {
        note: Option<String>,
    },
}

impl Execute for Lenient {
    type Output = bool;
    type Error = Infallible;

    async fn execute(self, _: &Context) -> Result<bool, Infallible> {
        Ok(match self {
            Self::Way { from, stops, class, to } => from.len() + stops.len() > usize::from(class) && to.is_null(),
            Self::Stay { note } => note.is_some(),
        })
    }
}
